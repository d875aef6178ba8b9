// Each line of the budget alone: errors of one kind are drawn, the figure is computed with them, and the root mean square of
// the error must be what the budget says for that line, within 10 %.

#include "host/power/uncertainty.hpp"

#include <gtest/gtest.h>

#include <cmath>
#include <functional>
#include <random>

#include "tests/power/stream_builder.hpp"

namespace wattrig::power {
namespace {

using Random = std::mt19937_64;

double normal(Random& random) { return std::normal_distribution<double>()(random); }

Calibration exact_calibration() {  // no doubt in any line
    Calibration c = test::test_calibration();
    RailCalibration& rail = c.rails[0];
    rail.u_reference = rail.u_v_gain = rail.u_i_gain = rail.u_v_offset = rail.u_i_offset = rail.u_slow_offset = 0;
    rail.u_gain_per_kelvin = 0;
    c.front_end.v_noise_volt = c.front_end.i_noise_ampere = 0;
    c.front_end.shunt_temperature_coefficient = 0;
    return c;
}

struct Recovered {
    double rms_error, u;
    PowerUncertainty last;
};

// `draw` changes the calibration that the estimator uses, `truth` the one that made the codes.
Recovered recover(const Calibration& truth, const std::function<void(Calibration&, Random&)>& draw,
                  std::int16_t temperature = 2500) {
    Random random(77);
    test::StreamBuilder builder;
    builder.shunt_temperature = builder.board_temperature = temperature;
    std::vector<test::OwnedBlock> blocks;
    double mean = 0;
    for (int k = 0; k < 8; ++k) {
        const test::Codes codes = test::codes_for(truth, 3.3 - 0.01 * k, 0.2 + 0.4 * k);
        mean += test::watts(truth, codes) / 8;
        blocks.push_back(builder.block(std::vector<test::Codes>(75, codes)));
    }
    const io::Interval interval{test::host_of(builder.edge(0)), test::host_of(builder.edge(600))};
    const auto run = [&](const Calibration& c) {
        EnergyPass pass(c, test::plain_clock(), {interval});
        for (const auto& b : blocks) pass.add(b.view);
        return pass.finish()[0];
    };
    const double reference = run(truth).mean->value();
    if (temperature == 2500) {
        EXPECT_NEAR(reference, mean, 1e-9);
    }
    double squares = 0;
    constexpr int draws = 3000;
    for (int k = 0; k < draws; ++k) {
        Calibration c = truth;
        draw(c, random);
        squares += std::pow(run(c).mean->value() - reference, 2);
    }
    const PowerUncertainty u = run(truth).u;
    return {std::sqrt(squares / draws), u.standard(), u};
}

void expect_recovered(const Recovered& r, double PowerUncertainty::* line) {
    EXPECT_NEAR(r.rms_error / r.u, 1, 0.1);
    EXPECT_DOUBLE_EQ(r.last.*line, r.u);  // and in no other line
}

TEST(Budget, Reference) {
    Calibration truth = exact_calibration();
    truth.rails[0].v_offset = truth.rails[0].i_offset = 0;  // a reference's error scales what is measured, not a stored offset
    truth.rails[0].u_reference = 1e-3;
    expect_recovered(recover(truth,
                             [](Calibration& c, Random& random) {
                                 const double e = 1 + 1e-3 * normal(random);
                                 c.rails[0].v_gain *= e;
                                 c.rails[0].i_gain *= e;
                             }),
                     &PowerUncertainty::reference);
}

TEST(Budget, GainsAndOffsets) {
    Calibration truth = exact_calibration();
    truth.rails[0].v_offset = truth.rails[0].i_offset = 0;
    truth.rails[0].u_v_gain = 2e-3;
    expect_recovered(recover(truth, [](Calibration& c, Random& r) { c.rails[0].v_gain *= 1 + 2e-3 * normal(r); }),
                     &PowerUncertainty::v_gain);
    truth.rails[0].u_v_gain = 0;
    truth.rails[0].u_i_gain = 2e-3;
    expect_recovered(recover(truth, [](Calibration& c, Random& r) { c.rails[0].i_gain *= 1 + 2e-3 * normal(r); }),
                     &PowerUncertainty::i_gain);
    truth = exact_calibration();
    truth.rails[0].u_v_offset = 1e-3;
    expect_recovered(recover(truth, [](Calibration& c, Random& r) { c.rails[0].v_offset += 1e-3 * normal(r); }),
                     &PowerUncertainty::v_offset);
    truth.rails[0].u_v_offset = 0;
    truth.rails[0].u_i_offset = 1e-3;
    expect_recovered(recover(truth, [](Calibration& c, Random& r) { c.rails[0].i_offset += 1e-3 * normal(r); }),
                     &PowerUncertainty::i_offset);
}

TEST(Budget, TemperatureCoefficients) {
    Calibration truth = exact_calibration();
    truth.rails[0].v_offset = truth.rails[0].i_offset = 0;
    truth.rails[0].u_gain_per_kelvin = 1e-4;
    expect_recovered(recover(
                         truth,
                         [](Calibration& c, Random& r) {
                             c.rails[0].v_gain_per_kelvin += 1e-4 * normal(r);
                             c.rails[0].i_gain_per_kelvin += 1e-4 * normal(r);
                         },
                         3500),
                     &PowerUncertainty::temperature);
}

TEST(Budget, NoiseShrinksWithTheRootOfTime) {
    Calibration c = exact_calibration();
    c.front_end.v_noise_volt = 5e-3;
    c.front_end.i_noise_ampere = 10e-3;
    Random random(78);
    for (const std::int64_t blocks : {2, 18}) {
        double squares = 0, u = 0;
        constexpr int draws = 1500;
        for (int k = 0; k < draws; ++k) {
            test::StreamBuilder builder;
            const io::Interval interval{test::host_of(builder.edge(0)), test::host_of(builder.edge(75 * blocks))};
            EnergyPass pass(c, test::plain_clock(), {interval});
            for (std::int64_t b = 0; b < blocks; ++b) {
                std::vector<test::Codes> codes;
                codes.reserve(75);
                for (int j = 0; j < 75; ++j)
                    codes.push_back(test::codes_for(c, 3.3 + 5e-3 * normal(random), 1.5 + 10e-3 * normal(random)));
                pass.add(builder.block(codes).view);
            }
            const auto p = pass.finish()[0];
            // The noise's own mean square goes into R I^2: 1 uW, far below.
            squares += std::pow(p.mean->value() - (3.3 - 1.5 * 0.01) * 1.5, 2);
            u = p.u.noise;
        }
        EXPECT_NEAR(std::sqrt(squares / draws) / u, 1, 0.1) << blocks;
    }
}

// Idle, load, idle with the interval on the load's edges, and the clock wrong by a uniform draw within its bound. It is wrong
// by nearly the same at both edges of a phase: what it does not see are delays that stay.
TEST(Budget, Alignment) {
    const Calibration c = exact_calibration();
    constexpr double bound = 100e-6;
    Random random(79);
    std::uniform_real_distribution<double> uniform(-bound, bound);
    double squares = 0, u = 0;
    constexpr int draws = 1500;
    for (int k = 0; k < draws; ++k) {
        test::StreamBuilder builder;
        const auto shift = std::llround(uniform(random) * 125e6);
        const auto shifted = [&](std::int64_t cell) { return test::host_of(builder.edge(cell) + shift); };
        EnergyPass pass(c, test::plain_clock(7, Nanoseconds(100'000)), {{shifted(750), shifted(2250)}});
        for (int b = 0; b < 40; ++b)
            pass.add(builder.block(std::vector<test::Codes>(75, test::codes_for(c, 3.3, b < 10 || b >= 30 ? 0.2 : 1.5))).view);
        const auto p = pass.finish()[0];
        squares += std::pow(p.mean->value() - test::watts(c, test::codes_for(c, 3.3, 1.5)), 2);
        u += p.u.alignment / draws;
    }
    EXPECT_NEAR(std::sqrt(squares / draws) / u, 1, 0.1);
}

// A tenth of the samples is in no sum, and had any power that was seen elsewhere.
TEST(Budget, Coverage) {
    const Calibration c = exact_calibration();
    Random random(80);
    std::uniform_real_distribution<double> ampere(0.5, 2.5);
    double squares = 0, u = 0;
    constexpr int draws = 1500;
    for (int k = 0; k < draws; ++k) {
        test::StreamBuilder builder;
        std::vector<test::OwnedBlock> blocks;
        double truth = 0;
        for (int b = 0; b < 20; ++b) {
            // The whole range is seen, evenly, in any order.
            const double now = 0.5 + 2.0 * ((b * 7) % 20 + 0.5) / 20;
            if (b == 9) {
                builder.miss(150);
                truth += 2 * test::watts(c, test::codes_for(c, 3.3, ampere(random))) / 22;
            }
            const test::Codes codes = test::codes_for(c, 3.3, now);
            truth += test::watts(c, codes) / 22;
            blocks.push_back(builder.block(std::vector<test::Codes>(75, codes)));
        }
        EnergyPass pass(c, test::plain_clock(), {{test::host_of(builder.edge(0)), test::host_of(builder.edge(1'650))}});
        for (const auto& b : blocks) pass.add(b.view);
        const auto p = pass.finish()[0];
        squares += std::pow(p.mean->value() - truth, 2);
        u = p.u.coverage;
    }
    EXPECT_NEAR(std::sqrt(squares / draws) / u, 1, 0.1);
}

TEST(Budget, ExpandedIsTwiceUnlessARectangularPartDominates) {
    PowerUncertainty u;
    u.reference = 3;
    u.noise = 4;
    EXPECT_DOUBLE_EQ(u.standard(), 5);
    EXPECT_DOUBLE_EQ(u.expanded(), 10);
    u = {};
    u.coverage = 1;  // purely rectangular: 95 % lie within 0.95 sqrt 3 = 1.645
    EXPECT_NEAR(u.expanded(), 0.95 * std::sqrt(3), 0.01);
    u.alignment = 1;  // two alike: triangular of half-width 2 sqrt 3, 95 % within (1 - sqrt 0.05) of it
    EXPECT_DOUBLE_EQ(u.expanded(), 2 * u.standard());  // neither is more than half
    u.coverage = 1.01;
    EXPECT_NEAR(u.expanded(), (1 - std::sqrt(0.05)) * 2 * std::sqrt(3), 0.03);
    EXPECT_DOUBLE_EQ(u.expanded(), u.expanded());  // a fixed seed
    EXPECT_EQ(PowerUncertainty{}.expanded(), 0);
}

TEST(Budget, InstrumentErrorsAddLinearlyAndCancelInDifferences) {
    PowerUncertainty a, b;
    a.reference = 3e-3;
    a.noise = 1e-3;
    b.reference = 2e-3;
    b.noise = 1e-3;
    const WeightedBudget mean[] = {{0.5, a}, {0.5, b}};
    EXPECT_NEAR(combine(mean).reference, 2.5e-3, 1e-12);
    EXPECT_NEAR(combine(mean).noise, 1e-3 / std::sqrt(2), 1e-12);
    const WeightedBudget difference[] = {{1, a}, {-1, b}};
    EXPECT_NEAR(combine(difference).reference, 1e-3, 1e-12);
    EXPECT_NEAR(combine(difference).noise, 1e-3 * std::sqrt(2), 1e-12);
}

}  // namespace
}  // namespace wattrig::power
