#pragma once
// The INA228's running sums, and the fast path's current over the very same conversions, which is what its offset is fitted
// from.
//
// A conversion lasts 4.12 ms and ends at ALERT (time E). A sample measured what was 45.72 us before its DRDY, so the samples
// inside are those with DRDY in (E - 4.12 ms + 45.72 us, E + 45.72 us]: the newest 134 once one or two more have come after
// ALERT. Until then the conversion waits; then sum and fast sum are added together, so every block holds both or neither. A
// conversion in which a sample was lost enters neither.
//
// Thread rule: interrupt side only.

#include <cstdint>

#include "firmware/core/sample_history.hpp"
#include "firmware/protocol/protocol.hpp"

namespace wattrig::firmware {

class SlowPath {
  public:
    static constexpr std::uint32_t samples_per_conversion =
        protocol::slow_conversion_ticks / protocol::ticks_per_sample;  // 134
    static_assert(samples_per_conversion < SampleHistory::length);

    protocol::SlowSums sums{};  // since stream start

    void start() { *this = SlowPath{}; }

    // ALERT, `ticks_after_sample` after the newest sample's DRDY. A code that never came for the mark before is forgotten.
    void mark_end(std::uint32_t ticks_after_sample) {
        to_come_ = (ticks_after_sample + protocol::group_delay_ticks) / protocol::ticks_per_sample;
        state_ = State::ending;
        has_code_ = false;
    }
    // The code of the conversion that ended at the mark; without a mark, just now, which on average is 1.5 samples too early.
    void add_code(std::int32_t code) {
        if (state_ == State::idle) mark_end(0);
        code_ = code;
        has_code_ = true;
    }

    [[nodiscard]] bool busy() const { return state_ != State::idle; }
    // After each sample while busy, and after each of the two calls above. True when a conversion was added.
    bool settle(const SampleHistory& history, bool new_sample) {
        if (state_ == State::ending) {
            if (new_sample && to_come_ > 0) --to_come_;
            if (to_come_ > 0) return false;
            state_ = State::ended;
            whole_ = history.contiguous() >= samples_per_conversion;
            if (whole_) fast_ = history.current_sum(samples_per_conversion);
        }
        if (state_ != State::ended || !has_code_) return false;
        state_ = State::idle;
        has_code_ = false;
        if (!whole_) return false;
        sums.sum += code_;
        sums.fast_sum += fast_;
        ++sums.count;
        sums.fast_count += samples_per_conversion;
        return true;
    }

  private:
    enum class State : std::uint8_t {
        idle,
        ending,  // ALERT came, samples of its conversion are still to come
        ended,   // fast_ is known, the code is on its way over I2C
    };
    State state_ = State::idle;
    bool has_code_ = false;
    bool whole_ = false;  // no sample was lost during the conversion
    std::uint32_t to_come_ = 0;
    std::int32_t code_ = 0;
    std::int32_t fast_ = 0;
};

}  // namespace wattrig::firmware
