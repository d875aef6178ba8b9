#pragma once
// The truth for tests of the clock: a device clock with a rate that wanders, and buses that delay stamps as real ones do.
// Shares nothing with the estimator: x(D), the lead of the host's clock over the device's, is a table of straight rates,
// integrated in closed form.

#include <cmath>
#include <cstdint>
#include <random>
#include <vector>

#include "host/rig/clock_map.hpp"
#include "host/rig/clock_sync.hpp"

namespace wattrig::test {

// Times in seconds of the device's clock, x in nanoseconds; rates are ppm, changes ppm/s.
class TrueClock {
  public:
    // A rate that changes by at most `bend` ppm/s, `ramp` ppm/s of it steadily.
    TrueClock(std::uint64_t seed, double rate_ppm, double ramp, double bend, double seconds) {
        std::mt19937_64 random(seed);
        std::uniform_real_distribution<double> wander(-1, 1);
        double rate = rate_ppm;
        double x = 0;
        for (double t = 0; t <= seconds + 2; t += step) {
            const double change = std::clamp(ramp + wander(random) * (bend - std::abs(ramp)), -bend, bend);
            segments_.push_back({x, rate, change});
            x += (rate * step + change * step * step / 2) * 1e3;  // ppm x s = us
            rate += change * step;
        }
    }
    void jump_rate(double at, double ppm) {  // a step in the rate from `at` on
        double x = 0;
        for (std::size_t k = 0; k < segments_.size(); ++k) {
            Segment& s = segments_[k];
            if (static_cast<double>(k) * step >= at) s.rate += ppm;
            s.x = x;
            x += (s.rate * step + s.change * step * step / 2) * 1e3;
        }
    }
    void bend_from(double at, double ppm_per_s) {
        double x = 0;
        for (std::size_t k = 0; k < segments_.size(); ++k) {
            Segment& s = segments_[k];
            const double since = static_cast<double>(k) * step - at;
            if (since >= 0) {
                s.rate += ppm_per_s * since;
                s.change += ppm_per_s;
            }
            s.x = x;
            x += (s.rate * step + s.change * step * step / 2) * 1e3;
        }
    }
    [[nodiscard]] double x_ns(double device_s) const {
        const auto k = std::min(static_cast<std::size_t>(std::max(device_s, 0.0) / step), segments_.size() - 1);
        const Segment& s = segments_[k];
        const double t = device_s - static_cast<double>(k) * step;
        return s.x + (s.rate * t + s.change * t * t / 2) * 1e3;
    }
    [[nodiscard]] double rate_ppm(double device_s) const {
        const auto k = std::min(static_cast<std::size_t>(device_s / step), segments_.size() - 1);
        return segments_[k].rate + segments_[k].change * (device_s - static_cast<double>(k) * step);
    }
    // Host nanoseconds since the device's zero.
    [[nodiscard]] double host_ns(double device_s) const { return device_s * 1e9 + x_ns(device_s); }
    [[nodiscard]] double device_s(double host_ns_wanted) const {
        double d = host_ns_wanted * 1e-9;
        for (int k = 0; k < 4; ++k) d = (host_ns_wanted - x_ns(d)) * 1e-9;
        return d;
    }

  private:
    static constexpr double step = 1;
    struct Segment {
        double x, rate, change;
    };
    std::vector<Segment> segments_;
};

enum class Bus { fast, slow_independent, slow_frames };

struct WorldOptions {
    Bus bus = Bus::fast;
    bool host_dither = true;
    bool device_dither = true;
    double rate_ppm = 0;
    double ramp = 0;
    double bend = 0.05;
    double seconds = 60;
    bool wire = true;  // the shortest wire time is in the delays, and the estimator knows it
};

// Host time 0 of the world, far from zero on both clocks, so that nothing works by luck.
inline constexpr std::int64_t host_zero = 86'400'000'000'000;
inline constexpr std::int64_t device_zero_ticks = 1'000'000'000'000;

class World {
  public:
    World(std::uint64_t seed, const WorldOptions& options)
        : clock(seed, options.rate_ppm, options.ramp, options.bend, options.seconds + 5),
          options_(options),
          random_(seed ^ 0xabcdef),
          constant_out_(uniform(0, 40e3)),
          constant_in_(uniform(0, 40e3)) {}

