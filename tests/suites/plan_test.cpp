// What a plan is: the steps of shipped suites, in order, by label; and the rules of expansion on small suites of its own.

#include "host/suites/plan.hpp"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <chrono>

namespace wattrig::suites {
namespace {

using namespace std::chrono_literals;
using testing::ElementsAre;
using testing::HasSubstr;
using testing::IsEmpty;

constexpr std::uint64_t gib = 1u << 30;

Plan plan_of(const PlanRequest& request) {
    auto plan = make_plan(request);
    EXPECT_TRUE(plan) << (plan ? "" : plan.error().message);
    return plan ? *plan : Plan{};
}

Plan plan_of_steps(const std::string& steps, const PlanRequest& request = {}) {
    auto plan = make_plan_from_text(R"({"format":"wattrig.suite/1","name":"t","title":"T","steps":[)" + steps + "]}", "t.json",
                                    request);
    EXPECT_TRUE(plan) << (plan ? "" : plan.error().message);
    return plan ? *plan : Plan{};
}

std::vector<std::string> labels(const Plan& plan) {
    std::vector<std::string> out;
    for (const auto& step : plan.steps) out.push_back(step.label);
    return out;
}

TEST(Plan, QuickIsATourOfThirtySeconds) {
    const Plan plan = plan_of({.suite = "quick", .target_size = gib});
    EXPECT_THAT(labels(plan),
                ElementsAre("idle", "randread 4 KiB QD1", "randread 4 KiB QD4", "randread 4 KiB QD32", "randwrite 4 KiB QD1",
                            "randwrite 4 KiB QD4", "randwrite 4 KiB QD32", "read 128 KiB QD1", "read 128 KiB QD4",
                            "read 128 KiB QD32", "write 128 KiB QD1", "write 128 KiB QD4", "write 128 KiB QD32"));
    Nanoseconds total{0};
    for (const auto& step : plan.steps) total += expected_time(step).value();
    EXPECT_GE(total, 28s);
    EXPECT_LE(total, 31s);
    EXPECT_TRUE(plan.writes);
    EXPECT_EQ(plan.target_size, gib);
    EXPECT_EQ(plan.scores.size(), 4u);
    EXPECT_THAT(plan.scores.front().step_labels,
                ElementsAre("randread 4 KiB QD1", "randread 4 KiB QD4", "randread 4 KiB QD32"));
    EXPECT_EQ(plan.steps[0].kind, StepKind::idle);
    const auto& step = plan.steps[5];
    EXPECT_EQ(step.workload.pattern, io::Pattern::random);
    EXPECT_EQ(step.workload.read_percent, 0);
    EXPECT_EQ(step.workload.depth, 4u);
    EXPECT_EQ(step.workload.block_sizes.front().bytes, 4096u);
    EXPECT_EQ(step.workload.span, gib);
    EXPECT_EQ(step.workload.ramp, 250ms);
    EXPECT_THAT(step.parameters,
                ElementsAre(std::pair("pattern", "randwrite"), std::pair("block_size", "4 KiB"), std::pair("depth", "4")));
}

TEST(Plan, QdSweepIdlesBeforeEachDepthAndReadsOnly) {
    const Plan plan = plan_of({.suite = "qd-sweep"});
    EXPECT_THAT(labels(plan),
                ElementsAre("idle", "randread 4 KiB QD1", "idle 2", "randread 4 KiB QD2", "idle 3", "randread 4 KiB QD4",
                            "idle 4", "randread 4 KiB QD8", "idle 5", "randread 4 KiB QD16", "idle 6", "randread 4 KiB QD32"));
    EXPECT_FALSE(plan.writes);
    EXPECT_EQ(plan.target_size, 16'000'000'000u);
    ASSERT_EQ(plan.scores.size(), 2u);
    EXPECT_THAT(plan.scores[0].weights, IsEmpty());
    EXPECT_THAT(plan.scores[1].weights, ElementsAre(4, 2, 1));
    EXPECT_EQ(plan.steps[0].duration, 10s);
    EXPECT_EQ(plan.steps[1].workload.limit.time, 60s);
}

TEST(Plan, SustainedReadIsSixtySecondsOrThirtyTwoGigabytesADepth) {
    const Plan plan = plan_of({.suite = "anandtech-2019-sustained-read", .target_size = 500'000'000'000});
    EXPECT_THAT(labels(plan), ElementsAre("randread 4 KiB QD1", "cool-off", "randread 4 KiB QD2", "cool-off 2",
                                          "randread 4 KiB QD4", "cool-off 3", "randread 4 KiB QD8", "cool-off 4",
                                          "randread 4 KiB QD16", "cool-off 5", "randread 4 KiB QD32", "cool-off 6"));
    const auto& step = plan.steps[10];
    EXPECT_EQ(step.workload.limit.time, 60s);
    EXPECT_EQ(step.workload.limit.bytes, 32'000'000'000u);
    EXPECT_EQ(step.workload.span, 64'000'000'000u);
    EXPECT_EQ(plan.steps[1].kind, StepKind::cool_off);
    EXPECT_EQ(plan.steps[1].duration, 60s);
    EXPECT_EQ(plan.steps[1].within_kelvin, 1);
    EXPECT_THAT(plan.scores.front().step_labels, ElementsAre("randread 4 KiB QD1", "randread 4 KiB QD2", "randread 4 KiB QD4"));
}

TEST(Plan, BurstsAreThirtyTwoTimesThirtyTwoMebibytesAtTwentyPercent) {
    const Plan plan = plan_of({.suite = "anandtech-2019-burst-read"});
    const auto step = std::find_if(plan.steps.begin(), plan.steps.end(), [](const Step& s) { return s.kind == StepKind::io; });
    ASSERT_NE(step, plan.steps.end());
    ASSERT_TRUE(step->workload.bursts);
    EXPECT_EQ(step->workload.bursts->bytes, 32u << 20);
    EXPECT_DOUBLE_EQ(step->workload.bursts->duty, 0.2);
    EXPECT_EQ(step->workload.limit.bytes, 1u << 30);
    EXPECT_EQ(step->workload.span, 16'000'000'000u);
}

TEST(Plan, SweepsNestInTheOrderTheyAreWritten) {
    const Plan plan = plan_of_steps(R"({"do":"io","runtime":"1 s","pattern":"randrw","sweep":[
        {"axis":"read_percent","values":[100,65,0]},{"axis":"block_size","values":["64 KiB","4 KiB"]}]})");
    EXPECT_THAT(labels(plan), ElementsAre("randrw 100/0 64 KiB QD1", "randrw 100/0 4 KiB QD1", "randrw 65/35 64 KiB QD1",
                                          "randrw 65/35 4 KiB QD1", "randrw 0/100 64 KiB QD1", "randrw 0/100 4 KiB QD1"));
    EXPECT_THAT(plan.steps[2].parameters, ElementsAre(std::pair("read_percent", "65"), std::pair("block_size", "64 KiB"),
                                                      std::pair("pattern", "randrw"), std::pair("depth", "1")));
}

TEST(Plan, AnyParameterCanBeSweptAndShowsInTheLabel) {
    const Plan plan = plan_of_steps(
        R"({"do":"io","pattern":"randread","block_size":"4 KiB","runtime":"1 s","sweep":[{"axis":"compress_percent","values":{"from":0,"to":100,"step":50}}]},
           {"do":"io","pattern":"read","block_size":"128 KiB","runtime":"1 s","sweep":[{"axis":"rate","values":["100 MB/s","1 GB/s"]}]},
           {"do":"io","pattern":"randread","block_size":"4 KiB","runtime":"1 s","workers":8,"depth":32})");
    EXPECT_THAT(labels(plan), ElementsAre("randread 4 KiB QD1, compress_percent 0", "randread 4 KiB QD1, compress_percent 50",
                                          "randread 4 KiB QD1, compress_percent 100", "read 128 KiB QD1 at 100 MB/s",
                                          "read 128 KiB QD1 at 1 GB/s", "randread 4 KiB QD32 x 8"));
    EXPECT_DOUBLE_EQ(plan.steps[1].workload.data.compressibility, 0.5);
    EXPECT_DOUBLE_EQ(plan.steps[4].workload.rate->bytes_per_second, 1e9);
}

TEST(Plan, RepeatedGroupsNumberTheirSteps) {
    const Plan plan = plan_of_steps(
        R"({"do":"group","name":"wake","times":2,"steps":[{"do":"idle","duration":"5 s"},
            {"do":"io","pattern":"randread","block_size":"4 KiB","operations":1}]})");
    EXPECT_THAT(labels(plan), ElementsAre("idle", "randread 4 KiB QD1 #1", "idle 2", "randread 4 KiB QD1 #2"));
    EXPECT_EQ(plan.steps[1].name, "wake");
    EXPECT_EQ(plan.steps[3].parameters.back(), std::pair(std::string("repeat"), std::string("2")));
}

TEST(Plan, EachPhaseHasASeedOfItsOwnUnlessOneIsGiven) {
    const Plan plan = plan_of_steps(
        R"({"do":"io","pattern":"randread","block_size":"4 KiB","runtime":"1 s","sweep":[{"axis":"depth","values":[1,2]}]},
                                       {"do":"io","pattern":"randread","block_size":"8 KiB","runtime":"1 s","seed":77})");
    EXPECT_NE(plan.steps[0].workload.seed, plan.steps[1].workload.seed);
    EXPECT_EQ(plan.steps[2].workload.seed, 77u);
}

TEST(Plan, FillIsOneStepAPassOverTheRegion) {
    const Plan plan = plan_of_steps(R"({"do":"fill","passes":2,"block_size":"128 KiB"})", {.target_size = 4 * gib});
    EXPECT_THAT(labels(plan), ElementsAre("fill 1/2", "fill 2/2"));
    EXPECT_EQ(plan.steps[1].kind, StepKind::fill);
    EXPECT_EQ(plan.steps[1].workload.limit.bytes, 4 * gib);
    EXPECT_FALSE(plan.steps[1].scored);
    EXPECT_TRUE(plan.writes);
    EXPECT_EQ(expected_bytes_written(plan.steps[1], 4 * gib), 4 * gib);
    EXPECT_FALSE(expected_time(plan.steps[1]));
}

TEST(Plan, SharesOfTheTargetFollowItsSize) {
    const char* steps = R"({"do":"io","pattern":"randwrite","block_size":"4 KiB","bytes":"400 %","span":"50 %"})";
    const Plan known = plan_of_steps(steps, {.target_size = 10 * gib});
    EXPECT_EQ(known.steps[0].workload.limit.bytes, 40 * gib);
    EXPECT_EQ(known.steps[0].workload.span, 5 * gib);
    EXPECT_EQ(known.target_size, 0u) << "a share asks for no size";
    const Plan unknown = plan_of_steps(steps);
    EXPECT_EQ(unknown.target_size, 0u);
    EXPECT_EQ(unknown.steps[0].workload.limit.bytes, 4'000'000'000'000u);
}

TEST(Plan, ConditionsLeaveStepsOutVisibly) {
    const char* steps =
        R"({"do":"io","pattern":"randread","block_size":"0.5 KiB","runtime":"1 s","skip_when":{"block_size_below_logical_block":true}},
                           {"do":"io","pattern":"randread","block_size":"4 KiB","span":"64 GB","runtime":"1 s","skip_when":{"target_below":"64 GB"}})";
    const Plan small = plan_of_steps(steps, {.target_size = gib, .logical_block = 4096});
    ASSERT_EQ(small.steps.size(), 2u);
    EXPECT_THAT(small.steps[0].condition_note, HasSubstr("0.5 KiB is smaller than the logical block of 4 KiB"));
    EXPECT_THAT(small.steps[1].condition_note, HasSubstr("needs a target of at least 64 GB"));
    EXPECT_EQ(small.target_size, 0u);
    EXPECT_EQ(expected_time(small.steps[0]), 0s);
    const Plan large = plan_of_steps(steps, {.target_size = 100 * gib, .logical_block = 512});
    EXPECT_THAT(large.steps[0].condition_note, IsEmpty());
    EXPECT_THAT(large.steps[1].condition_note, IsEmpty());
}

TEST(Plan, WhatCannotBeCarriedOutYetSaysWhichCapabilityIsMissing) {
    const Plan plan = plan_of_steps(R"({"do":"purge","method":"format"},{"do":"feature","feature":"write_cache","value":false},
        {"do":"fill","until_steady":true},
        {"do":"io","pattern":"trim","block_size":"64 MiB","bytes":"10 GB","beside":{"pattern":"randread","block_size":"4 KiB"}},
        {"do":"io","pattern":"write","block_size":"8 MiB","bytes":"50 GB","files":{"size":"1 GiB","count":50}},
        {"do":"idle","duration":"10 s","power_management":"mobile"})",
                                    {.target_size = 100'000'000'000});
    std::vector<std::string> notes;
    for (const auto& step : plan.steps) {
        EXPECT_EQ(step.kind, StepKind::unsupported) << step.label;
        notes.push_back(step.condition_note);
    }
    EXPECT_THAT(notes, ElementsAre(HasSubstr("purging (format)"), HasSubstr("NVMe control (write_cache off)"),
                                   HasSubstr("filling until steady state"), HasSubstr("a second load beside a step"),
                                   HasSubstr("many files"), HasSubstr("APST and ASPM")));
    EXPECT_TRUE(plan.writes) << "a method that would write is one that writes";
}

TEST(Plan, RoundsUntilSteadyAreAllPlannedAndTheirCellsFound) {
    const char* steps = R"({"do":"idle","duration":"1 s"},
        {"do":"group","name":"rounds","until_steady":{"window":3,"most_rounds":4,"excursion_percent":15,"figure":"latency",
          "all_rounds":true,"rounds_after":2,"track":[{"block_size":"4 KiB","read_percent":0}]},
         "steps":[{"do":"io","pattern":"randrw","runtime":"60 s","skip_when":{"block_size_below_logical_block":true},
          "sweep":[{"axis":"read_percent","values":[100,0]},{"axis":"block_size","values":["4 KiB","0.5 KiB"]}]}]})";
    const Plan plan = plan_of_steps(steps, {.target_size = 1'000'000'000, .logical_block = 4096});
    ASSERT_EQ(plan.steps.size(), 17u);
    ASSERT_EQ(plan.steady.size(), 1u);
    const SteadyGroup& group = plan.steady[0];
    EXPECT_EQ(group.first_step, 1u);
    EXPECT_EQ(group.steps_per_round, 4u);
    EXPECT_EQ(group.window, 3u);
    EXPECT_EQ(group.most_rounds, 4u);
    EXPECT_EQ(group.excursion_permille, 150u);
    EXPECT_EQ(group.slope_permille, 100u);
    EXPECT_EQ(group.figure, SteadyFigure::latency);
    EXPECT_TRUE(group.all_rounds);
    EXPECT_EQ(group.rounds_after, 2u);
    EXPECT_THAT(group.tracked, ElementsAre(2));
    EXPECT_EQ(plan.steps[3].label, "randrw 0/100 4 KiB QD1 round 1");
    EXPECT_EQ(plan.steps[7].label, "randrw 0/100 4 KiB QD1 round 2");
    EXPECT_THAT(plan.steps[2].condition_note, HasSubstr("smaller than the logical block"));
    EXPECT_NE(plan.steps[3].workload.seed, plan.steps[7].workload.seed) << "a drive must not know what comes";
}

TEST(Plan, CellsTrackedMustBeOneAndCarriedOut) {
    const auto refusal = [](const char* track, std::uint32_t block) {
        const std::string json =
            std::string(
                R"({"format":"wattrig.suite/1","name":"t","title":"T","steps":[{"do":"group","until_steady":{"window":3,"most_rounds":4,"track":[)") +
            track +
            R"(]},"steps":[{"do":"io","pattern":"randwrite","runtime":"1 s","skip_when":{"block_size_below_logical_block":true},
             "sweep":[{"axis":"block_size","values":["4 KiB","0.5 KiB"]}]}]}]})";
        const auto plan = make_plan_from_text(json, "t.json", {.logical_block = block});
        return plan ? std::string() : plan.error().message;
    };
    EXPECT_EQ(refusal(R"({"block_size":"4 KiB"})", 4096), "");
    EXPECT_THAT(refusal(R"({"block_size":"8 KiB"})", 512),
                HasSubstr("t.json: /steps/0/until_steady/track/0: expected to name exactly one I/O step of a round, names 0"));
    EXPECT_THAT(refusal(R"({"pattern":"randwrite"})", 512), HasSubstr("names 2"));
    EXPECT_THAT(refusal(R"({"block_size":"0.5 KiB"})", 4096), HasSubstr("is not carried out on this target"));
}

