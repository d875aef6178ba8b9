// Cliff detection against drives whose truth is known, METHODS section 6. The drives here are a dozen lines of arithmetic that
// share nothing with the estimator: a cache that fills at the host's speed and drains all the while, noise from the standard
// library's generator, dips of a second.
#include "host/analysis/cliff.hpp"

#include <gtest/gtest.h>

#include <cmath>
#include <random>

namespace wattrig::analysis {
namespace {

struct Stretch {
    double speed;  // bytes a second, median
    double room;   // bytes that it can take up; infinite for the last
    double drain;  // bytes a second that leave meanwhile
};

struct Made {
    std::vector<SpeedSample> samples;
    std::vector<double> truth;  // host bytes at which the drive left each stretch
};

Made make(const std::vector<Stretch>& stretches, double total_bytes, unsigned seed, double noise = 0.1, bool dips = true) {
    constexpr double sample = 0.1;  // s
    std::mt19937_64 random(seed);
    std::normal_distribution<double> normal;
    std::uniform_real_distribution<double> pause(20, 60);
    Made made;
    double now = 0, written = 0, filled = 0, next_dip = pause(random);
    std::size_t stage = 0;
    while (written < total_bytes) {
        const double factor = std::exp(noise * normal(random));
        double left = sample, bytes = 0;
        while (left > 1e-12) {
            const bool dip = dips && now >= next_dip;
            double step = left;
            if (dips) step = std::min(step, dip ? next_dip + 1 - now : next_dip - now);
            const double speed = stretches[stage].speed * factor * (dip ? 0.25 : 1);
            const double gain = speed - stretches[stage].drain;
            const bool leaves = filled + gain * step >= stretches[stage].room;
            if (leaves) step = std::max(0.0, (stretches[stage].room - filled) / gain);
            bytes += speed * step;
            filled = std::max(0.0, filled + gain * step);
            now += step;
            left -= step;
            if (leaves) {
                made.truth.push_back(written + bytes);
                ++stage;
                filled = 0;
            }
            if (dip && now >= next_dip + 1 - 1e-9) next_dip = now + pause(random);
        }
        written += bytes;
        made.samples.push_back({sample, bytes});
    }
    return made;
}

constexpr double infinite = 1e30;
constexpr unsigned seeds = 500;

struct Case {
    const char* name;
    std::vector<Stretch> stretches;
    double total;
};
// Published: sequential MB/s with cache, without, and GB of cache; a part drains while it fills.
const std::vector<Case> one_cliff = {
    {"WD Black 2018", {{840e6, 5.5e9, 0}, {450e6, infinite, 0}}, 50e9},
    {"Intel 660p", {{700e6, 18e9, 70e6}, {70e6, infinite, 0}}, 40e9},
    {"Samsung MZVLW256HEHP", {{445e6, 2.5e9, 0}, {203e6, infinite, 0}}, 50e9},
    {"Samsung 850 EVO", {{295e6, 2.7e9, 150e6}, {150e6, infinite, 0}}, 50e9},
};
const std::vector<Case> constant = {
    {"ADATA SP550NS38", {{125e6, infinite, 0}}, 50e9},
    {"Goodram CX200", {{220e6, infinite, 0}}, 50e9},
    {"SanDisk SDSSDHII", {{130e6, infinite, 0}}, 50e9},
};
const std::vector<Case> two_cliffs = {
    {"pseudo-SLC, then folding", {{2000e6, 24e9, 0}, {900e6, 30e9, 0}, {300e6, infinite, 0}}, 100e9},
    {"pseudo-SLC, folding, then direct", {{2000e6, 24e9, 0}, {250e6, 10e9, 0}, {600e6, infinite, 0}}, 80e9},
};

struct Tally {
    unsigned runs = 0, right_number = 0, places = 0, places_right = 0, levels = 0, levels_right = 0, in_interval = 0;
};

Tally tally(const Case& drive) {
    Tally t;
    for (unsigned seed = 1; seed <= seeds; ++seed) {
        const Made made = make(drive.stretches, drive.total, seed);
        const CliffFigures found = find_cliffs(made.samples);
        ++t.runs;
        if (found.changes.size() != made.truth.size()) continue;
        ++t.right_number;
        for (std::size_t i = 0; i < made.truth.size(); ++i) {
            ++t.places;
            const double error = std::abs(found.changes[i].bytes - made.truth[i]);
            if (error <= std::max(0.01 * made.truth[i], 1e9)) ++t.places_right;
            if (found.changes[i].low_bytes <= made.truth[i] && made.truth[i] <= found.changes[i].high_bytes) ++t.in_interval;
        }
        for (std::size_t i = 0; i < found.regions.size(); ++i) {
            const SpeedLevel& level = found.regions[i].level;
            if (!level.low) continue;
            ++t.levels;
            if (*level.low <= drive.stretches[i].speed && drive.stretches[i].speed <= *level.high) ++t.levels_right;
        }
    }
    const auto percent = [](unsigned part, unsigned whole) { return whole == 0 ? 0.0 : 100.0 * part / whole; };
    std::printf("%-34s number right %5.1f %%  position %5.1f %%  in its interval %5.1f %%  levels inside %5.1f %%\n",
                drive.name, percent(t.right_number, t.runs), percent(t.places_right, t.places),
                percent(t.in_interval, t.places), percent(t.levels_right, t.levels));
    return t;
}

TEST(Cliff, OneCliffIsFoundWhereTheModelLeftItsCache) {
    for (const Case& drive : one_cliff) {
        const Tally t = tally(drive);
        EXPECT_GE(t.right_number, seeds * 95 / 100) << drive.name;
        EXPECT_GE(t.places_right, t.runs * 95 / 100) << drive.name;
        EXPECT_GE(t.levels_right, t.levels * 93 / 100) << drive.name;
        EXPECT_LE(t.levels_right, t.levels * 98 / 100) << drive.name;
        EXPECT_GE(t.in_interval, t.places * 90 / 100) << drive.name;
    }
}

TEST(Cliff, ConstantDrivesHaveNone) {
    for (const Case& drive : constant) {
        const Tally t = tally(drive);
        EXPECT_GE(t.right_number, seeds * 99 / 100) << drive.name;
        EXPECT_GE(t.levels_right, t.levels * 93 / 100) << drive.name;
        EXPECT_LE(t.levels_right, t.levels * 98 / 100) << drive.name;
    }
}

TEST(Cliff, TwoCliffsAreFoundAlsoWhenTheMiddleIsTheSlowest) {
    for (const Case& drive : two_cliffs) {
        const Tally t = tally(drive);
        EXPECT_GE(t.right_number, seeds * 95 / 100) << drive.name;
        EXPECT_GE(t.places_right, 2 * t.runs * 95 / 100) << drive.name;
        EXPECT_GE(t.levels_right, t.levels * 93 / 100) << drive.name;
        EXPECT_LE(t.levels_right, t.levels * 98 / 100) << drive.name;
    }
}

// What the tallies above would not see, they must see here: a drive that leaves its cache 3 GB later than its truth says.
TEST(Cliff, PlantedFaultAShiftedTruthIsSeen) {
    unsigned right = 0;
    for (unsigned seed = 1; seed <= 20; ++seed) {
        const Made made = make(one_cliff[0].stretches, one_cliff[0].total, seed);
        const CliffFigures found = find_cliffs(made.samples);
        if (found.changes.size() == 1 && std::abs(found.changes[0].bytes - (made.truth[0] + 3e9)) <= 1e9) ++right;
    }
    EXPECT_EQ(right, 0u);
}

TEST(Cliff, WithoutNoiseTheFiguresAreTheDrives) {
    const Made made = make({{1000e6, 10e9, 0}, {100e6, infinite, 0}}, 20e9, 1, 0, false);
    const CliffFigures found = find_cliffs(made.samples);
    ASSERT_EQ(found.regions.size(), 2u);
    EXPECT_NEAR(found.changes[0].bytes, 10e9, 0.1e9);  // one sample
    EXPECT_NEAR(found.regions[0].level.value, 1000e6, 1);
    EXPECT_NEAR(found.regions[1].level.value, 100e6, 1);
    EXPECT_NEAR(found.changes[0].ratio, 0.1, 1e-6);
    EXPECT_NEAR(found.regions[0].bytes() + found.regions[1].bytes(), 20e9, 0.1e9);
    EXPECT_EQ(cliff_verdict(found), "cache exhausted at 10.0 GB");
}

// A simulated drive with blocks of 8 MiB: 33, 33, 34 blocks a sample, then 14 and, each ninth, 13. Most samples are equal, so
// the others must not pass for dips.
TEST(Cliff, SamplesOfAFewLargeOperationsAreNoDips) {
    std::vector<SpeedSample> samples;
    constexpr double block = 8 << 20;
    double first = 0;
    for (int i = 0; i < 150; ++i) samples.push_back({0.1, (i % 3 == 0 ? 34 : 33) * block});
    for (const SpeedSample& sample : samples) first += sample.bytes;
    for (int i = 0; i < 80; ++i) samples.push_back({0.1, (i % 9 == 0 ? 13 : 14) * block});
    const CliffFigures found = find_cliffs(samples);
    EXPECT_EQ(found.dips, 0u);
    ASSERT_EQ(found.changes.size(), 1u);
    EXPECT_NEAR(found.changes[0].bytes, first, 1);
}

TEST(Cliff, FewSamplesAndStandstillSayLittle) {
    EXPECT_TRUE(find_cliffs(std::vector<SpeedSample>(9, {0.1, 1e6})).regions.empty());
    EXPECT_EQ(cliff_verdict({}), "too short to tell");
    const CliffFigures still = find_cliffs(std::vector<SpeedSample>(100, {0.1, 0}));
    ASSERT_EQ(still.regions.size(), 1u);
    EXPECT_EQ(still.regions[0].bytes(), 0);
    const CliffFigures even = find_cliffs(std::vector<SpeedSample>(100, {0.1, 50e6}));
    EXPECT_EQ(cliff_verdict(even), "no cache, or not exhausted within 5.0 GB");
}

}  // namespace
}  // namespace wattrig::analysis
