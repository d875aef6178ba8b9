#include <fmt/format.h>

#include <algorithm>
#include <nlohmann/json.hpp>

#include "host/report/assets.hpp"
#include "host/report/columns.hpp"
#include "host/report/compare.hpp"
#include "host/report/escape.hpp"
#include "host/report/figures.hpp"
#include "host/report/markup.hpp"

namespace wattrig::report {
namespace {

using nlohmann::json;

json number(const std::optional<double>& value) { return value ? json(*value) : json(); }

std::string shown(const ComparedRun& run) {
    return run.label.empty() ? run.name : run.name + " [" + clean_utf8(run.label) + "]";
}

std::string mark_of(const Comparison& comparison) {
    bool drive = false, power = false;
    for (const ComparedRun& run : comparison.runs) {
        drive = drive || run.result.drive_simulated;
        power = power || run.result.power_simulated;
    }
    return drive && power ? "SIMULATED drives and power" : drive ? "SIMULATED drives" : power ? "SIMULATED power" : "";
}

// One list for each line of a chart ("randread 4 KiB"), in it the points of each run.
json curves_of(const Comparison& comparison) {
    json curves = json::array();
    for (std::size_t k = 0; k < comparison.runs.size(); ++k) {
        for (const Row& row : rows_of(comparison.runs[k].result)) {
            const analysis::PhaseResult& phase = *row.phase;
            if (phase.phase.kind != "io" || row.group.empty() || !phase.megabytes_per_second) continue;
            auto found =
                std::find_if(curves.begin(), curves.end(), [&](const json& c) { return c["name"] == clean_utf8(row.group); });
            if (found == curves.end()) {
                curves.push_back({{"name", clean_utf8(row.group)}, {"runs", json::array()}});
                for (std::size_t i = 0; i < comparison.runs.size(); ++i) curves.back()["runs"].push_back(json::array());
                found = curves.end() - 1;
            }
            (*found)["runs"][k].push_back({{"name", clean_utf8(row.name)},
                                           {"megabytes_per_second", number(phase.megabytes_per_second)},
                                           {"iops", number(phase.iops)},
                                           {"watts", number(phase.watts.value)},
                                           {"watts_u", number(phase.watts.u)}});
        }
    }
    return curves;
}

json scores_of(const Comparison& comparison) {
    json scores = json::array();
    for (const std::string& name : score_names(comparison)) {
        json runs = json::array();
        for (const ComparedRun& run : comparison.runs) {
            json one = {
                {"megabytes_per_second", nullptr}, {"watts", nullptr}, {"efficiency", nullptr}, {"efficiency_u", nullptr}};
            for (const analysis::Score& score : run.result.scores)
                if (score.name == name)
                    one = {{"megabytes_per_second", number(score.megabytes_per_second)},
                           {"watts", number(score.watts)},
                           {"efficiency", number(score.mean_of_ratios.value)},
                           {"efficiency_u", number(score.mean_of_ratios.u)}};
            runs.push_back(std::move(one));
        }
        scores.push_back({{"name", clean_utf8(name)}, {"runs", std::move(runs)}});
    }
    return scores;
}

std::string table_html(const Comparison& comparison) {
    std::string out =
        copy_button("figure-table") +
        "<div class=\"scroll\" tabindex=\"0\" role=\"region\" aria-labelledby=\"figures\">\n<table "
        "class=\"figures\" id=\"figure-table\">\n<thead><tr>"
        "<th scope=\"col\">run</th><th scope=\"col\">MB/s<small>&nbsp;</small></th><th "
        "scope=\"col\">IOPS<small>&nbsp;</small></th>"
        "<th scope=\"col\">p99<small>\xc2\xb5s</small></th><th scope=\"col\">power<small>W</small></th><th "
        "scope=\"col\">U<small>W</small></th><th scope=\"col\">efficiency<small>MB/s/W</small></th></tr></thead>\n<tbody>\n";
    for (const std::string& label : io_labels(comparison)) {
        out += fmt::format("<tr class=\"group\"><th colspan=\"7\" scope=\"rowgroup\">{}</th></tr>\n",
                           html_escape(clean_utf8(label)));
        for (const ComparedRun& run : comparison.runs)
            for (const analysis::PhaseResult& phase : run.result.phases) {
                if (phase.phase.label != label || phase.phase.kind != "io") continue;
                const FigureText watts = figure_text(phase.watts);
                out += fmt::format(
                    "<tr><th scope=\"row\">{}</th><td>{}</td><td>{}</td><td>{}</td><td>{}</td><td>{}</td><td>{}</td></tr>\n",
                    html_escape(shown(run)), significant(phase.megabytes_per_second, 4), significant(phase.iops, 4),
                    significant(phase.latency.p99, 4), watts.value, watts.u,
                    significant(phase.megabytes_per_second_per_watt.value, 4));
                break;
            }
    }
    return out + "</tbody></table></div>\n";
}

}  // namespace

std::string comparison_html(const Comparison& comparison) {
    const std::string suite = html_escape(clean_utf8(comparison.runs.front().result.suite));
    const std::string mark = mark_of(comparison);
    std::string out = page_head(
        fmt::format("{} - {} runs compared", clean_utf8(comparison.runs.front().result.suite), comparison.runs.size()));
    if (!mark.empty())
        out += fmt::format(
            "<div class=\"simulated\" role=\"note\"><strong>{}</strong><span>made by models: not a measurement</span></div>\n",
            mark);
    out += fmt::format("<header>\n<h1>{}</h1>\n<p class=\"lead\">{} runs compared</p>\n", suite, comparison.runs.size());
    for (const ComparedRun& run : comparison.runs)
        if (!run.label.empty())
            out += fmt::format("<p class=\"state\">{} is not comparable with {}: {}.</p>\n", html_escape(run.name),
                               html_escape(comparison.runs.front().name), html_escape(clean_utf8(run.label)));
    for (const std::string& warning : comparison.warnings)
        out += fmt::format("<p class=\"state\">{}.</p>\n", html_escape(clean_utf8(warning)));
    out += "</header>\n<main>\n";

    json data = {{"mark", mark}, {"runs", json::array()}, {"scores", scores_of(comparison)}, {"curves", curves_of(comparison)}};
    for (const ComparedRun& run : comparison.runs) data["runs"].push_back(shown(run));
    if (!data["scores"].empty() || !data["curves"].empty()) out += no_script_note();
    const std::size_t bar_height = 96 + 34 * comparison.runs.size();
    if (!data["scores"].empty()) out += "<h2>Scores</h2>\n";
    for (std::size_t k = 0; k < data["scores"].size(); ++k)
        out += chart_frame(
            fmt::format("score-{}", k), data["scores"][k]["name"].get<std::string>(),
            "performance and efficiency (mean_of_ratios; whiskers: U, k = 2): higher is better; power: lower is better",
            bar_height);
    if (!data["curves"].empty()) out += "<h2>Power against performance</h2>\n<div class=\"charts\">\n";
    for (std::size_t k = 0; k < data["curves"].size(); ++k)
        out += chart_frame(fmt::format("curve-{}", k), data["curves"][k]["name"].get<std::string>(),
                           "each point one queue depth; right and low is better", 330);
    if (!data["curves"].empty()) out += "</div>\n";
    out += "<h2 id=\"figures\">Figures</h2>\n" + table_html(comparison) +
           "<p class=\"note\">U says how well the instrument knows the mean power (expanded, k = 2). &ldquo;-&rdquo; means not "
           "measured. MB = "
           "10<sup>6</sup> bytes. Full precision: compare.csv.</p>\n</main>\n<footer>Made by wattrig. This page holds all it "
           "needs and fetches "
           "nothing. Charts by Apache ECharts (Apache License 2.0).</footer>\n";
    return out + page_scripts(data, {compare_js()});
}

}  // namespace wattrig::report
