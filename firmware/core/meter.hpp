#pragma once
// The meter: everything the rig does that is not a register. Firmware and simulation both feed it, so a simulated run passes
// every ADC code through the very code that runs on the rig. No heap, no exceptions, no virtual calls, nothing of an OS.

#include <cstdint>
#include <span>

#include "firmware/protocol/protocol.hpp"

namespace wattrig::firmware {

// What an ADS131M04 frame holds once firmware/drivers has checked its CRC. Rail 0 is channels 0 (V) and 1 (I), rail 1 channels
// 2, 3.
struct AdcSample {
    std::int32_t v[protocol::maximum_rails];
    std::int32_t i[protocol::maximum_rails];
    std::uint8_t sideband;
};

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
    std::int32_t peak_maximum;
    std::uint16_t peak_minimum_reading, peak_maximum_reading;
    std::uint64_t peak_sum;
    std::uint32_t peak_readings;
    std::uint8_t sideband;
};

// Interrupt-side calls (on_adc_*, on_peak_readings, on_slow_conversion, on_frame_start) come from one priority level or from
// the simulator's single thread; the others from the main loop. The two meet in a single-producer, single-consumer ring of
// frames.
class Meter {
  public:
    explicit Meter(const MeterConfig& config);

    // DRDY interrupt. `timer_us` is the 1 MHz TIMER read there, 64 bit. Ignored while not streaming.
    void on_adc_sample(std::uint64_t timer_us, const AdcSample& sample);
    void on_adc_crc_error(std::uint64_t timer_us);
    // The ADC was stopped and started again (SYNC, two-frame recovery): the next sample starts a new segment.
    void on_adc_resynchronised();
    // Peak path, contiguous 12-bit readings 4 us apart, in order. Call before the sample that ends the same time.
    void on_peak_readings(std::span<const std::uint16_t> readings);
    void on_peak_lost(std::uint32_t readings);
    // INA228 ALERT: one conversion of the shunt, and the temperature at the shunt in 0.01 degC.
    void on_slow_conversion(std::int32_t shunt_code, std::int16_t shunt_temperature);
    void on_slow_error();
    void on_frame_start(std::uint64_t timer_us, std::uint32_t frame_number);  // USB SOF
    void set_board_temperature(std::int16_t centi_celsius);

    // Main loop, at least each millisecond: notices a silent ADC and makes its empty blocks.
    void poll(std::uint64_t timer_us);
    // One whole frame from bulk OUT 2, received at `timer_us`. The reply, if any, is built at once; a sync reply waits for
    // reply_ready_at (device dither) and gets its `armed` stamp in take_reply.
    void on_command(std::uint64_t timer_us, std::span<const std::uint8_t> frame);
    [[nodiscard]] bool reply_pending() const;
    [[nodiscard]] std::uint64_t reply_ready_at() const;  // timer_us at which the reply may be armed
    // Copies the reply frame to `out` (at least protocol::maximum_frame_bytes) and returns its size.
    std::size_t take_reply(std::uint64_t timer_us, std::span<std::uint8_t> out);

    // Oldest finished frame for bulk IN 1, empty when there is none; valid until pop.
    [[nodiscard]] std::span<const std::uint8_t> front_frame() const;
    void pop_frame();

    // Host only, see BulkSamples. Ends the block under construction first; emits summary frames.
    void add_bulk(const BulkSamples& bulk);
};

}  // namespace wattrig::firmware
