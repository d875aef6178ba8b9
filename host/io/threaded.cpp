// The driver on real time: a pinned thread a worker, one merged submit-and-wait a turn. Only this file and the io_uring backend
// wait, and only here is the engine's clock read: once before and once after each entry into the kernel.

#include <fmt/format.h>
#include <pthread.h>
#include <sched.h>
#include <sys/mman.h>
#include <sys/prctl.h>
#include <sys/resource.h>

#include <algorithm>
#include <atomic>
#include <chrono>
#include <condition_variable>
#include <mutex>
#include <thread>
#include <utility>
#include <vector>

#include "host/io/device_depth.hpp"
#include "host/io/engine.hpp"
#include "host/io/operation_log.hpp"
#include "host/io/worker.hpp"

namespace wattrig::io {

namespace {

constexpr Nanoseconds burst_poll{50'000};  // while the other workers end a burst
constexpr Nanoseconds watermark_period{10'000'000};
constexpr Nanoseconds far_away{100'000'000};  // beyond it a deadline costs no look at the clock
constexpr Nanoseconds polled_lead{60'000};    // before a due time: a timer wakes too late by tens of microseconds
constexpr Nanoseconds cancel_timeout{5'000'000'000};
constexpr Nanoseconds progress_period{200'000'000};

class Memory {
  public:
    explicit Memory(std::size_t size) : size_(size) {
        void* p = mmap(nullptr, size, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
        if (p == MAP_FAILED) return;
        data_ = static_cast<std::byte*>(p);
        (void)madvise(p, size, MADV_HUGEPAGE);
        for (std::size_t at = 0; at < size; at += 4096) data_[at] = std::byte{1};  // no page fault while measuring
    }
    ~Memory() {
        if (data_ != nullptr) munmap(data_, size_);
    }
    Memory(const Memory&) = delete;
    Memory& operator=(const Memory&) = delete;
    [[nodiscard]] std::span<std::byte> span() const { return {data_, data_ != nullptr ? size_ : 0}; }

  private:
    std::byte* data_ = nullptr;
    std::size_t size_;
};

double thread_cpu_seconds() {
    rusage usage{};
    getrusage(RUSAGE_THREAD, &usage);
    const auto seconds = [](const timeval& t) { return static_cast<double>(t.tv_sec) + static_cast<double>(t.tv_usec) * 1e-6; };
    return seconds(usage.ru_utime) + seconds(usage.ru_stime);
}

struct alignas(64) Published {  // by a worker's thread for the calling one
    std::atomic<std::uint64_t> operations{0}, bytes{0};
};

// All workers are ready, or one has failed; then they begin at one time.
class StartLine {
  public:
    explicit StartLine(std::uint32_t workers) : missing_(workers) {}
    // Nothing when the phase will not begin.
    std::optional<HostTime> arrive(bool ready) {
        std::unique_lock lock(mutex_);
        failed_ = failed_ || !ready;
        if (--missing_ == 0) {
            begin_ = real_host_time();
            changed_.notify_all();
        }
        changed_.wait(lock, [&] { return missing_ == 0; });
        if (failed_) return std::nullopt;
        return begin_;
    }
    HostTime wait() {
        std::unique_lock lock(mutex_);
        changed_.wait(lock, [&] { return missing_ == 0; });
        return begin_;
    }

  private:
    std::mutex mutex_;
    std::condition_variable changed_;
    std::uint32_t missing_;
    bool failed_ = false;
    HostTime begin_{};
};

class ThreadedRun {
  public:
    ThreadedRun(const Workload& workload, const ThreadedOptions& options, OperationLog* log)
        : workload_(workload),
          options_(options),
          log_(log),
          phase_(workload),
          start_(workload.workers),
          published_(workload.workers) {
        results_.resize(workload.workers);
        running_ = workload.workers;
    }

    Result<PhaseOutcome> run() {
        const std::string statistics = block_statistics_path(options_.descriptor);
        std::vector<std::thread> threads;
        threads.reserve(workload_.workers);
        for (std::uint32_t i = 0; i < workload_.workers; ++i)
            threads.emplace_back([this, i] {
                work(i);
                const std::lock_guard lock(mutex_);
                --running_;
                ended_.notify_one();
            });
        const HostTime begin = start_.wait();
        const std::optional<std::uint64_t> weighted = weighted_time(statistics);
        follow(begin);
        const HostTime end = real_host_time();
        const std::optional<std::uint64_t> weighted_end = weighted_time(statistics);
        for (std::thread& thread : threads) thread.join();

        std::vector<PhaseOutcome> parts;
        parts.reserve(results_.size());
        const Error* cause = nullptr;  // of the worker that failed first hand, not of those that then did not begin
        for (const auto& result : results_)
            if (result->error && (cause == nullptr || cause->kind == ErrorKind::interrupted)) cause = &*result->error;
        if (cause != nullptr) return *cause;
        for (auto& result : results_) parts.push_back(std::move(result->outcome));
        std::string engine = parts.front().engine;
        PhaseOutcome whole = merge_outcomes(std::move(parts), phase_, workload_);
        whole.engine = std::move(engine);
        // Over the whole phase, ramp and drain included: the counters cannot be read at the edges without disturbing it. Their
        // step of 1 ms is why short phases say nothing.
        const double ms = static_cast<double>((end - begin).count()) * 1e-6;
        if (weighted && weighted_end && ms >= 50) whole.device_mean_depth = static_cast<double>(*weighted_end - *weighted) / ms;
        return whole;
    }

  private:
    struct WorkerResult {
        std::optional<Error> error;  // it never began
        PhaseOutcome outcome;
    };

    void pin(std::uint32_t index) const {
        if (options_.cpus.empty()) return;
        cpu_set_t set;
        CPU_ZERO(&set);
        CPU_SET(static_cast<std::size_t>(options_.cpus[index % options_.cpus.size()]), &set);
        (void)pthread_setaffinity_np(pthread_self(), sizeof set, &set);
    }

    void work(std::uint32_t index) {
        results_[index] = std::make_unique<WorkerResult>();
        WorkerResult& result = *results_[index];
        pin(index);
        (void)prctl(PR_SET_TIMERSLACK, 1, 0, 0, 0);           // else the kernel adds 50 us to each timed wait
        const Memory memory(Worker::memory_size(workload_));  // after pinning: on this node
        if (memory.span().empty()) result.error = system_error("memory for the I/O buffers", ENOMEM);
        std::unique_ptr<Backend> backend;
        if (!result.error) {
            auto made = options_.make_backend(index, memory.span());
            if (made)
                backend = std::move(*made);
            else
                result.error = made.error();
        }
        if (!result.error && workload_.discard && !backend->capabilities().discard)
            result.error = device_refused("discard: expected a target that can discard, got one that cannot");
        std::unique_ptr<Worker> worker;
        if (!result.error) {
            WorkerOptions worker_options;
            worker_options.target_size = options_.target_size;
            worker_options.logical_block = options_.logical_block;
            worker_options.memory = memory.span();
            worker_options.tap = options_.taps.empty() ? nullptr : options_.taps[index];
            worker_options.log = log_;
            worker_options.poll = burst_poll;
            worker = std::make_unique<Worker>(workload_, phase_, index, worker_options);
        }
        const std::optional<HostTime> begin = start_.arrive(!result.error);
        if (!begin || result.error) {
            if (!result.error) result.error = Error{ErrorKind::interrupted, "another worker could not begin", 0};
            return;
        }
        const double cpu = thread_cpu_seconds();
        std::string failure = drive(*worker, *backend, *begin, index);
        const double cpu_end = thread_cpu_seconds();
        result.outcome = worker->take_outcome();
        result.outcome.cpu_seconds = cpu_end - cpu;
        result.outcome.failure = std::move(failure);
        result.outcome.engine = backend->capabilities().description;
    }

    // The loop. What broke the ring, or nothing.
    std::string drive(Worker& worker, Backend& backend, HostTime begin, std::uint32_t index) {
        std::vector<Completion> completions(workload_.batching == Batching::strict ? 1 : workload_.depth);
        const bool tapped = !options_.taps.empty();
        Published& published = published_[index];
        std::optional<HostTime> ending;  // since when nothing new is issued
        bool cancelled = false;
        worker.start(begin);
        for (HostTime now = real_host_time();; now = real_host_time()) {
            Turn turn = worker.next(now);
            if (turn.finished) return {};
            HostTime deadline = turn.deadline;
            if (tapped) deadline = std::min(deadline, now + watermark_period);
            if (turn.exact && turn.deadline - now <= polled_lead)
                turn.want = 0;
            else if (turn.exact)
                deadline = std::min(deadline, turn.deadline - polled_lead);
            if (deadline - now >= far_away) deadline = HostTime::max();

            const Result<std::size_t> reaped = backend.exchange(turn.operations, turn.want, deadline, completions);
            now = real_host_time();
            if (!reaped) {
                worker.fail(now);
                return reaped.error().message;
            }
            for (std::size_t i = 0; i < *reaped; ++i) completions[i].completed = now;
            worker.complete({completions.data(), *reaped}, now);
            published.operations.store(worker.operations(), std::memory_order_relaxed);
            published.bytes.store(worker.bytes(), std::memory_order_relaxed);

            if (options_.stop != nullptr && options_.stop->load(std::memory_order_relaxed)) [[unlikely]]
                phase_.request_stop(StopReason::interrupted);
            if (worker.ending()) [[unlikely]] {
                if (*reaped != 0 || !ending) ending = now;
                if (!cancelled && now - *ending > options_.drain_timeout) {
                    cancelled = true;
                    ending = now;
                    backend.cancel();
                } else if (cancelled && now - *ending > cancel_timeout) {
                    worker.fail(now);
                    return fmt::format("{} operations neither completed nor could be cancelled", worker.in_flight());
                }
            }
        }
    }

    // The calling thread, until all workers have ended.
    void follow(HostTime begin) {
        std::unique_lock lock(mutex_);
        HostTime last_at = begin + workload_.ramp;
        std::uint64_t last_operations = 0, last_bytes = 0;
        while (running_ > 0) {
            ended_.wait_for(lock, progress_period, [&] { return running_ == 0; });
            if (!options_.progress || running_ == 0) continue;
            std::uint64_t operations = 0, bytes = 0;
            for (const Published& p : published_) {
                operations += p.operations.load(std::memory_order_relaxed);
                bytes += p.bytes.load(std::memory_order_relaxed);
            }
            const HostTime now = real_host_time();
            const Nanoseconds elapsed = std::max(Nanoseconds(0), now - begin - workload_.ramp);
            if (now - last_at >= std::chrono::seconds(1)) {
                const double past = to_seconds(now - last_at);
                rate_operations_ = static_cast<double>(operations - last_operations) / past;
                rate_bytes_ = static_cast<double>(bytes - last_bytes) / past;
                last_at = now;
                last_operations = operations;
                last_bytes = bytes;
            } else if (rate_operations_ == 0 && elapsed.count() > 0) {
                rate_operations_ = static_cast<double>(operations) / to_seconds(elapsed);
                rate_bytes_ = static_cast<double>(bytes) / to_seconds(elapsed);
            }
            lock.unlock();
            options_.progress({elapsed, progress_done(workload_, elapsed, operations, bytes), rate_operations_, rate_bytes_});
            lock.lock();
        }
    }

    const Workload& workload_;
    const ThreadedOptions& options_;
    OperationLog* log_;
    PhaseState phase_;
    StartLine start_;
    std::vector<Published> published_;
    std::vector<std::unique_ptr<WorkerResult>> results_;
    std::mutex mutex_;
    std::condition_variable ended_;
    std::uint32_t running_ = 0;
    double rate_operations_ = 0, rate_bytes_ = 0;
};

}  // namespace

Result<PhaseOutcome> run_threaded(const Workload& workload, const ThreadedOptions& options) {
    if (auto r = check(workload, options.target_size, options.logical_block); !r) return r.error();
    if (!options.taps.empty() && options.taps.size() != workload.workers)
        return bad_input(
            fmt::format("taps: expected one for each of {} workers, got {}", workload.workers, options.taps.size()));
    std::unique_ptr<OperationLog> log;
    if (!options.operation_log.empty()) {
        auto made = OperationLog::create(options.operation_log, workload.workers, true);
        if (!made) return made.error();
        log = std::move(*made);
    }
    Result<PhaseOutcome> outcome = std::make_unique<ThreadedRun>(workload, options, log.get())->run();
    if (log && outcome) {
        if (auto r = log->finish(); !r) return r.error();
        outcome->log_dropped = log->dropped();
    }
    return outcome;
}

}  // namespace wattrig::io
