#include "host/io/outcome.hpp"

#include <algorithm>

#include "host/io/worker.hpp"

namespace wattrig::io {

const char* name(OperationKind kind) {
    switch (kind) {
        case OperationKind::read: return "read";
        case OperationKind::write: return "write";
        case OperationKind::flush: return "sync";
        case OperationKind::discard: return "trim";
        case OperationKind::write_zeroes: return "zero";
    }
    return "?";
}

namespace {

void merge(KindOutcome& to, const KindOutcome& from) {
    to.operations += from.operations;
    to.bytes += from.bytes;
    to.errors += from.errors;
    to.latency.merge(from.latency);
    to.latency_sum += from.latency_sum;
    to.latency_minimum = std::min(to.latency_minimum, from.latency_minimum);
    to.latency_maximum = std::max(to.latency_maximum, from.latency_maximum);
    to.service.merge(from.service);
}

void merge(std::vector<ErrorCount>& to, const std::vector<ErrorCount>& from) {
    for (const ErrorCount& error : from) {
        const auto same = std::find_if(
            to.begin(), to.end(), [&](const ErrorCount& e) { return e.kind == error.kind && e.os_error == error.os_error; });
        if (same == to.end())
            to.push_back(error);
        else
            same->count += error.count;
    }
}

// Which of two workers' reasons is the phase's.
int weight(StopReason reason) {
    switch (reason) {
        case StopReason::failed: return 5;
        case StopReason::interrupted: return 4;
        case StopReason::errors: return 3;
        case StopReason::time: return 2;
        case StopReason::operations:
        case StopReason::bytes: return 1;
    }
    return 0;
}

}  // namespace

KindOutcome PhaseOutcome::total() const {
    KindOutcome sum;
    for (const KindOutcome& kind : kinds) merge(sum, kind);
    return sum;
}

double progress_done(const Workload& workload, Nanoseconds elapsed, std::uint64_t operations, std::uint64_t bytes) {
    double done = 0;
    if (workload.limit.time) done = std::max(done, to_seconds(elapsed) / to_seconds(*workload.limit.time));
    if (workload.limit.operations)
        done = std::max(done, static_cast<double>(operations) / static_cast<double>(*workload.limit.operations));
    if (workload.limit.bytes) done = std::max(done, static_cast<double>(bytes) / static_cast<double>(*workload.limit.bytes));
    return std::min(done, 1.0);
}

PhaseOutcome merge_outcomes(std::vector<PhaseOutcome> parts, PhaseState& phase, const Workload& workload) {
    PhaseOutcome whole = std::move(parts.front());
    std::vector<std::vector<Window>> windows;
    windows.push_back(std::move(whole.windows));
    double depth_time = whole.mean_depth * static_cast<double>(whole.measured().count());
    for (std::size_t i = 1; i < parts.size(); ++i) {
        PhaseOutcome& part = parts[i];
        whole.begin = std::min(whole.begin, part.begin);
        whole.measured_begin = std::min(whole.measured_begin, part.measured_begin);
        depth_time += part.mean_depth * static_cast<double>(part.measured().count());
        whole.measured_end = std::max(whole.measured_end, part.measured_end);
        whole.end = std::max(whole.end, part.end);
        if (weight(part.stop) > weight(whole.stop)) whole.stop = part.stop;
        for (std::size_t k = 0; k < operation_kinds; ++k) merge(whole.kinds[k], part.kinds[k]);
        merge(whole.errors, part.errors);
        windows.push_back(std::move(part.windows));
        whole.verify_failures += part.verify_failures;
        whole.cpu_seconds += part.cpu_seconds;
        if (whole.failure.empty()) whole.failure = std::move(part.failure);
    }
    whole.windows = merge_windows(std::move(windows));
    const double time = static_cast<double>(whole.measured().count());
    whole.mean_depth = time > 0 ? depth_time / time : 0;
    if (workload.bursts) whole.bursts = phase.gate.finish(whole.measured_end);
    if (workload.rate && time > 0) {
        const KindOutcome sum = whole.total();
        const bool bytes = workload.rate->bytes_per_second > 0;
        std::uint64_t operations =
            sum.operations + sum.errors - whole.kinds[static_cast<std::size_t>(OperationKind::flush)].operations;
        const double done = static_cast<double>(bytes ? sum.bytes : operations);
        whole.rate_error =
            done / (time * 1e-9) / (bytes ? workload.rate->bytes_per_second : workload.rate->operations_per_second) - 1;
    }
    return whole;
}

}  // namespace wattrig::io
