#include "host/rig/clock_map.hpp"

#include <gtest/gtest.h>

namespace wattrig::rig {
namespace {

DeviceTime device(std::int64_t ticks) { return DeviceTime(Ticks(ticks)); }
HostTime host(std::int64_t ns) { return HostTime(Nanoseconds(ns)); }

ClockMap two_knots() {
    // 0.25 s of the device's are 250'010'000 ns of the host's: 40 ppm.
    return ClockMap({{device(1'000'000'000'000), host(5'000'000'000), Nanoseconds(60'000), 40},
                     {device(1'000'031'250'000), host(5'250'010'000), Nanoseconds(50'000), -20}},
                    3, "live");
}

TEST(ClockMap, IsLinearBetweenAndStraightOutside) {
    const ClockMap map = two_knots();
    EXPECT_EQ(map.to_host(device(1'000'000'000'000)), host(5'000'000'000));
    EXPECT_EQ(map.to_host(device(1'000'015'625'000)), host(5'125'005'000));
    EXPECT_EQ(map.to_host(device(1'000'031'250'000)), host(5'250'010'000));
    EXPECT_EQ(map.to_host(device(1'000'156'250'000)), host(6'249'990'000)) << "1 s behind the end at -20 ppm";
    EXPECT_EQ(map.to_host(device(999'875'000'000)), host(3'999'960'000)) << "1 s before the begin at 40 ppm";
}

TEST(ClockMap, ThereAndBackStaysWithinATick) {
    const ClockMap map = two_knots();
    for (std::int64_t ns = 3'000'000'000; ns < 7'000'000'000; ns += 12'345'678) {
        const Nanoseconds error = map.to_host(map.to_device(host(ns))) - host(ns);
        EXPECT_LE(std::abs(error.count()), 9) << ns;
    }
}

TEST(ClockMap, BoundsGrowOutsideTheKnots) {
    const ClockMap map = two_knots();
    EXPECT_EQ(map.half_width(host(5'100'000'000)).count(), 60'000);
    EXPECT_EQ(map.half_width(host(5'300'000'000)).count(), 50'000) << "the last knot answers for its quarter second";
    EXPECT_EQ(map.half_width(host(5'500'010'000 + 1'000'000'000)).count(), 50'000 + 400'000);
    EXPECT_EQ(map.half_width(host(4'000'000'000)).count(), 60'000 + 400'000);
}

TEST(ClockMap, BoundsGrowInAHoleBetweenKnots) {
    ClockMap map = two_knots();
    map.append({device(1'000'031'250'000 + 1'250'000'000), host(15'250'000'000), Nanoseconds(80'000), 0});
    EXPECT_EQ(map.half_width(host(5'250'010'000 + 2'000'000'000)).count(), 80'000 + 600'000);
    EXPECT_EQ(map.half_width(host(15'250'000'000 - 1'000'000'000)).count(), 80'000 + 300'000);
}

TEST(ClockMap, KeepsNanosecondsAfterMonths) {
    // 100 days on both clocks: a double has steps of 1 ns there, a product of two would have lost them.
    const std::int64_t ticks = 100ll * 86'400 * 125'000'000;
    const ClockMap map({{device(ticks), host(100ll * 86'400 * 1'000'000'000), Nanoseconds(1), 100}});
    EXPECT_EQ((map.to_host(device(ticks + 1)) - map.to_host(device(ticks))).count(), 8);
    EXPECT_EQ((map.to_host(device(ticks + 1'250'000'000)) - map.to_host(device(ticks))).count(), 10'001'000'000);
}

}  // namespace
}  // namespace wattrig::rig
