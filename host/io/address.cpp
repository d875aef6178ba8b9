#include "host/io/address.hpp"

#include <algorithm>
#include <cassert>
#include <cmath>
#include <numeric>

namespace wattrig::io {

namespace {

constexpr std::uint64_t whole = std::uint64_t{1} << 32;  // probabilities are compared with 32 random bits
constexpr std::uint32_t flash_page = 4096;

std::uint64_t share(double percent) {
    return static_cast<std::uint64_t>(std::llround(percent / 100 * static_cast<double>(whole)));
}

}  // namespace

AddressGenerator::AddressGenerator(const Workload& workload, std::uint64_t target_size, std::uint32_t worker,
                                   CoverPosition& cover)
    : sequential_(workload.pattern == Pattern::sequential),
      random_(mix(workload.seed) + worker),
      cover_(cover),
      covering_(workload.cover && workload.pattern == Pattern::random),
      seed_(workload.seed) {
    const std::uint64_t span = workload.span != 0 ? workload.span : target_size - workload.offset;
    double sum = 0;
    std::uint32_t largest = 0;
    for (const BlockSizeShare& size : workload.block_sizes) {
        sum += size.percent;
        sizes_.push_back({size.bytes, share(sum)});
        unit_ = std::gcd(unit_, std::uint64_t{size.bytes});
        largest = std::max(largest, size.bytes);
    }
    sizes_.back().until = whole;  // rounding must not leave a hole at the end
    begin_ = workload.offset;
    end_ = workload.offset + span;
    if (sequential_) {
        const std::uint64_t part = span / workload.workers / largest * largest;
        begin_ += part * worker;
        if (worker + 1 < workload.workers) end_ = begin_ + part;  // the last one takes the rest
        next_.fill(begin_);
    }
    blocks_ = (end_ - begin_) / unit_;
    assert(end_ - begin_ >= largest);
    if (!workload.zones.empty()) {
        double access = 0, covered = 0;
        for (const Zone& zone : workload.zones) {
            const std::uint64_t from = zones_.empty() ? begin_ : zones_.back().end;
            access += zone.access_percent;
            covered += zone.span_percent;
            auto to = begin_ + static_cast<std::uint64_t>(covered / 100 * static_cast<double>(span)) / largest * largest;
            to = std::clamp(to, std::min(from + largest, end_), end_);  // no zone is smaller than one operation
            zones_.push_back({share(access), from, to});
        }
        zones_.back().until = whole;
        zones_.back().end = end_;
        // Tiny regions: the last zones may have been squeezed out by the rule above.
        for (Part& zone : zones_) zone.begin = std::min(zone.begin, end_ - largest);
    }
    uniform_ = !sequential_ && !covering_ && zones_.empty() && sizes_.size() == 1;
}

std::uint64_t AddressGenerator::alignment(std::uint32_t length) const {
    // As fio (aligned to the smallest size), and JESD219's rule that 4 KiB and more start on 4 KiB.
    return unit_ < flash_page && length % flash_page == 0 && flash_page % unit_ == 0 ? flash_page : unit_;
}

std::uint64_t AddressGenerator::aligned_random(std::uint64_t begin, std::uint64_t end, std::uint32_t length) {
    const std::uint64_t align = alignment(length);
    return begin + random_.below((end - begin - length) / align + 1) * align;
}

std::uint64_t AddressGenerator::next_sequential(OperationKind kind, std::uint32_t length) {
    std::uint64_t& next = next_[static_cast<std::size_t>(kind)];
    if (length > end_ - next) next = begin_;
    const std::uint64_t offset = next;
    next += length;
    return offset;
}

std::uint64_t AddressGenerator::next_random(std::uint32_t length) {
    if (covering_) return next_covered();
    if (zones_.empty()) return aligned_random(begin_, end_, length);
    const std::uint64_t draw = random_() >> 32;
    std::size_t i = 0;
    while (draw >= zones_[i].until) ++i;
    return aligned_random(zones_[i].begin, zones_[i].end, length);
}

std::uint64_t AddressGenerator::next_covered() {
    const std::uint64_t position = cover_.fetch_add(1, std::memory_order_relaxed);
    const std::uint64_t round = position / blocks_;
    if (!order_ || round != order_round_) {
        order_.emplace(blocks_, mix(seed_ ^ 0x636f766572u) + round);
        order_round_ = round;
    }
    return begin_ + (*order_)(position % blocks_) * unit_;
}

void AddressGenerator::skip(OperationKind kind, std::uint64_t operations, std::uint64_t bytes) {
    if (covering_) cover_.fetch_add(operations, std::memory_order_relaxed);
    if (!sequential_) return;
    std::uint64_t& next = next_[static_cast<std::size_t>(kind)];
    const std::uint64_t usable = blocks_ * unit_;
    next = begin_ + (next - begin_ + bytes) % usable;
}

}  // namespace wattrig::io
