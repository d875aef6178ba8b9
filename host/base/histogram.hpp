#pragma once
// Latency histogram with fio's buckets (64 per power of two, error at most 1/128), so that json+ bins can be exchanged; the top
// is raised from fio's 2^34 ns to 2^40 ns (18 minutes), and what lies above is counted as overflow, never clamped silently.
//
// Thread rule: one writer; copy or merge under the caller's own rule.

#include <array>
#include <bit>
#include <cstddef>
#include <cstdint>

namespace wattrig {

class Histogram {
  public:
    static constexpr unsigned bucket_bits = 6;
    static constexpr unsigned groups = 35;
    static constexpr std::size_t buckets = std::size_t{groups} << bucket_bits;
    static constexpr std::uint64_t top = std::uint64_t{1} << (groups + bucket_bits - 1);  // 2^40 ns

    // Bucket of `nanoseconds`, which must be below `top`. Group 0 and 1 are exact; group g > 1 holds [2^(g+5), 2^(g+6)) in 64
    // buckets of 2^(g-1) ns.
    static constexpr std::size_t bucket(std::uint64_t nanoseconds) {
        const unsigned group = static_cast<unsigned>(std::bit_width(nanoseconds | 63u)) - bucket_bits;
        const unsigned shift = group == 0 ? 0 : group - 1;
        return (std::size_t{group} << bucket_bits) + ((nanoseconds >> shift) & 63u);
    }
    // Smallest value of a bucket, and fio's representative (the middle).
    static constexpr std::uint64_t bucket_begin(std::size_t index) {
        const std::size_t group = index >> bucket_bits, step = index & 63u;
        return group == 0 ? step : std::uint64_t{64 + step} << (group - 1);
    }
    static constexpr std::uint64_t bucket_middle(std::size_t index) {
        const std::size_t group = index >> bucket_bits;
        return group < 2 ? index : bucket_begin(index) + (std::uint64_t{1} << (group - 2));
    }

    void add(std::uint64_t nanoseconds) {
        ++total_;
        if (nanoseconds < top) [[likely]]
            ++counts_[bucket(nanoseconds)];
        else
            ++overflow_;
    }
    void add(std::uint64_t nanoseconds, std::uint64_t times) {
        total_ += times;
        (nanoseconds < top ? counts_[bucket(nanoseconds)] : overflow_) += times;
    }
    void merge(const Histogram& other);
    void clear() { *this = Histogram(); }
    [[nodiscard]] std::uint64_t total() const { return total_; }        // overflow included
    [[nodiscard]] std::uint64_t overflow() const { return overflow_; }  // values >= top
    [[nodiscard]] std::uint64_t count(std::size_t index) const { return counts_[index]; }
    // Value at `percent` in (0, 100]: middle of the bucket that holds the ceil(percent/100 * total)-th smallest; `top` when
    // that one overflowed, 0 when empty.
    [[nodiscard]] std::uint64_t percentile(double percent) const;

  private:
    std::array<std::uint64_t, buckets> counts_{};
    std::uint64_t total_ = 0;
    std::uint64_t overflow_ = 0;
};

}  // namespace wattrig
