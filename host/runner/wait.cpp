#include "host/runner/wait.hpp"

#include <algorithm>
#include <chrono>
#include <ctime>

namespace wattrig::runner {

HostTime wait_clock_now() { return real_host_time(); }

ClockPair wait_clock_pair() {
    // The tighter of a few tries: a preemption between the two readings would shift every wall clock time of the run.
    ClockPair best;
    Nanoseconds tightest = Nanoseconds::max();
    for (int k = 0; k < 5; ++k) {
        const HostTime before = real_host_time();
        timespec wall{};
        clock_gettime(CLOCK_REALTIME, &wall);
        const HostTime after = real_host_time();
        if (after - before >= tightest) continue;
        tightest = after - before;
        best = {before + (after - before) / 2, std::int64_t{wall.tv_sec} * 1'000'000'000 + wall.tv_nsec};
    }
    return best;
}

void Waiter::wait_until(HostTime until, const io::StopFlag* stop) {
    constexpr Nanoseconds slice = std::chrono::milliseconds(20);
    std::unique_lock lock(mutex_);
    while (!woken_ && !(stop && stop->load(std::memory_order_relaxed))) {
        const Nanoseconds left = until - real_host_time();
        if (left <= Nanoseconds(0)) break;
        // The condition's clock is not CLOCK_MONOTONIC_RAW; over a slice the difference is nothing.
        condition_.wait_for(lock, stop ? std::min(left, slice) : left);
    }
    woken_ = false;
}

void Waiter::wake() {
    {
        const std::lock_guard lock(mutex_);
        woken_ = true;
    }
    condition_.notify_one();
}

}  // namespace wattrig::runner
