#pragma once
// The budget of a mean power, and how budgets of several intervals go together. Terms: GUM (JCGM 100) and its supplement 1.
//
// Thread rule: free functions, any thread.

#include <array>
#include <cstddef>
#include <cstdint>
#include <span>

#include "firmware/protocol/protocol.hpp"
#include "host/power/calibration.hpp"
#include "host/power/energy.hpp"
#include "host/power/segment.hpp"

namespace wattrig::power {

// What the budget needs to know of an interval; all means over its time.
struct BudgetInput {
    Means means;
    std::size_t rails = 1;
    std::uint64_t samples = 0;
    double u_offset = 0;            // ampere, rail 0, standard: with the idle path
    double temperature_offset = 0;  // kelvin, mean distance from the calibration's temperature
    double temperature_change = 0;  // kelvin, interpolated over gaps, weighted by their share of the time
    double seconds = 0;
    std::array<double, 2> edge_step{};        // watt, rms of the steps that a wrong edge would cross
    std::array<double, 2> edge_half_width{};  // seconds, bound of the clock at each edge
    double coverage = 0;                      // watt, standard: from missing samples and from edges inside gaps
};
PowerUncertainty budget(const BudgetInput& input, const Calibration& calibration);

// Sum of f_k x mean power k. What belongs to the instrument (reference, gains, offsets, temperature) is one and the same error
// in every interval and adds linearly, with sign; noise, alignment and coverage are independent.
struct WeightedBudget {
    double weight;
    PowerUncertainty u;
};
PowerUncertainty combine(std::span<const WeightedBudget> parts);

}  // namespace wattrig::power
