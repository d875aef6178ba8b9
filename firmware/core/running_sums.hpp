#pragma once
// Running sums of one rail. Samples are added to partial sums of at most samples_per_block codes, which fit registers of a
// 32-bit machine; once a block they are folded into the sums that never overflow. The Cortex-M0+ thus pays for 128 bits once in
// 75 samples.
//
// Thread rule: interrupt side only.

#include <cstdint>
#include <limits>

#include "firmware/protocol/protocol.hpp"

namespace wattrig::firmware {

// Two's complement addition modulo 2^128, without __int128: arm-none-eabi has none.
constexpr void add_to(protocol::Int128& sum, protocol::Int128 term) {
    const std::uint64_t low = sum.low + term.low;
    const std::uint64_t carry = low < sum.low ? 1 : 0;
    sum.low = low;
    sum.high = static_cast<std::int64_t>(static_cast<std::uint64_t>(sum.high) + static_cast<std::uint64_t>(term.high) + carry);
}
constexpr protocol::Int128 widen(std::int64_t value) {
    return {static_cast<std::uint64_t>(value), value < 0 ? std::int64_t{-1} : std::int64_t{0}};
}

// 64-bit sums wrap like the device's own registers would; signed overflow in C++ would be undefined instead.
constexpr std::int64_t wrapping_add(std::int64_t a, std::int64_t b) {
    return static_cast<std::int64_t>(static_cast<std::uint64_t>(a) + static_cast<std::uint64_t>(b));
}

class RunningSums {
  public:
    // Since stream start, up to the last fold.
    protocol::RailSums sums{};

    void clear() { *this = RunningSums{}; }
    void clear_extremes() { extremes_ = no_extremes; }

    // Codes of 24 bit; at most samples_per_block between two folds: 75 x 2^23 fits 32 bit, 75 x 2^46 fits 64.
    void add(std::int32_t v, std::int32_t i) {
        partial_v_ += v;
        partial_i_ += i;
        partial_vi_ += static_cast<std::int64_t>(v) * i;
        partial_ii_ += static_cast<std::int64_t>(i) * i;
        if (v < extremes_.v_minimum) extremes_.v_minimum = v;
        if (v > extremes_.v_maximum) extremes_.v_maximum = v;
        if (i < extremes_.i_minimum) extremes_.i_minimum = i;
        if (i > extremes_.i_maximum) extremes_.i_maximum = i;
    }

    void fold(std::uint32_t count) {
        sums.count += count;
        sums.sum_v = wrapping_add(sums.sum_v, partial_v_);
        sums.sum_i = wrapping_add(sums.sum_i, partial_i_);
        add_to(sums.sum_vi, widen(partial_vi_));
        add_to(sums.sum_ii, widen(partial_ii_));
        partial_v_ = 0;
        partial_i_ = 0;
        partial_vi_ = 0;
        partial_ii_ = 0;
    }

    // Of the samples since clear_extremes; all 0 when there was none.
    [[nodiscard]] protocol::RailExtremes extremes() const {
        return extremes_.v_minimum > extremes_.v_maximum ? protocol::RailExtremes{} : extremes_;
    }
    void set_extremes(const protocol::RailExtremes& extremes) { extremes_ = extremes; }

  private:
    static constexpr protocol::RailExtremes no_extremes = {
        std::numeric_limits<std::int32_t>::max(), std::numeric_limits<std::int32_t>::min(),
        std::numeric_limits<std::int32_t>::max(), std::numeric_limits<std::int32_t>::min()};

    std::int32_t partial_v_ = 0;
    std::int32_t partial_i_ = 0;
    std::int64_t partial_vi_ = 0;
    std::int64_t partial_ii_ = 0;
    protocol::RailExtremes extremes_ = no_extremes;
};

}  // namespace wattrig::firmware
