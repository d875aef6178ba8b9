#pragma once
// Blocks as a rig would send them, from planted codes: for tests that know every sample. Shares no arithmetic with host/power
// but the wire's structs.

#include <algorithm>
#include <cstdint>
#include <cstring>
#include <memory>
#include <vector>

#include "host/power/calibration.hpp"
#include "host/rig/block.hpp"
#include "host/rig/clock_map.hpp"

namespace wattrig::test {

__extension__ using Wide = __int128;

struct Codes {
    std::int32_t v, i;
};

// One block with its bytes; movable, the view stays valid.
struct OwnedBlock {
    std::unique_ptr<std::vector<std::uint8_t>> bytes = std::make_unique<std::vector<std::uint8_t>>();
    rig::BlockView view{};
};

class StreamBuilder {
  public:
    static constexpr std::int64_t cell = protocol::ticks_per_sample;
    std::uint32_t boot_id = 7;
    std::uint32_t flags = 0;
    std::int16_t shunt_temperature = 2500, board_temperature = 2500;
    std::int64_t first_time = 1'000'000;  // ticks, middle of sample 0
    // Sums before the first sample, to test them far from zero.
    Wide base_vi = 0, base_ii = 0;
    std::int64_t base_v = 0, base_i = 0;

    // Edge of cell k on the device clock, ticks.
    [[nodiscard]] std::int64_t edge(std::int64_t k) const { return first_time + k * cell - cell / 2; }

    // `codes` become one block; `detail` other than full makes it a summary without codes.
    OwnedBlock block(const std::vector<Codes>& codes, protocol::Detail detail = protocol::Detail::full) {
        OwnedBlock b;
        begin(b.view);
        protocol::RailExtremes& e = b.view.rails[0].extremes;
        e = {INT32_MAX, INT32_MIN, INT32_MAX, INT32_MIN};
        for (const Codes& c : codes) {
            add(c, 1);
            e = {std::min(e.v_minimum, c.v), std::max(e.v_maximum, c.v), std::min(e.i_minimum, c.i),
                 std::max(e.i_maximum, c.i)};
        }
        index_ += codes.size();
        b.view.header.span = b.view.header.count = static_cast<std::uint32_t>(codes.size());
        b.view.header.detail = static_cast<std::uint8_t>(detail);
        finish(b.view);
        if (detail == protocol::Detail::full) {
            std::vector<std::uint8_t>& bytes = *b.bytes;
            for (const Codes& c : codes) put(bytes, c.v);
            for (const Codes& c : codes) put(bytes, c.i);
            bytes.resize(bytes.size() + codes.size(), 0);
            b.view.v_codes[0] = bytes.data();
            b.view.i_codes[0] = bytes.data() + 3 * codes.size();
            b.view.sideband = bytes.data() + 6 * codes.size();
        }
        return b;
    }
    // Samples that are in the sums but in no block that arrives.
    void lose(std::uint64_t count, Codes c) {
        add(c, static_cast<std::int64_t>(count));
        index_ += count;
    }
    void lose(const std::vector<Codes>& codes) {
        for (const Codes& c : codes) lose(1, c);
    }
    // Samples that are in no sum: lost inside the device.
    void miss(std::uint64_t count) {
        index_ += count;
        missed_ += count;
    }
    protocol::SlowSums slow{};
    protocol::PeakSummary peak{};
    [[nodiscard]] std::uint64_t index() const { return index_; }

  private:
    void begin(rig::BlockView& view) {
        view.header = {};
        view.header.first_index = index_;
        view.header.first_time = static_cast<std::uint64_t>(first_time + static_cast<std::int64_t>(index_) * cell);
        view.header.lost_samples = missed_;
        view.header.boot_id = boot_id;
        view.header.flags = flags;
        view.header.shunt_temperature = shunt_temperature;
        view.header.board_temperature = board_temperature;
        view.header.rails = 1;
        view.peak.maximum = INT32_MIN;
        view.peak.group_maximum.fill(INT32_MIN);
    }
    void finish(rig::BlockView& view) {
        protocol::RailSums& s = view.rails[0].sums;
        s = {count_, base_v + v_, base_i + i_, store(base_vi + vi_), store(base_ii + ii_)};
        view.slow = slow;
        if (peak.readings > 0) view.peak = peak;
    }
    void add(Codes c, std::int64_t times) {
        count_ += static_cast<std::uint64_t>(times);
        v_ += times * c.v;
        i_ += times * c.i;
        vi_ += Wide{c.v} * c.i * times;
        ii_ += Wide{c.i} * c.i * times;
    }
    static protocol::Int128 store(Wide value) {
        const auto u = static_cast<unsigned __int128>(value);
        return {static_cast<std::uint64_t>(u), static_cast<std::int64_t>(static_cast<std::uint64_t>(u >> 64))};
    }
    static void put(std::vector<std::uint8_t>& bytes, std::int32_t code) {
        const auto u = static_cast<std::uint32_t>(code);
        bytes.insert(bytes.end(),
                     {static_cast<std::uint8_t>(u), static_cast<std::uint8_t>(u >> 8), static_cast<std::uint8_t>(u >> 16)});
    }
    std::uint64_t index_ = 0, missed_ = 0, count_ = 0;
    std::int64_t v_ = 0, i_ = 0;
    Wide vi_ = 0, ii_ = 0;
};

// Host time = 8 ns x ticks, known to `half_width`.
inline rig::ClockMap plain_clock(std::uint32_t boot_id = 7, Nanoseconds half_width = Nanoseconds(0)) {
    rig::ClockMap map({}, boot_id, "plain");
    // As densely as a rig's, for 50 s: in larger holes the bound grows.
    for (std::int64_t k = 0; k <= 200; ++k)
        map.append({DeviceTime(Ticks(k * 31'250'000)), HostTime(Nanoseconds(k * 250'000'000)), half_width, 0.0});
    return map;
}
inline HostTime host_of(std::int64_t ticks) { return HostTime(Nanoseconds(8 * ticks)); }

// A rig with offsets on both channels, so that every term of the conversion matters.
inline power::Calibration test_calibration() {
    power::Calibration c = power::nominal_calibration({});
    power::RailCalibration& rail = c.rails[0];
    rail.v_offset = 0.004;
    rail.i_offset = -0.0025;
    rail.slow_gain = 0;  // the idle path only where a test wants it
    return c;
}
inline double volts(const power::Calibration& c, std::int32_t code) { return c.rails[0].v_offset + c.rails[0].v_gain * code; }
inline double amperes(const power::Calibration& c, std::int32_t code) { return c.rails[0].i_offset + c.rails[0].i_gain * code; }
inline double watts(const power::Calibration& c, Codes k) {
    const double i = amperes(c, k.i);
    return (volts(c, k.v) - i * c.rails[0].shunt_ohm) * i;
}
inline Codes codes_for(const power::Calibration& c, double volt, double ampere) {
    return {static_cast<std::int32_t>((volt - c.rails[0].v_offset) / c.rails[0].v_gain),
            static_cast<std::int32_t>((ampere - c.rails[0].i_offset) / c.rails[0].i_gain)};
}

}  // namespace wattrig::test
