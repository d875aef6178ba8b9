#pragma once
// How much a drive varies: batch means with their correlation, and Student's t. Internal to host/analysis.
//
// Thread rule: free functions, any thread.

#include <cstddef>
#include <optional>
#include <span>
#include <string>
#include <vector>

namespace wattrig::analysis {

inline constexpr std::size_t fewest_batches = 10;  // below: "too short to tell"

// Two-sided 95 % point of Student's t; `degrees` > 0, need not be whole.
double student_t_95(double degrees);

// Integrated correlation time in units of the distance between values: sum of the autocorrelations up to the first that noise
// could have made (2 / sqrt n). 0 for independent values.
double correlation_time(std::span<const double> values);
// Means of `factor` neighbours; a rest at the end is left out.
std::vector<double> merged(std::span<const double> values, std::size_t factor);

struct Spread {
    std::optional<double> half_width;  // of a 95 % interval of the mean
    std::string note;                  // "too short to tell" when there is none
    std::size_t batches = 0;           // after merging
    double degrees = 0;                // effective degrees of freedom
};
// Merges batches until each is at least 10 correlation times long, then mean +- t s / sqrt n_eff; what correlation is left
// lowers n_eff and the degrees of freedom.
Spread spread_of_mean(std::span<const double> batches);
// Of the ratio sum(numerators) / sum(denominators), batch by batch, by its linear part. Sizes equal, denominators positive in
// sum.
Spread spread_of_ratio(std::span<const double> numerators, std::span<const double> denominators);

}  // namespace wattrig::analysis
