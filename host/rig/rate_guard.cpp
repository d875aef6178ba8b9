#include "host/rig/rate_guard.hpp"

#include <array>
#include <cmath>
#include <cstddef>

namespace wattrig::rig {
namespace {

constexpr double window_s = 8;
constexpr double check_every_s = 0.5;
constexpr std::size_t least_stamps = 40;
constexpr double drift_limit_ppm_per_s = 0.05;
constexpr double step_limit_ppm = 0.3;
// A stamp is a reading of a 1 us timer in an interrupt: a limit must be passed by this many standard deviations of what that
// does to the figure. What hides in them (0.06 ppm/s) bends the clock by less than the bound's own slack in the time that a
// point binds.
constexpr double significance = 3;
// The host controller was reset, or it is another bus: no crystal is off by that much.
constexpr double absurd_excess_us = 5000;

struct Sums {  // for a straight line
    double n = 0, t = 0, e = 0, tt = 0, te = 0;
    void add(double time, double excess) {
        n += 1;
        t += time;
        e += excess;
        tt += time * time;
        te += time * excess;
    }
    [[nodiscard]] double slope() const { return (n * te - t * e) / (n * tt - t * t); }
    [[nodiscard]] double slope_variance(double residual) const { return residual * n / (n * tt - t * t); }
};

}  // namespace

std::optional<RateAlarm> RateGuard::add(DeviceTime time, std::uint32_t number) {
    const std::int64_t ticks = time.time_since_epoch().count();
    if (!stamps_.empty()) {
        const std::uint32_t step = number - last_number_;
        if (step == 0) return std::nullopt;
        unwrapped_ += step;
        const Raw& before = stamps_.back();
        const double excess_us =
            static_cast<double>(ticks - before.ticks) * 0.008 - static_cast<double>(unwrapped_ - before.number) * 1000;
        if (ticks <= before.ticks || std::abs(excess_us) > absurd_excess_us) clear();
    }
    if (stamps_.empty()) {
        unwrapped_ = 0;
        last_checked_s_ = 0;
    }
    last_number_ = number;
    stamps_.push_back({ticks, unwrapped_});
    const double now_s = static_cast<double>(unwrapped_) * 1e-3;
    while (now_s - static_cast<double>(stamps_.front().number) * 1e-3 > window_s) stamps_.pop_front();
    const double span_s = now_s - static_cast<double>(stamps_.front().number) * 1e-3;
    if (stamps_.size() < least_stamps || span_s < 0.9 * window_s || now_s - last_checked_s_ < check_every_s)
        return std::nullopt;
    last_checked_s_ = now_s;

    const auto stamp = [&](const Raw& raw) {
        return Stamp{static_cast<double>(raw.number - stamps_.front().number) * 1e-3,
                     static_cast<double>(raw.ticks - stamps_.front().ticks) * 0.008 -
                         static_cast<double>(raw.number - stamps_.front().number) * 1000};
    };
    Sums early, late;
    double s0 = 0, s1 = 0, s2 = 0, s3 = 0, s4 = 0, e0 = 0, e1 = 0, e2 = 0, ee = 0;
    const double middle = span_s / 2;
    for (const Raw& raw : stamps_) {
        const Stamp at = stamp(raw);
        const double t = at.frame_s - middle;
        const double e = at.excess_us;
        (t < 0 ? early : late).add(t, e);
        s0 += 1;
        s1 += t;
        s2 += t * t;
        s3 += t * t * t;
        s4 += t * t * t * t;
        e0 += e;
        e1 += e * t;
        e2 += e * t * t;
        ee += e * e;
    }
    // Least squares a + b t + c t^2 by Cramer's rule.
    const auto determinant = [](const std::array<double, 9>& m) {
        return m[0] * (m[4] * m[8] - m[5] * m[7]) - m[1] * (m[3] * m[8] - m[5] * m[6]) + m[2] * (m[3] * m[7] - m[4] * m[6]);
    };
    const double whole = determinant({s0, s1, s2, s1, s2, s3, s2, s3, s4});
    if (!(whole > 0)) return std::nullopt;
    const double a = determinant({e0, s1, s2, e1, s2, s3, e2, s3, s4}) / whole;
    const double b = determinant({s0, e0, s2, s1, e1, s3, s2, e2, s4}) / whole;
    const double c = determinant({s0, s1, e0, s1, s2, e1, s2, s3, e2}) / whole;
    const double residual = std::max(ee - a * e0 - b * e1 - c * e2, 0.0) / (s0 - 3);
    const double c_deviation = std::sqrt(residual * (s0 * s2 - s1 * s1) / whole);
    if (early.n >= 10 && late.n >= 10) {
        const double step = late.slope() - early.slope();  // us/s is ppm
        const double deviation = std::sqrt(early.slope_variance(residual) + late.slope_variance(residual));
        if (std::abs(step) > step_limit_ppm + significance * deviation) {
            clear();
            return RateAlarm{RateAlarm::Kind::step, step};
        }
    }
    const double drift = 2 * c;  // us/s^2 is ppm/s
    if (std::abs(drift) > drift_limit_ppm_per_s + significance * 2 * c_deviation) {
        clear();
        return RateAlarm{RateAlarm::Kind::drift, drift};
    }
    return std::nullopt;
}

}  // namespace wattrig::rig
