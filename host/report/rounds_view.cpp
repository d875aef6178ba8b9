#include "host/report/rounds_view.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <map>
#include <nlohmann/json.hpp>

#include "host/report/escape.hpp"
#include "host/report/figures.hpp"
#include "host/report/markup.hpp"

namespace wattrig::report {
namespace {

using analysis::PhaseResult;
using nlohmann::json;

std::string text_at(const json& value, const char* key) {
    return value.is_object() && value.contains(key) && value[key].is_string() ? value[key].get<std::string>() : std::string();
}
std::size_t count_at(const json& value, const char* key) {
    return value.is_object() && value.contains(key) && value[key].is_number_unsigned() ? value[key].get<std::size_t>() : 0;
}
double number_at(const json& value, const char* key) {
    return value.is_object() && value.contains(key) && value[key].is_number() ? value[key].get<double>() : 0;
}
bool flag_at(const json& value, const char* key) {
    return value.is_object() && value.contains(key) && value[key].is_boolean() && value[key].get<bool>();
}
const json& part_at(const json& value, const char* key) {
    static const json nothing;
    return value.is_object() && value.contains(key) ? value[key] : nothing;
}
std::string parameter(const PhaseResult& phase, const std::string& key) {
    for (const auto& [name, value] : phase.phase.parameters)
        if (name == key) return value;
    return {};
}
std::string without_round(const std::string& label) {
    const std::size_t at = label.rfind(" round ");
    return at == std::string::npos ? label : label.substr(0, at);
}

std::optional<double> figure_of(const PhaseResult& phase, const std::string& figure) {
    if (figure == "iops") return phase.iops;
    if (figure == "megabytes_per_second") return phase.megabytes_per_second;
    return phase.latency.mean;
}

class Mean {
  public:
    void add(const std::optional<double>& value) {
        if (!value) return;
        sum_ += *value;
        ++count_;
    }
    [[nodiscard]] std::optional<double> value() const {
        return count_ == 0 ? std::nullopt : std::optional(sum_ / static_cast<double>(count_));
    }

