#pragma once
// The interrupt side of the meter: samples, peak readings and conversions come in, finished frames stand in the ring. What the
// main loop may call is marked; those calls mask the interrupts by themselves.

#include <atomic>
#include <cstdint>
#include <span>

#include "firmware/core/block_builder.hpp"
#include "firmware/core/frame_ring.hpp"
#include "firmware/core/peak_window.hpp"
#include "firmware/core/port.hpp"
#include "firmware/core/sample_history.hpp"
#include "firmware/core/sampler.hpp"
#include "firmware/core/slow_path.hpp"
#include "firmware/protocol/protocol.hpp"

namespace wattrig::firmware {

// What the board is, set once by firmware/app or by the simulator.
struct MeterConfig {
    protocol::Info info;             // `now` and `streaming` are filled by the meter
    std::int32_t low_voltage_code;   // drive-side 3.135 V, as a code of rail 0's voltage channel
    std::int32_t peak_zero_reading;  // reading of the peak path at 0 A, x 256
    std::uint32_t always_flags;      // protocol::block_simulated in the simulator, 0 on a rig
};

// Sums over samples that were not fed one by one: host/sim's `aggregate` fidelity. Never called on a rig.
struct BulkSamples {
    std::uint32_t count;  // contiguous samples, following the last one
    std::int64_t sum_v, sum_i;
    protocol::Int128 sum_vi, sum_ii;
    protocol::RailExtremes extremes;
    std::int64_t slow_sum, slow_fast_sum;
    std::uint32_t slow_count, slow_fast_count;
    std::int32_t peak_maximum;  // as PeakSummary.maximum: the smallest int32 when there is none
    std::uint16_t peak_minimum_reading, peak_maximum_reading;
    std::uint64_t peak_sum;
    std::uint32_t peak_readings;
    std::uint8_t sideband;
};

struct FrameStart {
    std::uint64_t ticks = 0;   // 0: none yet
    std::uint32_t number = 0;  // count since boot
};

class Stream {
  public:
    // 147 ms of full blocks; a power of two. With 84 kB it is most of the meter's RAM.
    static constexpr std::uint32_t ring_slots = 64;

    Stream(const MeterConfig& config, const Port& port);

    // Interrupt side, as in meter.hpp.
    void on_adc_sample(std::uint64_t timer_us, const AdcSample& sample);
    void on_adc_crc_error();
    void on_adc_resynchronised() { sampler_.anchor_at_next(); }
    void on_peak_readings(std::span<const std::uint16_t> readings);
    void on_peak_lost(std::uint32_t readings);
    void on_slow_alert(std::uint64_t timer_us);
    void on_slow_conversion(std::int32_t shunt_code, std::int16_t shunt_temperature);
    void on_slow_error();
    void on_frame_start(std::uint64_t timer_us, std::uint32_t frame_number);

    // Main loop.
    void start(std::uint64_t timer_us, std::uint32_t rails, protocol::Detail detail);
    void stop();
    void set_detail(protocol::Detail detail) {
        wanted_detail_.store(static_cast<std::uint32_t>(detail), std::memory_order_relaxed);
    }
    void set_board_temperature(std::int16_t centi_celsius) {
        board_temperature_.store(centi_celsius, std::memory_order_relaxed);
    }
    void poll(std::uint64_t timer_us);
    [[nodiscard]] bool streaming() const { return streaming_.load(std::memory_order_acquire) != 0; }
    [[nodiscard]] protocol::Counters counters() const;  // command_errors is left 0
    [[nodiscard]] FrameStart frame_start() const;
    void set_command_errors(std::uint32_t count) { command_errors_.store(count, std::memory_order_relaxed); }
    [[nodiscard]] std::span<const std::uint8_t> front_frame() const { return ring_.front(); }
    void pop_frame() { ring_.pop(); }

    // Host only: compiled from stream_bulk.cpp, which is no part of the rig's image.
    void add_bulk(const BulkSamples& bulk);

  private:
    [[nodiscard]] std::uint32_t target_span() const;
    void begin_block();
    // Publishes what is under construction: `span` indices, the newest of them sampler_.index().
    void finish_block(std::uint32_t span, std::uint32_t flags, protocol::Detail detail);
    void finish_partial();  // when there is anything
    void on_step(std::uint64_t timer_us);

    const MeterConfig& config_;
    const Port& port_;

    Sampler sampler_;
    SampleHistory history_;
    PeakWindow peak_;
    SlowPath slow_;
    BlockBuilder builder_;

    protocol::Detail detail_ = protocol::Detail::full;  // of the block under construction
    std::uint32_t end_at_ = 0;                          // samples or, in a summary with losses, indices at which it is finished
    std::uint64_t first_index_ = 0;                     // of the block under construction, valid when it has samples
    std::uint32_t next_flags_ = 0;                      // what happened since the last block and is told by the next one

    std::uint64_t lost_samples_ = 0;
    std::uint64_t blocks_ = 0;
    std::uint64_t slow_added_at_ = 0;  // sample index
    std::uint32_t lost_blocks_ = 0;
    std::uint32_t adc_crc_errors_ = 0;
    std::uint32_t peak_overruns_ = 0;
    std::uint32_t slow_errors_ = 0;
    std::uint32_t resynchronisations_ = 0;
    std::int16_t shunt_temperature_ = 0;
    FrameStart frame_start_;

    // Shared between the two sides.
    std::atomic<std::uint32_t> streaming_{0};
    std::atomic<std::uint32_t> wanted_detail_{0};
    std::atomic<std::uint32_t> command_errors_{0};
    std::atomic<std::int16_t> board_temperature_{0};

    FrameRing<ring_slots> ring_;
};

}  // namespace wattrig::firmware
