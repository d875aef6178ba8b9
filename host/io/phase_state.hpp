#pragma once
// What the workers of one phase share. Limits and bursts are budgets of the whole phase, not a share for each worker: a slow
// worker must not leave the drive at a fraction of the depth while it finishes its part. Workers claim in portions that shrink
// as the budget does, so the counter is touched rarely and all of them end at the same time.
//
// Thread rule: any io thread, unless said otherwise.

#include <algorithm>
#include <atomic>
#include <cmath>
#include <cstdint>
#include <limits>
#include <mutex>
#include <optional>
#include <vector>

#include "host/base/clock.hpp"
#include "host/io/address.hpp"
#include "host/io/outcome.hpp"
#include "host/io/windows.hpp"
#include "host/io/workload.hpp"

namespace wattrig::io {

inline constexpr std::int64_t no_budget_limit = std::numeric_limits<std::int64_t>::max() / 2;

// A number of operations or bytes to be given out.
class Budget {
  public:
    // `rounding`: `total` is rounded up to a multiple of it. `grain`: so are portions; `single`: every portion is one grain.
    // Not while others claim.
    void set(std::optional<std::uint64_t> total, std::uint64_t rounding, std::uint64_t grain, std::uint32_t workers,
             bool single) {
        single_ = single && workers > 1;
        limited_ = total.has_value();
        workers_ = workers;
        grain_ = static_cast<std::int64_t>(grain);
        const auto step = static_cast<std::int64_t>(rounding);
        left_.store(limited_ ? (static_cast<std::int64_t>(*total) + step - 1) / step * step : no_budget_limit,
                    std::memory_order_relaxed);
    }
    // A portion, 0 when nothing is left.
    std::int64_t claim() {
        if (!limited_) return no_budget_limit;
        std::int64_t left = left_.load(std::memory_order_relaxed), portion = 0;
        do {
            if (left <= 0) return 0;
            const std::int64_t shares = workers_ == 1 ? 1 : std::int64_t{4} * workers_;
            portion = single_ ? grain_ : std::max(grain_, left / shares / grain_ * grain_);
            portion = std::min(portion, left);
        } while (!left_.compare_exchange_weak(left, left - portion, std::memory_order_relaxed));
        return portion;
    }
    [[nodiscard]] bool limited() const { return limited_; }
    [[nodiscard]] std::int64_t left() const { return left_.load(std::memory_order_relaxed); }

  private:
    std::atomic<std::int64_t> left_{no_budget_limit};
    std::int64_t grain_ = 1;
    std::uint32_t workers_ = 1;
    bool limited_ = false, single_ = false;
};

// Bursts of all workers together: the next one begins when the last operation of this one has completed on every worker and the
// idle time, made from the busy time really taken, is over.
class BurstGate {
  public:
    void set(const Bursts& bursts, std::uint64_t rounding, std::uint64_t grain, std::uint32_t workers) {
        bursts_ = bursts;
        rounding_ = rounding;
        grain_ = grain;
        workers_ = participants_ = workers;
        refill();
    }
    Budget operations, bytes;

    // Number of the current burst; a worker that waits looks for a change.
    [[nodiscard]] std::uint64_t number() const { return number_.load(std::memory_order_acquire); }
    // When the current burst may begin; valid once number() has shown it.
    [[nodiscard]] HostTime resume() const { return resume_; }
    // First submission of a worker in this burst.
    void begun(HostTime at) {
        std::int64_t seen = begin_.load(std::memory_order_relaxed);
        while (at.time_since_epoch().count() < seen &&
               !begin_.compare_exchange_weak(seen, at.time_since_epoch().count(), std::memory_order_relaxed)) {
        }
    }
    // A worker has nothing left to do in this burst; `last` is its last completion.
    void arrive(HostTime last) {
        const std::lock_guard lock(mutex_);
        last_ = std::max(last_, last);
        if (++arrived_ == participants_) next();
    }
    // A worker leaves for good, having arrived at the current burst or not.
    void leave(bool had_arrived, HostTime last) {
        const std::lock_guard lock(mutex_);
        last_ = std::max(last_, last);
        --participants_;
        if (had_arrived) --arrived_;
        if (participants_ > 0 && arrived_ == participants_) next();
    }
    // After all workers have ended: busy intervals, the last one cut at `end`.
    std::vector<Interval> finish(HostTime end) {
        const std::int64_t begin = begin_.load(std::memory_order_relaxed);
        if (begin != never && begin < end.time_since_epoch().count())
            intervals_.push_back(
                {HostTime(Nanoseconds(begin)), std::min(last_ > HostTime(Nanoseconds(begin)) ? last_ : end, end)});
        return std::move(intervals_);
    }

  private:
    static constexpr std::int64_t never = std::numeric_limits<std::int64_t>::max();

    void refill() {
        const auto portion = [](std::uint64_t n) { return n != 0 ? std::optional(n) : std::nullopt; };
        operations.set(portion(bursts_.operations), 1, 1, workers_, true);
        bytes.set(portion(bursts_.bytes), rounding_, grain_, workers_, true);
    }
    void next() {
        const HostTime begin = HostTime(Nanoseconds(begin_.load(std::memory_order_relaxed)));
        if (begin.time_since_epoch().count() != never) {
            intervals_.push_back({begin, last_});
            const double idle = static_cast<double>((last_ - begin).count()) * (1 - bursts_.duty) / bursts_.duty;
            resume_ = last_ + Nanoseconds(std::llround(idle));
        }
        begin_.store(never, std::memory_order_relaxed);
        arrived_ = 0;
        refill();
        number_.fetch_add(1, std::memory_order_release);
    }

    Bursts bursts_{};
    std::uint64_t rounding_ = 1, grain_ = 1;
    std::mutex mutex_;
    std::uint32_t workers_ = 1, participants_ = 1, arrived_ = 0;
    std::atomic<std::int64_t> begin_{never};
    HostTime last_{}, resume_{};
    std::atomic<std::uint64_t> number_{0};
    std::vector<Interval> intervals_;
};

struct PhaseState {
    explicit PhaseState(const Workload& workload) {
        // Whole operations: with one block size the total can be rounded; with several the last one may reach beyond it.
        const std::uint64_t grain = workload.largest_block(), rounding = workload.block_sizes.size() == 1 ? grain : 1;
        // Two budgets at once: a worker that hoarded one of them while another holds the other would leave a rest of the last
        // burst to one of its own, after an idle time.
        const bool single = workload.bursts.has_value();
        operations.set(workload.limit.operations, 1, 1, workload.workers, single);
        bytes.set(workload.limit.bytes, rounding, grain, workload.workers, single);
        if (workload.bursts) gate.set(*workload.bursts, rounding, grain, workload.workers);
    }
    PhaseState(const PhaseState&) = delete;
    PhaseState& operator=(const PhaseState&) = delete;

    // Ends the phase for all workers; the first reason stays.
    void request_stop(StopReason reason) {
        int none = running;
        stop.compare_exchange_strong(none, static_cast<int>(reason), std::memory_order_relaxed);
    }
    [[nodiscard]] bool stopping() const { return stop.load(std::memory_order_relaxed) != running; }

    static constexpr int running = -1;
    std::atomic<int> stop{running};  // a StopReason
    std::atomic<std::uint64_t> errors{0};
    Budget operations, bytes;
    CoverPosition cover{0};
    FineUntil fine_until{0};
    BurstGate gate;
};

}  // namespace wattrig::io
