// The rig's crystal as the simulation has it.

#include <gtest/gtest.h>

#include <cmath>

#include "host/sim/device_clock.hpp"

namespace wattrig::sim {
namespace {

using namespace std::chrono_literals;

TEST(ClockModel, StaysWithinTheLimitsOfACrystal) {
    double lowest = 0, highest = 0;
    for (std::uint64_t seed = 1; seed <= 200; ++seed) {
        const ClockModel clock(seed, HostTime{});
        double before = clock.rate_ppm(HostTime{});
        lowest = std::min(lowest, before);
        highest = std::max(highest, before);
        EXPECT_LE(std::abs(before), 103);
        for (int minute = 1; minute <= 30; ++minute) {
            const double rate = clock.rate_ppm(HostTime(std::chrono::minutes(minute)));
            EXPECT_LE(std::abs(rate - before), 1.0) << "ppm in a minute, seed " << seed;
            before = rate;
        }
    }
    EXPECT_LT(lowest, -80);
    EXPECT_GT(highest, 80);
}

TEST(ClockModel, BothDirectionsAgreeForADay) {
    ClockModel clock(7, HostTime{});
    const DeviceTime begin = clock.to_device(HostTime{});
    for (std::int64_t k = 0; k < 2000; ++k) {
        const HostTime host(Nanoseconds(k * 43'200'123'457 % 86'400'000'000'000));
        const DeviceTime device = clock.to_device(host);
        // The first nanosecond of that tick: at most one tick (8 ns) earlier.
        const HostTime back = clock.to_host(device);
        EXPECT_LE(back, host);
        EXPECT_LE((host - back).count(), 8);
        EXPECT_GE(clock.to_device(back), device);
        EXPECT_NEAR(clock.to_device_ticks(host), static_cast<double>(device.time_since_epoch().count()), 1.01);
    }
    // Never more than 104 ppm from 0.125 ticks a nanosecond over the whole day.
    const double day = static_cast<double>((clock.to_device(HostTime(24h)) - begin).count());
    EXPECT_NEAR(day / (86400.0 * 125e6), 1, 104e-6);
}

}  // namespace
}  // namespace wattrig::sim
