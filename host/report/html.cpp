#include "host/report/html.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <map>
#include <nlohmann/json.hpp>
#include <string_view>

#include "host/report/assets.hpp"
#include "host/report/columns.hpp"
#include "host/report/escape.hpp"
#include "host/report/figures.hpp"
#include "host/report/markup.hpp"
#include "host/report/rounds_view.hpp"
#include "host/report/table.hpp"

namespace wattrig::report {
namespace {

using nlohmann::json;

// More lines than this cannot be told apart; the table has them all.
constexpr std::size_t most_groups = 10;
constexpr std::size_t most_distributions = 12;  // lines in a chart
// A long method's steps, written out, are longer than the rest of the page.
constexpr std::size_t longest_run_json = 200'000;

json number(std::optional<double> value) { return value ? json(*value) : json(); }

struct Group {
    std::string name;
    std::vector<const Row*> rows;
};
// Phases with I/O by line of a chart. Rows that stand alone make a group each.
std::vector<Group> groups_of(const std::vector<Row>& rows) {
    std::vector<Group> groups;
    for (const Row& row : rows) {
        if (!row.phase->phase.has_io || row.phase->phase.kind != "io") continue;
        const std::string& name = row.group.empty() ? row.name : row.group;
        auto found = std::find_if(groups.begin(), groups.end(), [&](const Group& group) { return group.name == name; });
        if (found == groups.end()) found = groups.insert(groups.end(), Group{.name = name, .rows = {}});
        found->rows.push_back(&row);
    }
    return groups;
}

json point(const Row& row) {
    const analysis::PhaseResult& phase = *row.phase;
    const analysis::LatencyFigures& latency = phase.latency;
    return {{"label", clean_utf8(phase.phase.label)},
            {"name", clean_utf8(row.name)},
            {"depth", row.depth ? json(*row.depth) : json()},
            {"iops", number(phase.iops)},
            {"megabytes_per_second", number(phase.megabytes_per_second)},
            {"watts", number(phase.watts.value)},
            {"watts_u", number(phase.watts.u)},
            {"megabytes_per_second_per_watt", number(phase.megabytes_per_second_per_watt.value)},
            {"megabytes_per_second_per_watt_u", number(phase.megabytes_per_second_per_watt.u)},
            {"iops_per_watt", number(phase.iops_per_watt.value)},
            {"iops_per_watt_u", number(phase.iops_per_watt.u)},
            {"microjoules_per_operation", number(phase.microjoules_per_operation.value)},
            {"microjoules_per_operation_u", number(phase.microjoules_per_operation.u)},
            {"idle_subtracted_microjoules_per_operation", number(phase.idle_subtracted_microjoules_per_operation.value)},
            {"latency",
             {{"p50", number(latency.p50)},
              {"p90", number(latency.p90)},
              {"p99", number(latency.p99)},
              {"p99_9", number(latency.p99_9)},
              {"p99_99", number(latency.p99_99)},
              {"max", number(latency.maximum)}}}};
}

bool any_latency(const Group& group) {
    return std::any_of(group.rows.begin(), group.rows.end(),
                       [](const Row* row) { return row->phase->latency.p50.value_or(0) > 0; });
}

class Html {
  public:
    Html(const analysis::RunResult& result, const RunDetail* detail)
        : result_(result),
          detail_(detail),
          table_(columns_of(result, "\xc2\xb5")),
          groups_(groups_of(table_.rows)),
          rounds_(rounds_views(result)) {
        all_groups_ = groups_.size();
        if (groups_.size() > most_groups) groups_.resize(most_groups);
    }
    std::string take() {
        head();
        summary();
        trace();
        charts();
        fills();
        for (std::size_t k = 0; k < rounds_.size(); ++k) raw(rounds_html(rounds_[k], k));
        table();
        settings();
        end();
        return std::move(out_);
    }

