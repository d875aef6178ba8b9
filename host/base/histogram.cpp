#include "host/base/histogram.hpp"

#include <cassert>
#include <cmath>

namespace wattrig {

void Histogram::merge(const Histogram& other) {
    if (other.total_ == 0) return;  // most kinds of most phases: spares 18 KB of traffic
    for (std::size_t i = 0; i < buckets; ++i) counts_[i] += other.counts_[i];
    total_ += other.total_;
    overflow_ += other.overflow_;
}

std::uint64_t Histogram::percentile(double percent) const {
    assert(percent > 0 && percent <= 100);
    if (total_ == 0) return 0;
    // 99.9 % of 1000 is 999 exactly, yet 999.0000000000001 in binary: the last bits are not the caller's.
    const double exact = percent / 100 * static_cast<double>(total_);
    const double rank = std::ceil(exact - exact * 1e-12);
    const std::uint64_t wanted = rank < 1 ? 1 : static_cast<std::uint64_t>(rank);
    std::uint64_t seen = 0;
    for (std::size_t i = 0; i < buckets; ++i) {
        seen += counts_[i];
        if (seen >= wanted) return bucket_middle(i);
    }
    return top;
}

}  // namespace wattrig
