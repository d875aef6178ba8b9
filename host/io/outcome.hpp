#pragma once
// What a phase of I/O did. Everything is counted from completions after the ramp; times are host times.

#include <array>
#include <cstdint>
#include <string>
#include <vector>

#include "host/base/clock.hpp"
#include "host/base/histogram.hpp"
#include "host/io/operation.hpp"

namespace wattrig::io {

struct KindOutcome {
    std::uint64_t operations = 0;
    std::uint64_t bytes = 0;
    std::uint64_t errors = 0;       // not in `operations`
    Histogram latency;              // response time: from the intended start at a fixed rate, else from the issue stamp
    std::uint64_t latency_sum = 0;  // ns
    std::uint64_t latency_minimum = UINT64_MAX;
    std::uint64_t latency_maximum = 0;
    Histogram service;  // at a fixed rate: from the issue stamp; else empty
};

struct ErrorCount {
    OperationKind kind;
    int os_error;  // errno; EIO for a short transfer
    std::uint64_t count;
    std::uint64_t first_offset;
};

// Counters of one window: 1 ms for the first 10 s of a phase and around errors, then 100 ms, then (after 10 min) 1 s. In
// fidelity aggregate 1 ms ends after the first second.
struct Window {
    Nanoseconds begin;  // since PhaseOutcome::begin
    Nanoseconds length;
    std::uint32_t reads, writes, errors;
    std::uint64_t read_bytes, write_bytes;
    std::uint64_t latency_sum, latency_maximum;  // ns, of all kinds
};

struct Interval {
    HostTime begin;
    HostTime end;
};

enum class StopReason : std::uint8_t { time, bytes, operations, errors, interrupted, failed };

struct PhaseOutcome {
    HostTime begin;           // before the first submission
    HostTime measured_begin;  // end of the ramp
    HostTime measured_end;    // when the limit was reached; figures are over [measured_begin, measured_end)
    HostTime end;             // last completion
    StopReason stop = StopReason::time;
    std::array<KindOutcome, operation_kinds> kinds;
    std::vector<ErrorCount> errors;
    std::vector<Window> windows;
    std::vector<Interval> bursts;   // busy times, when the workload has bursts
    double mean_depth = 0;          // integral of operations in flight over the measured time
    double device_mean_depth = -1;  // the block layer's own, -1 where it cannot tell
    std::uint64_t verify_failures = 0;
    std::uint64_t log_dropped = 0;
    double rate_error = 0;   // fixed rate: achieved / asked - 1
    double cpu_seconds = 0;  // of the io threads
    std::string failure;     // StopReason::failed: what broke
    std::string engine;      // "io_uring, DEFER_TASKRUN|SINGLE_ISSUER|..., fixed buffers, O_DIRECT" or "virtual exact"

    [[nodiscard]] KindOutcome total() const;  // all kinds merged
    [[nodiscard]] Nanoseconds measured() const { return measured_end - measured_begin; }
};

}  // namespace wattrig::io