  private:
    void raw(std::string_view text) { out_ += text; }
    template <class... Arguments>
    void put(fmt::format_string<Arguments...> format, Arguments&&... arguments) {
        out_ += fmt::format(format, std::forward<Arguments>(arguments)...);
    }
    void fact(std::string_view name, const std::string& value) {
        put("<div><dt>{}</dt><dd>{}</dd></div>\n", name, value.empty() ? "-" : html_escape(value));
    }

    void head() {
        const std::string subject = result_.drive.empty() ? result_.target : result_.drive;
        raw(page_head(subject + " - " + result_.suite));
        if (result_.power_simulated || result_.drive_simulated) {
            raw("<div class=\"simulated\" role=\"note\">");
            if (result_.power_simulated) raw("<strong>power: SIMULATED</strong>");
            if (result_.drive_simulated) raw("<strong>drive: SIMULATED</strong>");
            raw("<span>made by models: not a measurement</span></div>\n");
        }
        put("<header>\n<h1>{}</h1>\n<p class=\"lead\">{}{}</p>\n", html_escape(subject), html_escape(result_.suite),
            result_.power_measured ? ", with power" : ", without power");
        raw("<dl class=\"facts\">\n");
        fact("Target", result_.target);
        fact("Rig", result_.power_measured ? result_.rig : "none: power was not measured");
        if (result_.power_measured) fact("Clock", clock_words(result_.clock, "\xc2\xb5"));
        if (result_.power_measured) fact("Samples", fmt::format("{} received, {} lost", result_.samples, result_.lost_samples));
        if (result_.fidelity != "real") fact("Fidelity of the simulation", result_.fidelity);
        raw("</dl>\n");
        if (result_.scale && *result_.scale != 1)
            put("<p class=\"state\">Scaled by {}: less time and data than the method asks for, not comparable.</p>\n",
                significant(*result_.scale, 3));
        if (result_.interrupted)
            raw("<p class=\"state\">Interrupted: what was measured is valid, the rest is missing.</p>\n");
        else if (!result_.complete)
            raw("<p class=\"state\">Incomplete: the run was cut off.</p>\n");
        raw("</header>\n<main>\n");
    }

    static std::string with_u(const analysis::Figure& figure) {
        const FigureText text = figure_text(figure);
        return text.u == "-" ? text.value : text.value + " \xc2\xb1 " + text.u;
    }
    void summary() {
        if (result_.scores.empty()) return;
        raw("<h2>Scores</h2>\n<div class=\"cards\">\n");
        for (const analysis::Score& score : result_.scores) {
            put("<section class=\"card\"><h3>{}</h3>\n", html_escape(score.name));
            if (score.mean_of_ratios.value)
                put("<p class=\"big\">{} <small>MB/s/W</small></p>\n<p class=\"under\">mean_of_ratios, U at k = 2</p>\n",
                    with_u(score.mean_of_ratios));
            else
                put("<p class=\"big\">{} <small>MB/s</small></p>\n<p class=\"under\">mean over the phases</p>\n",
                    significant(score.megabytes_per_second, 4));
            raw("<table>\n");
            const auto row = [&](std::string_view name, const std::string& value, std::string_view unit) {
                put("<tr><th scope=\"row\">{}</th><td>{} {}</td></tr>\n", name, value, unit);
            };
            row("ratio_of_means", with_u(score.ratio_of_means), "MB/s/W");
            row("total_bytes_per_joule", with_u(score.total_bytes_per_joule), "MB/J");
            row("Performance", significant(score.megabytes_per_second, 4), "MB/s");
            row("Power", significant(score.watts, 4), "W");
            raw("</table></section>\n");
        }
        raw("</div>\n<p class=\"note\">Three ways to average efficiency, named so that they are never mixed: the mean of the "
            "phases' MB/s/W, mean MB/s over mean W, and all bytes over all joules.</p>\n");
    }

    void chart(const std::string& id, const std::string& title, const std::string& sentence, std::size_t height = 0) {
        raw(chart_frame(id, title, sentence, height));
    }

