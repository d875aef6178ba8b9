#include "host/power/fusion.hpp"

#include <algorithm>
#include <cmath>

#include "host/power/segment.hpp"

namespace wattrig::power {
namespace {

constexpr double time_constant = 2.0;  // seconds, of the average
constexpr double conversion_seconds =
    static_cast<double>(protocol::slow_conversion_ticks) / static_cast<double>(protocol::ticks_per_second);
constexpr double samples_per_conversion =
    static_cast<double>(protocol::slow_conversion_ticks) / static_cast<double>(protocol::ticks_per_sample);
// While nothing is learned the amplifier's offset drifts with the temperature; what the sensor does not see of it (a gradient,
// 1/f noise) is taken as this much per second.
constexpr double unseen_drift_kelvin_per_second = 0.5 / 60;

double square(double x) { return x * x; }

}  // namespace

Fusion::Fusion(const RailCalibration& rail, const FrontEnd& front_end)
    : rail_(rail),
      conversion_noise_(std::hypot(front_end.slow_noise_volt / front_end.shunt_ohm,
                                   front_end.i_noise_ampere / std::sqrt(samples_per_conversion))),
      // A step inside a conversion's edge sample acts with 1/134; at this spread that is a fifth of a conversion's noise. White
      // noise alone spreads over 6 rms in three blocks.
      quiet_spread_(std::max(12 * front_end.i_noise_ampere, 0.2 * conversion_noise_ * samples_per_conversion)),
      drift_per_kelvin_(front_end.amplifier_offset_drift_volt_per_kelvin / front_end.shunt_ohm),
      random_(square(rail.u_i_offset)) {}

void Fusion::restart() { started_ = false; }

double Fusion::standard_uncertainty() const {
    // Never worse than the fast path alone.
    return std::min(std::sqrt(random_ + systematic_) + held_, rail_.u_i_offset);
}

void Fusion::add(const rig::BlockView& block, bool after_gap) {
    const protocol::BlockHeader& header = block.header;
    const protocol::RailExtremes& extremes = block.rails[0].extremes;
    const double spread =
        header.count == 0 ? INFINITY : std::fabs(rail_.i_gain) * (static_cast<double>(extremes.i_maximum) - extremes.i_minimum);
    const auto time = block.end().time_since_epoch().count();
    const double temperature = 0.01 * header.shunt_temperature;
    std::rotate(spread_, spread_ + 2, spread_ + 3);
    spread_[0] = spread;
    const bool first = !started_;
    const protocol::SlowSums before = last_;
    const double seconds = static_cast<double>(time - last_time_) / static_cast<double>(protocol::ticks_per_second);
    last_ = block.slow;
    last_time_ = time;
    started_ = true;
    if (first) {
        std::fill(spread_ + 1, spread_ + 3, INFINITY);
        learned_at_ = used_ == 0 ? temperature : learned_at_;
        if (header.first_index != 0) return;  // conversions since stream start may have seen anything
    }
    if (!first && used_ > 0) held_ += drift_per_kelvin_ * unseen_drift_kelvin_per_second * std::max(seconds, 0.0);
    const protocol::SlowSums from = first ? protocol::SlowSums{} : before;
    const std::uint32_t conversions = block.slow.count - from.count;
    const std::uint32_t samples = block.slow.fast_count - from.fast_count;
    if (first || conversions == 0 || samples == 0 || rail_.slow_gain == 0) return;
    const bool quiet = spread_[0] < quiet_spread_ && spread_[1] < quiet_spread_ && (spread_[2] < quiet_spread_ || after_gap);
    if (!quiet || (header.flags & (protocol::block_clipped | protocol::block_slow_stale | protocol::block_power_off)) != 0)
        return;
    const double gain = rail_.i_gain * (1 + rail_.i_gain_per_kelvin * (temperature - rail_.reference_temperature));
    const double fast =
        rail_.i_offset + gain * static_cast<double>(wrapping_difference(block.slow.fast_sum, from.fast_sum)) / samples;
    const double slow =
        rail_.slow_offset + rail_.slow_gain * static_cast<double>(wrapping_difference(block.slow.sum, from.sum)) / conversions;
    // The two gains differ by their own errors, so an offset learned at a high current is worth less at a low one: take it only
    // while it is not worse than what is known already.
    const double here = square(rail_.u_slow_offset) + 2 * square(rail_.u_i_gain * slow);
    const double temperature_drift = drift_per_kelvin_ * std::fabs(temperature - learned_at_);
    const double known = std::min(std::sqrt(random_ + systematic_) + held_ + temperature_drift, rail_.u_i_offset);
    if (std::sqrt(here) > 1.1 * known && std::sqrt(here) > 1.1 * std::sqrt(systematic_)) return;
    // A Kalman filter of one state: fast at first, then with the time constant.
    const double noise = square(conversion_noise_) / conversions;
    const double prior = std::max(random_ + square(held_ + temperature_drift), 1e-30);
    const double steady = 1 - std::exp(-conversion_seconds * conversions / time_constant);
    const double weight = std::max(prior / (prior + noise), steady);
    offset_ += weight * (slow - fast - offset_);
    random_ = square(1 - weight) * prior + square(weight) * noise;
    systematic_ = used_ == 0 ? here : systematic_ + weight * (here - systematic_);
    held_ = 0;
    learned_at_ = temperature;
    ++used_;
}

}  // namespace wattrig::power
