#pragma once
// Steady state as the SNIA Solid State Storage Performance Test Specification defines it (PTS 2.0.2, 2.1.24): over the last
// five rounds the excursion (max - min) is at most 20 % of the mean, and the rise of the least-squares line from the first
// round of the window to the last is at most 10 % of the mean; both for every tracking variable, in the same rounds. Bounds
// included.
//
// Decided in integers, so that equality is equality: figures are rounded once, to a thousandth of their unit.
//
// Thread rule: free functions, any thread.

#include <cstddef>
#include <cstdint>
#include <optional>
#include <span>
#include <vector>

namespace wattrig::analysis {

struct SteadyRule {
    std::size_t window = 5;                  // rounds, 2 .. 1000
    std::uint32_t excursion_permille = 200;  // of the mean
    std::uint32_t slope_permille = 100;      // of the mean, for the rise over the window
};

// One tracking variable over one window. Figures in the unit of the variable, for the report; the verdicts are the integers'.
struct SteadyWindow {
    bool excursion_holds = false, slope_holds = false;
    double average = 0, minimum = 0, maximum = 0;
    double slope = 0;                         // of the least-squares line, a round
    double first_fit = 0, last_fit = 0;       // that line at the first and the last round
    double lower_bound = 0, upper_bound = 0;  // average -+ half of the excursion allowed
    [[nodiscard]] bool steady() const { return excursion_holds && slope_holds; }
};

// A figure as the rules count it: rounded to 0.001 of its unit, halves away from zero. Must be finite; above 9e15 it is refused
// by assertion.
std::int64_t steady_thousandths(double figure);

// `thousandths`: exactly rule.window values, oldest first. A mean of zero or below is never steady.
SteadyWindow judge_window(std::span<const std::int64_t> thousandths, const SteadyRule& rule);

struct SteadyState {
    std::optional<std::size_t> reached;  // number of rounds after which all were steady for the first time; none = not reached
    std::size_t window_end = 0;          // rounds up to the end of the window reported: the first steady one, else the last
    std::vector<SteadyWindow> windows;   // of that window, one for each variable; empty below `window` rounds
};
// `variables`: for each tracking variable one value a round; all of the same length.
SteadyState find_steady_state(const std::vector<std::vector<std::int64_t>>& variables, const SteadyRule& rule);

}  // namespace wattrig::analysis
