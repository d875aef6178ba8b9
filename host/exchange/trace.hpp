#pragma once
// The power of a run over time, in rows of equal length or sample by sample. One pass over the recording, constant memory.
//
// Thread rule: free functions, any thread.

#include <cstdint>
#include <functional>
#include <nlohmann/json_fwd.hpp>
#include <optional>

#include "host/analysis/power_source.hpp"
#include "host/base/clock.hpp"
#include "host/base/result.hpp"
#include "host/power/trace.hpp"
#include "host/recording/run_directory.hpp"

namespace wattrig::exchange {

// A row of a decimated trace: [begin, begin + length). Means are over the part of the row that is known.
struct TraceRow {
    HostTime begin;
    Nanoseconds length{};
    double coverage = 0;  // 0 .. 1: share of the row's time whose energy is known
    std::optional<power::TraceSample> mean;
    std::optional<double> lowest_watts, highest_watts;
};

struct TraceRange {
    HostTime begin = HostTime::min(), end = HostTime::max();
};

// When the recording begins and ends, and how many samples it should hold.
struct TraceExtent {
    HostTime begin, end;
    std::uint64_t samples = 0;
    std::size_t rails = 1;
};
Result<TraceExtent> trace_extent(const analysis::PowerSource& source, const TraceRange& range);

// Every piece that touches the range, in order.
Result<void> read_trace(const analysis::PowerSource& source, const TraceRange& range, const power::TraceSink& sink);
// Rows from `extent.begin` on, each `length` long, the last one perhaps shorter; rows of which nothing is known are handed out
// as well, with coverage 0 and no mean.
Result<void> read_rows(const analysis::PowerSource& source, const TraceExtent& extent, Nanoseconds length,
                       const std::function<void(const TraceRow&)>& sink);

}  // namespace wattrig::exchange
