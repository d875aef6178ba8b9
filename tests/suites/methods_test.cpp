// Every suite that ships: it loads, it keeps to the published schema, and it is what its name says.

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <cstdlib>
#include <nlohmann/json.hpp>
#include <set>

#include "host/suites/embedded.hpp"
#include "host/suites/plan.hpp"

namespace wattrig::suites {
namespace {

using testing::HasSubstr;

TEST(Methods, AllLoadAndAreNamedAsTheirFiles) {
    ASSERT_GE(embedded_suites().size(), 28u);
    for (const auto& suite : embedded_suites()) {
        const auto plan = make_plan({.suite = std::string(suite.name)});
        ASSERT_TRUE(plan) << plan.error().message;
        EXPECT_EQ(plan->suite, suite.name);
        EXPECT_FALSE(plan->title.empty());
        EXPECT_FALSE(plan->steps.empty());
        EXPECT_TRUE(nlohmann::json::accept(plan->resolved_json));
        std::set<std::string> labels;
        for (const auto& step : plan->steps) EXPECT_TRUE(labels.insert(step.label).second) << suite.name << ": " << step.label;
        for (const auto& score : plan->scores)
            for (const auto& label : score.step_labels) EXPECT_TRUE(labels.contains(label)) << suite.name << ": " << label;
    }
    EXPECT_EQ(list_suites().size(), embedded_suites().size());
}

TEST(Methods, FitALargeDriveWithEitherBlockSize) {
    for (const auto& suite : embedded_suites())
        for (const std::uint32_t block : {512u, 4096u}) {
            const auto plan =
                make_plan({.suite = std::string(suite.name), .target_size = 1'000'204'886'016, .logical_block = block});
            EXPECT_TRUE(plan) << plan.error().message;
        }
}

TEST(Methods, ScaledTheyFitAScratchFile) {
    for (const char* name :
         {"quick", "anandtech-2019-sustained-read", "anandtech-2019-burst-write", "mixed", "fixed-rate", "idle"}) {
        const auto wanted = make_plan({.suite = name, .scale = 0.01});
        ASSERT_TRUE(wanted) << wanted.error().message;
        EXPECT_LE(wanted->target_size, 1u << 30) << name;
        const auto plan = make_plan({.suite = name, .scale = 0.01, .target_size = wanted->target_size});
        EXPECT_TRUE(plan) << plan.error().message;
    }
}

TEST(Methods, SniaHasFiftySixCellsARound) {
    const auto plan = make_plan({.suite = "snia-pts-iops"});
    ASSERT_TRUE(plan);
    ASSERT_EQ(plan->steady.size(), 1u);
    EXPECT_EQ(plan->steady[0].steps_per_round, 56u);
    EXPECT_EQ(plan->steps.size(), 4u + 25 * 56);
    // Mixes outer, block sizes inner, as the method says.
    EXPECT_EQ(plan->steps[4].label, "randrw 100/0 1 MiB QD32 x 8 round 1");
    EXPECT_EQ(plan->steps[5].label, "randrw 100/0 128 KiB QD32 x 8 round 1");
    std::vector<std::string> tracked;
    for (const auto step : plan->steady[0].tracked) tracked.push_back(plan->steps[4 + step].label);
    EXPECT_THAT(tracked, testing::ElementsAre("randrw 0/100 4 KiB QD32 x 8 round 1", "randrw 65/35 64 KiB QD32 x 8 round 1",
                                              "randrw 100/0 1 MiB QD32 x 8 round 1"));
    EXPECT_EQ(plan->steps[2].label, "precondition 1/2");
    EXPECT_EQ(plan->steps[2].workload.block_sizes.front().bytes, 128u << 10);
}

TEST(Methods, OnlyThoseThatWriteSaySo) {
    std::set<std::string> reading;
    for (const auto& suite : list_suites())
        if (!suite.writes) reading.insert(suite.name);
    EXPECT_THAT(reading,
                testing::ElementsAre("anandtech-2019-burst-read", "anandtech-2019-sequential-burst-read",
                                     "anandtech-2019-sequential-read", "anandtech-2019-sustained-read", "idle", "qd-sweep"));
}

TEST(Methods, KeepToThePublishedSchema) {
    const std::string root = WATTRIG_SOURCE_DIR;
    if (std::system("/usr/bin/python3 -c 'import jsonschema' 2>/dev/null") != 0)
        GTEST_SKIP() << "python3-jsonschema is not installed";
    EXPECT_EQ(std::system(("/usr/bin/python3 " + root + "/tests/suites/check_schema.py " + root).c_str()), 0);
}

TEST(Methods, TheSeedThatUsesEveryKeyIsAGoodSuite) {
    const auto plan = make_plan(
        {.suite = std::string(WATTRIG_SOURCE_DIR) + "/tests/fuzz/seeds/suite_fuzz/all-keys.json", .target_size = 1u << 30});
    ASSERT_TRUE(plan) << plan.error().message;
    EXPECT_EQ(plan->steps.size(), 16u);
    ASSERT_EQ(plan->scores.size(), 1u);
    EXPECT_EQ(plan->scores[0].step_labels.size(), 2u);
}

TEST(Methods, UnknownNamesAndPathsAreExplained) {
    EXPECT_EQ(make_plan({.suite = "quik"}).error().message, "unknown suite \"quik\"; was \"quick\" meant?");
    EXPECT_THAT(make_plan({.suite = "zzzzzzzz"}).error().message, HasSubstr("known: anandtech-2009-random"));
    EXPECT_THAT(make_plan({.suite = "/does/not/exist.json"}).error().message,
                HasSubstr("/does/not/exist.json: the suite cannot be opened"));
    EXPECT_THAT(make_plan({.suite = "/"}).error().message, HasSubstr("is a directory"));
    EXPECT_THAT(make_plan({.suite = ""}).error().message, HasSubstr("no suite given"));
    const auto from_file = make_plan({.suite = std::string(WATTRIG_SOURCE_DIR) + "/host/suites/methods/quick.json"});
    ASSERT_TRUE(from_file);
    EXPECT_EQ(from_file->steps.size(), 13u);
}

}  // namespace
}  // namespace wattrig::suites
