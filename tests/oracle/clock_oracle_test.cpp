// The clock's acceptance: 10^4 worlds for each controller, against the real estimator. The truth comes from clock_worlds.hpp,
// which shares nothing with it.
#include <gtest/gtest.h>

#include <algorithm>
#include <cstdio>
#include <cstdlib>
#include <vector>

#include "host/rig/clock_sync.hpp"
#include "tests/oracle/clock_worlds.hpp"

namespace wattrig::rig {
namespace {

using oracle::ClockWorld;
using oracle::Controller;

HostTime host(double ns) { return HostTime(Nanoseconds(static_cast<std::int64_t>(ns))); }
DeviceTime device(std::int64_t ticks) { return DeviceTime(Ticks(ticks)); }
double ns_of(DeviceTime d) { return static_cast<double>(d.time_since_epoch().count()) * 8; }
double ns_of(HostTime h) { return static_cast<double>(h.time_since_epoch().count()); }

ClockParameters usb_parameters() {
    ClockParameters p;
    p.wire_out = usb_wire_out(36);
    p.wire_in = usb_wire_in(68);
    return p;
}

int trials() {
    const char* wanted = std::getenv("WATTRIG_CLOCK_TRIALS");
    return wanted == nullptr ? 10'000 : std::atoi(wanted);
}

// The session's pace: a burst, then 10 a second, each with a dither of a frame.
double period_ns(double age_s) { return age_s < 3 ? 10e6 : age_s < 15 ? 30e6 : 100e6; }

struct Figures {
    std::vector<float> half_1s, half_later, point, rate;
    long outside = 0, checks = 0, refused = 0, notices = 0;
};

void check_knots(const ClockWorld& world, const ClockSync& sync, std::size_t& told, Figures& f) {
    const auto& knots = sync.map().knots();
    for (; told < knots.size(); ++told) {
        const ClockKnot& k = knots[told];
        // At its beginning and just before its end: both are covered by its bound, whose course in between is straight.
        for (const double part : {0.0, 0.25e9 - 8}) {
            const double mapped = ns_of(k.host) + part * (1 + k.rate_ppm * 1e-6);
            ++f.checks;
            if (std::abs(mapped - world.host_of(ns_of(k.device) + part)) > static_cast<double>(k.half_width.count()))
                ++f.outside;
        }
    }
}

void run(std::uint64_t seed, Controller controller, double seconds, Figures& f, const ClockParameters& parameters,
         bool device_dither = true) {
    ClockWorld world(seed, controller);
    ClockSync sync(1, parameters);
    const double begin = 20e9;
    double t = begin;
    std::size_t told = 0;
    double next_look = 1;
    std::uint32_t number = 0;
    while (next_look <= seconds) {
        const double age = (t - begin) * 1e-9;
        const double h1 = std::floor(t + world.between(0, 1e6));
        const oracle::Stamps s = world.exchange(h1, device_dither);
        const Exchange exchange{host(h1), host(std::ceil(s.h4)), device(s.d2), device(s.d3), 1, number++};
        if (!sync.add(exchange, StartOfFrame{device(s.frame_ticks), s.frame_number})) ++f.refused;
        sync.publish(exchange.d3);
        check_knots(world, sync, told, f);
        if ((s.h4 - begin) * 1e-9 >= next_look) {
            const auto e = sync.estimate(exchange.d3);
            if (!e) {
                ++f.outside;
                return;
            }
            const double truth = world.host_of(ns_of(exchange.d3));
            ++f.checks;
            if (truth < ns_of(e->low) || truth > ns_of(e->high)) ++f.outside;
            const auto half = static_cast<float>((ns_of(e->high) - ns_of(e->low)) * 0.5e-3);
            if (next_look < 2) {
                f.half_1s.push_back(half);
                next_look = 10;
            } else {
                f.half_later.push_back(half);
                f.point.push_back(static_cast<float>(std::abs(ns_of(e->host) - truth) * 1e-3));
                if (next_look >= 60)
                    f.rate.push_back(static_cast<float>(std::abs(e->rate_ppm - world.slope(ns_of(exchange.d3)) * 1e6)));
                next_look += next_look < 20 ? 10 : 20;
            }
        }
        t = std::max(s.h4, t + period_ns(age));
    }
    f.notices += static_cast<long>(sync.take_notices().size());
}

float percentile(std::vector<float> values, double share) {
    if (values.empty()) return 1e9F;
    const auto at = values.begin() + static_cast<std::ptrdiff_t>(share * static_cast<double>(values.size() - 1));
    std::nth_element(values.begin(), at, values.end());
    return *at;
}

void print(const char* name, const Figures& f) {
    std::printf(
        "%s: %zu trials (simulated), %ld of %ld checks outside; half-width us p99: 1 s %.1f, from 10 s %.1f; point error us "
        "median %.1f p95 %.1f; rate error ppm p95 %.2f\n",
        name, f.half_1s.size(), f.outside, f.checks, static_cast<double>(percentile(f.half_1s, 0.99)),
        static_cast<double>(percentile(f.half_later, 0.99)), static_cast<double>(percentile(f.point, 0.5)),
        static_cast<double>(percentile(f.point, 0.95)), static_cast<double>(percentile(f.rate, 0.95)));
}

void accept(const char* name, Controller controller, std::uint64_t seed, float limit_1s, float limit_later) {
    Figures f;
    for (int k = 0; k < trials(); ++k) run(seed + static_cast<std::uint64_t>(k), controller, 60, f, usb_parameters());
    print(name, f);
    EXPECT_EQ(f.outside, 0);
    EXPECT_EQ(f.refused, 0);
    // A false alarm only widens the bound. Of 30,000 minutes 17 had one (simulated), so at most 1 in 500 is asked for here.
    EXPECT_LE(f.notices, trials() / 500) << "false alarms of the guard";
    EXPECT_LE(percentile(f.half_1s, 0.99), limit_1s);
    EXPECT_LE(percentile(f.half_later, 0.99), limit_later);
    EXPECT_LE(percentile(f.point, 0.5), 15);
    EXPECT_LE(percentile(f.point, 0.95), 35);
    EXPECT_LE(percentile(f.rate, 0.95), 1);
}

TEST(ClockOracle, FastController) { accept("fast", Controller::fast, 1'000'000, 120, 100); }
TEST(ClockOracle, SlowIndependentController) { accept("slow", Controller::slow, 2'000'000, 150, 120); }
TEST(ClockOracle, ControllerThatMovesAtFrameStarts) { accept("frames", Controller::frames, 3'000'000, 165, 140); }

// Planted faults: the checks above must be able to fail.
TEST(ClockOracle, FindsABoundThatIsTooNarrow) {
    ClockParameters p = usb_parameters();
    p.wire_out += Nanoseconds(45'000);  // more than the wire takes
    Figures f;
    for (std::uint64_t k = 0; k < 20; ++k) run(4'000'000 + k, Controller::fast, 60, f, p);
    EXPECT_GT(f.outside, 0);
}
TEST(ClockOracle, FindsAMissingDeviceDither) {
    Figures f;
    for (std::uint64_t k = 0; k < 20; ++k) run(5'000'000 + k, Controller::frames, 60, f, usb_parameters(), false);
    EXPECT_GT(percentile(f.half_later, 0.99), 140);
}

// When the guard was raised; checks before that must not have been outside. One that spoke before the drift began says nothing
// about the drift.
enum class Told : std::uint8_t { before_the_drift, in_time, never };
Told drift_told(std::uint64_t seed, Controller controller, bool with_frames, long& outside) {
    ClockWorld world(seed, controller, 60, 80, 0.5);
    ClockSync sync(1, usb_parameters());
    const double begin = 20e9;
    std::size_t told = 0;
    Figures f;
    std::uint32_t number = 0;
    for (double t = begin; t < begin + 70e9;) {
        const double h1 = std::floor(t + world.between(0, 1e6));
        const oracle::Stamps s = world.exchange(h1);
        const Exchange exchange{host(h1), host(std::ceil(s.h4)), device(s.d2), device(s.d3), 1, number++};
        if (with_frames)
            sync.add(exchange, StartOfFrame{device(s.frame_ticks), s.frame_number});
        else
            sync.add(exchange);
        if (!sync.take_notices().empty()) {
            outside = f.outside;
            return ns_of(exchange.d3) > 60e9 ? Told::in_time : Told::before_the_drift;
        }
        sync.publish(exchange.d3);
        check_knots(world, sync, told, f);
        const auto e = sync.estimate(exchange.d3);
        const double truth = world.host_of(ns_of(exchange.d3));
        if (!e || truth < ns_of(e->low) || truth > ns_of(e->high)) ++f.outside;
        t = std::max(s.h4, t + period_ns((t - begin) * 1e-9));
    }
    outside = f.outside;
    return Told::never;
}

TEST(ClockOracle, ADriftBeyondTheAssumptionIsToldBeforeTheTruthLeavesTheBound) {
    const int count = std::max(trials() / 20, 1);
    for (const Controller controller : {Controller::fast, Controller::slow, Controller::frames}) {
        int early = 0;
        for (int k = 0; k < count; ++k) {
            long outside = 0;
            const Told told = drift_told(6'000'000 + static_cast<std::uint64_t>(k), controller, true, outside);
            ASSERT_NE(told, Told::never) << k;
            ASSERT_EQ(outside, 0) << k;
            early += told == Told::before_the_drift ? 1 : 0;
        }
        EXPECT_LE(early, 1 + count / 200) << "false alarms before the drift";
    }
    // Planted fault: without the frames' count it is not told in time.
    int late = 0;
    for (std::uint64_t k = 0; k < 20; ++k) {
        long outside = 0;
        const Told told = drift_told(7'000'000 + k, Controller::fast, false, outside);
        late += told != Told::in_time || outside > 0 ? 1 : 0;
    }
    EXPECT_GT(late, 0);
}

}  // namespace
}  // namespace wattrig::rig
