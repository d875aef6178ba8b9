#pragma once
// A run directory as a file of another tool's format.
//
// Thread rule: free functions, any thread.

#include <functional>
#include <optional>
#include <string>
#include <string_view>

#include "host/analysis/result.hpp"
#include "host/base/clock.hpp"
#include "host/base/result.hpp"
#include "host/recording/run_directory.hpp"

namespace wattrig::exchange {

// Takes text as it is made; an error (a full disk) ends the export.
using TextSink = std::function<Result<void>(std::string_view)>;

struct TraceOptions {
    // Nothing: a row for each sample where the rows fit `most_rows`, else the shortest of 0.1, 0.2, 0.5, 1, ... ms that does.
    std::optional<Nanoseconds> resolution;
    bool every_sample = false;            // whatever the number of rows
    std::optional<Nanoseconds> from, to;  // since the first phase
    std::uint64_t most_rows = 1'048'575;  // what a spreadsheet takes, less the header
};

// Header line, then one line a row; times in seconds since the first phase began. bad_input when the run has no power.
Result<void> export_csv(const recording::RunDirectory& directory, const TraceOptions& options, const TextSink& sink);
// Trace Event Format (JSON): phases as complete events, power, voltage and current as counters.
Result<void> export_perfetto(const recording::RunDirectory& directory, const TraceOptions& options, const TextSink& sink);
// fio's JSON output, one job for each phase of I/O, with a `power` object in each. `version` is this program's.
std::string fio_json(const analysis::RunResult& result, const std::string& version);
// OpenMetrics text, gauges, with `# EOF`.
std::string openmetrics(const analysis::RunResult& result);

}  // namespace wattrig::exchange
