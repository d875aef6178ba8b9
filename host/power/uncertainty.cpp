#include "host/power/uncertainty.hpp"

#include <algorithm>
#include <cmath>
#include <limits>
#include <numbers>
#include <vector>

namespace wattrig::power {
namespace {

double square(double x) { return x * x; }

// splitmix64: small, and the same on every platform, so that a result can be made again to the last digit.
class Random {
  public:
    explicit Random(std::uint64_t seed) : state_(seed) {}
    double uniform() {  // (0, 1)
        state_ += 0x9e3779b97f4a7c15u;
        std::uint64_t z = state_;
        z = (z ^ (z >> 30)) * 0xbf58476d1ce4e5b9u;
        z = (z ^ (z >> 27)) * 0x94d049bb133111ebu;
        z ^= z >> 31;
        return (static_cast<double>(z >> 11) + 0.5) * 0x1p-53;
    }
    double normal() { return std::sqrt(-2 * std::log(uniform())) * std::cos(2 * std::numbers::pi * uniform()); }

  private:
    std::uint64_t state_;
};

// Half-width that holds 95 % of normal(0, gauss) + rectangular(rms a) + rectangular(rms b).
double monte_carlo_half_width(double gauss, double a, double b) {
    constexpr std::size_t draws = 40'000;  // the 95 % point is then known to 0.5 %
    Random random(20231107);
    std::vector<double> error(draws);
    const double width = std::numbers::sqrt3;
    for (double& e : error)
        e = std::fabs(gauss * random.normal() + a * width * (2 * random.uniform() - 1) +
                      b * width * (2 * random.uniform() - 1));
    const auto point = error.begin() + static_cast<std::ptrdiff_t>(draws * 95 / 100);
    std::nth_element(error.begin(), point, error.end());
    return *point;
}

}  // namespace

double PowerUncertainty::standard() const {
    return std::sqrt(square(reference) + square(v_gain) + square(i_gain) + square(v_offset) + square(i_offset) +
                     square(temperature) + square(noise) + square(alignment) + square(coverage));
}

double PowerUncertainty::expanded() const {
    // Alignment and coverage are rectangular. Where one of them is more than half of the variance, 2 u would claim more than
    // 95 %, and the interval comes from the distribution itself.
    const double variance = square(standard());
    if (!std::isfinite(variance)) return std::numeric_limits<double>::quiet_NaN();  // of an instrument that states none
    if (square(alignment) <= variance / 2 && square(coverage) <= variance / 2) return 2 * standard();
    const double gauss = std::sqrt(std::max(0.0, variance - square(alignment) - square(coverage)));
    return monte_carlo_half_width(gauss, alignment, coverage);
}

PowerUncertainty budget(const BudgetInput& input, const Calibration& calibration) {
    PowerUncertainty u;
    double v_gain = 0, i_gain = 0, v_offset = 0, i_offset = 0, temperature = 0, noise = 0;
    for (std::size_t r = 0; r < input.rails; ++r) {
        const RailCalibration& rail = calibration.rails[r];
        const FrontEnd& parts = calibration.front_end;
        const RailMeans& m = input.means.rail[r];
        // Sensitivities of P = (V - I R) I, averaged over the interval: dP/dV = I, dP/dI = V - 2 I R.
        const double to_v_gain = m.vi;
        const double to_i_gain = m.vi - 2 * rail.shunt_ohm * m.ii;
        const double to_i_offset = m.v - 2 * rail.shunt_ohm * m.i;
        // V and I share the reference: both move by the same fraction, so their parts add before anything is squared; and both
        // rails hang on it.
        u.reference += std::fabs(to_v_gain + to_i_gain) * rail.u_reference;
        v_gain += square(to_v_gain * rail.u_v_gain);
        i_gain += square(to_i_gain * rail.u_i_gain);
        v_offset += square(m.i * rail.u_v_offset);
        i_offset += square(to_i_offset * (r == 0 ? input.u_offset : rail.u_i_offset));
        // Temperature: the coefficients' own doubt, the shunt's self-heating that its sensor does not see (sign unknown), and
        // what was interpolated across gaps.
        const double drift = rail.u_gain_per_kelvin * std::fabs(input.temperature_offset);
        const double self_heating =
            parts.shunt_temperature_coefficient * parts.shunt_thermal_resistance * rail.shunt_ohm * m.ii / std::numbers::sqrt3;
        const double across_gaps = input.temperature_change *
                                   std::hypot(rail.v_gain_per_kelvin, rail.i_gain_per_kelvin, rail.u_gain_per_kelvin) /
                                   std::numbers::sqrt3;
        temperature += square(to_v_gain * drift) + square(to_i_gain * std::hypot(drift, self_heating, across_gaps));
        noise += square(to_i_offset * parts.i_noise_ampere) + square(m.i * parts.v_noise_volt);
    }
    u.v_gain = std::sqrt(v_gain);
    u.i_gain = std::sqrt(i_gain);
    u.v_offset = std::sqrt(v_offset);
    u.i_offset = std::sqrt(i_offset);
    u.temperature = std::sqrt(temperature);
    // White noise behind a sinc3 filter is correlated from sample to sample (x 1.82 in the variance of a mean), but nearly half
    // of this ADC's noise at OSR 128 is quantisation noise, which is shaped away from zero: together rms / sqrt N within 5 %.
    u.noise = input.samples > 0 ? std::sqrt(noise / static_cast<double>(input.samples)) : 0;
    if (input.seconds > 0)
        for (std::size_t e = 0; e < 2; ++e)
            u.alignment =
                std::hypot(u.alignment, input.edge_half_width[e] / std::numbers::sqrt3 * input.edge_step[e] / input.seconds);
    u.coverage = input.coverage;
    // Of an instrument that states nothing, nothing can be said: not zero.
    if (!calibration.uncertainty_known) u.reference = std::numeric_limits<double>::quiet_NaN();
    return u;
}

PowerUncertainty combine(std::span<const WeightedBudget> parts) {
    PowerUncertainty sum;
    for (const auto& [weight, u] : parts) {
        sum.reference += weight * u.reference;
        sum.v_gain += weight * u.v_gain;
        sum.i_gain += weight * u.i_gain;
        sum.v_offset += weight * u.v_offset;
        sum.i_offset += weight * u.i_offset;
        sum.temperature += weight * u.temperature;
        sum.noise = std::hypot(sum.noise, weight * u.noise);
        sum.alignment = std::hypot(sum.alignment, weight * u.alignment);
        sum.coverage = std::hypot(sum.coverage, weight * u.coverage);
    }
    for (double* part : {&sum.reference, &sum.v_gain, &sum.i_gain, &sum.v_offset, &sum.i_offset, &sum.temperature})
        *part = std::fabs(*part);
    return sum;
}

}  // namespace wattrig::power
