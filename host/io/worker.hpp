#pragma once
// One worker of a phase as a state machine without I/O and without a clock: it is told what has completed and when, and says
// what to submit next and how long to wait at most. A driver turns that into real time or virtual time:
//
//     worker.start(now);
//     for (Turn turn = worker.next(now); !turn.finished; turn = worker.next(now)) {
//         submit turn.operations; wait for turn.want completions, at most until turn.deadline; set now
//         worker.complete(completions, now);
//     }
//
// Stamps: all operations of one turn carry the `now` of its next(), taken before the submission; those of one complete() carry
// the time in their completions. With n operations in a turn the kernel's own submission of the first n-1 is thus part of the
// latency of the n-th.
//
// Rate: operation k is due at start + k / rate over all workers. A worker that finds itself behind (the drive stalled, so all
// slots were taken) works the backlog off at no more than twice its rate, 1 ms of slack excepted; latency counts from when each
// was due. With exponential gaps the backlog is issued at once: arrivals do not wait for each other.
//
// Flushes (`every_n`) take a slot and cover the writes completed by then; they count in no limit. The flush `at_end` follows
// measured_end: it is in kinds[flush], but in no window.
//
// Thread rule: one thread. Nothing allocates between start() and the end, except where errors are listed.

#include <cstdint>
#include <span>
#include <vector>

#include "host/base/clock.hpp"
#include "host/base/random.hpp"
#include "host/io/address.hpp"
#include "host/io/backend.hpp"
#include "host/io/data_pool.hpp"
#include "host/io/engine.hpp"
#include "host/io/operation.hpp"
#include "host/io/operation_log.hpp"
#include "host/io/outcome.hpp"
#include "host/io/phase_state.hpp"
#include "host/io/windows.hpp"
#include "host/io/workload.hpp"

namespace wattrig::io {

struct Turn {
    std::span<const Operation> operations;  // valid until the next call of next()
    std::size_t want = 0;                   // completions to wait for; 0 = do not wait
    HostTime deadline = HostTime::max();    // wait no longer than this, even with nothing in flight
    bool exact = false;                     // something is due at `deadline`: lateness would be measured
    bool finished = false;                  // the worker has ended
};

struct WorkerOptions {
    std::uint64_t target_size = 0;      // bytes
    std::uint32_t logical_block = 512;  // bytes
    std::span<std::byte> memory;        // memory_size() bytes, page-aligned; empty = operations without buffers
    OperationTap* tap = nullptr;
    OperationLog* log = nullptr;
    bool leaping = false;  // the backend may leap (fidelity aggregate)
    Nanoseconds poll{0};   // how often to look whether the other workers have ended a burst; 0 = the driver looks at the gate
};

class Worker {
  public:
    // The workload has passed check(); `index` < workload.workers. All references outlive the worker.
    Worker(const Workload& workload, PhaseState& phase, std::uint32_t index, const WorkerOptions& options);
    Worker(const Worker&) = delete;
    Worker& operator=(const Worker&) = delete;

    // Bytes of memory a worker needs for its slots and its share of the data pool.
    [[nodiscard]] static std::size_t memory_size(const Workload& workload);

    // All workers of a phase are started with the same `now`.
    void start(HostTime now);
    void complete(std::span<const Completion> completions, HostTime now);
    Turn next(HostTime now);

    // Whether a drive model may leap now: the full depth is in flight and nothing but completions will happen.
    [[nodiscard]] bool steady() const;
    // The latest time up to which a leap keeps limits, window edges and bursts right; `operations` and `bytes` are what all
    // workers have measured so far.
    [[nodiscard]] HostTime leap_limit(HostTime now, std::uint64_t operations, std::uint64_t bytes) const;
    // Accounts a leap from `from` (one worker gets the batch) and moves what is in flight along with it (every worker).
    void account(const Batch& batch, HostTime from);
    void shift(Nanoseconds leap);