    // The power of the whole run. Its data is made here, as the sentences around it tell of it.
    void trace() {
        if (detail_ == nullptr) return;
        if (!detail_->problem.empty())
            put("<h2>Power over the run</h2>\n<p class=\"note\">Not shown: {}.</p>\n", html_escape(detail_->problem));
        trace_ = trace_json(result_, *detail_);
        if (trace_.is_null()) return;
        raw("<h2>Power over the run</h2>\n<div class=\"switches\" id=\"trace-buttons\">"
            "<label class=\"jump\">Show <select id=\"trace-jump\"></select></label>"
            "<span class=\"buttons\"><button type=\"button\" data-zoom=\"in\">Zoom in</button>"
            "<button type=\"button\" data-zoom=\"out\">Zoom out</button>"
            "<button type=\"button\" data-zoom=\"left\">Earlier</button>"
            "<button type=\"button\" data-zoom=\"right\">Later</button>"
            "<button type=\"button\" data-zoom=\"all\">Whole run</button></span></div>\n");
        chart("trace", "Power, voltage and speed over time",
              "line: mean, band: lowest to highest; Ctrl and wheel or the keys + and - zoom, arrows move", trace_height());
        raw("<p class=\"note\" id=\"trace-state\" role=\"status\"></p>\n");
        std::size_t samples = 0;
        for (const json& window : trace_["windows"]) samples += window.contains("watts") ? 1 : 0;
        put("<p class=\"note\">Finest bin: {} ms. Single samples of 30.72 \xc2\xb5s: {} stretches, 10 ms on each side of the "
            "ten "
            "highest peaks, of changes of the side-band lines, of marks and of phase edges",
            significant(trace_["bin"].get<double>() * 1e3, 4), samples);
        if (const auto left = trace_["moments_left_out"].get<std::size_t>(); left > 0)
            put(" ({} of these moments are left out to keep this page small)", left);
        raw(". The band is bounds from the extremes of voltage and current of each block.");
        if (const auto still = trace_["still"].get<std::string>(); !still.empty())
            put(" Side-band lines that never moved: {}.", html_escape(still));
        raw(" Every sample is in power.wrt: wattrig live --replay, wattrig export.</p>\n");
        gaps();
    }
    std::size_t trace_height() const { return 560 + 26 * trace_["lines"].size(); }
    void gaps() {
        const auto count = trace_["gap_count"].get<std::size_t>();
        if (count == 0) return;
        put("<h3 id=\"gaps\">Gaps in the recording: {}</h3>\n", count);
        raw(copy_button("gap-table"));
        raw("<div class=\"scroll\" tabindex=\"0\" role=\"region\" aria-labelledby=\"gaps\"><table class=\"figures\" "
            "id=\"gap-table\">"
            "<thead><tr><th scope=\"col\">begin<small>s</small></th><th scope=\"col\">length<small>ms</small></th>"
            "<th scope=\"col\">energy<small>&nbsp;</small></th></tr></thead><tbody>\n");
        constexpr std::size_t most = 20;
        std::size_t shown = 0;
        for (const json& gap : trace_["gaps"]) {
            if (++shown > most) break;
            const double begin = gap["begin"].get<double>(), end = gap["end"].get<double>();
            put("<tr><th scope=\"row\">{}</th><td>{}</td><td>{}</td></tr>\n", with_decimals(begin, 4),
                significant((end - begin) * 1e3, 4),
                gap["energy_known"].get<bool>() ? "known from the running sums" : "not known");
        }
        raw("</tbody></table></div>\n");
        if (count > most) put("<p class=\"note\">The first {} of {}.</p>\n", most, count);
    }
    void fills() {
        if (detail_ == nullptr) return;
        constexpr std::size_t most = 6;
        fills_ = fills_json(result_, *detail_, most);
        if (fills_.empty()) return;
        raw("<h2>Speed and power against position</h2>\n<div class=\"charts\">\n");
        for (std::size_t k = 0; k < fills_.size(); ++k)
            chart(fmt::format("fill-{}", k), fills_[k]["label"].get<std::string>(),
                  fills_[k]["verdict"].get<std::string>() + "; steps: the levels found, dashed: where the speed changed");
        raw("</div>\n");
    }
    void charts() {
        if (groups_.empty()) return;
        const bool depths = std::any_of(groups_.begin(), groups_.end(), [](const Group& g) { return g.rows.size() > 1; });
        const std::string against = depths ? " against queue depth" : "";
        raw("<h2>Charts</h2>\n" + no_script_note() +
            "<div class=\"switches\"><fieldset class=\"switch\"><legend>Work in</legend>"
            "<input type=\"radio\" name=\"words\" id=\"words-bytes\" value=\"bytes\"><label for=\"words-bytes\">MB/s</label>"
            "<input type=\"radio\" name=\"words\" id=\"words-iops\" value=\"iops\"><label for=\"words-iops\">IOPS</label>"
            "</fieldset>\n<fieldset class=\"switch\"><legend>Scale</legend>"
            "<input type=\"radio\" name=\"scale\" id=\"scale-linear\" value=\"linear\"><label for=\"scale-linear\">linear"
            "</label><input type=\"radio\" name=\"scale\" id=\"scale-log\" value=\"log\"><label for=\"scale-log\">"
            "logarithmic</label></fieldset></div>\n<div class=\"charts\">\n");
        chart("performance", "Performance" + against, "higher is better");
        if (result_.power_measured) {
            chart("power", "Power" + against, "mean at the drive; whiskers and band: U, k = 2; lower is better");
            chart("efficiency", "Efficiency" + against, "work for each watt; whiskers and band: U, k = 2; higher is better");
            chart("cost", "Power against performance", "each point one phase; right and low is better");
            chart("energy", "Energy of an operation" + against, "whiskers and band: U, k = 2; lower is better");
        }
        raw("</div>\n");
        if (std::any_of(groups_.begin(), groups_.end(), any_latency)) {
            raw("<h2>Latency</h2>\n<div class=\"charts\">\n");
            for (std::size_t k = 0; k < groups_.size(); ++k)
                if (any_latency(groups_[k]))
                    chart(fmt::format("latency-{}", k), groups_[k].name, "percentiles of the response time; lower is better");
            distributions_ = distributions();
            for (std::size_t k = 0; k < distributions_.size(); ++k)
                if (!distributions_[k].empty())
                    chart(fmt::format("distribution-{}", k), groups_[k].name + ": distribution",
                          "share of the operations by response time, twenty steps a decade");
            raw("</div>\n");
        }
        if (all_groups_ > groups_.size())
            put("<p class=\"note\">The charts show the first {} of {} series; the table has all.</p>\n", groups_.size(),
                all_groups_);
    }

