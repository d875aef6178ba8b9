#include "host/runner/wait.hpp"

#include <gtest/gtest.h>

#include <chrono>
#include <thread>

namespace wattrig::runner {
namespace {

using namespace std::chrono_literals;

TEST(Waiter, ReturnsAtItsTime) {
    Waiter waiter;
    const HostTime begin = wait_clock_now();
    waiter.wait_until(begin + 30ms);
    EXPECT_GE(wait_clock_now() - begin, Nanoseconds(30ms));
}

TEST(Waiter, TheStopFlagEndsAWait) {
    Waiter waiter;
    io::StopFlag stop{false};
    std::thread setter([&] { stop = true; });
    const HostTime begin = wait_clock_now();
    waiter.wait_until(begin + 60s, &stop);
    setter.join();
    EXPECT_LT(wait_clock_now() - begin, Nanoseconds(30s));
}

TEST(Waiter, AWakeBeforeTheWaitIsNotLost) {
    Waiter waiter;
    waiter.wake();
    const HostTime begin = wait_clock_now();
    waiter.wait_until(begin + 60s);
    EXPECT_LT(wait_clock_now() - begin, Nanoseconds(30s));
}

TEST(Waiter, TheTwoClocksAreReadTogether) {
    const HostTime before = wait_clock_now();
    const ClockPair pair = wait_clock_pair();
    EXPECT_GE(pair.monotonic, before);
    EXPECT_LE(pair.monotonic, wait_clock_now());
    EXPECT_GT(pair.realtime_ns, 1'700'000'000'000'000'000);
}

}  // namespace
}  // namespace wattrig::runner