    [[nodiscard]] bool ending() const { return state_ >= State::draining || exhausted_; }  // nothing new is issued
    [[nodiscard]] std::uint32_t in_flight() const { return in_flight_; }
    [[nodiscard]] std::uint64_t operations() const { return operations_; }  // measured so far, good and bad
    [[nodiscard]] std::uint64_t bytes() const { return bytes_; }            // measured so far
    [[nodiscard]] HostTime measured_begin() const { return measured_begin_; }
    // The ring has broken: ends at once, whatever is in flight.
    void fail(HostTime now);
    // After the end. Depth is the worker's own integral over its own measured time.
    PhaseOutcome take_outcome();

  private:
    enum class State : std::uint8_t { ramping, measuring, draining, flushing, finished };
    struct Slot {
        HostTime issued;
        HostTime due;  // where the response time begins
        std::uint64_t offset;
        std::uint32_t length;
        OperationKind kind;
        bool busy;
    };

    void cross_edges(HostTime now);
    void end_measuring(HostTime at, StopReason reason);
    void account_depth(HostTime now) {
        depth_integral_ += (now - depth_at_).count() * (measuring_ ? in_flight_ : 0);
        depth_at_ = now;
    }
    void finish_operation(const Completion& completion);
    void finish_badly(const Slot& slot, const Completion& completion, bool counted);
    void count_error(OperationKind kind, int os_error, std::uint64_t offset);

    void fill(HostTime now, Turn& turn);
    bool refill_limits();
    enum class Gate : std::uint8_t { open, closed };
    Gate pass_bursts(HostTime now, Turn& turn);
    Gate pass_rate(HostTime now, Turn& turn);
    void schedule_next(HostTime now, std::uint32_t length);
    void issue_flush(HostTime now);
    void issue(HostTime now);
    std::byte* write_buffer(std::uint32_t slot, std::uint64_t offset, std::uint32_t length);
    void leave_gate();
    void raise_watermark(HostTime now);

    // Hot: read or written for each operation.
    State state_ = State::ramping;
    bool measuring_ = false;  // between measured_begin and measured_end
    bool rate_ = false, bursts_ = false, verify_ = false, follow_ = false;
    std::uint32_t in_flight_ = 0;
    std::uint32_t free_count_ = 0, turn_count_ = 0;
    HostTime next_edge_{};  // of ramp or time limit
    HostTime measured_begin_{}, measured_end_ = HostTime::max();
    HostTime depth_at_{};
    std::int64_t depth_integral_ = 0;  // operations x ns
    double batch_depth_integral_ = 0;
    std::int64_t left_operations_ = no_budget_limit, left_bytes_ = no_budget_limit;  // claimed, not yet issued
    std::uint64_t operations_ = 0, bytes_ = 0;
    std::uint64_t read_threshold_ = 0;  // of 2^32
    OperationKind write_kind_ = OperationKind::write;
    std::vector<Slot> slots_;
    std::vector<std::uint32_t> free_;
    std::vector<Operation> turn_operations_;
    AddressGenerator addresses_;
    Random random_;
    WindowCounter windows_;
    std::uint32_t sync_every_ = 0, writes_since_sync_ = 0;

    // Bursts.
    std::int64_t burst_operations_ = 0, burst_bytes_ = 0;
    std::uint64_t burst_number_ = 0;
    bool burst_arrived_ = false, burst_begun_ = false, left_gate_ = false;
    HostTime burst_resume_{};

    // Rate.
    double interval_ = 0;  // ns between this worker's operations, or ns a byte
    bool rate_in_bytes_ = false;
    double due_exact_ = 0;          // ns since start of the next operation
    std::uint64_t rate_count_ = 0;  // operations or bytes issued
    HostTime due_{}, pace_floor_{};
    Random gaps_;

    const Workload& workload_;
    PhaseState& phase_;
    std::uint32_t index_;
    WorkerOptions options_;
    std::size_t slot_bytes_ = 0, pool_offset_ = 0, pool_bytes_ = 0;
    std::uint64_t generation_ = 0;
    HostTime begin_{}, last_completion_{}, watermark_at_{};
    bool exhausted_ = false;  // the phase's budget has been issued
    StopReason exhausted_reason_ = StopReason::operations;
    StopReason reason_ = StopReason::time;
    PhaseOutcome outcome_;
};

// All workers' outcomes as one; `phase` gives the bursts.
PhaseOutcome merge_outcomes(std::vector<PhaseOutcome> parts, PhaseState& phase, const Workload& workload);

}  // namespace wattrig::io
