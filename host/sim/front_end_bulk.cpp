// Many samples of a constant load at once, for the `aggregate` fidelity: the sums that their codes would have had, with the
// noise that sums of so many codes have, and the terms of second order that the variation within the stretch brings.

#include <algorithm>
#include <cassert>
#include <cmath>
#include <limits>

#include "host/sim/front_end.hpp"
#include "host/sim/power_trace.hpp"

namespace wattrig::sim {
namespace {

protocol::Int128 wide(long double value) {
    const auto whole = static_cast<__int128>(std::rint(value));
    return {static_cast<std::uint64_t>(whole), static_cast<std::int64_t>(whole >> 64)};
}
std::int32_t code(double value) {
    return static_cast<std::int32_t>(std::clamp<double>(std::rint(value), protocol::code_minimum, protocol::code_maximum));
}
// Expected maximum of n independent normal values, in sigma (leading terms of the extreme value law).
double expected_maximum(double n) {
    if (n < 2) return 0;
    const double root = std::sqrt(2 * std::log(n));
    return root - (std::log(std::log(n)) + std::log(4 * std::numbers::pi)) / (2 * root) + 0.5772 / root;
}

}  // namespace

firmware::BulkSamples FrontEnd::bulk(std::uint32_t samples, const CurrentStatistics& current) {
    assert(samples > 0 && samples % samples_per_chunk == 0);
    const double n = samples;
    const double seconds = n * 30.72e-6;
    update_slowly(seconds, current.mean * current.mean + current.sample_variance);
    chunks_to_update_ = 0;

    // Mean of the ripple over the stretch, from its integral.
    const double begin = static_cast<double>(bins_) * (ticks_per_bin * 8e-9);
    const double turn = 2 * std::numbers::pi * ripple_hertz_;
    const double ripple = ripple_volt_ *
                          (std::cos(turn * begin + ripple_phase_) - std::cos(turn * (begin + seconds) + ripple_phase_)) /
                          (turn * seconds);

    firmware::BulkSamples bulk{};
    bulk.count = samples;
    const double v_sigma = parts_.v_noise_volt * v_scale_, i_sigma = parts_.i_noise_ampere * i_scale_;
    const double supply = supply_volt_ + ripple;
    double i_mean = current.mean * i_scale_ + i_bias_;
    const double x = i_mean * 0x1p-23;
    i_mean += i_nonlinearity_ * 2.598 * x * (1 - x * x);
    const double v_mean = (supply - source_ohm_ * current.mean) * v_scale_ + v_bias_;
    const double sum_v = n * v_mean + std::sqrt(n) * v_sigma * random_.gaussian();
    const double sum_i = n * i_mean + std::sqrt(n) * i_sigma * random_.gaussian();
    bulk.sum_v = std::llround(sum_v);
    bulk.sum_i = std::llround(sum_i);
    // V falls by the source's resistance as I rises, and I by I / V as V rises with the ripple (the drive takes constant
    // power).
    const double ripple_variance = ripple_volt_ * ripple_volt_ / 2;
    const double i_variance = current.sample_variance * i_scale_ * i_scale_ + i_sigma * i_sigma + 1.0 / 12;
    const double covariance =
        -(source_ohm_ * current.sample_variance + current.mean / supply * ripple_variance) * v_scale_ * i_scale_;
    const long double vi = static_cast<long double>(bulk.sum_v) * static_cast<long double>(bulk.sum_i) / samples;
    const long double ii = static_cast<long double>(bulk.sum_i) * static_cast<long double>(bulk.sum_i) / samples;
    bulk.sum_vi = wide(vi + static_cast<long double>(n * covariance + std::sqrt(n) * v_sigma * i_sigma * random_.gaussian()));
    bulk.sum_ii = wide(ii + static_cast<long double>(n * i_variance));

    const double reach = expected_maximum(n);
    const auto v_of = [&](double ampere) { return (supply - source_ohm_ * ampere) * v_scale_ + v_bias_; };
    bulk.extremes.v_minimum = code(v_of(current.maximum) - ripple_volt_ * v_scale_ - reach * v_sigma);
    bulk.extremes.v_maximum = code(v_of(current.minimum) + ripple_volt_ * v_scale_ + reach * v_sigma);
    bulk.extremes.i_minimum = code(current.minimum * i_scale_ + i_bias_ - reach * i_sigma);
    bulk.extremes.i_maximum = code(current.maximum * i_scale_ + i_bias_ + reach * i_sigma);

    // INA228: the conversions that lie wholly inside, each with the 134 samples that the firmware counts to it.
    const std::int64_t end_ticks = (bins_ + static_cast<std::int64_t>(samples * bins_per_sample)) * ticks_per_bin;
    bool first = true;
    while (slow_end_ticks_ <= end_ticks) {
        const double full = static_cast<double>(protocol::slow_conversion_ticks) / ticks_per_bin;
        const bool whole = !first || slow_bins_ < 1;
        if (whole && slow_end_ticks_ / ticks_per_bin - bins_ >= static_cast<std::int64_t>(full)) {
            bulk.slow_sum += slow_code(current.mean);
            ++bulk.slow_count;
        }
        first = false;
        slow_end_ticks_ += protocol::slow_conversion_ticks;
    }
    slow_bins_ = 0;  // the next one is not whole
    slow_sum_ = 0;
    bulk.slow_fast_count = bulk.slow_count * (protocol::slow_conversion_ticks / protocol::ticks_per_sample);
    const double fast = bulk.slow_fast_count;
    bulk.slow_fast_sum = std::llround(fast * i_mean + std::sqrt(fast) * i_sigma * random_.gaussian());

    // Peak path. The highest window is the higher one of signal and noise, added as squares: exact when either is small.
    constexpr double window = protocol::peak_window_readings;
    const double reading = peak_zero_ + peak_gain_ * current.mean;
    const double per_reading = parts_.peak_noise_lsb;
    bulk.peak_readings =
        samples / static_cast<std::uint32_t>(samples_per_chunk) * static_cast<std::uint32_t>(readings_per_chunk);
    const double readings = bulk.peak_readings;
    const double swing = window * peak_gain_ * (current_of(current.window_maximum) - current.mean);
    const double noise = std::sqrt(window) * per_reading * expected_maximum(readings / window);
    const double highest = window * reading + std::sqrt(swing * swing + noise * noise);
    const double above = highest - window * peak_zero_reading() / 256.0;
    bulk.peak_maximum =
        static_cast<std::int32_t>(std::clamp(above * v_mean / (1u << protocol::peak_shift), -2147483647.0, 2147483647.0));
    const double reading_reach = per_reading * expected_maximum(readings);
    const auto limited = [](double r) { return static_cast<std::uint16_t>(std::clamp(std::rint(r), 0.0, 4095.0)); };
    bulk.peak_minimum_reading = limited(peak_zero_ + peak_gain_ * current.minimum - reading_reach);
    bulk.peak_maximum_reading = limited(peak_zero_ + peak_gain_ * current.maximum + reading_reach);
    bulk.peak_sum =
        static_cast<std::uint64_t>(std::max(0.0, readings * reading + std::sqrt(readings) * per_reading * random_.gaussian()));
    bins_ += static_cast<std::int64_t>(samples * bins_per_sample);
    return bulk;
}

}  // namespace wattrig::sim
