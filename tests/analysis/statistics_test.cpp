#include "host/analysis/statistics.hpp"

#include <gtest/gtest.h>

#include <cmath>
#include <numeric>
#include <random>

namespace wattrig::analysis {
namespace {

// GUM (JCGM 100:2008), table G.2, 95 %.
TEST(Statistics, StudentTAgainstTheGum) {
    EXPECT_NEAR(student_t_95(1), 12.71, 0.005);
    EXPECT_NEAR(student_t_95(2), 4.30, 0.005);
    EXPECT_NEAR(student_t_95(9), 2.26, 0.005);
    EXPECT_NEAR(student_t_95(10), 2.23, 0.005);
    EXPECT_NEAR(student_t_95(20), 2.09, 0.005);
    EXPECT_NEAR(student_t_95(1e6), 1.960, 0.001);
}

// Ten values by hand: mean 10, s = sqrt(10 / 9), t(9) = 2.262: 2.262 x 1.0541 / sqrt 10 = 0.7540.
TEST(Statistics, MeanOfTenIndependentBatches) {
    const double values[] = {9, 11, 11, 9, 9, 9, 11, 11, 9, 11};
    const Spread spread = spread_of_mean(values);
    ASSERT_TRUE(spread.half_width);
    EXPECT_NEAR(*spread.half_width, 0.7540, 1e-3);
    EXPECT_EQ(spread.batches, 10U);
    EXPECT_EQ(spread.note, "");
}

TEST(Statistics, TooShortToTell) {
    const double nine[] = {1, 2, 1, 2, 1, 2, 1, 2, 1};
    EXPECT_FALSE(spread_of_mean(nine).half_width);
    EXPECT_EQ(spread_of_mean(nine).note, "too short to tell");
    EXPECT_EQ(spread_of_mean({}).note, "too short to tell");
    EXPECT_EQ(spread_of_ratio({}, {}).note, "too short to tell");
    // A slow drift is one correlation time: many batches, but nothing that repeats.
    std::vector<double> drift(256);
    std::iota(drift.begin(), drift.end(), 0.0);
    EXPECT_FALSE(spread_of_mean(drift).half_width);
}

// An AR(1) series with coefficient a has an integrated correlation time of a / (1 - a).
TEST(Statistics, CorrelationTimeOfAutoregression) {
    std::mt19937_64 random(3);
    std::normal_distribution<double> normal;
    for (const double a : {0.0, 0.5, 0.8}) {
        double sum = 0;
        for (int run = 0; run < 50; ++run) {
            std::vector<double> values;
            values.reserve(2000);
            double x = 0;
            for (int k = 0; k < 2000; ++k) values.push_back(x = a * x + normal(random));
            sum += correlation_time(values) / 50;
        }
        EXPECT_NEAR(sum, a / (1 - a), 0.1 + 0.1 * a / (1 - a));
    }
}

// Coverage of the 95 % interval for a mean that is known: independent, correlated, and of a ratio.
TEST(Statistics, IntervalsCoverTheTruth) {
    std::mt19937_64 random(4);
    std::normal_distribution<double> normal;
    for (const double a : {0.0, 0.3, 0.6}) {
        int covered = 0, told = 0;
        for (int run = 0; run < 1000; ++run) {
            std::vector<double> values;
            double x = 0;
            for (int k = 0; k < 300; ++k) x = a * x + normal(random);
            values.reserve(256);
            for (int k = 0; k < 256; ++k) values.push_back(5 + (x = a * x + normal(random)));
            const Spread spread = spread_of_mean(values);
            if (!spread.half_width) continue;
            ++told;
            double mean = 0;
            for (const double v : values) mean += v / 256;
            covered += std::fabs(mean - 5) <= *spread.half_width ? 1 : 0;
        }
        EXPECT_GT(told, 600) << a;
        EXPECT_NEAR(static_cast<double>(covered) / told, 0.95, 0.03) << a;
    }
    int covered = 0;
    for (int run = 0; run < 1000; ++run) {
        std::vector<double> bytes, joules;
        for (int k = 0; k < 60; ++k) {
            const double load = 1 + 0.3 * normal(random);  // both follow the load
            joules.push_back(2 * load + 0.05 * normal(random));
            bytes.push_back(100 * load + 2 * normal(random));
        }
        double b = 0, j = 0;
        for (int k = 0; k < 60; ++k) {
            b += bytes[static_cast<std::size_t>(k)];
            j += joules[static_cast<std::size_t>(k)];
        }
        covered += std::fabs(b / j - 50) <= *spread_of_ratio(bytes, joules).half_width ? 1 : 0;
    }
    EXPECT_NEAR(covered / 1000.0, 0.95, 0.025);
}

}  // namespace
}  // namespace wattrig::analysis
