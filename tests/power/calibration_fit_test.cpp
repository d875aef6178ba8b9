#include "host/power/calibration_fit.hpp"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <algorithm>
#include <cmath>
#include <cstddef>
#include <random>

#include "host/power/calibration_file.hpp"
#include "host/power/uncertainty.hpp"

namespace wattrig::power {
namespace {

// A rig as the parts' limits allow it, with its own arithmetic: nothing of it comes from what is tested, but for the figures.
struct Rig {
    FrontEnd parts;
    double v_gain, v_offset, i_gain, i_offset, slow_gain, slow_offset;  // truth at 25 degC
    double v_per_kelvin, i_per_kelvin, fast_drift, slow_drift;
    double bend;  // ampere at the middle of the range
    double emf = 0;
};

struct Draw {
    std::mt19937_64 engine;
    explicit Draw(std::uint64_t seed) : engine(seed) {}
    double gauss() { return std::normal_distribution<double>()(engine); }
    double limit(double l) { return std::uniform_real_distribution<double>(-l, l)(engine); }
};

Rig draw_rig(Draw& draw) {
    Rig rig{};
    const FrontEnd& p = rig.parts;
    const double shunt = 0.010 * (1 + draw.limit(0.010));
    rig.v_gain = p.volt_per_v_code() * (1 + draw.limit(0.002));
    rig.v_offset = 3e-4 * draw.gauss();
    rig.i_gain = p.ampere_per_i_code() * 0.010 / shunt * (1 + draw.limit(0.003));
    rig.i_offset = draw.limit(2.8e-3);
    rig.slow_gain = 78.125e-9 / shunt * (1 + draw.limit(0.0005));
    rig.slow_offset = draw.limit(1e-6) / shunt;
    const double adc = draw.limit(8.5e-6), metal = draw.limit(35e-6);
    rig.v_per_kelvin = adc;
    rig.i_per_kelvin = adc + metal;
    rig.fast_drift = draw.limit(250e-9) / shunt;
    rig.slow_drift = draw.limit(10e-9) / shunt;
    rig.bend = draw.limit(6e-6) * 6;
    return rig;
}

double v_code(const Rig& rig, double volt, double kelvin) {
    return (volt - rig.v_offset) / rig.v_gain / (1 + rig.v_per_kelvin * kelvin);
}
double i_code(const Rig& rig, double ampere, double kelvin) {
    const double x = ampere / 6;
    const double seen = ampere + rig.emf + rig.fast_drift * kelvin + rig.bend * 2.598 * x * (1 - x * x);
    return (seen - rig.i_offset) / rig.i_gain / (1 + rig.i_per_kelvin * kelvin);
}
double slow_code(const Rig& rig, double ampere, double kelvin) {
    const double seen = ampere + rig.emf + rig.slow_drift * kelvin;
    return (seen - rig.slow_offset) / rig.slow_gain / (1 + rig.i_per_kelvin * kelvin);
}

constexpr double reference_limit = 2e-4;  // a source meter, 0.02 %

// What `wattrig` would be given: zero and gain points at one temperature, the reference wrong by one factor in all of them.
RailReadings take_readings(Rig& rig, Draw& draw) {
    RailReadings readings;
    readings.u_reference = reference_limit / std::sqrt(3.0);
    const double wrong = 1 + draw.limit(reference_limit);
    rig.emf = draw.limit(0.1e-6) / 0.010;
    for (const double volt : {0.0, 1.0, 2.0, 3.0, 3.3, 3.5}) {
        const double u_y = 10e-6, u_x = 0.5;
        readings.voltage.push_back(
            {v_code(rig, volt, 0) + u_x * draw.gauss(), volt * wrong + u_y * draw.gauss(), u_x, u_y, 25});
    }
    for (const double ampere : {0.0, 0.0, 0.005, 0.1, 0.5, 1.0, 2.0, 3.0, 3.5}) {
        const double u_y = 2e-6 + 20e-6 * ampere, u_fast = 3, u_slow = 0.2;
        const double shown = ampere * wrong + u_y * draw.gauss();
        readings.current.push_back({i_code(rig, ampere, 0) + u_fast * draw.gauss(), shown, u_fast, std::hypot(u_y, 5e-6), 25});
        readings.slow.push_back({slow_code(rig, ampere, 0) + u_slow * draw.gauss(), shown, u_slow, u_y, 25});
    }
    return readings;
}

struct Coverage {
    double inside = 0, square_ratio = 0, square_error = 0, width = 0, refused = 0;
};

// Error of the mean power at one current after calibration, up to 5 K away from it, against the interval of the real budget.
// The INA228 gives the mean of the current, as the idle path does.
Coverage monte_carlo(double ampere, std::size_t rigs, std::uint64_t seed, double gain_fault = 1, double zero_fault = 0) {
    Draw draw(seed);
    Coverage sum;
    for (std::size_t k = 0; k < rigs; ++k) {
        Rig rig = draw_rig(draw);
        auto fit = fit_rail(take_readings(rig, draw), rig.parts, "rail 1");
        // One of 24 good points is beyond the limit once in some 650 calibrations: then a person measures again.
        for (; !fit && sum.refused < 0.01 * static_cast<double>(rigs); ++sum.refused)
            fit = fit_rail(take_readings(rig, draw), rig.parts, "rail 1");
        if (!fit) {
            ADD_FAILURE() << fit.error().message;
            return sum;
        }
        Calibration calibration;
        calibration.rails[0] = fit->rail;
        const RailCalibration& rail = fit->rail;
        rig.emf = draw.limit(0.1e-6) / 0.010;
        const double kelvin = draw.limit(5), volt = 3.3;
        constexpr std::uint64_t samples = 32552;  // 1 s
        const double i = rail.slow_offset + zero_fault + rail.slow_gain * gain_fault * slow_code(rig, ampere, kelvin) +
                         0.2e-6 / 0.010 / std::sqrt(242.0) * draw.gauss();
        const double v = rail.v_offset + rail.v_gain * v_code(rig, volt, kelvin) +
                         64e-6 / std::sqrt(static_cast<double>(samples)) * draw.gauss();
        const double shunt = 78.125e-9 / rig.slow_gain;
        BudgetInput input;
        input.means.rail[0] = {.v = v, .i = i, .vi = v * i, .ii = i * i};
        input.samples = samples;
        input.u_offset = rail.u_slow_offset;
        input.temperature_offset = kelvin;
        input.seconds = 1;
        const PowerUncertainty u = budget(input, calibration);
        const double error = (v - i * rail.shunt_ohm) * i - (volt - ampere * shunt) * ampere;
        sum.inside += std::fabs(error) <= u.expanded() ? 1 : 0;
        sum.square_ratio += std::pow(error / u.standard(), 2);
        sum.square_error += error * error;
        sum.width += u.expanded();
    }
    const auto n = static_cast<double>(rigs);
    return {sum.inside / n, std::sqrt(sum.square_ratio / n), std::sqrt(sum.square_error / n), sum.width / n, sum.refused / n};
}

class MonteCarlo : public testing::TestWithParam<double> {};

TEST_P(MonteCarlo, CalibratedRigsKeepTheirIntervals) {
    const Coverage found = monte_carlo(GetParam(), 100'000, 20261201);
    RecordProperty("coverage", std::to_string(found.inside));
    RecordProperty("rms_of_error_over_u", std::to_string(found.square_ratio));
    EXPECT_GE(found.inside, 0.94);
    EXPECT_GT(found.square_ratio, 0.85);
    EXPECT_LT(found.square_ratio, 1.15);
    RecordProperty("width_over_2_rms", std::to_string(found.width / 2 / found.square_error));
    RecordProperty("refused", std::to_string(found.refused));
    EXPECT_LT(found.width, 1.3 * 2 * found.square_error);
}
INSTANTIATE_TEST_SUITE_P(Currents, MonteCarlo, testing::Values(0.5e-3, 5e-3, 0.1, 1.0, 3.0),
                         [](const auto& current) { return std::to_string(std::lround(current.param * 1e6)) + "uA"; });

TEST(MonteCarloFaults, AreSeen) {
    EXPECT_LT(monte_carlo(1.0, 2000, 1, 1.001).inside, 0.9);
    EXPECT_LT(monte_carlo(0.5e-3, 2000, 1, 1, 30e-6).inside, 0.9);
}

TEST(CalibrationFit, FindsTheCoefficientOfTemperature) {
    Draw draw(5);
    Rig rig = draw_rig(draw);
    rig.i_per_kelvin = 40e-6;
    rig.fast_drift = 0;
    std::vector<LinePoint> points;
    for (const double kelvin : {-10.0, 0.0, 15.0})
        for (const double ampere : {0.0, 1.0, 3.0})
            points.push_back({i_code(rig, ampere, kelvin), ampere, 1, 20e-6, 25 + kelvin});
    const auto fit = fit_line(points, 25, "current");
    ASSERT_TRUE(fit) << fit.error().message;
    EXPECT_TRUE(fit->has_per_kelvin);
    EXPECT_NEAR(fit->per_kelvin, 40e-6, 4 * fit->u_per_kelvin);
    EXPECT_LT(fit->u_per_kelvin, 2e-6);
    EXPECT_EQ(fit->degrees_of_freedom, 6u);
}

// Closed form of weighted least squares for a straight line (two sums more than anybody wants to type twice).
TEST(CalibrationFit, AgreesWithTheClosedForm) {
    const std::vector<LinePoint> points = {
        {0, 0.1, 0, 0.1, 25}, {10, 19.9, 0, 0.2, 25}, {20, 40.2, 0, 0.1, 25}, {40, 80.0, 0, 0.3, 25}};
    double s = 0, sx = 0, sy = 0, sxx = 0, sxy = 0;
    for (const auto& p : points) {
        const double w = 1 / (p.u_y * p.u_y);
        s += w, sx += w * p.x, sy += w * p.y, sxx += w * p.x * p.x, sxy += w * p.x * p.y;
    }
    const double d = s * sxx - sx * sx;
    const auto fit = fit_line(points, 25, "line");
    ASSERT_TRUE(fit) << fit.error().message;
    const double enlarge = std::max(1.0, fit->chi_square / 2);
    EXPECT_NEAR(fit->gain, (s * sxy - sx * sy) / d, 1e-12);
    EXPECT_NEAR(fit->offset, (sxx * sy - sx * sxy) / d, 1e-12);
    EXPECT_NEAR(fit->u_offset, std::sqrt(sxx / d * enlarge), 1e-12);
    EXPECT_NEAR(fit->u_gain * fit->gain, std::sqrt(s / d * enlarge), 1e-12);
    EXPECT_NEAR(fit->covariance, -sx / d * enlarge, 1e-12);
}

TEST(CalibrationFit, RefusesWhatCannotBeBelieved) {
    Draw draw(7);
    Rig rig = draw_rig(draw);
    const RailReadings good = take_readings(rig, draw);
    const auto message = [&](const auto& change) {
        RailReadings readings = good;
        change(readings);
        const auto fit = fit_rail(readings, rig.parts, "rail 1");
        return fit ? std::string("accepted") : fit.error().message;
    };
    using testing::HasSubstr;
    EXPECT_EQ(message([](auto&) {}), "accepted");
    EXPECT_THAT(message([](auto& r) { r.current[4].y += 2e-3; }), HasSubstr("current of rail 1, point 5: expected within 4"));
    EXPECT_THAT(message([](auto& r) { r.voltage[2].y = NAN; }), HasSubstr("voltage of rail 1, point 3: expected finite"));
    EXPECT_THAT(message([](auto& r) { r.voltage.resize(2); }), HasSubstr("expected at least 3 points, came 2"));
    EXPECT_THAT(message([](auto& r) {
                    for (auto& p : r.slow) p.y += 1e-3 * p.y * p.y;
                }),
                HasSubstr("bends by"));
    EXPECT_THAT(message([](auto& r) {
                    for (auto& p : r.current) p.y *= 1.06;
                }),
                HasSubstr("rail 1.i_gain: expected within 4.2 %"));
    EXPECT_THAT(message([](auto& r) {
                    for (auto& p : r.voltage) p.y = -p.y;
                }),
                HasSubstr("rail 1.v_gain: expected within"));
    EXPECT_THAT(message([](auto& r) {
                    for (auto& p : r.current) p.x = 7;
                }),
                HasSubstr("points at different values"));
}

Calibration example() {
    Calibration c = nominal_calibration({});
    c.serial = "W0042";
    c.date = "2026-12-01T10:00:00Z";
    c.reference = "6.5 digit meter";
    return c;
}

TEST(CalibrationFile, EveryFlippedBitIsSeen) {
    const std::string text = calibration_file_text(example());
    const auto good = calibration_from_file_text(text, "f");
    ASSERT_TRUE(good) << good.error().message;
    EXPECT_TRUE(good->sealed);
    EXPECT_EQ(calibration_file_text(good->calibration), text);
    for (std::size_t bit = 0; bit < text.size() * 8; ++bit) {
        std::string broken = text;
        broken[bit / 8] = static_cast<char>(broken[bit / 8] ^ (1 << (bit % 8)));
        EXPECT_FALSE(calibration_from_file_text(broken, "f")) << "bit " << bit;
    }
}

TEST(CalibrationFile, RefusesAnotherRigAndImplausibleGains) {
    Calibration c = example();
    EXPECT_TRUE(check_serial(c, "W0042", "f"));
    EXPECT_TRUE(check_serial(c, "", "f"));
    const auto other = check_serial(c, "W0043", "f");
    ASSERT_FALSE(other);
    EXPECT_THAT(other.error().message, testing::HasSubstr("expected the calibration of rig W0043"));
    c.rails[0].i_gain *= 1.1;
    const auto gain = calibration_from_file_text(calibration_file_text(c), "f");
    ASSERT_FALSE(gain);
    EXPECT_THAT(gain.error().message, testing::HasSubstr("f: rails[0].i_gain: expected within 4.2 % of what the parts have"));
}

}  // namespace
}  // namespace wattrig::power