TEST(Plan, APurgeDiscardsAllOfTheTarget) {
    const Plan plan = plan_of_steps(R"({"do":"purge","method":"any"})", {.target_size = 3u << 20});
    EXPECT_EQ(plan.steps[0].kind, StepKind::purge);
    EXPECT_TRUE(plan.steps[0].workload.discard);
    EXPECT_EQ(plan.steps[0].workload.limit.bytes, 3u << 20);
    EXPECT_EQ(plan.steps[0].workload.block_sizes[0].bytes, 1u << 20);
    EXPECT_TRUE(plan.writes);
}

TEST(Plan, ExpectedTimesAndWritesFollowTheLimits) {
    const Plan plan = plan_of_steps(R"({"do":"io","pattern":"randwrite","block_size":"4 KiB","bytes":"1 GB"},
        {"do":"io","pattern":"write","block_size":"128 KiB","rate":"100 MB/s","bytes":"1 GB"},
        {"do":"io","pattern":"randrw","read_percent":75,"block_size":"4 KiB","runtime":"10 s","ramp":"2 s"},
        {"do":"io","pattern":"randread","block_size":"4 KiB","runtime":"10 s"},
        {"do":"io","pattern":"trim","block_size":"1 MiB","bytes":"1 GB"})");
    EXPECT_FALSE(expected_time(plan.steps[0]));
    EXPECT_EQ(expected_bytes_written(plan.steps[0], 0), 1'000'000'000u);
    EXPECT_EQ(expected_time(plan.steps[1]), 10s);
    EXPECT_EQ(expected_time(plan.steps[2]), 12s);
    EXPECT_EQ(expected_bytes_written(plan.steps[2], 0), 3'000'000'000u) << "12 s of 1 GB/s, a quarter of them writes";
    EXPECT_EQ(expected_bytes_written(plan.steps[3], 0), 0u);
    EXPECT_EQ(expected_bytes_written(plan.steps[4], 0), 0u);
    EXPECT_TRUE(plan.steps[4].workload.discard);
}

TEST(Plan, ResolvedJsonHoldsTheSuiteAndEveryStep) {
    const Plan plan = plan_of({.suite = "quick", .overrides = {{"depth", "2"}}});
    EXPECT_THAT(plan.resolved_json, HasSubstr(R"("format":"wattrig.plan/1")"));
    EXPECT_THAT(plan.resolved_json, HasSubstr(R"("label":"randread 4 KiB QD2")"));
    EXPECT_THAT(plan.resolved_json, HasSubstr(R"("overrides":[{"key":"depth","value":"2"}])"));
    EXPECT_THAT(plan.resolved_json, HasSubstr(R"("source":{"format":"wattrig.suite/1","name":"quick")"));
    EXPECT_THAT(plan.notes, testing::Contains(HasSubstr("depth=2")));
}

}  // namespace
}  // namespace wattrig::suites
