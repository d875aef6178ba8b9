#include <array>
#include <cmath>

#include "host/analysis/join.hpp"
#include "host/power/uncertainty.hpp"

namespace wattrig::analysis {
namespace {

struct Cell {
    double megabytes_per_second, watts, seconds;  // seconds: busy
    double spread;                                // of MB/s/W
    bool has_spread;
    const power::PowerUncertainty* u;
};

// A score r is a function of the cells' powers. `weights` are -dr/dP of each: the instrument's errors are shared by all cells
// and add linearly, noise does not. `shares` are dr/d(efficiency) of each: what the drive itself varies is independent.
Figure make_figure(double value, std::span<const Cell> cells, std::span<const double> weights, std::span<const double> shares) {
    Figure figure;
    figure.value = value;
    std::vector<power::WeightedBudget> parts;
    double squares = 0;
    bool has_spread = true;
    for (std::size_t k = 0; k < cells.size(); ++k) {
        parts.push_back({weights[k], *cells[k].u});
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

Score make_score(const std::string& name, std::span<const PhaseResult> phases, std::span<const std::size_t> which) {
    Score score;
    score.name = name;
    std::vector<Cell> cells;
    double rate = 0;
    bool rates = !which.empty(), powers = !which.empty();
    for (const std::size_t k : which) {
        const PhaseResult& p = phases[k];
        score.phases.push_back(p.phase.number);
        rates = rates && p.megabytes_per_second.has_value();
        powers = powers && p.watts.value.has_value() && *p.watts.value > 0;
        if (!rates) continue;
        rate += *p.megabytes_per_second;
        if (!powers) continue;
        double seconds = to_seconds(p.phase.outcome.measured());
        if (!p.phase.outcome.bursts.empty()) {
            seconds = 0;
            for (const io::Interval& burst : p.phase.outcome.bursts) seconds += to_seconds(burst.end - burst.begin);
        }
        const Figure& efficiency = p.megabytes_per_second_per_watt;
        cells.push_back({*p.megabytes_per_second, *p.watts.value, seconds, efficiency.spread.value_or(0),
                         efficiency.spread.has_value(), &p.budget});
    }
    const auto n = static_cast<double>(which.size());
    if (rates) score.megabytes_per_second = rate / n;
    if (!rates || !powers) return score;
    double watts = 0, ratios = 0, megabytes = 0, joules = 0;
    for (const Cell& c : cells) {
        watts += c.watts;
        ratios += c.megabytes_per_second / c.watts;
        megabytes += c.megabytes_per_second * c.seconds;
        joules += c.watts * c.seconds;
    }
    score.watts = watts / n;
    std::vector<double> weights, shares;
    const auto fill = [&](auto weight, auto share) {
        weights.clear();
        shares.clear();
        for (const Cell& c : cells) {
            weights.push_back(weight(c));
            shares.push_back(share(c));
        }
    };
    fill([&](const Cell& c) { return c.megabytes_per_second / (c.watts * c.watts) / n; }, [&](const Cell&) { return 1 / n; });
    score.mean_of_ratios = make_figure(ratios / n, cells, weights, shares);
    fill([&](const Cell&) { return rate / (watts * watts); }, [&](const Cell& c) { return c.watts / watts; });
    score.ratio_of_means = make_figure(rate / watts, cells, weights, shares);
    fill([&](const Cell& c) { return megabytes / (joules * joules) * c.seconds; },
         [&](const Cell& c) { return c.watts * c.seconds / joules; });
    score.total_bytes_per_joule = make_figure(megabytes / joules, cells, weights, shares);
    return score;
}

}  // namespace wattrig::analysis
