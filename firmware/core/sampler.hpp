#pragma once
// Which sample is this, and when was it? DRDY stamps of the 1 MHz TIMER come late by some microseconds and are cut to whole
// ones; the ADC's own grid of 3840 ticks is exact, as both run from one crystal. So the stamp only selects the grid point:
// index = round((t - anchor) / 30.72 us), and a step other than 1 is a loss.
//
// The anchor is refined while the first block of a segment is under construction, as its time is not yet published: a stamp is
// never early, so the earliest one, seen from the grid, is the best. 25 samples pass through all phases of the microsecond (25
// x 30.72 us = 768 us), which brings the anchor within 5 ticks (40 ns) of the truth plus the shortest latency. Then it never
// moves again.
//
// Thread rule: interrupt side only.

#include <cstdint>

#include "firmware/protocol/protocol.hpp"

namespace wattrig::firmware {

// x / 3840 without the 64-bit division that a Cortex-M0+ does in some 600 cycles and that would drag in a library routine.
[[nodiscard]] std::uint64_t whole_samples(std::uint64_t ticks);

class Sampler {
  public:
    struct Step {
        std::uint64_t lost;   // indices between the sample before and this one
        bool anchored;        // this sample begins a segment
        bool resynchronised;  // ... because the ADC was restarted or the index did not go up
    };

    // A new stream; the next sample has index 0 and sets the anchor. `timer_us` is now, for the case that none comes.
    void start(std::uint64_t timer_us);

    // The usual case: takes the sample and returns true when it follows directly on the one before. Otherwise does nothing.
    bool follows(std::uint64_t timer_us) {
        const std::int64_t late = distance(timer_us) - static_cast<std::int64_t>(protocol::ticks_per_sample);
        if (anchor_next_ || late < -half_sample || late >= half_sample) return false;
        ticks_ += protocol::ticks_per_sample;
        ++index_;
        if (refining_ && late < 0) ticks_ += static_cast<std::uint64_t>(late);
        return true;
    }
    // Every other case, in two parts, so that a block can be finished between them.
    [[nodiscard]] Step next_step(std::uint64_t timer_us) const;
    void take(std::uint64_t timer_us, const Step& step);

    void anchor_at_next() { anchor_next_ = true; }
    void freeze() { refining_ = false; }  // a block of this segment is published

    // Samples that should have come by now and did not; 0 unless that is more than a block's worth. The newest one that is due
    // is not among them, as its interrupt may be on its way.
    [[nodiscard]] std::uint32_t overdue(std::uint64_t timer_us) const;
    // Moves on by `samples` that never came; the sample after them anchors anew, as a restarted ADC may have another phase.
    void skip(std::uint32_t samples);
    // Moves on by samples that did come, but not one by one (add_bulk).
    void advance(std::uint32_t samples);

    [[nodiscard]] std::uint64_t index() const { return index_; }  // of the newest sample; all ones before the first
    [[nodiscard]] std::uint64_t ticks() const { return ticks_; }  // its DRDY on the grid
    [[nodiscard]] std::uint32_t segment() const { return segment_; }

  private:
    static constexpr std::int64_t half_sample = protocol::ticks_per_sample / 2;
    // A TIMER reading t stands for [t, t + 1) us. Seen at the latest phase of the grid that is t + 0.96 us.
    static constexpr std::uint32_t latest_phase_ticks = 120;

    [[nodiscard]] std::int64_t distance(std::uint64_t timer_us) const {
        return static_cast<std::int64_t>(timer_us * protocol::ticks_per_microsecond + latest_phase_ticks - ticks_);
    }
    void set_anchor(std::uint64_t ticks);

    std::uint64_t index_ = ~std::uint64_t{0};
    std::uint64_t ticks_ = 0;
    std::uint32_t segment_ = 0;
    bool anchor_next_ = true;
    bool refining_ = false;
    bool started_ = false;  // something stands on the index axis of this stream
};

}  // namespace wattrig::firmware
