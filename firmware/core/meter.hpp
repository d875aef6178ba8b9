#pragma once
// The meter: everything the rig does that is not a register. Firmware and simulation both feed it, so a simulated run passes
// every ADC code through the very code that runs on the rig. No heap, no exceptions, no virtual calls, nothing of an OS.
//
//     samples, readings, conversions -> Stream (interrupt side) -> ring of frames -> bulk IN 1
//     bulk OUT 2 -> CommandHandler (main loop) -> replies -> bulk IN 2

#include <cstdint>
#include <span>

#include "firmware/core/command_handler.hpp"
#include "firmware/core/port.hpp"
#include "firmware/core/stream.hpp"
#include "firmware/protocol/protocol.hpp"

namespace wattrig::firmware {

// Interrupt-side calls (on_adc_*, on_peak_*, on_slow_*, on_frame_start) come from one priority level or from the simulator's
// single thread; the others from the main loop. The two meet in a single-producer, single-consumer ring of frames; where the
// main loop touches more than that (start, stop, silent ADC, counters) it masks interrupts through Port. About 93 kB: make it
// static.
class Meter {
  public:
    explicit Meter(const MeterConfig& config, const Port& port = {})
        : config_(config), port_(port), stream_(config_, port_), commands_(config_, port_, stream_) {}
    Meter(const Meter&) = delete;
    Meter& operator=(const Meter&) = delete;

    // DRDY interrupt. `timer_us` is the 1 MHz TIMER read there, 64 bit. Ignored while not streaming.
    void on_adc_sample(std::uint64_t timer_us, const AdcSample& sample) { stream_.on_adc_sample(timer_us, sample); }
    void on_adc_crc_error(std::uint64_t /*timer_us*/) { stream_.on_adc_crc_error(); }
    // The ADC was stopped and started again (SYNC, two-frame recovery): the next sample starts a new segment.
    void on_adc_resynchronised() { stream_.on_adc_resynchronised(); }
    // Peak path, contiguous 12-bit readings 4 us apart, in order, the last one taken just now. Call before the sample that ends
    // the same time; pieces may be of any length, from the 7 or 8 between two samples up to a block's 576.
    void on_peak_readings(std::span<const std::uint16_t> readings) { stream_.on_peak_readings(readings); }
    void on_peak_lost(std::uint32_t readings) { stream_.on_peak_lost(readings); }
    // INA228 ALERT: a conversion of the shunt ends. May be left out when on_slow_conversion is called at that very time.
    void on_slow_alert(std::uint64_t timer_us) { stream_.on_slow_alert(timer_us); }
    // The code of that conversion, and the temperature at the shunt in 0.01 degC.
    void on_slow_conversion(std::int32_t shunt_code, std::int16_t shunt_temperature) {
        stream_.on_slow_conversion(shunt_code, shunt_temperature);
    }
    void on_slow_error() { stream_.on_slow_error(); }
    void on_frame_start(std::uint64_t timer_us, std::uint32_t frame_number) {
        stream_.on_frame_start(timer_us, frame_number);
    }  // USB SOF
    void set_board_temperature(std::int16_t centi_celsius) { stream_.set_board_temperature(centi_celsius); }

    // Main loop, at least each millisecond: notices a silent ADC and makes its empty blocks; carries storage jobs on.
    // `timer_us` is the same clock as that of the samples: a simulator whose samples lag must poll with its lagging time.
    void poll(std::uint64_t timer_us) {
        stream_.poll(timer_us);
        commands_.poll();
    }
    // One whole frame from bulk OUT 2, received at `timer_us`. The reply, if any, is built at once (read_storage,
    // write_storage: by later polls); a sync reply waits for reply_ready_at (device dither) and gets its `armed` stamp in
    // take_reply.
    void on_command(std::uint64_t timer_us, std::span<const std::uint8_t> frame) { commands_.on_command(timer_us, frame); }
    [[nodiscard]] bool reply_pending() const { return commands_.reply_pending(); }
    // timer_us at which the reply may be armed. Only while reply_pending().
    [[nodiscard]] std::uint64_t reply_ready_at() const { return commands_.reply_ready_at(); }
    // Copies the reply frame to `out` (at least protocol::maximum_frame_bytes) and returns its size; 0 when there is none or it
    // is not ready yet.
    std::size_t take_reply(std::uint64_t timer_us, std::span<std::uint8_t> out) { return commands_.take_reply(timer_us, out); }

    // Oldest finished frame for bulk IN 1, empty when there is none; valid until pop.
    [[nodiscard]] std::span<const std::uint8_t> front_frame() const { return stream_.front_frame(); }
    void pop_frame() { stream_.pop_frame(); }
    [[nodiscard]] bool streaming() const { return stream_.streaming(); }

    // Host only, see BulkSamples. Ends the block under construction first; emits one summary frame for each call.
    void add_bulk(const BulkSamples& bulk) { stream_.add_bulk(bulk); }

  private:
    MeterConfig config_;
    Port port_;
    Stream stream_;
    CommandHandler commands_;
};

}  // namespace wattrig::firmware
