#pragma once
// The last 256 samples of rail 0 as far as the peak path (which voltage?) and the slow path (which current sum?) need them.
//
// Thread rule: interrupt side only.

#include <array>
#include <cstdint>

namespace wattrig::firmware {

class SampleHistory {
  public:
    static constexpr std::uint32_t length = 256;

    void clear() {
        samples_ = 0;
        contiguous_ = 0;
    }
    void add(std::int32_t v, std::int32_t i) {
        const std::uint32_t before = current_sums_[samples_ % length];
        ++samples_;
        ++contiguous_;
        v_[samples_ % length] = v;
        current_sums_[samples_ % length] = before + static_cast<std::uint32_t>(i);
    }
    void interrupt() { contiguous_ = 0; }  // an index was lost

    [[nodiscard]] bool empty() const { return samples_ == 0; }
    // Samples since the last lost index.
    [[nodiscard]] std::uint32_t contiguous() const { return contiguous_; }
    // Voltage code `back` samples before the newest one; the oldest that is known when that is too far.
    [[nodiscard]] std::int32_t voltage(std::uint32_t back) const {
        const std::uint32_t known = samples_ < length ? samples_ : length;
        return v_[(samples_ - (back < known ? back : known - 1)) % length];
    }
    // Sum of the newest `count` current codes, count below `length` and at most contiguous(). Prefix sums wrap at 2^32, their
    // difference is exact up to 255 x 2^23.
    [[nodiscard]] std::int32_t current_sum(std::uint32_t count) const {
        return static_cast<std::int32_t>(current_sums_[samples_ % length] - current_sums_[(samples_ - count) % length]);
    }

  private:
    std::array<std::int32_t, length> v_{};
    std::array<std::uint32_t, length> current_sums_{};  // [n] holds the sum up to sample n
    std::uint32_t samples_ = 0;                         // wraps after 36 h, a multiple of `length`; then it is never 0 for long
    std::uint32_t contiguous_ = 0;
};

}  // namespace wattrig::firmware
