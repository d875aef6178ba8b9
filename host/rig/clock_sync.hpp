#pragma once
// From two-way exchanges to a clock map whose bound is guaranteed, not estimated.
//
// An exchange proves h1 <= host(d2) and host(d3) <= h4, whatever the bus did in between. With x(d) = host - h0 - 8 ns (d - d0)
// for the difference of the clocks, h1 is a point that x passes above and h4 one that x passes below. If the rate changes by no
// more than A, a point that is tau old binds x by a parabola A tau^2 / 2 that opens away from it, so old points fade by
// themselves and no window is needed. Of the points only two hulls, lifted by that parabola, can ever bind. Over the rates that
// fit between the hulls the extremes of x are the guaranteed interval, and the centroid of the same set is the point estimate.
//
// What it rests on, and what is therefore printed with results: |rate| <= 150 ppm and |change of rate| <= 0.1 ppm/s. The first
// is checked here and refused beyond. The second is watched by the device's own count of USB frames (which no latency touches);
// when it moves faster, or the hulls contradict each other, the assumption is raised, said, and the hulls start anew.
//
// Thread rule: one thread.

#include <cstddef>
#include <cstdint>
#include <deque>
#include <memory>
#include <optional>
#include <span>
#include <string>
#include <vector>

#include "host/base/clock.hpp"
#include "host/rig/clock_map.hpp"

namespace wattrig::rig {

struct ClockParameters {
    double guarantee_ppm_per_s = 0.1;  // A of the guaranteed interval
    double point_ppm_per_s = 0.02;     // A of the point estimate: what crystals do, not what they may
    double maximum_rate_ppm = 150;     // beyond is a fault
    Nanoseconds stamp_error{2500};     // of a device stamp: TIMER's microsecond and the interrupt's entry
    // Shortest time that a frame needs on the wire, taken off each bound; 0 where there is no wire (TCP, simulation).
    Nanoseconds wire_out{0};
    Nanoseconds wire_in{0};
    std::size_t maximum_points = 64;  // of a hull
    Nanoseconds maximum_age{200'000'000'000};
    Nanoseconds publish_half_width{150'000};  // the first knot waits for this
    double slew_ppm = 100;                    // fastest correction of the published map
};

// Full-speed USB, a frame of `bytes` in one transfer: 12 bit/us, and the packets around the data.
constexpr Nanoseconds usb_wire_out(std::int64_t bytes) { return Nanoseconds((72 + 8 * bytes) * 1000 / 12); }
constexpr Nanoseconds usb_wire_in(std::int64_t bytes) { return Nanoseconds((35 + 8 * bytes) * 1000 / 12); }

struct ClockEstimate {
    HostTime host;             // point estimate
    HostTime low, high;        // guaranteed
    double rate_ppm;           // point estimate; sign as in ClockKnot
    double low_ppm, high_ppm;  // guaranteed
};

// A start of frame as the device saw it; `number` counts them and wraps.
struct StartOfFrame {
    DeviceTime time;
    std::uint32_t number = 0;
};

class ClockSync {
  public:
    explicit ClockSync(std::uint32_t boot_id = 0, const ClockParameters& parameters = {});
    ~ClockSync();
    ClockSync(ClockSync&&) noexcept;
    ClockSync& operator=(ClockSync&&) noexcept;

    // Exchanges in order. False when it contradicts itself or comes out of order: then it is ignored.
    bool add(const Exchange& exchange, const std::optional<StartOfFrame>& frame = std::nullopt);
    // Nothing before the first exchange, and when no exchange is younger than maximum_age.
    [[nodiscard]] std::optional<ClockEstimate> estimate(DeviceTime t) const;
    // Publishes the knots that are due by `now`, a time on the device's clock. Returns how many were appended to map().
    std::size_t publish(DeviceTime now);
    [[nodiscard]] const ClockMap& map() const;  // "live"
    // Set when the measured rate lies beyond maximum_rate_ppm: one sentence with the rate. Nothing is published any more.
    [[nodiscard]] const std::optional<std::string>& fault() const;
    // What the guarantee assumes now, ppm/s: guarantee_ppm_per_s, or more after an alarm.
    [[nodiscard]] double assumed_ppm_per_s() const;
    // Each new alarm, one sentence. Empties the list.
    std::vector<std::string> take_notices();

  private:
    struct State;
    std::unique_ptr<State> s_;
};

// The best map that all exchanges of one boot together allow, knots each 0.25 s of the device's clock from the first exchange
// to the last; later exchanges bind earlier times too. Exchanges in order; those of another boot than the first are ignored.
// Where the exchanges contradict the assumed A, it is doubled until they do not, and the map's name says so. Empty when there
// are no exchanges or no A up to 100 ppm/s fits.
ClockMap refit_two_sided(std::span<const Exchange> exchanges, const ClockParameters& parameters = {});

}  // namespace wattrig::rig