    void table() {
        raw("<h2 id=\"figures\">Figures</h2>\n");
        if (table_.rows.empty()) {
            raw("<p>No phase was carried out.</p>\n");
            return;
        }
        raw(copy_button("figure-table"));
        raw("<div class=\"scroll\" tabindex=\"0\" role=\"region\" aria-labelledby=\"figures\">\n<table class=\"figures\" "
            "id=\"figure-table\">\n<thead><tr><th scope=\"col\">phase</th>");
        for (const Column& column : table_.columns)
            put("<th scope=\"col\" title=\"{}\">{}<small>{}</small></th>", html_escape(column.hint), html_escape(column.name),
                column.unit.empty() ? "&nbsp;" : html_escape(column.unit));
        raw("</tr></thead>\n<tbody>\n");
        std::string group;
        for (std::size_t r = 0; r < table_.rows.size(); ++r) {
            const Row& row = table_.rows[r];
            if (row.group != group && !row.group.empty())
                put("<tr class=\"group\"><th colspan=\"{}\" scope=\"rowgroup\">{}</th></tr>\n", table_.columns.size() + 1,
                    html_escape(row.group));
            group = row.group;
            const bool marked = !row.phase->warnings.empty() || !row.phase->phase.complete;
            put("<tr><th scope=\"row\">{}{}</th>", html_escape(row.name),
                marked ? " <a href=\"#warnings\" title=\"see the warnings\">*</a>" : "");
            for (const Column& column : table_.columns) put("<td>{}</td>", html_escape(column.cells[r]));
            raw("</tr>\n");
        }
        raw("</tbody></table></div>\n<p class=\"note\">U says how well the instrument knows the mean power (expanded, k = 2); "
            "spread says how much the drive varied (95 %, &ldquo;short&rdquo;: too short to tell). They are two things and are "
            "not merged. &ldquo;-&rdquo; means not measured. MB = 10<sup>6</sup> bytes. Full precision: phases.csv, "
            "scores.csv.</p>\n");
    }

