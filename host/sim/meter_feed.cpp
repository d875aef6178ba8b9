#include "host/sim/meter_feed.hpp"

#include <algorithm>
#include <cassert>
#include <cmath>
#include <cstdio>
#include <cstring>

namespace wattrig::sim {
namespace {

constexpr std::uint32_t simulated_board = 0xffff'0001;
constexpr int chunks_per_block = static_cast<int>(protocol::samples_per_block / samples_per_chunk);
constexpr std::size_t storage_bytes = 2 * protocol::storage_slot_bytes;

firmware::MeterConfig meter_config(std::uint64_t seed, const FrontEnd& front_end) {
    firmware::MeterConfig config{};
    config.info.board_id = simulated_board;
    config.info.firmware_version = 1 << 16;
    config.info.boot_id = static_cast<std::uint32_t>(1 + (seed & 0xffff));
    config.info.shunt_micro_ohm = 10'000;
    config.info.protocol_version = protocol::protocol_version;
    config.info.rails = 1;
    config.info.has_peak_path = 1;
    config.info.has_slow_path = 1;
    config.info.has_power_switch = 1;
    std::snprintf(config.info.serial.data(), config.info.serial.size(), "SIM%llu",
                  static_cast<unsigned long long>(seed % 1'000'000'000));
    config.low_voltage_code = front_end.low_voltage_code();
    config.peak_zero_reading = front_end.peak_zero_reading();
    config.always_flags = protocol::block_simulated;
    return config;
}

}  // namespace

MeterFeed::MeterFeed(std::uint64_t seed, HostTime origin, const PowerParameters& power)
    : clock_(seed, origin),
      trace_(power.idle_watt, power.active_watt, static_cast<double>(power.active_time_constant_ns)),
      front_end_(seed),
      start_ticks_(clock_.to_device(origin).time_since_epoch().count()),
      origin_ticks_(start_ticks_),
      latency_state_(seed * 0x9e3779b97f4a7c15u + 1),
      storage_(storage_bytes, 0xff) {
    anchor(origin);
    std::array<float, bins_ahead> first{};
    trace_.take(first);  // what lies before the first chunk's bins is seen by no sample
    meter_ = std::make_unique<firmware::Meter>(meter_config(seed, front_end_), port());
}

firmware::Port MeterFeed::port() {
    firmware::Port port;
    port.context = this;
    port.self_test = [](void*, protocol::SelfTestReport& report) {
        report.test_v_mean = report.test_i_mean = 1'118'481;  // 160 mV
        report.shorted_i_rms = 150 * 256;
        report.done = 0xff;
        report.failed = 0;
        return protocol::Status::ok;
    };
    port.set_drive_power = [](void* context, bool on) {
        static_cast<MeterFeed*>(context)->drive_powered_ = on;
        return protocol::Status::ok;
    };
    port.set_sync_out = [](void* context, bool level) {
        static_cast<MeterFeed*>(context)->sync_out_ = level;
        return protocol::Status::ok;
    };
    port.storage_read = [](void* context, std::uint32_t address, std::span<std::uint8_t> bytes) {
        const auto& storage = static_cast<MeterFeed*>(context)->storage_;
        if (address + bytes.size() > storage.size()) return false;
        std::copy_n(storage.begin() + address, bytes.size(), bytes.begin());
        return true;
    };
    port.storage_write = [](void* context, std::uint32_t address, std::span<const std::uint8_t> bytes) {
        auto& storage = static_cast<MeterFeed*>(context)->storage_;
        if (address + bytes.size() > storage.size()) return protocol::Status::storage_failed;
        std::copy(bytes.begin(), bytes.end(), storage.begin() + address);
        return protocol::Status::ok;
    };
    port.storage_ready = [](void*) { return true; };
    return port;
}

std::int64_t MeterFeed::fed_ticks() const { return origin_ticks_ + trace_.next_bin() * ticks_per_bin; }

void MeterFeed::anchor(HostTime now) {
    const double bin = (clock_.to_device_ticks(now) - static_cast<double>(origin_ticks_)) / ticks_per_bin;
    trace_.anchor(now, bin, clock_.ticks_per_nanosecond(now) / ticks_per_bin);
}

HostTime MeterFeed::block_end() {
    const std::int64_t chunks = chunks_per_block - chunks_in_block_;
    return clock_.to_host(DeviceTime(Ticks(fed_ticks() + chunks * static_cast<std::int64_t>(bins_per_chunk) * ticks_per_bin)));
}

void MeterFeed::begin_stream(HostTime now) {
    muted_until_ = clock_.to_device(now).time_since_epoch().count();
    chunks_in_block_ = 0;
}

void MeterFeed::advance(HostTime now) {
    anchor(now);
    const std::int64_t now_ticks = clock_.to_device(now).time_since_epoch().count();
    std::array<float, bins_per_chunk> watts;
    while (fed_ticks() + static_cast<std::int64_t>(bins_per_chunk) * ticks_per_bin <= now_ticks) {
        const std::int64_t first_ready = fed_ticks() - bins_ahead * ticks_per_bin + protocol::group_delay_ticks;
        trace_.take(watts);
        front_end_.run(watts, chunk_);
        if (first_ready <= muted_until_) continue;
        deliver(chunk_, first_ready);
        chunks_in_block_ = (chunks_in_block_ + 1) % chunks_per_block;
        if (!meter_->front_frame().empty()) drain_frames(clock_.to_host(DeviceTime(Ticks(fed_ticks()))));
    }
}

// TIMER as the interrupt reads it: never early, some 0.3 to 1.3 us late, now and then more.
std::uint64_t MeterFeed::stamp(std::int64_t ticks) {
    latency_state_ = latency_state_ * 6364136223846793005u + 1442695040888963407u;
    const auto draw = static_cast<std::uint32_t>(latency_state_ >> 40);
    const std::uint32_t late = 40 + (draw & 127) + ((draw >> 8 & 63) == 0 ? draw >> 14 & 255 : 0);
    return (static_cast<std::uint64_t>(ticks) + late) / protocol::ticks_per_microsecond;
}

std::uint8_t MeterFeed::sideband() const {
    return static_cast<std::uint8_t>(protocol::sideband_perst | (drive_powered_ ? protocol::sideband_power_on : 0) |
                                     (sync_out_ ? protocol::sideband_sync_out : 0));
}

void MeterFeed::deliver(const CodeChunk& chunk, std::int64_t first_ready) {
    firmware::AdcSample sample{};
    sample.sideband = sideband();
    const auto convert = [&] {
        meter_->on_slow_alert(stamp(chunk.slow_ticks + start_ticks_));
        meter_->on_slow_conversion(chunk.slow_code, chunk.shunt_temperature);
    };
    if (chunk.slow_after == -1) convert();
    std::int64_t ready = first_ready;
    for (std::size_t k = 0; k < samples_per_chunk; ++k, ready += protocol::ticks_per_sample) {
        if (k + 1 == samples_per_chunk) meter_->on_peak_readings(chunk.readings);
        sample.v[0] = chunk.v[k];
        sample.i[0] = chunk.i[k];
        meter_->on_adc_sample(stamp(ready), sample);
        if (static_cast<int>(k) == chunk.slow_after) convert();
    }
    meter_->set_board_temperature(chunk.board_temperature);
    meter_->poll(static_cast<std::uint64_t>(ready - protocol::ticks_per_sample) / protocol::ticks_per_microsecond);
}

void MeterFeed::drain_frames(HostTime finished) {
    while (true) {
        const auto frame = meter_->front_frame();
        if (frame.empty()) return;
        if (on_frame && !on_frame(frame, finished)) return;
        meter_->pop_frame();
    }
}

std::uint32_t MeterFeed::samples_until(HostTime until) {
    const std::int64_t left = clock_.to_device(until).time_since_epoch().count() - fed_ticks();
    const std::int64_t chunks = left / (static_cast<std::int64_t>(bins_per_chunk) * ticks_per_bin);
    return chunks <= 0 ? 0 : static_cast<std::uint32_t>(chunks * static_cast<std::int64_t>(samples_per_chunk));
}

Nanoseconds MeterFeed::host_length(HostTime now, std::uint32_t samples) {
    const double from = clock_.to_device_ticks(now);
    const DeviceTime to(Ticks(std::llround(from + static_cast<double>(samples) * protocol::ticks_per_sample)));
    return clock_.to_host(to) - now;
}

void MeterFeed::bulk(std::uint32_t samples, const CurrentStatistics& current, HostTime now) {
    firmware::BulkSamples sums = front_end_.bulk(samples, current);
    sums.sideband = sideband();  // as a sample at a time would have it: without, the drive looks switched off
    meter_->add_bulk(sums);
    chunks_in_block_ = 0;  // the bulk ended a block
    origin_ticks_ += static_cast<std::int64_t>(samples) * protocol::ticks_per_sample;
    if (!meter_->front_frame().empty()) drain_frames(now);
}

}  // namespace wattrig::sim
