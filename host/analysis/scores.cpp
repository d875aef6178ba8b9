#include <array>
#include <cmath>

#include "host/analysis/join.hpp"
#include "host/power/uncertainty.hpp"

namespace wattrig::analysis {
namespace {

struct Cell {
    double weight;                                // all together 1
    double megabytes_per_second, watts, seconds;  // seconds: busy
    double spread;                                // of MB/s/W
    bool has_spread;
    const power::PowerUncertainty* u;
};

// A score r is a function of the cells' powers. `slopes` are -dr/dP of each: the instrument's errors are shared by all cells
// and add linearly, noise does not. `shares` are dr/d(efficiency) of each: what the drive itself varies is independent.
Figure make_figure(double value, std::span<const Cell> cells, std::span<const double> slopes, std::span<const double> shares) {
    Figure figure;
    figure.value = value;
    std::vector<power::WeightedBudget> parts;
    double squares = 0;
    bool has_spread = true;
    for (std::size_t k = 0; k < cells.size(); ++k) {
        parts.push_back({slopes[k], *cells[k].u});
        squares += shares[k] * shares[k] * cells[k].spread * cells[k].spread;
        has_spread = has_spread && cells[k].has_spread;
    }
    figure.u = power::combine(parts).expanded();
    if (has_spread)
        figure.spread = std::sqrt(squares);
    else
        figure.spread_note = "too short to tell";
    return figure;
}

}  // namespace

Score make_score(const std::string& name, std::span<const PhaseResult> phases, std::span<const std::size_t> which,
                 std::span<const double> weights) {
    Score score;
    score.name = name;
    score.weights.assign(weights.begin(), weights.end());
    double all_weights = 0;
    for (std::size_t k = 0; k < which.size(); ++k) all_weights += weights.empty() ? 1 : weights[k];
    std::vector<Cell> cells;
    double rate = 0;
    bool rates = all_weights > 0, powers = all_weights > 0;
    for (std::size_t k = 0; k < which.size(); ++k) {
        const PhaseResult& p = phases[which[k]];
        const double weight = (weights.empty() ? 1 : weights[k]) / all_weights;
        score.phases.push_back(p.phase.number);
        rates = rates && p.megabytes_per_second.has_value();
        powers = powers && p.watts.value.has_value() && *p.watts.value > 0;
        if (!rates) continue;
        rate += weight * *p.megabytes_per_second;
        if (!powers) continue;
        double seconds = to_seconds(p.phase.outcome.measured());
        if (!p.phase.outcome.bursts.empty()) {
            seconds = 0;
            for (const io::Interval& burst : p.phase.outcome.bursts) seconds += to_seconds(burst.end - burst.begin);
        }
        const Figure& efficiency = p.megabytes_per_second_per_watt;
        cells.push_back({weight, *p.megabytes_per_second, *p.watts.value, seconds, efficiency.spread.value_or(0),
                         efficiency.spread.has_value(), &p.budget});
    }
    if (rates) score.megabytes_per_second = rate;
    if (!rates || !powers) return score;
    double watts = 0, ratios = 0, megabytes = 0, joules = 0;
    for (const Cell& c : cells) {
        watts += c.weight * c.watts;
        ratios += c.weight * c.megabytes_per_second / c.watts;
        megabytes += c.weight * c.megabytes_per_second * c.seconds;
        joules += c.weight * c.watts * c.seconds;
    }
    score.watts = watts;
    std::vector<double> slopes, shares;
    const auto fill = [&](auto slope, auto share) {
        slopes.clear();
        shares.clear();
        for (const Cell& c : cells) {
            slopes.push_back(c.weight * slope(c));
            shares.push_back(c.weight * share(c));
        }
    };
    fill([](const Cell& c) { return c.megabytes_per_second / (c.watts * c.watts); }, [](const Cell&) { return 1.0; });
    score.mean_of_ratios = make_figure(ratios, cells, slopes, shares);
    fill([&](const Cell&) { return rate / (watts * watts); }, [&](const Cell& c) { return c.watts / watts; });
    score.ratio_of_means = make_figure(rate / watts, cells, slopes, shares);
    fill([&](const Cell& c) { return megabytes / (joules * joules) * c.seconds; },
         [&](const Cell& c) { return c.watts * c.seconds / joules; });
    score.total_bytes_per_joule = make_figure(megabytes / joules, cells, slopes, shares);
    return score;
}

}  // namespace wattrig::analysis
