#pragma once
// Device clock to host clock: published knots that never move, with a guaranteed bound on each. Made by ClockSync from two-way
// exchanges (algorithm and parameters: host/rig/clock_sync.hpp); `analyze` makes a tighter one, two-sided, from all exchanges.

#include <cstdint>
#include <string>
#include <vector>

#include "host/base/clock.hpp"

namespace wattrig::rig {

// One two-way exchange: h1 <= host(d2) and host(d3) <= h4.
struct Exchange {
    HostTime h1, h4;
    DeviceTime d2, d3;
    std::uint32_t boot_id = 0;
    std::uint32_t number = 0;
};

// Published knots stand this far apart on the device's clock, so a knot's half_width is meant for this long.
inline constexpr Ticks knot_spacing{31'250'000};  // 0.25 s
inline constexpr Nanoseconds knot_spacing_host{250'000'000};

struct ClockKnot {
    DeviceTime device;
    HostTime host;
    Nanoseconds half_width;  // guaranteed: |true host time - host| <= half_width up to the next knot
    // Of the segment that starts here: (host time / device time - 1) x 10^6, so a slow crystal has a positive rate.
    double rate_ppm;
};

// Thread rule: const calls from any thread while nobody appends.
class ClockMap {
  public:
    explicit ClockMap(std::vector<ClockKnot> knots = {}, std::uint32_t boot_id = 0, std::string name = {});
    void append(const ClockKnot& knot);  // strictly later on both clocks than the last (asserted)
    [[nodiscard]] bool empty() const { return knots_.empty(); }
    // Linear between knots; before the first and after the last by that segment's rate. Not on an empty map (asserted).
    [[nodiscard]] HostTime to_host(DeviceTime t) const;
    [[nodiscard]] DeviceTime to_device(HostTime t) const;
    // Guaranteed half-width at t; grows by 400 ppm of the time outside the knots, and inside a hole between two by 300 ppm of
    // the distance to the nearer one: the worst that two rates within +-150 ppm and a slew of 100 ppm can do.
    [[nodiscard]] Nanoseconds half_width(HostTime t) const;
    [[nodiscard]] double rate_ppm(HostTime t) const;
    [[nodiscard]] const std::vector<ClockKnot>& knots() const { return knots_; }
    [[nodiscard]] std::uint32_t boot_id() const { return boot_id_; }
    [[nodiscard]] const std::string& name() const { return name_; }  // "live" or "two-sided"

  private:
    std::vector<ClockKnot> knots_;
    std::uint32_t boot_id_ = 0;
    std::string name_;
};

}  // namespace wattrig::rig
