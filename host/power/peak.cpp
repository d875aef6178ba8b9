#include "host/power/peak.hpp"

#include <algorithm>
#include <cmath>
#include <numbers>

namespace wattrig::power {
namespace {

constexpr double forgetting = 1 - 1.0 / 2000;  // 2000 blocks: 4.6 s at full detail
// The gain is learned only where the means spread by more than 200 mA; less would turn noise into gain.
constexpr double smallest_spread = 0.200 / 2;  // ampere, as a standard deviation of two levels
constexpr double readings = protocol::peak_window_readings;

}  // namespace

PeakPath::PeakPath(const RailCalibration& rail, const FrontEnd& front_end)
    : shunt_ohm_(rail.shunt_ohm),
      zero_(front_end.peak_zero_volt / front_end.peak_lsb_volt),
      noise_(front_end.peak_noise_lsb),
      gain_(front_end.peak_lsb_volt / front_end.amplifier_gain / front_end.shunt_ohm),
      offset_(-gain_ * zero_) {}

void PeakPath::learn(const protocol::PeakSummary& peak, double mean_current) {
    if (peak.readings == 0) return;
    const double x = static_cast<double>(peak.sum_low) / peak.readings;
    const double y = mean_current;
    weight_ = forgetting * weight_ + 1;
    const double share = 1 / weight_;
    // Centred updates: at 1700 +- 1 readings raw second moments would lose most of their digits.
    const double dx = x - x_, dy = y - y_;
    x_ += share * dx;
    y_ += share * dy;
    xx_ += share * (dx * (x - x_) - xx_);
    xy_ += share * (dx * (y - y_) - xy_);
    yy_ += share * (dy * (y - y_) - yy_);
    if (yy_ > smallest_spread * smallest_spread && xx_ > 0) gain_ = xy_ / xx_;
    offset_ = y_ - gain_ * x_;
}

double PeakPath::window_watts(std::int32_t value, double volt, double volt_per_code) const {
    // value = 25 (mean reading - zero) x voltage code / 2^shift, so the voltage of the very same moment is in it already; only
    // the small distance of the fitted zero from the device's is taken at the block's mean voltage.
    const double reading_volts = static_cast<double>(value) * (1u << protocol::peak_shift) * volt_per_code / readings;
    const double host_side = gain_ * reading_volts + volt * (offset_ + gain_ * zero_);
    const double current = volt > 0 ? host_side / volt : 0;
    return host_side - shunt_ohm_ * current * current;
}

double PeakPath::noise_watts(double volt) const { return noise_ / std::sqrt(readings) * std::fabs(gain_) * volt; }

bool PeakPath::crosses_step(std::uint16_t lowest, std::uint16_t highest) {
    for (const int step : {512, 1536, 2560, 3584})
        if (lowest <= step && step <= highest) return true;
    return false;
}

void PeakMaximum::add(double watts, double noise, std::uint32_t windows) {
    // Only windows that could have won take part in the lottery; six rms below the top none does.
    const double independent = std::max(1.0, windows / readings);
    if (!any_ || watts > highest_) {
        near_ = any_ && watts - highest_ < 6 * noise ? near_ + independent : independent;
        highest_ = watts;
        noise_ = noise;
        any_ = true;
    } else if (highest_ - watts < 6 * noise_) {
        near_ += independent;
    }
}

std::optional<double> PeakMaximum::corrected() const {
    if (!any_) return std::nullopt;
    if (near_ < 2) return highest_;
    // Expected maximum of n normal variables (Cramer), good to 2 % of the rms from n = 10.
    const double root = std::sqrt(2 * std::log(near_));
    const double expected = root - (std::log(std::log(near_)) + std::log(4 * std::numbers::pi)) / (2 * root);
    return highest_ - noise_ * std::max(0.0, expected + 0.5772 / root);
}

}  // namespace wattrig::power
