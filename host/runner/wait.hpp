#pragma once
// The runner's only way to let real time pass or to read a clock. Everything else in this folder is given the time.

#include <condition_variable>
#include <cstdint>
#include <mutex>

#include "host/base/clock.hpp"
#include "host/io/engine.hpp"

namespace wattrig::runner {

HostTime wait_clock_now();  // CLOCK_MONOTONIC_RAW. Any thread.

// Readings of the host's two clocks, taken together: the wall clock is in one place of a recording, for humans.
struct ClockPair {
    HostTime monotonic;
    std::int64_t realtime_ns = 0;  // since 1970-01-01 UTC
};
ClockPair wait_clock_pair();

// Something to wait on that another thread may end early. Thread rule: wait_until from one thread, wake from any.
class Waiter {
  public:
    // Returns at `until`, after wake(), or within 20 ms of `stop` being set (a signal handler cannot wake anybody).
    void wait_until(HostTime until, const io::StopFlag* stop = nullptr);
    void wake();

  private:
    std::mutex mutex_;
    std::condition_variable condition_;
    bool woken_ = false;
};

}  // namespace wattrig::runner
