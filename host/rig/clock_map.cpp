#include "host/rig/clock_map.hpp"

#include <algorithm>
#include <cassert>
#include <cmath>
#include <utility>

namespace wattrig::rig {
namespace {

__extension__ typedef __int128 Wide;

constexpr std::int64_t nanoseconds_per_tick = 8;
constexpr double growth_outside = 400e-6;
constexpr double growth_in_hole = 300e-6;

// Integers up to the rate's correction: a double holds no nanosecond of a clock that has run for months.
HostTime extrapolate(const ClockKnot& knot, DeviceTime t) {
    const std::int64_t device_ns = (t - knot.device).count() * nanoseconds_per_tick;
    const double correction = static_cast<double>(device_ns) * knot.rate_ppm * 1e-6;
    return knot.host + Nanoseconds(device_ns + std::llround(correction));
}

DeviceTime extrapolate_back(const ClockKnot& knot, HostTime t) {
    const double host_ns = static_cast<double>((t - knot.host).count());
    const double correction = host_ns * (1 / (1 + knot.rate_ppm * 1e-6) - 1);
    const std::int64_t device_ns = (t - knot.host).count() + std::llround(correction);
    // Rounded towards the past, so that there and back never gains.
    return knot.device + Ticks(device_ns >= 0 ? device_ns / nanoseconds_per_tick
                                              : -((-device_ns + nanoseconds_per_tick - 1) / nanoseconds_per_tick));
}

// a + (b - a) * part / whole, rounded down; 0 <= part < whole.
std::int64_t between(std::int64_t a, std::int64_t b, std::int64_t part, std::int64_t whole) {
    return a + static_cast<std::int64_t>(static_cast<Wide>(b - a) * part / whole);
}

}  // namespace

ClockMap::ClockMap(std::vector<ClockKnot> knots, std::uint32_t boot_id, std::string name)
    : boot_id_(boot_id), name_(std::move(name)) {
    knots_.reserve(knots.size());
    for (const ClockKnot& knot : knots) append(knot);
}

void ClockMap::append(const ClockKnot& knot) {
    assert(knots_.empty() || (knot.device > knots_.back().device && knot.host > knots_.back().host));
    knots_.push_back(knot);
}

HostTime ClockMap::to_host(DeviceTime t) const {
    assert(!knots_.empty());
    const auto next = std::upper_bound(knots_.begin(), knots_.end(), t,
                                       [](DeviceTime time, const ClockKnot& knot) { return time < knot.device; });
    if (next == knots_.begin()) return extrapolate(knots_.front(), t);
    if (next == knots_.end()) return extrapolate(knots_.back(), t);
    const ClockKnot& from = *(next - 1);
    return HostTime(Nanoseconds(between(from.host.time_since_epoch().count(), next->host.time_since_epoch().count(),
                                        (t - from.device).count(), (next->device - from.device).count())));
}

DeviceTime ClockMap::to_device(HostTime t) const {
    assert(!knots_.empty());
    const auto next = std::upper_bound(knots_.begin(), knots_.end(), t,
                                       [](HostTime time, const ClockKnot& knot) { return time < knot.host; });
    if (next == knots_.begin()) return extrapolate_back(knots_.front(), t);
    if (next == knots_.end()) return extrapolate_back(knots_.back(), t);
    const ClockKnot& from = *(next - 1);
    return DeviceTime(Ticks(between(from.device.time_since_epoch().count(), next->device.time_since_epoch().count(),
                                    (t - from.host).count(), (next->host - from.host).count())));
}

Nanoseconds ClockMap::half_width(HostTime t) const {
    assert(!knots_.empty());
    const auto grown = [](const ClockKnot& knot, Nanoseconds away, double growth) {
        if (away <= Nanoseconds(0)) return knot.half_width;
        return knot.half_width + Nanoseconds(std::llround(std::ceil(static_cast<double>(away.count()) * growth)));
    };
    const auto next = std::upper_bound(knots_.begin(), knots_.end(), t,
                                       [](HostTime time, const ClockKnot& knot) { return time < knot.host; });
    if (next == knots_.begin()) return grown(knots_.front(), knots_.front().host - t, growth_outside);
    const ClockKnot& from = *(next - 1);
    // The host's 0.25 s may be a little more or less than the device's.
    constexpr Nanoseconds covered = knot_spacing_host + knot_spacing_host / 1000;
    if (next == knots_.end()) return grown(from, t - from.host - knot_spacing_host, growth_outside);
    if (next->host - from.host <= covered) return from.half_width;
    const ClockKnot& wider = from.half_width >= next->half_width ? from : *next;
    return grown(wider, std::min(t - from.host, next->host - t), growth_in_hole);
}

double ClockMap::rate_ppm(HostTime t) const {
    assert(!knots_.empty());
    const auto next = std::upper_bound(knots_.begin(), knots_.end(), t,
                                       [](HostTime time, const ClockKnot& knot) { return time < knot.host; });
    return next == knots_.begin() ? knots_.front().rate_ppm : (next - 1)->rate_ppm;
}

}  // namespace wattrig::rig
