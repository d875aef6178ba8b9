#include "host/report/compare.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <cmath>
#include <filesystem>
#include <nlohmann/json.hpp>

#include "host/report/columns.hpp"
#include "host/report/escape.hpp"
#include "host/report/figures.hpp"

namespace wattrig::report {
namespace {

using nlohmann::json;

std::string name_of(const analysis::RunResult& result) {
    const std::string& name = result.drive.empty() ? result.target : result.drive;
    return clean_utf8(name.empty() ? result.run_directory : name);
}
std::string version_of(const json& run) {
    if (!run.is_object() || !run.contains("suite") || !run["suite"].is_object() || !run["suite"].contains("version")) return "";
    const json& version = run["suite"]["version"];
    return version.is_string() ? version.get<std::string>() : version.dump();
}
json settings_of(const json& run) {
    if (!run.is_object() || !run.contains("suite") || !run["suite"].is_object()) return {};
    return run["suite"].contains("resolved") ? run["suite"]["resolved"] : json();
}
std::string scale_words(const analysis::RunResult& result) {
    const double scale = result.scale.value_or(1);
    return scale == 1 ? "not scaled" : "scaled by " + significant(scale, 3);
}
const char* kind(bool simulated) { return simulated ? "simulated" : "measured"; }

// How `b` differs from `a` in what must be alike; empty when it does not.
std::vector<std::string> differences(const analysis::RunResult& a, const json& run_a, const analysis::RunResult& b,
                                     const json& run_b) {
    std::vector<std::string> found;
    if (a.suite != b.suite)
        found.push_back("suite " + b.suite);
    else if (version_of(run_a) != version_of(run_b))
        found.push_back("version " + version_of(run_b) + " of the suite");
    if (a.scale.value_or(1) != b.scale.value_or(1)) found.push_back(scale_words(b));
    if (a.drive_simulated != b.drive_simulated) found.push_back(fmt::format("{} drive", kind(b.drive_simulated)));
    if (a.power_measured && b.power_measured && a.power_simulated != b.power_simulated)
        found.push_back(fmt::format("{} power", kind(b.power_simulated)));
    return found;
}

std::string joined(const std::vector<std::string>& parts) {
    std::string text;
    for (const std::string& part : parts) text += (text.empty() ? "" : ", ") + part;
    return text;
}

void name_runs(std::vector<ComparedRun>& runs) {
    std::vector<std::string> names;
    names.reserve(runs.size());
    for (const ComparedRun& run : runs) names.push_back(name_of(run.result));
    for (std::size_t k = 0; k < runs.size(); ++k) {
        runs[k].name = names[k];
        if (std::count(names.begin(), names.end(), names[k]) == 1) continue;
        std::filesystem::path folder(runs[k].result.run_directory);
        if (!folder.has_filename()) folder = folder.parent_path();
        runs[k].name += " (" + clean_utf8(folder.filename().string()) + ")";
    }
}

std::string figure_with_u(const analysis::Figure& figure, bool utf8) {
    const FigureText text = figure_text(figure);
    return text.u == "-" ? text.value : text.value + (utf8 ? " \xc2\xb1 " : " +- ") + text.u;
}

// Lines of cells; the first `names` cells of a line to the left, the others to the right.
std::string grid(const std::vector<std::vector<std::string>>& lines, std::size_t names) {
    std::vector<std::size_t> widths;
    for (const auto& line : lines) {
        widths.resize(std::max(widths.size(), line.size()));
        for (std::size_t k = 0; k < line.size(); ++k) widths[k] = std::max(widths[k], display_width(line[k]));
    }
    std::string text;
    for (const auto& line : lines) {
        std::string row;
        for (std::size_t k = 0; k < line.size(); ++k)
            row += (k == 0 ? "" : "  ") + (k >= names ? padded_left(line[k], widths[k]) : padded_right(line[k], widths[k]));
        row.erase(row.find_last_not_of(' ') + 1);
        text += row + "\n";
    }
    return text;
}

}  // namespace

Result<Comparison> make_comparison(std::vector<analysis::RunResult> results, bool mixed) {
    if (results.size() < 2)
        return bad_input(fmt::format("compare: expected at least two run directories, came {}", results.size()));
    Comparison comparison;
    std::vector<json> settings;
    for (analysis::RunResult& result : results) {
        settings.push_back(json::parse(result.run_json, nullptr, false));
        comparison.runs.push_back({"", "", std::move(result)});
    }
    name_runs(comparison.runs);
    const analysis::RunResult& first = comparison.runs.front().result;
    for (std::size_t k = 1; k < comparison.runs.size(); ++k) {
        ComparedRun& run = comparison.runs[k];
        const auto found = differences(first, settings.front(), run.result, settings[k]);
        if (!found.empty() && !mixed)
            return bad_input(fmt::format(
                "{}: cannot be compared with {} ({}; {}, {}, {} drive{}): {}; --mixed compares all the same "
                "and labels it",
                run.result.run_directory, first.run_directory, first.suite, scale_words(first),
                version_of(settings.front()).empty() ? "no version" : "version " + version_of(settings.front()),
                kind(first.drive_simulated),
                first.power_measured ? fmt::format(", {} power", kind(first.power_simulated)) : ", no power", joined(found)));
        run.label = joined(found);
        if (found.empty() && settings_of(settings.front()) != settings_of(settings[k]))
            comparison.warnings.push_back(run.name + ": the settings of the suite differ from those of " +
                                          comparison.runs.front().name);
    }
    for (const ComparedRun& run : comparison.runs)
        if (!run.result.complete) comparison.warnings.push_back(run.name + ": the run is not complete");
    return comparison;
}

std::vector<std::string> score_names(const Comparison& comparison) {
    std::vector<std::string> names;
    for (const ComparedRun& run : comparison.runs)
        for (const analysis::Score& score : run.result.scores)
            if (std::find(names.begin(), names.end(), score.name) == names.end()) names.push_back(score.name);
    return names;
}

std::vector<std::string> io_labels(const Comparison& comparison) {
    std::vector<std::string> labels;
    for (const ComparedRun& run : comparison.runs)
        for (const analysis::PhaseResult& phase : run.result.phases)
            if (phase.phase.kind == "io" && std::find(labels.begin(), labels.end(), phase.phase.label) == labels.end())
                labels.push_back(phase.phase.label);
    return labels;
}

std::string comparison_text(const Comparison& comparison, const TextOptions& options) {
    const auto safe = [&](const std::string& text) { return terminal_safe(text, options.utf8); };
    std::string text;
    bool simulated = false;
    for (const ComparedRun& run : comparison.runs)
        simulated = simulated || run.result.power_simulated || run.result.drive_simulated;
    text += fmt::format("{}: {} runs\n", safe(comparison.runs.front().result.suite), comparison.runs.size());
    for (const ComparedRun& run : comparison.runs) {
        const std::string marks = simulated_words(run.result);
        if (!marks.empty() || !run.label.empty())
            text += fmt::format("  {}: {}{}{}\n", safe(run.name), marks, !marks.empty() && !run.label.empty() ? "; " : "",
                                run.label.empty() ? "" : "NOT COMPARABLE: " + safe(run.label));
    }

    for (const std::string& name : score_names(comparison)) {
        std::vector<std::vector<std::string>> lines{
            {safe(name), "MB/s", "W", "mean_of_ratios MB/s/W", "ratio_of_means MB/s/W", "total_bytes_per_joule MB/J"}};
        for (const ComparedRun& run : comparison.runs)
            for (const analysis::Score& score : run.result.scores)
                if (score.name == name)
                    lines.push_back({"  " + safe(run.name), significant(score.megabytes_per_second, 4),
                                     significant(score.watts, 4), figure_with_u(score.mean_of_ratios, options.utf8),
                                     figure_with_u(score.ratio_of_means, options.utf8),
                                     figure_with_u(score.total_bytes_per_joule, options.utf8)});
        text += "\n" + grid(lines, 1);
    }

    std::vector<std::vector<std::string>> lines{{"phase", "run", "MB/s", "IOPS", "p99 us", "W", "U", "MB/s/W"}};
    for (const std::string& label : io_labels(comparison)) {
        std::string shown = safe(label);
        for (const ComparedRun& run : comparison.runs)
            for (const analysis::PhaseResult& phase : run.result.phases) {
                if (phase.phase.label != label || phase.phase.kind != "io") continue;
                const FigureText watts = figure_text(phase.watts);
                lines.push_back({std::exchange(shown, ""), safe(run.name), significant(phase.megabytes_per_second, 4),
                                 significant(phase.iops, 4), significant(phase.latency.p99, 4), watts.value, watts.u,
                                 significant(phase.megabytes_per_second_per_watt.value, 4)});
                break;
            }
    }
    text += "\n" + grid(lines, 2);
    if (simulated) text += "\nFigures of simulated drives or power are made by models: not a measurement.\n";
    for (const std::string& warning : comparison.warnings) text += "Warning: " + safe(warning) + "\n";
    return text;
}

std::string comparison_csv(const Comparison& comparison) {
    std::string out =
        "run,directory,suite,not_comparable,drive_simulated,power_simulated,phase,throughput [MB/s],iops [1/s],latency_mean "
        "[us],"
        "latency_p99 [us],power [W],power_U_k2 [W],throughput_per_power [MB/s/W],throughput_per_power_U_k2 "
        "[MB/s/W],energy_per_operation "
        "[uJ]\r\n";
    for (const ComparedRun& run : comparison.runs)
        for (const analysis::PhaseResult& phase : run.result.phases) {
            out += csv_field(run.name) + "," + csv_field(run.result.run_directory) + "," + csv_field(run.result.suite) + "," +
                   csv_field(run.label) + "," + (run.result.drive_simulated ? "yes" : "no") + "," +
                   (run.result.power_measured ? (run.result.power_simulated ? "yes" : "no") : "") + "," +
                   csv_field(phase.phase.label);
            for (const std::optional<double>& value :
                 {phase.megabytes_per_second, phase.iops, phase.latency.mean, phase.latency.p99, phase.watts.value,
                  phase.watts.u, phase.megabytes_per_second_per_watt.value, phase.megabytes_per_second_per_watt.u,
                  phase.microjoules_per_operation.value})
                out += "," + csv_number(value);
            out += "\r\n";
        }
    return out;
}

}  // namespace wattrig::report
