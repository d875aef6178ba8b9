// The event loop of virtual time: drive model, workers and everything else that lives in it, on one thread. The next thing that
// happens is looked for, time is set to it, and nothing ever waits.

#include <algorithm>
#include <memory>
#include <utility>
#include <vector>

#include "host/io/engine.hpp"
#include "host/io/operation_log.hpp"
#include "host/io/worker.hpp"

namespace wattrig::io {

namespace {

constexpr Nanoseconds longest_leap{1'000'000'000};
constexpr Nanoseconds shortest_leap{50'000};  // below it playing the operations costs less than the leap's histograms
constexpr std::size_t reap_capacity = 1024;
constexpr std::uint32_t turns_between_looks = 1 << 14;  // at the stop flag and the wall clock

class VirtualRun {
  public:
    VirtualRun(const Workload& workload, VirtualBackend& backend, VirtualLoop& loop, const VirtualOptions& options,
               OperationLog* log)
        : workload_(workload),
          backend_(backend),
          loop_(loop),
          options_(options),
          phase_(workload),
          completions_(reap_capacity) {
        WorkerOptions worker_options;
        worker_options.target_size = options.target_size;
        worker_options.logical_block = options.logical_block;
        worker_options.log = log;
        worker_options.leaping = options.aggregate;
        workers_.reserve(workload.workers);
        for (std::uint32_t i = 0; i < workload.workers; ++i)
            workers_.push_back(std::make_unique<Worker>(workload, phase_, i, worker_options));
        deadlines_.resize(workload.workers, HostTime::max());
        finished_.resize(workload.workers, false);
        dirty_.resize(workload.workers, false);
    }

    Result<PhaseOutcome> run() {
        now_ = loop_.now();
        backend_.begin_phase(workload_, now_);
        loop_.look_at_actors();
        for (auto& worker : workers_) worker->start(now_);
        for (std::uint32_t i = 0; i < workers_.size(); ++i) turn(i);
        while (unfinished_ > 0) {
            if (options_.aggregate && leap()) continue;
            // By value: std::min picks by reference, which makes this go through memory on every turn.
            HostTime event = backend_.next_event();
            if (const HostTime actor = loop_.next_actor_event(); actor < event) event = actor;
            if (deadline_ < event) event = deadline_;
            if (event == HostTime::max()) {
                for (auto& worker : workers_) worker->fail(now_);
                backend_.end_phase(now_);
                return device_refused("drive model: expected a next event while operations are in flight, got none");
            }
            if (event > now_) now_ = event;
            loop_.run_actors(now_);
            reap();
            if (deadline_ <= now_) wake();
            if (workload_.bursts && phase_.gate.number() != gate_seen_) wake_all();
            if (++turns_ % turns_between_looks == 0) look();
        }
        backend_.end_phase(now_);
        std::vector<PhaseOutcome> parts;
        parts.reserve(workers_.size());
        for (auto& worker : workers_) parts.push_back(worker->take_outcome());
        PhaseOutcome whole = merge_outcomes(std::move(parts), phase_, workload_);
        whole.engine = options_.aggregate ? "virtual aggregate" : "virtual exact";
        const std::string description = backend_.capabilities().description;
        if (!description.empty()) whole.engine += ", " + description;
        return whole;
    }

  private:
    void turn(std::uint32_t index) {
        const Turn t = workers_[index]->next(now_);
        if (!t.operations.empty()) backend_.submit(index, t.operations, now_);
        if (t.finished) {
            if (!finished_[index]) --unfinished_;
            finished_[index] = true;
        }
        const HostTime deadline = t.finished ? HostTime::max() : t.deadline;
        if (deadline == deadlines_[index]) return;
        deadlines_[index] = deadline;
        deadline_ = deadlines_.size() == 1 ? deadline : *std::min_element(deadlines_.begin(), deadlines_.end());
    }

    void reap() {
        std::size_t n = 0;
        do {
            n = backend_.reap(now_, completions_);
            if (workers_.size() == 1) {
                if (n != 0) {
                    workers_[0]->complete({completions_.data(), n}, now_);
                    dirty_[0] = true;
                }
            } else {
                for (std::size_t i = 0; i < n;) {  // runs of one worker's completions
                    const std::uint32_t worker = completions_[i].slot >> 16;
                    std::size_t end = i + 1;
                    while (end < n && completions_[end].slot >> 16 == worker) ++end;
                    workers_[worker]->complete({completions_.data() + i, end - i}, now_);
                    dirty_[worker] = true;
                    i = end;
                }
            }
        } while (n == completions_.size());
        if (workers_.size() == 1) {
            if (std::exchange(dirty_[0], 0) != 0) turn(0);
            return;
        }
        for (std::uint32_t i = 0; i < dirty_.size(); ++i)
            if (std::exchange(dirty_[i], 0) != 0) turn(i);
    }

    void wake() {
        for (std::uint32_t i = 0; i < deadlines_.size(); ++i)
            if (deadlines_[i] <= now_) turn(i);
    }

    // A burst has begun or ended: every worker looks at the gate, and what they do may open it again.
    void wake_all() {
        while (gate_seen_ != phase_.gate.number()) {
            gate_seen_ = phase_.gate.number();
            for (std::uint32_t i = 0; i < workers_.size(); ++i)
                if (!finished_[i]) turn(i);
        }
    }

    bool leap() {
        for (std::size_t i = 0; i < workers_.size(); ++i)
            if (!workers_[i]->steady()) return false;
        HostTime until = now_ + longest_leap;
        const auto [operations, bytes] = measured();
        for (const auto& worker : workers_) until = std::min(until, worker->leap_limit(now_, operations, bytes));
        if (until - now_ < shortest_leap) return false;
        const std::optional<Batch> batch = backend_.leap(now_, until);
        if (!batch || batch->until <= now_) return false;
        workers_[0]->account(*batch, now_);
        for (auto& worker : workers_) worker->shift(batch->until - now_);
        now_ = batch->until;
        loop_.advance_to(now_);
        if (deadline_ <= now_) wake();
        if (++turns_ % 64 == 0) look();
        return true;
    }

    [[nodiscard]] std::pair<std::uint64_t, std::uint64_t> measured() const {
        std::pair<std::uint64_t, std::uint64_t> sum{0, 0};
        for (const auto& worker : workers_) {
            sum.first += worker->operations();
            sum.second += worker->bytes();
        }
        return sum;
    }

    void look() {
        if (options_.stop != nullptr && options_.stop->load(std::memory_order_relaxed))
            phase_.request_stop(StopReason::interrupted);
        if (!options_.progress) return;
        const HostTime wall = real_host_time();
        if (wall - progress_at_ < Nanoseconds(200'000'000)) return;
        progress_at_ = wall;
        const auto [operations, bytes] = measured();
        const Nanoseconds elapsed = std::max(Nanoseconds(0), now_ - workers_[0]->measured_begin());
        const double past = to_seconds(now_ - progress_now_);
        Progress progress{elapsed, progress_done(workload_, elapsed, operations, bytes), 0, 0};
        if (past > 0) {
            progress.operations_per_second = static_cast<double>(operations - progress_operations_) / past;
            progress.bytes_per_second = static_cast<double>(bytes - progress_bytes_) / past;
        }
        progress_now_ = now_;
        progress_operations_ = operations;
        progress_bytes_ = bytes;
        options_.progress(progress);
    }

    const Workload& workload_;
    VirtualBackend& backend_;
    VirtualLoop& loop_;
    const VirtualOptions& options_;
    PhaseState phase_;
    std::vector<std::unique_ptr<Worker>> workers_;
    std::vector<Completion> completions_;
    std::vector<HostTime> deadlines_;
    std::vector<char> finished_, dirty_;
    std::size_t unfinished_ = workload_.workers;
    HostTime now_{}, deadline_ = HostTime::max();
    std::uint64_t gate_seen_ = 0;
    std::uint32_t turns_ = 0;
    HostTime progress_at_{}, progress_now_{};
    std::uint64_t progress_operations_ = 0, progress_bytes_ = 0;
};

}  // namespace

void VirtualLoop::look_at_actors() {
    actor_event_ = HostTime::max();
    for (const VirtualActor* actor : actors_)
        if (const HostTime event = actor->next_event(); event < actor_event_) actor_event_ = event;
}

void VirtualLoop::run_due_actors(HostTime t) {
    for (VirtualActor* actor : actors_)
        if (actor->next_event() <= t) actor->run(t);
    look_at_actors();
}

void VirtualLoop::advance_to(HostTime until, VirtualBackend* backend) {
    Completion none[16];
    look_at_actors();
    for (;;) {
        HostTime event = next_actor_event();
        if (backend != nullptr) event = std::min(event, backend->next_event());
        if (event > until) break;
        run_actors(std::max(event, now_));
        if (backend != nullptr)
            while (backend->reap(now_, none) == std::size(none)) {
            }
    }
    now_ = std::max(now_, until);
    if (backend != nullptr) (void)backend->reap(now_, none);
}

Result<PhaseOutcome> run_virtual(const Workload& workload, VirtualBackend& backend, VirtualLoop& loop,
                                 const VirtualOptions& options) {
    if (auto r = check(workload, options.target_size, options.logical_block); !r) return r.error();
    if (workload.discard && !backend.capabilities().discard)
        return device_refused("discard: expected a target that can discard, got one that cannot");
    std::unique_ptr<OperationLog> log;
    if (!options.operation_log.empty()) {
        auto made = OperationLog::create(options.operation_log, workload.workers, false);
        if (!made) return made.error();
        log = std::move(*made);
    }
    Result<PhaseOutcome> outcome = std::make_unique<VirtualRun>(workload, backend, loop, options, log.get())->run();
    if (log) {
        if (auto r = log->finish(); !r && outcome) return r.error();
    }
    return outcome;
}

}  // namespace wattrig::io
