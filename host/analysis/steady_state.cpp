#include "host/analysis/steady_state.hpp"

#include <algorithm>
#include <cassert>
#include <cmath>

namespace wattrig::analysis {
namespace {

// A window of 1000 rounds of 9e15 thousandths, times its weights, needs more than 64 bits.
__extension__ using Wide = __int128;

}  // namespace

std::int64_t steady_thousandths(double figure) {
    assert(std::isfinite(figure) && std::abs(figure) < 9e15);
    return std::llround(figure * 1000);
}

SteadyWindow judge_window(std::span<const std::int64_t> values, const SteadyRule& rule) {
    assert(rule.window >= 2 && rule.window <= 1000 && values.size() == rule.window);
    const auto count = static_cast<std::int64_t>(values.size());
    // Twice the distance from the middle, so that it is whole for an even window too.
    Wide sum = 0, weighted = 0, squares = 0;
    for (std::int64_t i = 0; i < count; ++i) {
        const std::int64_t weight = 2 * i - (count - 1);
        sum += values[static_cast<std::size_t>(i)];
        weighted += Wide{weight} * values[static_cast<std::size_t>(i)];
        squares += Wide{weight} * weight;
    }
    const auto [lowest, highest] = std::minmax_element(values.begin(), values.end());

    SteadyWindow window;
    if (sum > 0) {
        // (max - min) <= e / 1000 x sum / n. For n = 5 and 20 %: 25 (max - min) <= sum.
        window.excursion_holds = Wide{1000} * count * (Wide{*highest} - *lowest) <= Wide{rule.excursion_permille} * sum;
        // slope = 2 weighted / squares, rise = (n - 1) slope. For n = 5 and 10 %: 20 |-2 y0 - y1 + y3 + 2 y4| <= sum.
        const Wide magnitude = weighted < 0 ? -weighted : weighted;
        window.slope_holds = Wide{2000} * count * (count - 1) * magnitude <= Wide{rule.slope_permille} * squares * sum;
    }
    const auto n = static_cast<double>(count);
    window.average = static_cast<double>(sum) / n / 1000;
    window.minimum = static_cast<double>(*lowest) / 1000;
    window.maximum = static_cast<double>(*highest) / 1000;
    window.slope = 2 * static_cast<double>(weighted) / static_cast<double>(squares) / 1000;
    window.first_fit = window.average - window.slope * (n - 1) / 2;
    window.last_fit = window.average + window.slope * (n - 1) / 2;
    const double half = window.average * rule.excursion_permille / 2000;
    window.lower_bound = window.average - half;
    window.upper_bound = window.average + half;
    return window;
}

SteadyState find_steady_state(const std::vector<std::vector<std::int64_t>>& variables, const SteadyRule& rule) {
    SteadyState state;
    if (variables.empty()) return state;
    const std::size_t rounds = variables.front().size();
    for (std::size_t end = rule.window; end <= rounds; ++end) {
        std::vector<SteadyWindow> windows;
        for (const auto& variable : variables) {
            assert(variable.size() == rounds);
            windows.push_back(judge_window(std::span(variable).subspan(end - rule.window, rule.window), rule));
        }
        state.window_end = end;
        state.windows = std::move(windows);
        if (std::all_of(state.windows.begin(), state.windows.end(), [](const SteadyWindow& w) { return w.steady(); })) {
            state.reached = end;
            break;
        }
    }
    return state;
}

}  // namespace wattrig::analysis
