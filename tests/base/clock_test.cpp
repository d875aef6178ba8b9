#include "host/base/clock.hpp"

#include <gtest/gtest.h>

#include <type_traits>

using namespace wattrig;

namespace {

template <class A, class B>
concept Subtractable = requires(A a, B b) { a - b; };
static_assert(!Subtractable<HostTime, DeviceTime>, "only a clock map may turn one into the other");

TEST(Clock, ATickIsEightNanoseconds) {
    EXPECT_EQ(std::chrono::duration_cast<Nanoseconds>(Ticks(3840)).count(), 30'720);  // one sample, facts of the ADC clock
}

TEST(Clock, SecondsRoundBothWays) {
    EXPECT_EQ(from_seconds(1e-9 * 2.6).count(), 3);
    EXPECT_EQ(from_seconds(-1e-9 * 2.6).count(), -3);
    EXPECT_DOUBLE_EQ(to_seconds(Nanoseconds(1'500'000'000)), 1.5);
}

TEST(Clock, RealTimeNeverGoesBack) {
    HostTime last = real_host_time();
    EXPECT_GT(last.time_since_epoch().count(), 0);
    for (int i = 0; i < 1000; ++i) {
        const HostTime now = real_host_time();
        ASSERT_GE(now, last);
        last = now;
    }
}

}  // namespace
