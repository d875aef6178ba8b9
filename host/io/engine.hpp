#pragma once
// Runs one phase: the threaded driver on real targets, the virtual driver in virtual time. Both drive the same worker.

#include <atomic>
#include <cstdint>
#include <functional>
#include <memory>
#include <span>
#include <string>
#include <vector>

#include "host/base/clock.hpp"
#include "host/base/result.hpp"
#include "host/base/spsc_ring.hpp"
#include "host/io/backend.hpp"
#include "host/io/operation.hpp"
#include "host/io/outcome.hpp"
#include "host/io/workload.hpp"

namespace wattrig::io {

// Set from a signal handler or another thread to end the phase cleanly: no new operations, those in flight are waited for.
using StopFlag = std::atomic<bool>;

// What is seen while a phase runs; for progress on a terminal. Rates over the last second.
struct Progress {
    Nanoseconds elapsed;  // of the measured part
    double done;          // 0 .. 1, by the limit that will be reached first
    double operations_per_second;
    double bytes_per_second;
};
using ProgressCallback = std::function<void(const Progress&)>;
// Share of the limit that is reached first, 0 .. 1; 0 during the ramp.
double progress_done(const Workload& workload, Nanoseconds elapsed, std::uint64_t operations, std::uint64_t bytes);

// A worker's records for whoever follows (the simulated rig). `watermark`: nothing with an issue time before it will come any
// more, so power may be made up to there; the worker raises it on every turn and at least each 10 ms when idle.
struct OperationTap {
    explicit OperationTap(std::size_t capacity) : records(capacity) {}
    SpscRing<OperationRecord> records;
    std::atomic<std::int64_t> watermark{0};  // HostTime ns
};

struct ThreadedOptions {
    // One backend for a worker, made on its thread. `buffers` is the worker's memory, to be registered where possible.
    std::function<Result<std::unique_ptr<Backend>>(std::uint32_t worker, std::span<std::byte> buffers)> make_backend;
    std::uint64_t target_size = 0;  // bytes
    std::uint32_t logical_block = 512;
    int descriptor = -1;              // of the target, for the block layer's own mean depth; -1 = device_mean_depth stays -1
    std::vector<int> cpus;            // worker k is pinned to cpus[k % size]; empty = not pinned
    std::vector<OperationTap*> taps;  // empty, or one per worker
    std::string operation_log;        // path; empty = none
    const StopFlag* stop = nullptr;
    ProgressCallback progress;                  // called on the calling thread, at most 5 times a second
    Nanoseconds drain_timeout{30'000'000'000};  // for operations in flight after the end; then they are cancelled and counted
};
// Blocks until the phase has ended. Any thread, one phase at a time per target.
Result<PhaseOutcome> run_threaded(const Workload& workload, const ThreadedOptions& options);

// Something that lives in virtual time beside the drive: rig, link, capture.
class VirtualActor {
  public:
    virtual ~VirtualActor() = default;
    [[nodiscard]] virtual HostTime next_event() const = 0;
    virtual void run(HostTime now) = 0;  // everything that is due at `now`
};

// The single-threaded event loop. Time stands still except inside run_virtual and advance_to.
class VirtualLoop {
  public:
    void add(VirtualActor& actor) {
        actors_.push_back(&actor);
        actor_event_ = HostTime::min();
    }
    [[nodiscard]] HostTime now() const { return now_; }
    // Plays all actors (and `backend`, if any) up to `until`.
    void advance_to(HostTime until, VirtualBackend* backend = nullptr);
    // For drivers: earliest event of all actors; run those due at t and set now.
    [[nodiscard]] HostTime next_actor_event() const { return actor_event_; }
    void run_actors(HostTime t) {
        if (t > now_) now_ = t;
        if (actor_event_ <= t) run_due_actors(t);
    }
    // Asks all actors again. Whoever makes an actor's next event earlier from outside of run() calls it; run_virtual and
    // advance_to do so at their begin.
    void look_at_actors();

  private:
    void run_due_actors(HostTime t);

    std::vector<VirtualActor*> actors_;
    HostTime now_{};
    HostTime actor_event_ =
        HostTime::max();  // the earliest of all; asking each on every turn costs more than the drive's model
};

struct VirtualOptions {
    std::uint64_t target_size = 0;
    std::uint32_t logical_block = 512;
    bool aggregate = false;  // let the backend leap
    const StopFlag* stop = nullptr;
    ProgressCallback progress;
    std::string operation_log;
};
Result<PhaseOutcome> run_virtual(const Workload& workload, VirtualBackend& backend, VirtualLoop& loop,
                                 const VirtualOptions& options);

}  // namespace wattrig::io
