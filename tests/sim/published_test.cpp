// What was published has to come out of the models, and so has what nobody declared: see published.hpp and host/sim/MODELS.md.

#include "tests/sim/published.hpp"

#include <gtest/gtest.h>

#include <cmath>
#include <map>

namespace wattrig::sim {
namespace {

void expect_within(const std::vector<PublishedFigure>& figures) {
    ASSERT_FALSE(figures.empty());
    for (const PublishedFigure& f : figures)
        EXPECT_LE(std::abs(f.error()), 0.02) << f.model << ", " << f.what << ": " << f.simulated << " " << f.unit;
}

TEST(Published, SequentialFiguresComeBackWithinTwoPercent) { expect_within(slowmark_figures()); }
TEST(Published, EnterpriseFiguresComeBackWithinTwoPercent) { expect_within(enterprise_figures()); }

TEST(Published, TheHostMemoryBufferDecidesWhoIsFaster) {
    std::map<std::string, double> rate;
    for (const EmergentFigure& f : random_read_figures()) rate[f.model + " " + f.what] = f.simulated;
    for (const char* depth : {"QD1", "QD4", "QD32"}) {
        const std::string small = std::string(" 4 KiB random read, 16 GB span, ") + depth;
        const std::string large = std::string(" 4 KiB random read, 64 GB span, ") + depth;
        EXPECT_GT(rate.at("toshiba-rc100-480gb" + small), 1.05 * rate.at("wd-blue-sn500-500gb" + small));
        EXPECT_LT(rate.at("toshiba-rc100-480gb" + large), 0.95 * rate.at("wd-blue-sn500-500gb" + large));
        for (const std::string& span : {small, large})
            EXPECT_LT(rate.at("toshiba-rc100-480gb?hmb=off" + span), 0.9 * rate.at("toshiba-rc100-480gb" + span));
    }
}

TEST(Published, RandomReadsDrawWhatTheReviewSaw) {
    const auto figures = power_figures();
    ASSERT_EQ(figures.size(), 4U);
    EXPECT_NEAR(figures[0].simulated, 1.0, 0.15) << "SN500 at QD1";
    EXPECT_LT(figures[1].simulated, 2.0) << "SN500 at QD32";
    EXPECT_GT(figures[1].simulated, figures[0].simulated);
    EXPECT_GT(figures[2].simulated, 2.0) << "high end at QD1";
}

}  // namespace
}  // namespace wattrig::sim
