#include "host/power/energy.hpp"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <cmath>
#include <random>

#include "tests/power/stream_builder.hpp"

namespace wattrig::power {
namespace {

using test::Codes;
using test::StreamBuilder;
using testing::Contains;
using testing::HasSubstr;

std::vector<Codes> level(const Calibration& c, double volt, double ampere, std::size_t count = 75) {
    return std::vector<Codes>(count, test::codes_for(c, volt, ampere));
}

struct Stream {
    Calibration calibration = test::test_calibration();
    StreamBuilder builder;
    std::vector<test::OwnedBlock> blocks;

    void add(double volt, double ampere, std::size_t count = 75) {
        blocks.push_back(builder.block(level(calibration, volt, ampere, count)));
    }
    void summary(double volt, double ampere, std::size_t count) {
        blocks.push_back(builder.block(level(calibration, volt, ampere, count), protocol::Detail::summary_10ms));
    }
    [[nodiscard]] double power(double volt, double ampere) const {
        return test::watts(calibration, test::codes_for(calibration, volt, ampere));
    }
    [[nodiscard]] io::Interval cells(std::int64_t begin, std::int64_t end) const {
        return {test::host_of(builder.edge(begin)), test::host_of(builder.edge(end))};
    }
    [[nodiscard]] std::vector<IntervalPower> run(std::vector<io::Interval> intervals,
                                                 const std::vector<rig::ClockMap>& clocks = {test::plain_clock()}) const {
        EnergyPass pass(calibration, clocks, std::move(intervals));
        for (const test::OwnedBlock& b : blocks) pass.add(b.view);
        return pass.finish();
    }
};

TEST(EnergyPass, EdgesSplitSamplesByOverlap) {
    Stream s;
    for (int k = 0; k < 4; ++k) s.add(3.3, k % 2 == 0 ? 0.5 : 2.0);
    const double low = s.power(3.3, 0.5), high = s.power(3.3, 2.0);
    // A quarter of cell 74 (low), all of 75 .. 99, and a third of cell 100 (high).
    const std::int64_t begin = s.builder.edge(75) - 960, end = s.builder.edge(100) + 1280;
    const auto p = s.run({{test::host_of(begin), test::host_of(end)}});
    EXPECT_NEAR(p[0].mean->value(), (low * 960 + high * (25 * 3840 + 1280)) / (960 + 25 * 3840 + 1280), 1e-9);
    EXPECT_EQ(p[0].samples, 26U);  // 25.58 of them
    EXPECT_DOUBLE_EQ(p[0].coverage, 1);
    EXPECT_NEAR(p[0].minimum->value(), high, 1e-9);  // the middle of cell 74 lies outside
}

TEST(EnergyPass, MinimumAndMaximumAreOfSingleSamples) {
    Stream s;
    std::mt19937_64 random(5);
    std::uniform_real_distribution<double> volt(3.1, 3.4), ampere(0, 4);
    double lowest = 1e9, highest = -1e9;
    for (int k = 0; k < 300; ++k) {
        std::vector<Codes> codes;
        codes.reserve(75);
        for (int j = 0; j < 75; ++j) codes.push_back(test::codes_for(s.calibration, volt(random), ampere(random)));
        s.blocks.push_back(s.builder.block(codes));
        if (k < 100 || k >= 250) continue;
        for (const Codes& c : codes) {
            lowest = std::min(lowest, test::watts(s.calibration, c));
            highest = std::max(highest, test::watts(s.calibration, c));
        }
    }
    const auto p = s.run({s.cells(7'500, 18'750)});
    EXPECT_NEAR(p[0].minimum->value(), lowest, 1e-12);
    EXPECT_NEAR(p[0].maximum->value(), highest, 1e-12);
}

TEST(EnergyPass, SummariesAgreeWithFullDetail) {
    std::mt19937_64 random(6);
    std::normal_distribution<double> noise(0, 0.02);
    Stream full, summary;
    for (int k = 0; k < 100; ++k) {
        std::vector<Codes> four;
        for (int b = 0; b < 4; ++b) {
            std::vector<Codes> codes;
            codes.reserve(75);
            for (int j = 0; j < 75; ++j)
                codes.push_back(test::codes_for(full.calibration, 3.3 + noise(random), 1.5 + noise(random)));
            full.blocks.push_back(full.builder.block(codes));
            four.insert(four.end(), codes.begin(), codes.end());
        }
        summary.blocks.push_back(summary.builder.block(four, protocol::Detail::summary_10ms));
    }
    const std::vector<io::Interval> intervals = {full.cells(300, 27'000), full.cells(1234, 20'111)};
    const auto a = full.run(intervals), b = summary.run(intervals);
    EXPECT_NEAR(a[0].energy->value() / b[0].energy->value(), 1, 1e-12);
    EXPECT_TRUE(a[1].flags.empty());
    EXPECT_THAT(b[1].flags, Contains(HasSubstr("edge inside a summary")));
    EXPECT_LT(std::fabs(a[1].energy->value() - b[1].energy->value()) / to_seconds(intervals[1].end - intervals[1].begin),
              std::sqrt(3) * b[1].u.coverage);
    EXPECT_GT(b[1].u.coverage, 0);
    EXPECT_EQ(a[1].u.coverage, 0);
}

TEST(EnergyPass, ALostBlockCostsDetailNotEnergy) {
    Stream s;
    s.add(3.3, 0.5);
    s.builder.lose(level(s.calibration, 3.25, 3.0, 150));
    s.builder.flags = protocol::block_overrun;
    s.add(3.3, 0.5);
    s.builder.flags = 0;
    const auto p = s.run({s.cells(0, 300)});
    EXPECT_NEAR(p[0].mean->value(), (s.power(3.3, 0.5) + s.power(3.25, 3.0)) / 2, 1e-12);
    EXPECT_DOUBLE_EQ(p[0].coverage, 1);
    EXPECT_EQ(p[0].u.coverage, 0);
    EXPECT_THAT(p[0].flags, Contains(HasSubstr("blocks lost")));
}

TEST(EnergyPass, AnEdgeInsideAGapIsSharedByTimeWithBounds) {
    Stream s;
    s.add(3.3, 0.5);
    s.builder.lose(level(s.calibration, 3.3, 0.5, 75));  // really: idle until here,
    s.builder.lose(level(s.calibration, 3.3, 2.0, 75));  // then load
    s.add(3.3, 2.0);
    s.add(3.3, 2.0);
    const auto p = s.run({s.cells(150, 375)});
    const double low = s.power(3.3, 0.5), high = s.power(3.3, 2.0), gap = (low + high) / 2;
    EXPECT_NEAR(p[0].mean->value(), (gap * 75 + high * 150) / 225, 1e-9);
    EXPECT_THAT(p[0].flags, Contains(HasSubstr("gap at the edge")));
    // Half of the gap may have had any power from idle to load, as its mean is halfway.
    EXPECT_NEAR(p[0].u.coverage, (high - gap) * 75 / 225 / std::sqrt(2), 1e-6);
    const double truth = high;
    EXPECT_LE(std::fabs(p[0].mean->value() - truth), p[0].u.expanded());
}

TEST(EnergyPass, SamplesLostInsideTheDeviceLowerTheCoverage) {
    Stream s;
    s.add(3.3, 1.0);
    s.builder.miss(25);
    s.builder.flags = protocol::block_samples_lost;
    s.add(3.3, 3.0);
    s.builder.flags = 0;
    s.add(3.3, 3.0);
    const auto p = s.run({s.cells(0, 250)});
    EXPECT_NEAR(p[0].coverage, 0.9, 1e-9);
    const double low = s.power(3.3, 1.0), high = s.power(3.3, 3.0), mean = (low + 2 * high) / 3;
    EXPECT_NEAR(p[0].mean->value(), mean, 1e-9);
    EXPECT_EQ(p[0].samples, 225U);
    EXPECT_NEAR(p[0].u.coverage, 0.1 * (mean - low) / std::sqrt(3), 1e-6);
    EXPECT_THAT(p[0].flags, Contains(HasSubstr("samples lost")));
}

TEST(EnergyPass, ARestartOfTheRigLeavesTheGapUnknown) {
    Stream s;
    for (int k = 0; k < 10; ++k) s.add(3.3, 1.0);
    const std::int64_t unplugged = s.builder.edge(750);
    StreamBuilder second;
    second.boot_id = 8;
    second.first_time = 500'000;
    for (int k = 0; k < 10; ++k) s.blocks.push_back(second.block(level(s.calibration, 3.3, 2.0)));
    // The second boot's clock: its tick 0 is 0.1 s after the unplug.
    const std::int64_t shift = unplugged + 12'500'000;
    rig::ClockMap clock({}, 8, "second");
    clock.append({DeviceTime(Ticks(0)), test::host_of(shift), Nanoseconds(0), 0.0});
    clock.append({DeviceTime(Ticks(31'250'000)), test::host_of(shift + 31'250'000), Nanoseconds(0), 0.0});
    const auto host = [&](std::int64_t k) { return test::host_of(shift + second.edge(k)); };
    const auto p =
        s.run({s.cells(100, 700), {test::host_of(s.builder.edge(100)), host(500)}, {host(100), host(600)}, s.cells(100, 750)},
              {test::plain_clock(), clock});
    EXPECT_NEAR(p[0].mean->value(), s.power(3.3, 1.0), 1e-9);
    EXPECT_FALSE(p[1].energy);
    EXPECT_FALSE(p[1].mean);
    EXPECT_LT(p[1].coverage, 0.5);
    EXPECT_THAT(p[1].flags, Contains(HasSubstr("rig restarted")));
    // 650 samples at 1 A and 500 at 2 A are in sums; what was drawn in between only adds.
    const double seen = (650 * s.power(3.3, 1.0) + 500 * s.power(3.3, 2.0)) * 30.72e-6;
    ASSERT_TRUE(p[1].energy_at_least);
    EXPECT_LE(p[1].energy_at_least->value(), seen * (1 + 1e-12));
    EXPECT_GT(p[1].energy_at_least->value(), 0.9 * seen);
    EXPECT_FALSE(p[0].energy_at_least);
    EXPECT_NEAR(p[2].mean->value(), s.power(3.3, 2.0), 1e-9);
    EXPECT_NEAR(p[3].mean->value(), s.power(3.3, 1.0), 1e-9);
}

TEST(EnergyPass, ANewStreamOfTheSameBootIsARestartToo) {
    Stream s;
    for (int k = 0; k < 10; ++k) s.add(3.3, 1.0);
    StreamBuilder second;
    second.first_time = s.builder.first_time + 125'000'000;
    for (int k = 0; k < 10; ++k) s.blocks.push_back(second.block(level(s.calibration, 3.3, 2.0)));
    const auto p = s.run({{test::host_of(s.builder.edge(10)), test::host_of(second.edge(100))},
                          {test::host_of(second.edge(10)), test::host_of(second.edge(100))}});
    EXPECT_FALSE(p[0].energy);
    EXPECT_NEAR(p[1].mean->value(), s.power(3.3, 2.0), 1e-9);
}

TEST(EnergyPass, NothingRecordedIsNullNeverZero) {
    Stream s;
    s.add(3.3, 1.0);
    const auto p = s.run({s.cells(1000, 2000), s.cells(-500, -100), s.cells(0, 80), s.cells(30, 20)});
    for (const IntervalPower& power : p) {
        EXPECT_FALSE(power.energy);
        EXPECT_FALSE(power.mean);
        EXPECT_FALSE(power.maximum);
        EXPECT_FALSE(power.pcm1);
        EXPECT_FALSE(power.flags.empty());
    }
    const auto unplaced = s.run({s.cells(0, 75)}, {rig::ClockMap({}, 99, "other")});
    EXPECT_FALSE(unplaced[0].energy);
}

TEST(EnergyPass, DuplicatedBlocksCountOnce) {
    Stream s;
    for (int k = 0; k < 4; ++k) s.add(3.3, 1.0 + k);
    EnergyPass pass(s.calibration, test::plain_clock(), {s.cells(0, 300)});
    for (const auto& b : s.blocks) {
        pass.add(b.view);
        pass.add(b.view);
    }
    const auto p = pass.finish();
    EXPECT_EQ(p[0].samples, 300U);
    EXPECT_DOUBLE_EQ(p[0].mean->value(), s.run({s.cells(0, 300)})[0].mean->value());
}

// The highest 1 s mean over windows that end at block edges, against a search over every sample.
TEST(EnergyPass, Pcm1AgainstBruteForce) {
    Stream s;
    std::mt19937_64 random(8);
    std::uniform_real_distribution<double> ampere(0.1, 3);
    std::vector<double> watts;
    double now = 1;
    for (int k = 0; k < 1400; ++k) {
        if (k % 97 == 0) now = ampere(random);
        const auto codes = level(s.calibration, 3.3, now);
        watts.insert(watts.end(), codes.size(), test::watts(s.calibration, codes[0]));
        if (k == 700 || k == 701)
            s.builder.lose(codes);
        else
            s.blocks.push_back(s.builder.block(codes));
    }
    std::vector<double> sum(1, 0);
    for (const double w : watts) sum.push_back(sum.back() + w);
    const double window = 125e6 / StreamBuilder::cell;  // samples in 1 s: 32552.08
    const auto at = [&](double x) {
        const auto k = static_cast<std::size_t>(x);
        return sum[k] + (k < watts.size() ? (x - static_cast<double>(k)) * watts[k] : 0);
    };
    const auto brute = [&](std::int64_t begin, std::int64_t end) {
        double best = 0;
        for (std::int64_t e = 0; e <= end; e += 75)
            if (e <= end && static_cast<double>(e) - window >= static_cast<double>(begin))
                best = std::max(best, (at(static_cast<double>(e)) - at(static_cast<double>(e) - window)) / window);
        return best;
    };
    const auto p = s.run({s.cells(0, 105'000), s.cells(20'000, 90'000), s.cells(0, 30'000)});
    // A window that begins inside a block takes its mean; blocks here are constant, so there is no difference.
    EXPECT_NEAR(p[0].pcm1->value(), brute(0, 105'000), 1e-9);
    EXPECT_NEAR(p[1].pcm1->value(), brute(20'000, 90'000), 1e-9);
    EXPECT_FALSE(p[2].pcm1);
    EXPECT_GT(p[0].pcm1_coverage, 0.99);
    EXPECT_LT(p[0].pcm1->value(), p[0].maximum->value());
}

TEST(EnergyPass, BatchMeansAreEqualTimesAndAddUp) {
    Stream s;
    for (int k = 0; k < 3000; ++k) s.add(3.3, 1.0 + (k % 10) * 0.1);
    const auto p = s.run({s.cells(1000, 201'000), s.cells(0, 40)});
    ASSERT_GT(p[0].batch_means.size(), 100U);
    ASSERT_LE(p[0].batch_means.size(), 256U);
    double sum = 0;
    for (const double w : p[0].batch_means) sum += w;
    EXPECT_NEAR(sum / static_cast<double>(p[0].batch_means.size()), p[0].mean->value(), 1e-6);
    EXPECT_NEAR(to_seconds(p[0].batch_length) * static_cast<double>(p[0].batch_means.size()), 200'000 * 30.72e-6, 1e-3);
    EXPECT_EQ(p[1].batch_means.size(), 1U);
}

TEST(EnergyPass, TemperatureCorrectsTheGains) {
    Stream s;
    s.calibration.rails[0].v_gain_per_kelvin = 20e-6;
    s.calibration.rails[0].i_gain_per_kelvin = -50e-6;
    s.builder.shunt_temperature = 4500;
    s.builder.board_temperature = 3500;
    s.add(3.3, 2.0);
    const RailCalibration& rail = s.calibration.rails[0];
    const Codes c = test::codes_for(s.calibration, 3.3, 2.0);
    const double v = rail.v_offset + rail.v_gain * c.v * (1 + 20e-6 * 10),
                 i = rail.i_offset + rail.i_gain * c.i * (1 - 50e-6 * 20);
    EXPECT_NEAR(s.run({s.cells(0, 75)})[0].mean->value(), (v - i * rail.shunt_ohm) * i, 1e-12);
}

TEST(EnergyPass, TwoRailsAdd) {
    Stream s;
    s.add(3.3, 1.0);
    test::OwnedBlock& b = s.blocks[0];
    b.view.header.rails = 2;
    b.view.rails[1] = b.view.rails[0];
    b.view.v_codes[1] = b.view.v_codes[0];
    b.view.i_codes[1] = b.view.i_codes[0];
    s.calibration.rails[1] = s.calibration.rails[0];
    const auto p = s.run({s.cells(0, 75), s.cells(10, 20)});
    EXPECT_NEAR(p[0].mean->value(), 2 * s.power(3.3, 1.0), 1e-9);
    EXPECT_NEAR(p[1].mean->value(), 2 * s.power(3.3, 1.0), 1e-9);
    EXPECT_NEAR(p[0].maximum->value(), 2 * s.power(3.3, 1.0), 1e-9);
}

TEST(EnergyPass, FlagsSayWhatHappened) {
    Stream s;
    s.builder.flags = protocol::block_clipped | protocol::block_low_voltage | protocol::block_simulated;
    s.add(3.1, 1.0);
    const auto p = s.run({s.cells(0, 75)});
    EXPECT_THAT(p[0].flags, Contains("clipped"));
    EXPECT_THAT(p[0].flags, Contains("low voltage"));
    EXPECT_TRUE(p[0].simulated);
    EXPECT_NEAR(p[0].minimum_voltage->value(), 3.09, 1e-4);
}

// Bytes with a good CRC from a faulty rig: no figure is promised, but nothing may break.
TEST(EnergyPass, SumsThatContradictTheIndicesDoNoHarm) {
    Stream s;
    for (int k = 0; k < 6; ++k) {
        if (k == 3) {
            const std::uint64_t before = s.builder.index();
            s.builder.lose(level(s.calibration, 3.3, 3.0, 20));
            s.builder.miss(before - s.builder.index());  // back to where it was
        }
        s.add(3.3, 1.0);
    }
    EXPECT_NEAR(s.run({s.cells(0, 450)})[0].mean->value(), s.power(3.3, 1.0), 1e-9);
    for (test::OwnedBlock& b : s.blocks)
        b.view.rails[0].sums = {UINT64_MAX, INT64_MIN, INT64_MAX, {0, INT64_MIN}, {0, INT64_MIN}};
    (void)s.run({s.cells(0, 450)});
    for (test::OwnedBlock& b : s.blocks) b.view.header.first_time = b.view.header.first_index = UINT64_MAX - 5;
    EXPECT_FALSE(s.run({s.cells(0, 450)})[0].energy);
}

// Random fields in blocks that pass parse_block: wrong figures are possible, broken ones (undefined, endless, not finite) are
// not.
TEST(EnergyPass, SurvivesRandomHeaders) {
    std::mt19937_64 random(17);
    for (int run = 0; run < 60; ++run) {
        Stream s;
        for (int k = 0; k < 40; ++k) {
            k % 3 == 0 ? s.summary(3.3, 1.0, 300) : s.add(3.3, 2.0);
            rig::BlockView& view = s.blocks.back().view;
            const std::uint64_t r = random();
            switch (random() % 14) {
                case 0: view.header.first_index = r >> (random() % 64); break;
                case 1: view.header.first_time = r >> (random() % 64); break;
                case 2: view.header.boot_id = static_cast<std::uint32_t>(r) % 3 + 6; break;
                case 3: view.header.span = static_cast<std::uint32_t>(r >> (random() % 64)); break;
                case 4: view.header.flags = static_cast<std::uint32_t>(r); break;
                case 5: view.rails[0].sums.count = r; break;
                case 6: view.rails[0].sums.sum_v = static_cast<std::int64_t>(r); break;
                case 7: view.rails[0].sums.sum_vi.high = static_cast<std::int64_t>(r); break;
                case 8: view.rails[0].sums.sum_ii.high = static_cast<std::int64_t>(r); break;
                case 9: view.slow = {static_cast<std::int64_t>(r), static_cast<std::int64_t>(~r), 5, 600}; break;
                case 10:
                    view.peak.maximum = static_cast<std::int32_t>(r), view.peak.readings = 576,
                    view.peak.sum_low = static_cast<std::uint32_t>(r >> 32);
                    break;
                case 11: view.header.shunt_temperature = static_cast<std::int16_t>(r); break;
                case 12: view.rails[0].extremes = {INT32_MAX, INT32_MIN, INT32_MAX, INT32_MIN}; break;
                default: break;
            }
        }
        s.calibration.rails[0].slow_gain = 7.8e-6;
        for (const IntervalPower& p :
             s.run({s.cells(0, 6000), s.cells(1000, 1001), s.cells(700, 3000)}, {test::plain_clock(6), test::plain_clock(7)})) {
            if (!p.mean) continue;
            EXPECT_TRUE(std::isfinite(p.mean->value()));
            EXPECT_TRUE(std::isfinite(p.u.expanded()));
            EXPECT_GE(p.coverage, 0);
            EXPECT_LE(p.coverage, 1);
            for (const double w : p.batch_means) EXPECT_TRUE(std::isfinite(w));
        }
    }
}

TEST(BlockPower, IsTheDifferenceOfTwoBlocks) {
    Stream s;
    s.add(3.3, 1.0);
    s.builder.lose(level(s.calibration, 3.3, 1.0));
    s.add(3.3, 2.0);
    EXPECT_NEAR(block_power(s.blocks[0].view, s.blocks[1].view, s.calibration)->value(),
                (s.power(3.3, 1.0) + s.power(3.3, 2.0)) / 2, 1e-9);
    EXPECT_FALSE(block_power(s.blocks[1].view, s.blocks[1].view, s.calibration));
}

}  // namespace
}  // namespace wattrig::power