    // run.json as nested lists; a value from elsewhere is text and nothing else.
    void settings_of(const char* title, const json& value) {
        if (value.is_null() || value.empty()) return;
        put("<details data-print><summary>{}</summary><div><dl class=\"facts\">\n", title);
        if (value.is_object()) {
            for (const auto& [key, item] : value.items()) fact(html_escape(key), text_of(item));
        } else {
            fact(title, text_of(value));
        }
        raw("</dl></div></details>\n");
    }
    static std::string text_of(const json& value) {
        if (value.is_string()) return value.get<std::string>();
        if (value.is_boolean()) return value.get<bool>() ? "yes" : "no";
        if (value.is_array()) {
            std::string text;
            for (const json& item : value) text += (text.empty() ? "" : "; ") + text_of(item);
            return text;
        }
        if (value.is_object()) {
            std::string text;
            for (const auto& [key, item] : value.items()) text += (text.empty() ? "" : ", ") + key + " " + text_of(item);
            return text;
        }
        return value.is_null() ? "-" : value.dump(-1, ' ', false, json::error_handler_t::replace);
    }

    void settings() {
        const json run = json::parse(result_.run_json, nullptr, false);
        const auto part = [&](const char* key) { return run.is_object() && run.contains(key) ? run[key] : json(); };

        std::size_t count = result_.warnings.size();
        for (const auto& phase : result_.phases) count += phase.warnings.size();
        put("<h2 id=\"warnings\">Warnings</h2>\n{}", count == 0 ? "<p>None.</p>\n" : "<ul class=\"warnings\">\n");
        for (const std::string& warning : result_.warnings) put("<li>{}</li>\n", html_escape(warning));
        for (const auto& phase : result_.phases)
            for (const std::string& warning : phase.warnings)
                put("<li><b>{}</b>: {}</li>\n", html_escape(phase.phase.label), html_escape(warning));
        if (count > 0) raw("</ul>\n");
        if (const json notes = part("notes"); notes.is_array() && !notes.empty()) {
            raw("<h2>Choices of the method</h2>\n<ul class=\"warnings\">\n");
            for (const json& note : notes) put("<li>{}</li>\n", html_escape(text_of(note)));
            raw("</ul>\n");
        }

        raw("<h2>Settings and environment</h2>\n");
        json suite = part("suite");
        if (suite.is_object()) suite.erase("resolved");
        settings_of("Suite", suite);
        settings_of("Target", part("target"));
        settings_of("Drive", part("drive"));
        settings_of("Rig", part("rig"));
        settings_of("Host", part("host"));
        json calibration = part("calibration");
        if (calibration.is_object()) {
            calibration.erase("rails");
            calibration.erase("front_end");
        }
        settings_of("Calibration", calibration);
        json shown = run;
        if (result_.run_json.size() > longest_run_json && shown.is_object()) {
            if (shown.contains("suite") && shown["suite"].is_object())
                shown["suite"]["resolved"] = "left out here: see run.json";
            if (shown.contains("steady_state")) shown["steady_state"] = "left out here: see run.json";
        }
        if (run.is_object())
            put("<details><summary>run.json, all that is needed to repeat it</summary><div><pre tabindex=\"0\">{}</pre></div>"
                "</details>\n",
                html_escape_lines(shown.dump(2, ' ', false, json::error_handler_t::replace)));
    }
    static std::string html_escape_lines(const std::string& text) {
        std::string out;
        for (std::size_t begin = 0; begin <= text.size();) {
            const std::size_t end = std::min(text.find('\n', begin), text.size());
            out += html_escape(std::string_view(text).substr(begin, end - begin)) + '\n';
            begin = end + 1;
        }
        return out;
    }

