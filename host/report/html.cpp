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
#include "host/report/table.hpp"
#include "host/report/trace_data.hpp"

namespace wattrig::report {
namespace {

using nlohmann::json;

// More lines than this cannot be told apart; the table has them all.
constexpr std::size_t most_groups = 10;

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
    explicit Html(const analysis::RunResult& result)
        : result_(result), table_(columns_of(result, "\xc2\xb5")), groups_(groups_of(table_.rows)) {
        all_groups_ = groups_.size();
        trace_ = trace_data(result);
        position_ = position_data(result);
        if (groups_.size() > most_groups) groups_.resize(most_groups);
    }
    std::string take() {
        head();
        summary();
        over_time();
        charts();
        against_position();
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
        put("<!DOCTYPE html>\n<html lang=\"en\">\n<head>\n<meta charset=\"utf-8\">\n<title>{} - {}</title>\n",
            html_escape(subject), html_escape(result_.suite));
        raw("<meta name=\"viewport\" content=\"width=device-width, initial-scale=1\">\n"
            "<meta name=\"generator\" content=\"wattrig\">\n"
            "<meta http-equiv=\"Content-Security-Policy\" content=\"default-src 'none'; style-src 'unsafe-inline'; "
            "script-src 'unsafe-inline'; img-src data:\">\n<link rel=\"icon\" href=\"data:,\">\n<style>\n");
        raw(report_css());
        raw("</style>\n</head>\n<body>\n<a class=\"skip\" href=\"#figures\">Skip to the table of figures</a>\n");
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

    void chart(const std::string& id, const std::string& title, const std::string& sentence) {
        put("<figure><figcaption><div><h3>{0}</h3><p>{1}</p></div>{3}</figcaption>"
            "<div class=\"chart\" id=\"chart-{2}\" data-name=\"{2}\" role=\"img\" aria-label=\"{0}. {1}. The figures are in "
            "the table.\"></div></figure>\n",
            html_escape(title), html_escape(sentence), id, save_buttons);
    }

    void charts() {
        if (groups_.empty()) return;
        const bool depths = std::any_of(groups_.begin(), groups_.end(), [](const Group& g) { return g.rows.size() > 1; });
        const std::string against = depths ? " against queue depth" : "";
        raw("<h2>Charts</h2>\n<noscript><p class=\"note\">The charts need JavaScript. Every figure is in the table "
            "below.</p></noscript>\n<div class=\"switches\"><fieldset class=\"switch\"><legend>Work in</legend>"
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
        }
        raw("</div>\n");
        if (std::any_of(groups_.begin(), groups_.end(), any_latency)) {
            raw("<h2>Latency</h2>\n<div class=\"charts\">\n");
            for (std::size_t k = 0; k < groups_.size(); ++k)
                if (any_latency(groups_[k]))
                    chart(fmt::format("latency-{}", k), groups_[k].name, "percentiles of the response time; lower is better");
            raw("</div>\n");
        }
        if (all_groups_ > groups_.size())
            put("<p class=\"note\">The charts show the first {} of {} series; the table has all.</p>\n", groups_.size(),
                all_groups_);
    }

    void over_time() {
        if (trace_.is_null()) return;
        put("<h2>Power over the run</h2>\n<noscript><p class=\"note\">This chart needs JavaScript; <code>wattrig export</code> "
            "gives the trace as CSV.</p></noscript>\n<figure class=\"wide\"><figcaption><div><h3>Power, voltage and "
            "phases</h3><p "
            "id=\"trace-shown\">the whole run</p></div><label class=\"place\">Show <select id=\"trace-place\"><option "
            "value=\"0\">the whole run</option></select></label>{}</figcaption><div class=\"chart tall\" id=\"chart-trace\" "
            "data-name=\"trace\" role=\"img\" aria-label=\"Power of the whole run against time, with its phases. Plus and "
            "minus "
            "zoom, arrow keys move, 0 shows all.\"></div></figure>\n<p class=\"note\">Line: mean; band: lowest to highest "
            "sample "
            "of each bin. The page holds bins of {} ms for the whole run, and every sample (30.72 &micro;s) for 20 ms around "
            "the "
            "edges of phases, changes of the side-band lines and the ten highest peaks{}. Plus, minus, arrow keys and 0 work "
            "on "
            "the chart, as does the wheel once it is chosen.</p>\n",
            save_buttons, significant(trace_["bin"].get<double>(), 3),
            trace_["left_out"].get<std::size_t>() > 0
                ? fmt::format("; {} more places would have made the page too large", trace_["left_out"].get<std::size_t>())
                : std::string());
    }
    void against_position() {
        if (position_.empty()) return;
        raw("<h2>Speed and power against position</h2>\n<div class=\"charts\">\n");
        for (std::size_t k = 0; k < position_.size(); ++k)
            chart(fmt::format("position-{}", k), position_[k]["label"].get<std::string>(),
                  position_[k]["verdict"].get<std::string>());
        raw("</div>\n");
    }

    void table() {
        raw("<h2 id=\"figures\">Figures</h2>\n");
        if (table_.rows.empty()) {
            raw("<p>No phase was carried out.</p>\n");
            return;
        }
        raw("<p class=\"note\"><button type=\"button\" class=\"small\" data-copy=\"figures-table\">Copy as CSV</button></p>\n");
        raw("<div class=\"scroll\" tabindex=\"0\" role=\"region\" aria-labelledby=\"figures\">\n<table class=\"figures\" "
            "id=\"figures-table\">\n"
            "<thead><tr><th scope=\"col\">phase</th>");
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
        if (run.is_object())
            put("<details><summary>run.json, all that is needed to repeat it</summary><div><pre tabindex=\"0\">{}</pre></div>"
                "</details>\n",
                html_escape_lines(run.dump(2, ' ', false, json::error_handler_t::replace)));
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
        if (groups_.empty() && trace_.is_null()) {
            raw("</body>\n</html>\n");
            return;
        }
        json data = {{"mark", simulated_mark()}, {"prefer_iops", prefer_iops()}, {"idle_watts", idle_watts()}};
        data["groups"] = json::array();
        for (const Group& group : groups_) {
            json points = json::array();
            for (const Row* row : group.rows) points.push_back(point(*row));
            data["groups"].push_back({{"name", clean_utf8(group.name)}, {"points", std::move(points)}});
        }
        data["trace"] = trace_;
        data["position"] = position_;
        raw("<script type=\"application/json\" id=\"data\">");
        raw(script_safe_json(data.dump(-1, ' ', false, json::error_handler_t::replace)));
        raw("</script>\n<script>");
        raw(echarts_js());
        raw("</script>\n<script>\n");
        raw(page_js());
        raw("</script>\n<script>\n");
        raw(report_js());
        raw("</script>\n<script>\n");
        raw(trace_js());
        raw("</script>\n</body>\n</html>\n");
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
    Columns table_;
    std::vector<Group> groups_;
    std::size_t all_groups_ = 0;
    json trace_, position_;
    std::string out_;
};

}  // namespace

std::string html_report(const analysis::RunResult& result) { return Html(result).take(); }

}  // namespace wattrig::report
