#include "host/runner/rounds.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <nlohmann/json.hpp>

#include "host/analysis/steady_state.hpp"

namespace wattrig::runner {
namespace {

using nlohmann::json;

analysis::SteadyRule rule_of(const suites::SteadyGroup& group) {
    return {group.window, group.excursion_permille, group.slope_permille};
}
std::size_t end_of(const suites::SteadyGroup& group) { return group.first_step + group.steps_per_round * group.most_rounds; }

json window_json(const analysis::SteadyWindow& window) {
    return {{"steady", window.steady()},         {"excursion_holds", window.excursion_holds},
            {"slope_holds", window.slope_holds}, {"average", window.average},
            {"minimum", window.minimum},         {"maximum", window.maximum},
            {"slope_per_round", window.slope},   {"fit_first", window.first_fit},
            {"fit_last", window.last_fit},       {"lower_bound", window.lower_bound},
            {"upper_bound", window.upper_bound}};
}

// Which rounds stand for the drive: the window, or those after it that the method averages.
json averaged_rounds(const suites::SteadyGroup& group, const analysis::SteadyState& state, std::size_t rounds) {
    std::size_t first = state.window_end - group.window + 1, last = state.window_end;
    std::string label = state.reached ? "the steady window" : "the last window: steady state was not reached";
    if (group.rounds_after > 0 && rounds >= group.rounds_after) {
        const bool fits = state.reached && *state.reached + group.rounds_after <= rounds;
        first = fits ? *state.reached + 1 : rounds - group.rounds_after + 1;
        last = first + group.rounds_after - 1;
        label = fits ? fmt::format("the {} rounds after the first steady window", group.rounds_after)
                     : fmt::format("the last {} rounds", group.rounds_after);
    }
    return {{"first", first}, {"last", last}, {"label", label}};
}

}  // namespace

std::optional<std::int64_t> tracked_figure(suites::SteadyFigure figure, const io::PhaseOutcome& outcome) {
    double operations = 0, bytes = 0, latency_ns = 0;
    for (const io::KindOutcome& kind : outcome.kinds) {
        operations += static_cast<double>(kind.operations);
        bytes += static_cast<double>(kind.bytes);
        latency_ns += static_cast<double>(kind.latency_sum);
    }
    const double seconds = to_seconds(outcome.measured());
    if (operations <= 0 || seconds <= 0) return std::nullopt;
    switch (figure) {
        case suites::SteadyFigure::iops: return analysis::steady_thousandths(operations / seconds);
        case suites::SteadyFigure::megabytes_per_second: return analysis::steady_thousandths(bytes / seconds / 1e6);
        case suites::SteadyFigure::latency: return analysis::steady_thousandths(latency_ns / operations / 1e3);
    }
    return std::nullopt;
}

std::optional<std::size_t> Rounds::group_of(std::size_t k) const {
    for (std::size_t g = 0; g < plan_.steady.size(); ++g)
        if (k >= plan_.steady[g].first_step && k < end_of(plan_.steady[g])) return g;
    return std::nullopt;
}

void Rounds::track(std::size_t k, const io::PhaseOutcome& outcome) {
    const auto g = group_of(k);
    if (!g) return;
    const suites::SteadyGroup& group = plan_.steady[*g];
    groups_[*g].values.resize(group.tracked.size());
    for (std::size_t t = 0; t < group.tracked.size(); ++t)
        if ((k - group.first_step) % group.steps_per_round == group.tracked[t])
            if (const auto value = tracked_figure(group.figure, outcome)) groups_[*g].values[t].push_back(*value);
}

// A cell that gave no figure in some round cannot be judged with the others.
bool Rounds::complete(std::size_t g) const {
    const Group& group = groups_[g];
    return group.rounds > 0 && group.values.size() == plan_.steady[g].tracked.size() &&
           std::all_of(group.values.begin(), group.values.end(),
                       [&](const auto& variable) { return variable.size() >= group.rounds; });
}

Rounds::Next Rounds::after(std::size_t k) {
    Next next;
    next.step = k + 1;
    const auto g = group_of(k);
    if (!g) return next;
    const suites::SteadyGroup& group = plan_.steady[*g];
    if ((k - group.first_step) % group.steps_per_round + 1 < group.steps_per_round) return next;
    const std::size_t round = groups_[*g].rounds = (k - group.first_step) / group.steps_per_round + 1;
    next.round_ended = true;
    if (!complete(*g)) {
        if (round == group.most_rounds) {
            next.notice =
                fmt::format("{}: a tracked cell gave no figure in some round, steady state cannot be told", group.name);
            next.not_steady = true;
        }
        return next;
    }
    const auto state = analysis::find_steady_state(groups_[*g].values, rule_of(group));
    if (state.reached && *state.reached == round) {
        next.notice = fmt::format("{}: steady state after round {}", group.name, round);
    } else if (!state.reached && round == group.most_rounds) {
        next.notice = fmt::format("{}: steady state was not reached in {} rounds; the last {} are reported", group.name, round,
                                  group.window);
        next.not_steady = true;
    }
    if (state.reached && !group.all_rounds) next.step = end_of(group);
    return next;
}

bool Rounds::repeats(std::size_t k) const {
    const auto g = group_of(k);
    return g && k >= plan_.steady[*g].first_step + plan_.steady[*g].steps_per_round;
}

void Rounds::write_to(json& steady_state) const {
    for (std::size_t g = 0; g < groups_.size(); ++g) {
        json& result = steady_state[g]["result"] = {{"rounds", groups_[g].rounds}};
        if (!complete(g)) continue;
        // A round that was cut off may have given one cell more than the others.
        auto values = groups_[g].values;
        for (auto& variable : values) variable.resize(groups_[g].rounds);
        const suites::SteadyGroup& group = plan_.steady[g];
        const auto state = analysis::find_steady_state(values, rule_of(group));
        result["reached_after_round"] = state.reached ? json(*state.reached) : json(nullptr);
        result["words"] = state.reached ? "steady state" : "not reached";
        json& variables = result["variables"] = json::array();
        for (std::size_t t = 0; t < values.size(); ++t) {
            json figures = json::array();
            for (const std::int64_t value : values[t]) figures.push_back(static_cast<double>(value) / 1000);
            json one = {{"label", plan_.steps[group.first_step + group.tracked[t]].label}, {"values", std::move(figures)}};
            if (t < state.windows.size()) one["window"] = window_json(state.windows[t]);
            variables.push_back(std::move(one));
        }
        if (state.windows.empty()) continue;
        result["window_rounds"] = {{"first", state.window_end - group.window + 1}, {"last", state.window_end}};
        result["averaged_rounds"] = averaged_rounds(group, state, groups_[g].rounds);
    }
}

}  // namespace wattrig::runner
