// SNIA steady state on vectors computed by hand, in thousandths. With five rounds: E = 25 (max - min) <= sum, and
// S = 20 |-2 y0 - y1 + y3 + 2 y4| <= sum. Each line below gives the three numbers that were worked out on paper.
#include "host/analysis/steady_state.hpp"

#include <gtest/gtest.h>

namespace wattrig::analysis {
namespace {

struct Vector {
    const char* what;
    std::vector<std::int64_t> y;
    std::int64_t sum, e, s;  // by hand
    bool excursion, slope;
};

const std::vector<Vector> vectors = {
    {"constant", {1000, 1000, 1000, 1000, 1000}, 5000, 0, 0, true, true},
    {"excursion equal, no slope", {900, 1000, 1100, 1000, 1000}, 5000, 5000, 4000, true, true},
    {"excursion equal, symmetric", {1000, 900, 1100, 1000, 1000}, 5000, 5000, 2000, true, true},
    {"excursion one unit above", {1000, 900, 1101, 1000, 999}, 5000, 5025, 1960, false, true},
    {"excursion one unit below", {1000, 900, 1099, 1000, 1001}, 5000, 4975, 2040, true, true},
    {"excursion equal, lower sum misses", {1000, 900, 1100, 1000, 999}, 4999, 5000, 1960, false, true},
    {"excursion equal, higher sum", {1000, 900, 1100, 1000, 1001}, 5001, 5000, 2040, true, true},
    // -2 y0 - y1 + y3 + 2 y4 = 250 where the sum is 5000.
    {"slope equal, rising", {950, 975, 1000, 1025, 1050}, 5000, 2500, 5000, true, true},
    {"slope equal, falling", {1050, 1025, 1000, 975, 950}, 5000, 2500, 5000, true, true},
    {"slope one unit above, rising", {950, 974, 1001, 1025, 1050}, 5000, 2500, 5020, true, false},
    {"slope one unit below, rising", {950, 976, 999, 1025, 1050}, 5000, 2500, 4980, true, true},
    {"slope one unit above, falling", {1050, 1025, 1001, 974, 950}, 5000, 2500, 5020, true, false},
    {"slope one unit below, falling", {1050, 1025, 999, 976, 950}, 5000, 2500, 4980, true, true},
    {"slope equal, sum one lower", {950, 975, 999, 1025, 1050}, 4999, 2500, 5000, true, false},
    {"slope equal, sum one higher", {950, 975, 1001, 1025, 1050}, 5001, 2500, 5000, true, true},
    {"both broken, rising", {500, 750, 1000, 1250, 1500}, 5000, 25000, 50000, false, false},
    {"excursion broken by one dip in the middle", {1000, 1000, 700, 1000, 1000}, 4700, 7500, 0, false, true},
    {"both equal", {955, 905, 1105, 1005, 1030}, 5000, 5000, 5000, true, true},
    {"both missed by little", {950, 900, 1100, 1000, 1025}, 4975, 5000, 5000, false, false},
    {"both just hold", {962, 907, 1107, 1007, 1037}, 5020, 5000, 5000, true, true},
    {"all zero is not steady", {0, 0, 0, 0, 0}, 0, 0, 0, false, false},
    {"negative mean is not steady", {-10, -10, -10, -10, -10}, -50, 0, 0, false, false},
    {"cancels to zero", {-5, 5, 0, -5, 5}, 0, 250, 200, false, false},
    {"one thousandth constant", {1, 1, 1, 1, 1}, 5, 0, 0, true, true},
    {"smallest step there is", {1, 1, 1, 1, 2}, 6, 25, 40, false, false},
    {"thirteen million IOPS, equal excursion",
     {13'000'000'000, 11'700'000'000, 14'300'000'000, 13'000'000'000, 13'000'000'000},
     65'000'000'000,
     65'000'000'000,
     26'000'000'000,
     true,
     true},
};

TEST(SteadyState, VectorsComputedByHand) {
    ASSERT_GE(vectors.size(), 20u);
    for (const Vector& vector : vectors) {
        const SteadyWindow window = judge_window(vector.y, {});
        EXPECT_EQ(window.excursion_holds, vector.excursion) << vector.what;
        EXPECT_EQ(window.slope_holds, vector.slope) << vector.what;
        EXPECT_EQ(window.steady(), vector.excursion && vector.slope) << vector.what;
        EXPECT_DOUBLE_EQ(window.average, static_cast<double>(vector.sum) / 5000) << vector.what;
        // The paper's own numbers agree with its verdict: a slip of the pen fails here and not in the estimator.
        EXPECT_EQ(vector.sum > 0 && vector.e <= vector.sum, vector.excursion) << vector.what;
        EXPECT_EQ(vector.sum > 0 && vector.s <= vector.sum, vector.slope) << vector.what;
    }
}

TEST(SteadyState, FiguresOfTheReport) {
    // y = 0.95, 0.975, 1, 1.025, 1.05: average 1, slope 0.025 a round, the line from 0.95 to 1.05, bounds -+ 10 %.
    const SteadyWindow window = judge_window(vectors[7].y, {});
    EXPECT_DOUBLE_EQ(window.average, 1);
    EXPECT_DOUBLE_EQ(window.slope, 0.025);
    EXPECT_DOUBLE_EQ(window.first_fit, 0.95);
    EXPECT_DOUBLE_EQ(window.last_fit, 1.05);
    EXPECT_DOUBLE_EQ(window.lower_bound, 0.9);
    EXPECT_DOUBLE_EQ(window.upper_bound, 1.1);
    EXPECT_DOUBLE_EQ(window.minimum, 0.95);
    EXPECT_DOUBLE_EQ(window.maximum, 1.05);
}

TEST(SteadyState, FourRoundsWithAnEvenMiddle) {
    // n = 4, weights -3 -1 1 3, squares 20: rise = 3 x 2 x W / 20 <= 10 % of sum / 4, so 12 W <= sum. W = 3 d for {1000-d..}.
    SteadyRule rule;
    rule.window = 4;
    // y = 950, 1000, 1000, 1050: W = 300, sum 4000: 12 x 300 = 3600 <= 4000.
    EXPECT_TRUE(judge_window(std::vector<std::int64_t>{950, 1000, 1000, 1050}, rule).slope_holds);
    // 944, 1000, 1000, 1056: W = 336, 4032 > 4000.
    EXPECT_FALSE(judge_window(std::vector<std::int64_t>{944, 1000, 1000, 1056}, rule).slope_holds);
}

TEST(SteadyState, RoundsToAThousandthOnce) {
    EXPECT_EQ(steady_thousandths(0.0005), 1);
    EXPECT_EQ(steady_thousandths(0.00049), 0);
    EXPECT_EQ(steady_thousandths(136'000.1234), 136'000'123);
}

TEST(SteadyState, FirstWindowWhereAllAreSteadyAtOnce) {
    // a is steady from round 5, b only when its first value (2000) has left the window: round 6.
    const std::vector<std::int64_t> a(8, 1000), b{2000, 1000, 1000, 1000, 1000, 1000, 1000, 1000};
    EXPECT_EQ(find_steady_state({a}, {}).reached, 5u);
    EXPECT_EQ(find_steady_state({b}, {}).reached, 6u);
    const SteadyState both = find_steady_state({a, b}, {});
    EXPECT_EQ(both.reached, 6u);
    EXPECT_EQ(both.window_end, 6u);
    EXPECT_EQ(both.windows.size(), 2u);
    // Each steady at some time, never both at once: a in rounds 1-5, b in rounds 4-8.
    const std::vector<std::int64_t> early{1000, 1000, 1000, 1000, 1000, 2000, 500, 2000},
        late{2000, 500, 2000, 1000, 1000, 1000, 1000, 1000};
    EXPECT_EQ(find_steady_state({early}, {}).reached, 5u);
    EXPECT_EQ(find_steady_state({late}, {}).reached, 8u);
    EXPECT_FALSE(find_steady_state({early, late}, {}).reached);
}

TEST(SteadyState, NotReachedReportsTheLastWindow) {
    std::vector<std::int64_t> rising;
    for (int round = 0; round < 25; ++round) rising.push_back(1000 + 200 * round);
    const SteadyState state = find_steady_state({rising}, {});
    EXPECT_FALSE(state.reached);
    EXPECT_EQ(state.window_end, 25u);
    ASSERT_EQ(state.windows.size(), 1u);
    EXPECT_DOUBLE_EQ(state.windows[0].average, 5.4);  // mean of 5000, 5200, 5400, 5600, 5800
    EXPECT_DOUBLE_EQ(state.windows[0].slope, 0.2);
}

TEST(SteadyState, TooFewRoundsSayNothing) {
    const SteadyState state = find_steady_state({{1000, 1000, 1000, 1000}}, {});
    EXPECT_FALSE(state.reached);
    EXPECT_TRUE(state.windows.empty());
    EXPECT_FALSE(find_steady_state({}, {}).reached);
}

}  // namespace
}  // namespace wattrig::analysis