    TrueClock clock;

    // One exchange that the host begins at or after `t` ns; `t` moves to its end.
    rig::Exchange exchange(double& t) {
        if (options_.host_dither) t += uniform(0, 1e6);
        const double h1 = t;
        double arrived = h1 + constant_out_ + wire_out() + delay(0.02);
        if (options_.bus == Bus::slow_frames) arrived = next_frame(h1) + constant_out_ + wire_out() + outlier(0.02);
        const double d2 = stamp(arrived);
        const double armed = arrived + uniform(5e3, 15e3) + (options_.device_dither ? uniform(0, 1e6) : 0);
        const double d3 = stamp(armed);
        double h4 = armed + constant_in_ + wire_in() + delay(0.05);
        if (options_.bus == Bus::slow_frames) h4 = next_frame(armed) + constant_in_ + wire_in() + outlier(0.05);
        t = h4;
        return {host(h1), host(std::ceil(h4)), device(d2), device(d3), 1, number_++};
    }
    [[nodiscard]] HostTime true_host(DeviceTime d) const {
        const double seconds = static_cast<double>(d.time_since_epoch().count() - device_zero_ticks) * 8e-9;
        const std::int64_t ns = (d.time_since_epoch().count() - device_zero_ticks) * 8;
        return HostTime(Nanoseconds(host_zero + ns + std::llround(clock.x_ns(seconds))));
    }
    [[nodiscard]] rig::ClockParameters parameters() const {
        rig::ClockParameters p;
        if (options_.wire) {
            p.wire_out = rig::usb_wire_out(36);
            p.wire_in = rig::usb_wire_in(68);
        }
        return p;
    }
    // What the device saw of the bus's frames by host time t.
    [[nodiscard]] rig::StartOfFrame start_of_frame(double t) {
        const auto number = static_cast<std::uint32_t>(t / 1e6);
        return {device(stamp(number * 1e6)), number};
    }
    double uniform(double low, double high) { return std::uniform_real_distribution<double>(low, high)(random_); }

  private:
    [[nodiscard]] double wire_out() const { return options_.wire ? static_cast<double>(rig::usb_wire_out(36).count()) : 0; }
    [[nodiscard]] double wire_in() const { return options_.wire ? static_cast<double>(rig::usb_wire_in(68).count()) : 0; }
    // Late by whole frames: a bus that only acts at their starts does so when it is late, too.
    double outlier(double share) { return (uniform(0, 1) < share ? std::floor(uniform(5, 15)) * 1e6 : 0) + uniform(0, 20e3); }
    double delay(double outliers) {
        if (uniform(0, 1) < outliers) return uniform(5e6, 15e6);
        return options_.bus == Bus::fast ? uniform(20e3, 250e3) : uniform(0, 1e6);
    }
    static double next_frame(double t) { return (std::floor(t / 1e6) + 1) * 1e6; }
    // Device seconds when the 1 us timer is read, up to 1 us after the event.
    double stamp(double host_ns) { return std::floor(clock.device_s(host_ns + uniform(0, 1e3)) * 1e6) * 1e-6; }
    static HostTime host(double ns) { return HostTime(Nanoseconds(host_zero + static_cast<std::int64_t>(std::floor(ns)))); }
    static DeviceTime device(double s) { return DeviceTime(Ticks(device_zero_ticks + std::llround(s * 1e6) * 125)); }

    WorldOptions options_;
    std::mt19937_64 random_;
    double constant_out_, constant_in_;
    std::uint32_t number_ = 0;
};

}  // namespace wattrig::test
