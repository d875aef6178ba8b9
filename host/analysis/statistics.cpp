#include "host/analysis/statistics.hpp"

#include <algorithm>
#include <boost/math/distributions/students_t.hpp>
#include <cassert>
#include <cmath>
#include <numeric>

namespace wattrig::analysis {
namespace {

constexpr double correlation_times_per_batch = 10;

double mean(std::span<const double> values) {
    return std::accumulate(values.begin(), values.end(), 0.0) / static_cast<double>(values.size());
}

double autocorrelation(std::span<const double> values, std::size_t lag) {
    const double m = mean(values);
    double variance = 0, covariance = 0;
    for (const double v : values) variance += (v - m) * (v - m);
    for (std::size_t k = lag; k < values.size(); ++k) covariance += (values[k] - m) * (values[k - lag] - m);
    return variance > 0 ? covariance / variance : 0;
}

}  // namespace

double student_t_95(double degrees) {
    assert(degrees > 0);
    return boost::math::quantile(boost::math::students_t(degrees), 0.975);
}

double correlation_time(std::span<const double> values) {
    if (values.size() < 4) return 0;
    const double noise = 2 / std::sqrt(static_cast<double>(values.size()));
    double sum = 0;
    for (std::size_t lag = 1; lag < values.size() / 2; ++lag) {
        const double r = autocorrelation(values, lag);
        if (r < noise) break;
        sum += r;
    }
    return sum;
}

std::vector<double> merged(std::span<const double> values, std::size_t factor) {
    std::vector<double> result;
    for (std::size_t k = 0; k + factor <= values.size(); k += factor) result.push_back(mean(values.subspan(k, factor)));
    return result;
}

Spread spread_of_mean(std::span<const double> batches) {
    Spread spread;
    const auto factor =
        static_cast<std::size_t>(std::max(1.0, std::ceil(correlation_times_per_batch * correlation_time(batches))));
    const std::vector<double> values = merged(batches, factor);
    spread.batches = values.size();
    if (values.size() < fewest_batches) {
        spread.note = "too short to tell";
        return spread;
    }
    const auto n = static_cast<double>(values.size());
    const double m = mean(values);
    double squares = 0;
    for (const double v : values) squares += (v - m) * (v - m);
    // What correlation the merging has left. Its estimate is biased by -1/n; only a positive one widens.
    const double left = std::clamp(autocorrelation(values, 1) + 1 / n, 0.0, 0.9);
    const double noise = 2 / std::sqrt(n);
    const double effective = left > noise ? std::max(2.0, n * (1 - left) / (1 + left)) : n;
    spread.degrees = effective - 1;
    spread.half_width = student_t_95(spread.degrees) * std::sqrt(squares / (n - 1) / effective);
    return spread;
}

Spread spread_of_ratio(std::span<const double> numerators, std::span<const double> denominators) {
    assert(numerators.size() == denominators.size());
    if (numerators.empty()) return {std::nullopt, "too short to tell", 0, 0};
    const double scale = mean(denominators);
    const double ratio = mean(numerators) / scale;
    std::vector<double> residual(numerators.size());
    for (std::size_t k = 0; k < residual.size(); ++k) residual[k] = (numerators[k] - ratio * denominators[k]) / scale;
    return spread_of_mean(residual);
}

}  // namespace wattrig::analysis
