#include "host/power/peak.hpp"

#include <gtest/gtest.h>

#include <cmath>
#include <random>

#include "host/power/energy.hpp"
#include "tests/power/stream_builder.hpp"

namespace wattrig::power {
namespace {

TEST(PeakPath, LearnsGainAndOffset) {
    const FrontEnd parts;
    const RailCalibration rail = nominal_calibration(parts).rails[0];
    PeakPath path(rail, parts);
    const double nominal = path.gain();
    const double gain = nominal * 1.02, zero = 1720;  // this rig's: readings at 0 A, ampere per reading
    std::mt19937_64 random(4);
    std::normal_distribution<double> noise(0, 0.06);
    const auto feed = [&](double ampere, int blocks) {
        for (int k = 0; k < blocks; ++k) {
            protocol::PeakSummary peak{};
            peak.readings = 576;
            peak.sum_low = static_cast<std::uint32_t>(576 * (zero + ampere / gain + noise(random)));
            path.learn(peak, ampere);
        }
    };
    feed(0.50, 200);
    feed(0.55, 200);  // too little spread: only the offset moves
    EXPECT_EQ(path.gain(), nominal);
    EXPECT_NEAR(path.offset() + path.gain() * (zero + 0.55 / gain), 0.55, 1e-2);
    feed(2.0, 300);
    EXPECT_NEAR(path.gain(), gain, 1e-3 * gain);
    EXPECT_NEAR(path.offset() + path.gain() * (zero + 1.5 / gain), 1.5, 3e-3);
}

TEST(PeakPath, StepsOfTheCoarseConverter) {
    EXPECT_TRUE(PeakPath::crosses_step(500, 600));
    EXPECT_TRUE(PeakPath::crosses_step(2560, 2560));
    EXPECT_FALSE(PeakPath::crosses_step(1700, 2500));
}

// Maximum of n normal variables: mean 2.508 rms at n = 100, 3.241 at n = 1000 (tables of order statistics, e.g. Tippett 1925).
TEST(PeakMaximum, NoiseBiasIsTakenOff) {
    std::mt19937_64 random(9);
    std::normal_distribution<double> normal;
    double sum = 0;
    constexpr int runs = 300;
    for (int r = 0; r < runs; ++r) {
        PeakMaximum maximum;
        for (int block = 0; block < 45; ++block) {  // 45 x 23 windows that do not overlap: about 1000
            double highest = -1e9;
            for (int k = 0; k < 23; ++k) highest = std::max(highest, 5 + 0.004 * normal(random));
            maximum.add(highest, 0.004, 576);
        }
        sum += *maximum.corrected();
    }
    EXPECT_NEAR(sum / runs, 5, 0.15 * 0.004);
    EXPECT_FALSE(PeakMaximum().corrected());
}

TEST(EnergyPass, Pcm2ComesFromThePeakPathAndFromGroupsOfLostBlocks) {
    Calibration c = test::test_calibration();
    const FrontEnd& parts = c.front_end;
    const double gain = parts.peak_lsb_volt / parts.amplifier_gain / parts.shunt_ohm;
    const double zero = parts.peak_zero_volt / parts.peak_lsb_volt;
    const auto window = [&](double ampere) {  // value of the wire for a window at this current
        const test::Codes codes = test::codes_for(c, 3.3, ampere);
        return static_cast<std::int32_t>(std::lround(25 * ampere / gain * codes.v / (1 << protocol::peak_shift)));
    };
    test::StreamBuilder builder;
    std::vector<test::OwnedBlock> blocks;
    const auto add = [&](double mean, double peak, double group) {
        builder.peak = {};
        builder.peak.group_maximum.fill(window(group));
        builder.peak.maximum = window(peak);
        builder.peak.maximum_at = 300;
        builder.peak.readings = 576;
        builder.peak.sum_low = static_cast<std::uint32_t>(std::lround(576 * (zero + mean / gain)));
        blocks.push_back(builder.block(std::vector<test::Codes>(75, test::codes_for(c, 3.3, mean))));
    };
    for (int k = 0; k < 100; ++k) add(k % 2 == 0 ? 0.5 : 1.5, k % 2 == 0 ? 0.6 : 1.6, 1.6);
    builder.lose(300, test::codes_for(c, 3.3, 1.0));  // a peak of 3 A is in there
    for (int k = 0; k < 20; ++k) add(0.5, 0.6, k < 12 ? 3.0 : 0.6);
    const auto interval = [&](std::int64_t a, std::int64_t b) {
        return io::Interval{test::host_of(builder.edge(75 * a)), test::host_of(builder.edge(75 * b))};
    };
    EnergyPass pass(c, test::plain_clock(), {interval(0, 124), interval(0, 100), interval(106, 120)});
    for (const auto& b : blocks) pass.add(b.view);
    const auto p = pass.finish();
    const auto power = [&](double ampere) { return (3.3 - ampere * 0.01) * ampere; };
    EXPECT_NEAR(p[0].pcm2->value(), power(3.0), 0.01 * power(3.0) + 0.07);
    EXPECT_NEAR(p[1].pcm2->value(), power(1.6), 0.01 * power(1.6) + 0.07);
    EXPECT_NEAR(p[2].pcm2->value(), power(0.6), 0.01 * power(0.6) + 0.07);
    EXPECT_NEAR(p[0].pcm2_coverage, 1, 0.01);
}

}  // namespace
}  // namespace wattrig::power
