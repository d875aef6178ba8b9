#pragma once
// The rig's board in the simulation: takes power out of the trace, lets the analog front end make codes of it, and hands them
// to the real firmware core with the stamps of its own TIMER, in the order in which the interrupts would come. Thread rule: one
// thread.

#include <cstdint>
#include <functional>
#include <memory>
#include <span>
#include <vector>

#include "firmware/core/meter.hpp"
#include "host/base/clock.hpp"
#include "host/sim/device_clock.hpp"
#include "host/sim/drive_parameters.hpp"
#include "host/sim/front_end.hpp"
#include "host/sim/power_trace.hpp"

namespace wattrig::sim {

class MeterFeed {
  public:
    MeterFeed(std::uint64_t seed, HostTime origin, const PowerParameters& power);

    // Frames of bulk IN 1 as they are finished; `finished` is when, as truth. The bytes are valid during the call. False: the
    // host takes none now, and the frame stays in the meter's ring, which drops what finds it full.
    std::function<bool(std::span<const std::uint8_t> frame, HostTime finished)> on_frame;

    // Codes of all that ended by `now`, in chunks of 25 samples; the drive must be settled up to there.
    void advance(HostTime now);
    // Ties the trace's axis to host time; before power of a new stretch is added.
    void anchor(HostTime now);
    // When the next block will be complete.
    [[nodiscard]] HostTime block_end();
    // A stream was started at `now`: samples from before are not in it. It begins with the next whole chunk, so that blocks are
    // whole numbers of chunks.
    void begin_stream(HostTime now);
    // Samples, a multiple of 25, that fit between what is fed and `until`; 0 when none do.
    [[nodiscard]] std::uint32_t samples_until(HostTime until);
    // Feeds `samples` at once; the trace keeps what it has to come. Returns how much host time that is.
    void bulk(std::uint32_t samples, const CurrentStatistics& current, HostTime now);
    [[nodiscard]] Nanoseconds host_length(HostTime now, std::uint32_t samples);

    [[nodiscard]] firmware::Meter& meter() { return *meter_; }
    [[nodiscard]] PowerTrace& trace() { return trace_; }
    [[nodiscard]] ClockModel& clock() { return clock_; }
    [[nodiscard]] const FrontEnd& front_end() const { return front_end_; }
    [[nodiscard]] bool drive_powered() const { return drive_powered_; }
    // Device ticks up to which codes are made (begin of the next chunk's bins).
    [[nodiscard]] std::int64_t fed_ticks() const;

  private:
    [[nodiscard]] firmware::Port port();
    [[nodiscard]] std::uint8_t sideband() const;
    void deliver(const CodeChunk& chunk, std::int64_t first_ready);
    void drain_frames(HostTime finished);
    [[nodiscard]] std::uint64_t stamp(std::int64_t ticks);

    ClockModel clock_;
    PowerTrace trace_;
    FrontEnd front_end_;
    std::int64_t start_ticks_;   // device ticks at the begin
    std::int64_t origin_ticks_;  // device ticks of the trace's bin 0; moves with leaps
    std::uint64_t latency_state_;
    std::int64_t muted_until_ = INT64_MIN;  // device ticks
    int chunks_in_block_ = 0;
    bool drive_powered_ = true;
    bool sync_out_ = false;
    std::vector<std::uint8_t> storage_;
    CodeChunk chunk_;
    std::unique_ptr<firmware::Meter> meter_;
};

}  // namespace wattrig::sim
