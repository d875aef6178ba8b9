#pragma once
// What a report shows beyond the result: the power over time, the counters of each window, the histograms. Read from the run
// directory again, as the result holds figures alone. Any thread.

#include <nlohmann/json_fwd.hpp>
#include <optional>
#include <string>
#include <vector>

#include "host/analysis/power_index.hpp"
#include "host/analysis/result.hpp"
#include "host/recording/run_directory.hpp"

namespace wattrig::report {

struct RunDetail {
    std::vector<recording::PhaseRecord> phases;
    std::optional<analysis::PowerIndex> power;
    std::string problem;  // why there is no power over time although there should be; else empty
};
// Never fails: a report without details is still a report, and says why.
RunDetail read_run_detail(const recording::RunDirectory& directory);

// Bins of a trace in a page: 65 536 of them are 1.4 MB for four lines, an hour in 128 ms.
inline constexpr std::size_t most_trace_bins = 49'152;
// Single samples in a page: 8 bytes each, base64.
inline constexpr std::size_t most_trace_samples = 170'000;

// Time is in seconds since the first phase began; what is not known is NaN in a list and null elsewhere.
nlohmann::json trace_json(const analysis::RunResult& result, const RunDetail& detail);
// Speed and power against position, for phases in order; the first `most` of those that tell something.
nlohmann::json fills_json(const analysis::RunResult& result, const RunDetail& detail, std::size_t most);
// Share of the operations by response time, twenty steps a decade: [[microseconds, share], ...]; empty without a histogram.
nlohmann::json latency_json(const recording::PhaseRecord& phase);

}  // namespace wattrig::report