    void end() {
        put("</main>\n<footer>Made by wattrig from {}. This page holds all it needs and fetches nothing. Charts by Apache "
            "ECharts (Apache License 2.0).</footer>\n",
            html_escape(result_.run_directory));
        json data = {{"mark", simulated_mark()},       {"prefer_iops", prefer_iops()},
                     {"idle_watts", idle_watts()},     {"trace", std::move(trace_)},
                     {"fills", std::move(fills_)},     {"distributions", std::move(distributions_)},
                     {"rounds", rounds_json(rounds_)}, {"groups", json::array()}};
        for (const Group& group : groups_) {
            json points = json::array();
            for (const Row* row : group.rows) points.push_back(point(*row));
            data["groups"].push_back({{"name", clean_utf8(group.name)}, {"points", std::move(points)}});
        }
        raw(page_scripts(data, {report_js(), trace_js(), rounds_js()}));
    }
    // For each group, for each of its rows, the histogram; empty where there is none.
    json distributions() const {
        json list = json::array();
        for (const Group& group : groups_) {
            json rows = json::array();
            for (const Row* row : group.rows) {
                if (detail_ == nullptr || rows.size() == most_distributions) break;
                const auto record = std::find_if(detail_->phases.begin(), detail_->phases.end(),
                                                 [&](const auto& phase) { return phase.number == row->phase->phase.number; });
                if (record == detail_->phases.end()) continue;
                if (json points = latency_json(*record); !points.empty())
                    rows.push_back({{"name", clean_utf8(row->name)}, {"points", std::move(points)}});
            }
            list.push_back(std::move(rows));
        }
        return list;
    }
    std::string simulated_mark() const {
        if (result_.power_simulated && result_.drive_simulated) return "SIMULATED drive and power";
        if (result_.power_simulated) return "SIMULATED power";
        return result_.drive_simulated ? "SIMULATED drive" : "";
    }
    // Small blocks alone are told in IOPS, everything else in MB/s.
    bool prefer_iops() const {
        double smallest = 1e18, largest = 0;
        for (const Group& group : groups_)
            for (const Row* row : group.rows) {
                if (!row->phase->iops || !row->phase->megabytes_per_second || !(*row->phase->iops > 0)) continue;
                const double block = *row->phase->megabytes_per_second * 1e6 / *row->phase->iops;
                smallest = std::min(smallest, block);
                largest = std::max(largest, block);
            }
        return largest > 0 && largest <= 16384 && smallest > 0;
    }
    json idle_watts() const {
        if (result_.idle_watts.value) return *result_.idle_watts.value;
        for (const analysis::PhaseResult& phase : result_.phases)
            if (phase.phase.kind == "idle" && phase.watts.value) return *phase.watts.value;
        return {};
    }

    const analysis::RunResult& result_;
    const RunDetail* detail_;
    Columns table_;
    std::vector<Group> groups_;
    std::vector<RoundsView> rounds_;
    json trace_, fills_ = json::array(), distributions_ = json::array();
    std::size_t all_groups_ = 0;
    std::string out_;
};

}  // namespace

std::string html_report(const analysis::RunResult& result, const RunDetail* detail) { return Html(result, detail).take(); }

}  // namespace wattrig::report
