#pragma once
// The two clocks of a run. Host time is CLOCK_MONOTONIC_RAW in nanoseconds; device time is the rig's crystal in ticks of 8 ns.
// They are different types: only host/rig's clock map turns one into the other. In virtual time the host clock starts at 0.

#include <chrono>
#include <cstdint>
#include <ratio>

namespace wattrig {

using Nanoseconds = std::chrono::duration<std::int64_t, std::nano>;
using Ticks = std::chrono::duration<std::int64_t, std::ratio<1, 125'000'000>>;

struct HostClock {  // no now() here: only the two drivers and links of real rigs read a clock (real_host_time)
    using rep = std::int64_t;
    using period = std::nano;
    using duration = Nanoseconds;
    using time_point = std::chrono::time_point<HostClock>;
    static constexpr bool is_steady = true;
};
using HostTime = HostClock::time_point;

struct DeviceClock {
    using rep = std::int64_t;
    using period = std::ratio<1, 125'000'000>;
    using duration = Ticks;
    using time_point = std::chrono::time_point<DeviceClock>;
    static constexpr bool is_steady = true;
};
using DeviceTime = DeviceClock::time_point;

constexpr double to_seconds(Nanoseconds d) { return static_cast<double>(d.count()) * 1e-9; }
constexpr Nanoseconds from_seconds(double s) { return Nanoseconds(static_cast<std::int64_t>(s * 1e9 + (s < 0 ? -0.5 : 0.5))); }

// CLOCK_MONOTONIC_RAW, now. Any thread. Called only by the engine's threaded driver, real links and the cli (a test sees to
// it).
HostTime real_host_time();

}  // namespace wattrig