  private:
    double sum_ = 0;
    std::size_t count_ = 0;
};

analysis::SteadyWindow window_of(const json& value) {
    analysis::SteadyWindow window;
    window.excursion_holds = flag_at(value, "excursion_holds");
    window.slope_holds = flag_at(value, "slope_holds");
    window.average = number_at(value, "average");
    window.minimum = number_at(value, "minimum");
    window.maximum = number_at(value, "maximum");
    window.slope = number_at(value, "slope_per_round");
    window.first_fit = number_at(value, "fit_first");
    window.last_fit = number_at(value, "fit_last");
    window.lower_bound = number_at(value, "lower_bound");
    window.upper_bound = number_at(value, "upper_bound");
    return window;
}

// The parameters that differ between cells of a round; the block size lies on the axis, as the specification has it.
void choose_axes(RoundsView& view, const std::vector<const PhaseResult*>& first_round) {
    std::vector<std::string> varying;
    for (const auto& [name, value] : first_round.front()->phase.parameters) {
        if (name == "round") continue;
        const bool differs =
            std::any_of(first_round.begin(), first_round.end(),
                        [&, key = name, first = value](const auto* phase) { return parameter(*phase, key) != first; });
        if (differs) varying.push_back(name);
    }
    if (varying.empty()) return;
    const auto block = std::find(varying.begin(), varying.end(), "block_size");
    const auto x = block == varying.end() ? varying.end() - 1 : block;
    view.x_name = *x;
    varying.erase(x);
    if (!varying.empty()) view.series_name = varying.front();
}

void add_once(std::vector<std::string>& list, const std::string& text) {
    if (std::find(list.begin(), list.end(), text) == list.end()) list.push_back(text);
}

}  // namespace

const RoundsView::Cell* RoundsView::at(const std::string& x, const std::string& series) const {
    const auto found =
        std::find_if(cells.begin(), cells.end(), [&](const Cell& cell) { return cell.x == x && cell.series == series; });
    return found == cells.end() ? nullptr : &*found;
}

std::vector<RoundsView> rounds_views(const analysis::RunResult& result) {
    std::vector<RoundsView> views;
    const json run = json::parse(result.run_json, nullptr, false);
    const json& groups = part_at(run, "steady_state");
    if (!groups.is_array()) return views;
    std::map<std::string, const PhaseResult*> by_label;
    for (const PhaseResult& phase : result.phases) by_label.emplace(phase.phase.label, &phase);

    for (const json& group : groups) {
        const json& found = part_at(group, "result");
        const json& rounds = part_at(group, "rounds");
        RoundsView view;
        view.rounds = count_at(found, "rounds");
        if (view.rounds == 0 || !rounds.is_array() || rounds.size() < view.rounds || !rounds[0].is_array()) continue;
        view.name = text_at(group, "name");
        const std::string figure = text_at(group, "figure");
        view.figure_name = figure == "iops" ? "IOPS" : figure == "megabytes_per_second" ? "Throughput" : "Mean latency";
        view.unit = figure == "iops" ? "IOPS" : figure == "megabytes_per_second" ? "MB/s" : "\xc2\xb5s";
        const std::size_t reached = count_at(found, "reached_after_round");
        view.verdict = reached > 0 ? fmt::format("steady state after round {}", reached)
                                   : fmt::format("steady state was not reached in {} rounds", view.rounds);
        view.window_first = count_at(part_at(found, "window_rounds"), "first");
        view.window_last = count_at(part_at(found, "window_rounds"), "last");
        const json& averaged = part_at(found, "averaged_rounds");
        view.averaged_first = count_at(averaged, "first");
        view.averaged_last = std::min(count_at(averaged, "last"), view.rounds);
        if (view.averaged_first == 0) {
            view.averaged_first = 1;
            view.averaged_last = view.rounds;
        }
        view.averaged =
            fmt::format("{}, rounds {} to {}", text_at(averaged, "label").empty() ? "all rounds" : text_at(averaged, "label"),
                        view.averaged_first, view.averaged_last);

        // Cell by cell: a label of round 1 with those of the same place in the other rounds.
        std::vector<const PhaseResult*> first_round;
        std::vector<std::size_t> places;
        for (std::size_t c = 0; c < rounds[0].size(); ++c) {
            if (!rounds[0][c].is_string()) continue;
            const auto phase = by_label.find(rounds[0][c].get<std::string>());
            if (phase == by_label.end() || phase->second->phase.kind != "io") continue;
            first_round.push_back(phase->second);
            places.push_back(c);
        }
        if (first_round.empty()) continue;
        choose_axes(view, first_round);
        for (std::size_t n = 0; n < places.size(); ++n) {
            RoundsView::Cell cell;
            cell.label = without_round(first_round[n]->phase.label);
            cell.x = parameter(*first_round[n], view.x_name);
            cell.series = parameter(*first_round[n], view.series_name);
            Mean mean, watts, work;
            for (std::size_t r = 0; r < view.rounds; ++r) {
                const PhaseResult* phase = nullptr;
                if (rounds[r].is_array() && places[n] < rounds[r].size() && rounds[r][places[n]].is_string())
                    if (const auto at = by_label.find(rounds[r][places[n]].get<std::string>()); at != by_label.end())
                        phase = at->second;
                cell.values.push_back(phase == nullptr ? std::nullopt : figure_of(*phase, figure));
                if (phase == nullptr || r + 1 < view.averaged_first || r + 1 > view.averaged_last) continue;
                mean.add(cell.values.back());
                watts.add(phase->watts.value);
                work.add(figure == "megabytes_per_second" ? phase->megabytes_per_second_per_watt.value
                                                          : phase->iops_per_watt.value);
            }
            cell.figure = mean.value();
            cell.watts = watts.value();
            cell.work_per_watt = work.value();
            add_once(view.xs, cell.x);
            add_once(view.all_series, cell.series);
            view.cells.push_back(std::move(cell));
        }
        if (const json& variables = part_at(found, "variables"); variables.is_array())
            for (const json& variable : variables) {
                RoundsView::Variable one;
                one.label = without_round(text_at(variable, "label"));
                for (const json& value : part_at(variable, "values"))
                    if (value.is_number()) one.values.push_back(value.get<double>());
                if (variable.contains("window")) one.window = window_of(variable["window"]);
                view.variables.push_back(std::move(one));
            }
        views.push_back(std::move(view));
    }
    return views;
}

namespace {

json number(const std::optional<double>& value) { return value ? json(*value) : json(); }

std::string axis_words(std::string name) {
    std::replace(name.begin(), name.end(), '_', ' ');
    return name;
}
std::string cell_words(const std::string& axis, const std::string& value) {
    return axis == "read_percent" ? value + " % reads" : value;
}

}  // namespace

json rounds_json(const std::vector<RoundsView>& views) {
    json list = json::array();
    for (const RoundsView& view : views) {
        json one = {{"name", clean_utf8(view.name)},
                    {"figure", view.figure_name},
                    {"unit", view.unit},
                    {"rounds", view.rounds},
                    {"window_first", view.window_first},
                    {"window_last", view.window_last},
                    {"x_name", axis_words(view.x_name)},
                    {"series_name", axis_words(view.series_name)},
                    {"xs", view.xs},
                    {"series", json::array()},
                    {"cells", json::array()},
                    {"variables", json::array()}};
        for (const std::string& series : view.all_series) one["series"].push_back(cell_words(view.series_name, series));
        for (const RoundsView::Cell& cell : view.cells) {
            json values = json::array();
            for (const auto& value : cell.values) values.push_back(number(value));
            one["cells"].push_back(
                {{"label", clean_utf8(cell.label)},
                 {"x", std::find(view.xs.begin(), view.xs.end(), cell.x) - view.xs.begin()},
                 {"series", std::find(view.all_series.begin(), view.all_series.end(), cell.series) - view.all_series.begin()},
                 {"values", std::move(values)},
                 {"figure", number(cell.figure)},
                 {"watts", number(cell.watts)},
                 {"work_per_watt", number(cell.work_per_watt)}});
        }
        for (const RoundsView::Variable& variable : view.variables) {
            json window;
            if (variable.window)
                window = {{"average", variable.window->average},
                          {"lower_bound", variable.window->lower_bound},
                          {"upper_bound", variable.window->upper_bound},
                          {"fit_first", variable.window->first_fit},
                          {"fit_last", variable.window->last_fit}};
            one["variables"].push_back(
                {{"label", clean_utf8(variable.label)}, {"values", variable.values}, {"window", std::move(window)}});
        }
        list.push_back(std::move(one));
    }
    return list;
}

namespace {

std::string decision_table(const RoundsView& view, const std::string& id) {
    std::string out = copy_button(id) + fmt::format(
                                            "<div class=\"scroll\" tabindex=\"0\" role=\"region\" aria-label=\"Steady "
                                            "state\">\n<table class=\"figures\" id=\"{}\">"
                                            "<thead><tr><th scope=\"col\">tracking variable<small>&nbsp;</small></th>",
                                            id);
    for (const char* name : {"average", "lowest", "highest", "lower bound", "upper bound", "slope a round"})
        out += fmt::format("<th scope=\"col\">{}<small>{}</small></th>", name, view.unit);
    out +=
        "<th scope=\"col\">excursion<small>&nbsp;</small></th><th scope=\"col\">slope<small>&nbsp;</small></th></tr></thead>\n"
        "<tbody>\n";
    for (const RoundsView::Variable& variable : view.variables) {
        if (!variable.window) continue;
        const analysis::SteadyWindow& window = *variable.window;
        out += fmt::format("<tr><th scope=\"row\">{}</th>", html_escape(clean_utf8(variable.label)));
        for (const double value :
             {window.average, window.minimum, window.maximum, window.lower_bound, window.upper_bound, window.slope})
            out += fmt::format("<td>{}</td>", significant(value, 5));
        out += fmt::format("<td>{}</td><td>{}</td></tr>\n", window.excursion_holds ? "holds" : "too large",
                           window.slope_holds ? "holds" : "too steep");
    }
    return out + "</tbody></table></div>\n";
}

std::string cell_table(const RoundsView& view, const std::string& id, const std::string& what, const std::string& unit,
                       std::optional<double> RoundsView::Cell::* part) {
    if (std::none_of(view.cells.begin(), view.cells.end(), [&](const auto& cell) { return (cell.*part).has_value(); }))
        return {};
    std::string out = fmt::format("<h4>{}{}</h4>\n", what, unit == what ? "" : " [" + unit + "]") + copy_button(id) +
                      fmt::format(
                          "<div class=\"scroll\" tabindex=\"0\" role=\"region\" aria-label=\"{}\">\n<table "
                          "class=\"figures\" id=\"{}\"><thead><tr><th scope=\"col\">{}</th>",
                          what, id, html_escape(axis_words(view.x_name)));
    for (const std::string& series : view.all_series)
        out += fmt::format("<th scope=\"col\">{}</th>", html_escape(cell_words(view.series_name, series)));
    out += "</tr></thead>\n<tbody>\n";
    for (const std::string& x : view.xs) {
        out += fmt::format("<tr><th scope=\"row\">{}</th>", html_escape(x));
        for (const std::string& series : view.all_series) {
            const RoundsView::Cell* cell = view.at(x, series);
            out += fmt::format("<td>{}</td>", cell == nullptr ? "-" : significant(cell->*part, 4));
        }
        out += "</tr>\n";
    }
    return out + "</tbody></table></div>\n";
}

}  // namespace

std::string rounds_html(const RoundsView& view, std::size_t k) {
    std::string out =
        fmt::format("<h2>Steady state: {}</h2>\n<p>{}; {} rounds were carried out. Averages are over {}.</p>\n",
                    html_escape(clean_utf8(view.name)), view.verdict, view.rounds, html_escape(clean_utf8(view.averaged)));
    const auto id = [&](const char* what) { return fmt::format("{}-{}", what, k); };
    out += "<div class=\"charts\">\n";
    out += chart_frame(id("convergence"), view.figure_name + " against round", "each line one cell; bold: tracking variables");
    out += chart_frame(id("window"), "Steady state window",
                       "tracking variables; dashed: average and its bounds, dotted: least-squares line");
    out += "</div>\n" + decision_table(view, id("steady"));
    if (view.x_name.empty()) return out;
    out += "<div class=\"charts\">\n";
    out += chart_frame(id("cells"), view.figure_name + " against " + axis_words(view.x_name), "averages of the cells");
    if (!view.series_name.empty())
        out += chart_frame(id("columns"), view.figure_name + " in three dimensions",
                           "averages of the cells; drag or the arrow keys turn it");
    out += "</div>\n";
    out += cell_table(view, id("table"), view.figure_name, view.unit, &RoundsView::Cell::figure);
    out += cell_table(view, id("table-power"), "Power", "W", &RoundsView::Cell::watts);
    out += cell_table(view, id("table-efficiency"), "Efficiency", view.unit == "MB/s" ? "MB/s/W" : "IOPS/W",
                      &RoundsView::Cell::work_per_watt);
    return out;
}

}  // namespace wattrig::report
