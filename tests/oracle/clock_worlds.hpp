#pragma once
// Truth for the clock's acceptance test: a crystal and three USB host controllers, in plain nanoseconds. Includes nothing of
// the project, so nothing that is tested can leak into the truth.
//
//   fast   packets go out at once: 20-250 us each way, independent
//   slow   0-1 ms each way, independent
//   frames packets move at starts of frame only: a reply armed right after its command waits almost a frame
// Hidden constants of 0-40 us each way, late packets of 5-15 ms (2 % out, 5 % in), the wire's own time on top. Rates of
// +-100 ppm, ramps of up to 1 ppm a minute, and a slow wobble.

#include <cmath>
#include <cstdint>
#include <random>

namespace oracle {

enum class Controller { fast, slow, frames };

struct Stamps {
    double h1, h4;             // host, ns
    std::int64_t d2, d3;       // device, 8 ns ticks
    std::int64_t frame_ticks;  // device time of the latest start of frame before d3
    std::uint32_t frame_number;
};

class ClockWorld {
  public:
    ClockWorld(std::uint64_t seed, Controller controller, double drift_from_s = 1e9, double drift_to_s = 1e9, double drift = 0)
        : random_(seed),
          controller_(controller),
          drift_from_(drift_from_s * 1e9),
          drift_to_(drift_to_s * 1e9),
          drift_(drift * 1e-15) {
        rate_ = between(-100e-6, 100e-6);
        ramp_ = between(-1e-6, 1e-6) / 60e9;
        for (Wobble& w : wobble_) {
            w.omega = 2 * M_PI / between(20e9, 200e9);
            w.phase = between(0, 2 * M_PI);
            // Second derivative at most 0.02 ppm/s.
            w.size = between(0, 0.02e-15) / (w.omega * w.omega);
        }
        out_ = between(0, 40e3) + (72 + 8 * 36) / 12.0 * 1e3;
        in_ = between(0, 40e3) + (35 + 8 * 68) / 12.0 * 1e3;
        frame_phase_ = between(0, 1e6);
        // The controller's crystal is not the one of the host's clock.
        frame_ = 1e6 * (1 + between(-50e-6, 50e-6));
    }

    // Host's lead over the device at device time d, ns; and its slope.
    double lead(double d) const {
        double x = 5e9 + rate_ * d + ramp_ * d * d / 2;
        for (const Wobble& w : wobble_) x += w.size * (std::sin(w.omega * d + w.phase));
        if (d > drift_from_) {
            const double t = std::fmin(d, drift_to_) - drift_from_;
            x += drift_ * t * t / 2 + (d > drift_to_ ? drift_ * t * (d - drift_to_) : 0);
        }
        return x;
    }
    double slope(double d) const {
        double r = rate_ + ramp_ * d;
        for (const Wobble& w : wobble_) r += w.size * w.omega * std::cos(w.omega * d + w.phase);
        if (d > drift_from_) r += drift_ * (std::fmin(d, drift_to_) - drift_from_);
        return r;
    }
    double host_of(double d) const { return d + lead(d); }

    // An exchange begun at host time h1; device_dither as the firmware does it.
    Stamps exchange(double h1, bool device_dither = true) {
        const double arrived = move(h1, 0.02) + out_;
        const double answered = arrived + between(5e3, 15e3) + (device_dither ? between(0, 1e6) : 0);
        const double h4 = move(answered, 0.05) + in_;
        Stamps s{};
        s.h1 = h1;
        s.h4 = h4;
        // A TIMER reading stands for a microsecond: the firmware gives the end of d2's, the begin of d3's.
        s.d2 = micros(arrived + between(0, 1.5e3)) * 125 + 124;
        s.d3 = micros(answered - between(0, 0.5e3)) * 125;
        s.frame_number = static_cast<std::uint32_t>((answered - frame_phase_) / frame_);
        s.frame_ticks = micros(frame_phase_ + s.frame_number * frame_ + between(0.3e3, 1.3e3)) * 125;
        return s;
    }
    double between(double low, double high) { return std::uniform_real_distribution<double>(low, high)(random_); }

  private:
    struct Wobble {
        double omega, phase, size;
    };
    double move(double t, double late_share) {
        const double late = between(0, 1) < late_share ? between(5e6, 15e6) : 0;
        switch (controller_) {
            case Controller::fast: return t + (late > 0 ? late : between(20e3, 250e3));
            case Controller::slow: return t + (late > 0 ? late : between(0, 1e6));
            case Controller::frames: break;
        }
        const double from = t + late;
        return frame_phase_ + (std::floor((from - frame_phase_) / frame_) + 1) * frame_ + between(0, 20e3);
    }
    double device_of(double h) const {
        double d = h - 5e9;
        for (int k = 0; k < 4; ++k) d = h - lead(d);
        return d;
    }
    std::int64_t micros(double h) const { return static_cast<std::int64_t>(std::floor(device_of(h) * 1e-3)); }

    std::mt19937_64 random_;
    Controller controller_;
    double drift_from_, drift_to_, drift_;
    double rate_, ramp_, out_, in_, frame_phase_, frame_;
    Wobble wobble_[2];
};

}  // namespace oracle
