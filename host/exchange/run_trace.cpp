#include "host/exchange/run_trace.hpp"

#include <algorithm>
#include <nlohmann/json.hpp>

namespace wattrig::exchange {
namespace {

std::string text_at(const nlohmann::json& run, const char* part, const char* key) {
    if (!run.is_object() || !run.contains(part) || !run[part].is_object() || !run[part].contains(key)) return {};
    const nlohmann::json& value = run[part][key];
    return value.is_string() ? value.get<std::string>() : std::string();
}

// 0.1, 0.2, 0.5, 1, 2, 5, 10 ... ms.
Nanoseconds row_length_for(Nanoseconds whole, std::uint64_t most_rows) {
    std::int64_t decade = 100'000;
    for (;; decade *= 10)
        for (const std::int64_t step : {1, 2, 5}) {
            const Nanoseconds length(decade * step);
            if (static_cast<std::uint64_t>((whole.count() + length.count() - 1) / length.count()) <= most_rows) return length;
        }
}

}  // namespace

Result<RunTrace> open_run_trace(const recording::RunDirectory& directory, const TraceOptions& options) {
    auto run = directory.read_json("run.json");
    if (!run) return run.error();
    auto phases = directory.read_phases();
    if (!phases) return phases.error();
    auto source = analysis::open_power_source(directory, *run);
    if (!source) return source.error();
    if (!*source) return bad_input(directory.path() + ": expected a run with power, this one has no power.wrt");
    RunTrace trace;
    trace.source = std::move(**source);
    trace.phases = std::move(*phases);
    trace.suite = text_at(*run, "suite", "name");
    trace.drive = text_at(*run, "drive", "name");
    if (run->contains("drive") && (*run)["drive"].is_object() && (*run)["drive"].contains("simulated"))
        trace.drive_simulated = (*run)["drive"]["simulated"] == true;

    if (!trace.phases.empty()) trace.origin = trace.phases.front().outcome.begin;
    TraceRange range;
    if (options.from) range.begin = trace.origin + *options.from;
    if (options.to) range.end = trace.origin + *options.to;
    auto extent = trace_extent(trace.source, range);
    if (!extent) return extent.error();
    trace.extent = *extent;
    if (trace.phases.empty()) trace.origin = trace.extent.begin;

    if (options.resolution)
        trace.row_length = options.resolution;
    else if (!options.every_sample && trace.extent.samples > options.most_rows)
        trace.row_length = row_length_for(trace.extent.end - trace.extent.begin, options.most_rows);
    return trace;
}

}  // namespace wattrig::exchange
