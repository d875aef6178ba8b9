#include <fmt/format.h>

#include <algorithm>
#include <map>
#include <nlohmann/json.hpp>
#include <vector>

#include "host/cli/commands.hpp"
#include "host/cli/console.hpp"
#include "host/cli/output.hpp"
#include "host/cli/repeat.hpp"
#include "host/report/escape.hpp"
#include "host/report/figures.hpp"

namespace wattrig::cli {
namespace {

using nlohmann::json;

// Median of an even number: the mean of the two in the middle.
json spread_of(std::vector<double> values) {
    std::sort(values.begin(), values.end());
    const std::size_t n = values.size();
    const double median = n % 2 == 1 ? values[n / 2] : (values[n / 2 - 1] + values[n / 2]) / 2;
    return {{"median", median}, {"minimum", values.front()}, {"maximum", values.back()}, {"runs", n}};
}

}  // namespace

json repeat_summary(const std::vector<analysis::RunResult>& results) {
    struct Cell {
        std::string label;
        std::map<std::string, std::vector<double>> figures;
    };
    std::vector<Cell> cells;  // in the order of the first run
    for (const analysis::RunResult& result : results)
        for (const analysis::PhaseResult& phase : result.phases) {
            auto cell = std::find_if(cells.begin(), cells.end(), [&](const Cell& c) { return c.label == phase.phase.label; });
            if (cell == cells.end()) cell = cells.insert(cells.end(), Cell{phase.phase.label, {}});
            const auto keep = [&](const char* name, const std::optional<double>& value) {
                if (value) cell->figures[name].push_back(*value);
            };
            keep("iops", phase.iops);
            keep("megabytes_per_second", phase.megabytes_per_second);
            keep("latency_mean_us", phase.latency.mean);
            keep("watts", phase.watts.value);
            keep("megabytes_per_second_per_watt", phase.megabytes_per_second_per_watt.value);
        }
    json phases = json::array();
    for (Cell& cell : cells) {
        json one = {{"label", cell.label}};
        for (auto& [name, values] : cell.figures) one[name] = spread_of(std::move(values));
        phases.push_back(std::move(one));
    }
    json directories = json::array();
    for (const analysis::RunResult& result : results) directories.push_back(result.run_directory);
    return {{"schema", "wattrig.repeat/1"},
            {"suite", results.empty() ? "" : results.front().suite},
            {"runs", results.size()},
            {"directories", std::move(directories)},
            {"phases", std::move(phases)}};
}

std::string repeat_text(const json& summary) {
    std::string text = fmt::format("\nMedian (lowest to highest) of {} runs\n", summary["runs"].get<std::size_t>());
    for (const json& phase : summary["phases"]) {
        std::string line = "  " + phase["label"].get<std::string>();
        for (const auto& [name, unit] : {std::pair{"megabytes_per_second", "MB/s"}, {"iops", "IOPS"}, {"watts", "W"}}) {
            if (!phase.contains(name)) continue;
            const json& figure = phase[name];
            line += fmt::format("  {} ({} to {}) {}", report::significant(figure["median"].get<double>(), 4),
                                report::significant(figure["minimum"].get<double>(), 4),
                                report::significant(figure["maximum"].get<double>(), 4), unit);
        }
        text += report::terminal_safe(line, utf8_wanted()) + '\n';
    }
    return text;
}

}  // namespace wattrig::cli
