#pragma once
// The rig's crystal against the host's clock, as it truly runs in the simulation: an offset, a rate within +-100 ppm, and a
// slow wave of the rate as a board warms and cools (at most 1 ppm a minute). Linear over pieces of 250 ms of host time and kept
// in integers, so both directions agree and nothing drifts in a day.
// Thread rule: one thread (pieces are made as time goes on).

#include <cstdint>
#include <vector>

#include "host/base/clock.hpp"
#include "host/sim/noise.hpp"

namespace wattrig::sim {

class ClockModel {
  public:
    ClockModel(std::uint64_t seed, HostTime origin);

    [[nodiscard]] DeviceTime to_device(HostTime t);    // floor
    [[nodiscard]] HostTime to_host(DeviceTime t);      // first host nanosecond whose device time is at least t
    [[nodiscard]] double to_device_ticks(HostTime t);  // with the fraction; exact to 1e-3 ticks for a day
    [[nodiscard]] double rate_ppm(HostTime t) const;   // of the device against the host
    [[nodiscard]] double ticks_per_nanosecond(HostTime t) const { return 0.125 * (1.0 + 1e-6 * rate_ppm(t)); }
    [[nodiscard]] std::uint64_t timer_us(HostTime t) {
        return static_cast<std::uint64_t>(to_device(t).time_since_epoch().count()) / 125;
    }

  private:
    static constexpr std::int64_t piece_ns = 250'000'000;
    static constexpr int fraction_bits = 16;                  // positions are in ticks / 2^16
    [[nodiscard]] std::int64_t position(std::int64_t piece);  // at the begin of a piece
    [[nodiscard]] double rate_of_piece(std::int64_t piece) const;

    HostTime origin_;
    double rate_ppm_;
    double wave_ppm_, wave_per_second_, wave_phase_;
    std::vector<std::int64_t> positions_;
};

}  // namespace wattrig::sim
