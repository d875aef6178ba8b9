#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <chrono>

#include "host/suites/plan.hpp"

namespace wattrig::suites {
namespace {

using namespace std::chrono_literals;
using testing::ElementsAre;
using testing::HasSubstr;

using Overrides = std::vector<std::pair<std::string, std::string>>;

Plan with(const std::string& suite, const Overrides& overrides, double scale = 1) {
    auto plan = make_plan({.suite = suite, .scale = scale, .overrides = overrides});
    EXPECT_TRUE(plan) << (plan ? "" : plan.error().message);
    return plan ? *plan : Plan{};
}

std::string refusal(const std::string& suite, const Overrides& overrides) {
    const auto plan = make_plan({.suite = suite, .overrides = overrides});
    EXPECT_FALSE(plan);
    return plan ? "" : plan.error().message;
}

std::vector<std::string> io_labels(const Plan& plan) {
    std::vector<std::string> out;
    for (const auto& step : plan.steps)
        if (step.kind == StepKind::io) out.push_back(step.label);
    return out;
}

TEST(Override, ReplacesTheValuesOfASweep) {
    EXPECT_THAT(io_labels(with("qd-sweep", {{"depth", "1,4"}})), ElementsAre("randread 4 KiB QD1", "randread 4 KiB QD4"));
    EXPECT_THAT(io_labels(with("qd-sweep", {{"iodepth", "1..256"}})).size(), 9u);
    EXPECT_THAT(io_labels(with("qd-sweep", {{"qd", "3..20"}})),
                ElementsAre("randread 4 KiB QD3", "randread 4 KiB QD6", "randread 4 KiB QD12", "randread 4 KiB QD20"));
    EXPECT_THAT(io_labels(with("quick", {{"depth", "8"}})),
                ElementsAre("randread 4 KiB QD8", "randwrite 4 KiB QD8", "read 128 KiB QD8", "write 128 KiB QD8"));
}

TEST(Override, TakesFiosWordsAndNumbers) {
    const Plan plan = with("qd-sweep", {{"rw", "randrw"},
                                        {"rwmixread", "70"},
                                        {"bs", "8k"},
                                        {"size", "1g"},
                                        {"numjobs", "2"},
                                        {"runtime", "10"},
                                        {"ramp_time", "500ms"},
                                        {"iodepth", "4"}});
    EXPECT_THAT(io_labels(plan), ElementsAre("randrw 70/30 8 KiB QD4 x 2"));
    const auto& workload = plan.steps[1].workload;
    EXPECT_EQ(workload.read_percent, 70);
    EXPECT_EQ(workload.block_sizes.front().bytes, 8192u);
    EXPECT_EQ(workload.span, 1ull << 30);
    EXPECT_EQ(workload.workers, 2u);
    EXPECT_EQ(workload.limit.time, 10s);
    EXPECT_EQ(workload.ramp, 500ms);
    EXPECT_TRUE(plan.writes);
}

TEST(Override, SweepsInnermostOverAListThatNothingSweptBefore) {
    EXPECT_THAT(io_labels(with("qd-sweep", {{"depth", "1,2"}, {"block_size", "4k,64k"}})),
                ElementsAre("randread 4 KiB QD1", "randread 64 KiB QD1", "randread 4 KiB QD2", "randread 64 KiB QD2"));
}

TEST(Override, PatternInsideCasesKeepsDistinctCases) {
    EXPECT_THAT(io_labels(with("quick", {{"pattern", "randread"}, {"depth", "1"}})),
                ElementsAre("randread 4 KiB QD1", "randread 128 KiB QD1"));
}

TEST(Override, ReadPercentMakesAMixOfAPureStep) {
    EXPECT_THAT(io_labels(with("qd-sweep", {{"read_percent", "65"}, {"depth", "1"}})), ElementsAre("randrw 65/35 4 KiB QD1"));
    EXPECT_THAT(io_labels(with("quick", {{"read_percent", "65"}, {"depth", "1"}})),
                ElementsAre("randrw 65/35 4 KiB QD1", "rw 65/35 128 KiB QD1"));
}

TEST(Override, PurePatternEndsAMix) {
    EXPECT_THAT(io_labels(with("qd-sweep", {{"pattern", "randwrite"}, {"depth", "1"}})), ElementsAre("randwrite 4 KiB QD1"));
}

TEST(Override, ScoresWithoutAllTheirCellsAreLeftOutWithANote) {
    const Plan plan = with("qd-sweep", {{"depth", "1,16"}});
    EXPECT_TRUE(plan.scores.empty());
    EXPECT_THAT(plan.notes, testing::Contains(HasSubstr("no score \"QD 1-2-4\"")));
}

TEST(Override, OneSpanForEveryStep) {
    const Plan plan = with("anandtech-2009-random", {{"span", "1 GiB"}});
    EXPECT_EQ(plan.target_size, 1ull << 30);
    EXPECT_EQ(with("anandtech-2009-random", {{"span", "whole"}}).target_size, 0u);
}

TEST(Override, UnknownKeysAreRefusedWithTheNearest) {
    EXPECT_THAT(refusal("quick", {{"dept", "1"}}), HasSubstr("unknown override \"dept\"; was \"depth\" meant?"));
    EXPECT_THAT(refusal("quick", {{"iodept", "1"}}), HasSubstr("was \"iodepth\" meant?"));
    EXPECT_THAT(refusal("quick", {{"banana", "1"}}), HasSubstr("known: runtime, ramp, pattern"));
    EXPECT_THAT(refusal("quick", {{"depth", "0"}}),
                HasSubstr("override depth: expected a whole number from 1 to 1024, came 0"));
    EXPECT_THAT(refusal("quick", {{"depth", "1,1"}}), HasSubstr("is there twice"));
    EXPECT_THAT(refusal("quick", {{"depth", "1"}, {"qd", "2"}}), HasSubstr("the override of depth is there twice"));
    EXPECT_THAT(refusal("quick", {{"depth", "4..1"}}), HasSubstr("came \"4..1\""));
    EXPECT_THAT(refusal("quick", {{"depth", ""}}), HasSubstr("came \"\""));
    EXPECT_THAT(refusal("quick", {{"bs", "4000"}}), HasSubstr("expected a multiple of 512 bytes"));
    EXPECT_THAT(refusal("quick", {{"pattern", "randreed"}}), HasSubstr("expected one of read, write, rw, randread"));
    EXPECT_THAT(refusal("quick", {{"zones", "1"}}), HasSubstr("cannot be given on the command line"));
    EXPECT_THAT(refusal("quick", {{"runtime", "soon"}}), HasSubstr("expected a time"));
}

TEST(Scale, ShrinksTimesAndDataOfTheSuiteButNotWhatTheUserGave) {
    const Plan plan = with("anandtech-2019-sustained-read", {}, 0.1);
    EXPECT_EQ(plan.scale, 0.1);
    EXPECT_EQ(plan.steps[0].workload.limit.time, 6s);
    EXPECT_EQ(plan.steps[0].workload.limit.bytes, 3'200'000'000u);
    EXPECT_EQ(plan.steps[1].duration, 6s);
    EXPECT_EQ(plan.steps[0].workload.span % (1u << 20), 0u);
    EXPECT_NEAR(static_cast<double>(plan.steps[0].workload.span), 6.4e9, 2e6);
    EXPECT_THAT(plan.notes, testing::Contains(HasSubstr("not comparable")));
    EXPECT_EQ(with("qd-sweep", {{"runtime", "5s"}, {"span", "1g"}}, 0.1).steps[1].workload.limit.time, 5s);
    EXPECT_EQ(with("qd-sweep", {{"runtime", "5s"}, {"span", "1g"}}, 0.1).steps[1].workload.span, 1ull << 30);
}

TEST(Scale, TakesFewerBurstsNotSmallerOnes) {
    const Plan plan = with("anandtech-2019-burst-write", {}, 0.25);
    EXPECT_EQ(plan.steps[0].workload.bursts->bytes, 4u << 20);
    EXPECT_EQ(plan.steps[0].workload.limit.bytes, 8u * (4u << 20));
}

TEST(Scale, NeverFallsBelowWhatCanBeMeasured) {
    const Plan plan = with("quick", {}, 1e-9);
    for (const auto& step : plan.steps) {
        if (step.kind == StepKind::io) {
            EXPECT_GE(*step.workload.limit.time, 1ms) << step.label;
            EXPECT_GE(step.workload.span, 64u << 20) << step.label;
        }
    }
    for (const double scale :
         {0.0, -1.0, 1.5, std::numeric_limits<double>::quiet_NaN(), std::numeric_limits<double>::infinity()}) {
        const auto refused = make_plan({.suite = "quick", .scale = scale});
        ASSERT_FALSE(refused) << scale;
        EXPECT_THAT(refused.error().message, HasSubstr("--scale: expected a number above 0 and up to 1"));
    }
}

}  // namespace
}  // namespace wattrig::suites
