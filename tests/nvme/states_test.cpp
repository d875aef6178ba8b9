#include "host/nvme/states.hpp"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "tests/nvme/simulated_states.hpp"

namespace wattrig::nvme {
namespace {

using testing::HasSubstr;

const Check* find(const StatesReport& report, unsigned state, const std::string& what) {
    for (const Check& check : report.states.at(state).checks)
        if (check.what == what) return &check;
    return nullptr;
}
std::vector<std::string> failures(const StatesReport& report) {
    std::vector<std::string> found;
    for (const StateReport& state : report.states)
        for (const Check& check : state.checks)
            if (check.verdict == Verdict::fail) found.push_back(std::to_string(state.state) + " " + check.what);
    return found;
}

class HonestDrive : public testing::TestWithParam<unsigned> {};

TEST_P(HonestDrive, RaisesNoAlarmAndIsMeasuredWithinTheUncertainty) {
    SimulatedStates drive = honest_drive(GetParam());
    const auto report = walk_states(drive, {});
    ASSERT_TRUE(report) << report.error().message;
    EXPECT_THAT(failures(*report), testing::IsEmpty()) << states_text(*report);
    EXPECT_TRUE(report->warnings.empty());
    ASSERT_EQ(report->states.size(), 5u);
    for (const StateReport& state : report->states) {
        const TrueState& truth = drive.truth[state.state];
        EXPECT_NEAR(state.idle->value(), truth.idle_watts, drive.uncertainty_watts);
        EXPECT_EQ(state.idle_watts.size(), 30u);
        EXPECT_EQ(state.read_back, state.state);
        if (state.declared.operational) {
            EXPECT_NEAR(state.highest_10s->value(), truth.sequential_watts, drive.uncertainty_watts);
        } else {
            const double bound = 250'000;  // 50 us of clock and a step of 200 us
            ASSERT_TRUE(state.entry && state.exit && state.exit_edge);
            EXPECT_NEAR(static_cast<double>(state.entry->count()), static_cast<double>(truth.entry.count()), bound);
            EXPECT_NEAR(static_cast<double>(state.exit->count()), static_cast<double>(truth.exit.count()), bound);
            EXPECT_NEAR(static_cast<double>(state.exit_edge->count()), static_cast<double>(truth.exit.count()), bound);
            EXPECT_NEAR(state.idle_by_transition->value(), truth.idle_watts, drive.uncertainty_watts);
        }
    }
}
INSTANTIATE_TEST_SUITE_P(Seeds, HonestDrive, testing::Range(1u, 11u));

struct Planted {
    const char* name;
    std::function<void(SimulatedStates&)> plant;
    std::vector<std::string> found;  // these and no others
};
void PrintTo(const Planted& planted, std::ostream* out) { *out << planted.name; }

class WrongDeclaration : public testing::TestWithParam<Planted> {};

TEST_P(WrongDeclaration, IsCaughtAndNothingElse) {
    SimulatedStates drive = honest_drive(3);
    GetParam().plant(drive);
    const auto report = walk_states(drive, {});
    ASSERT_TRUE(report) << report.error().message;
    EXPECT_THAT(failures(*report), testing::UnorderedElementsAreArray(GetParam().found)) << states_text(*report);
}

INSTANTIATE_TEST_SUITE_P(
    Planted, WrongDeclaration,
    testing::Values(
        Planted{"idle of 3 draws a fifth more",
                [](auto& d) { d.controller.states[3].idle_power = Watts(d.truth[3].idle_watts / 1.2); },
                {"3 idle power"}},
        Planted{"idle of 4 draws a half more",
                [](auto& d) { d.controller.states[4].idle_power = Watts(d.truth[4].idle_watts / 1.5); },
                {"4 idle power"}},
        Planted{"idle of 0 draws 1 % more",
                [](auto& d) { d.controller.states[0].idle_power = Watts(d.truth[0].idle_watts / 1.01); },
                {"0 idle power"}},
        Planted{"sequential writes of 0 above the maximum",
                [](auto& d) { d.controller.states[0].maximum_power = Watts(d.truth[0].sequential_watts / 1.01); },
                {"0 maximum power"}},
        Planted{"random reads of 2 are the heaviest, above the maximum",
                [](auto& d) { d.truth[2].random_read_watts = d.controller.states[2].maximum_power->value() * 1.01; },
                {"2 maximum power"}},
        Planted{"active power of 1",
                [](auto& d) { d.controller.states[1].active_power = Watts(d.truth[1].sequential_watts / 1.02); },
                {"1 active power"}},
        Planted{"3 idles above its own maximum",
                [](auto& d) {
                    d.truth[3].idle_watts = d.controller.states[3].maximum_power->value() * 1.1;
                    d.controller.states[3].idle_power = Watts(d.truth[3].idle_watts);
                },
                {"3 maximum power"}},
        Planted{"entry of 3 takes 1 ms longer", [](auto& d) { d.truth[3].entry = Nanoseconds(4'000'000); }, {"3 entry time"}},
        Planted{
            "entry of 4 takes twice as long", [](auto& d) { d.truth[4].entry = Nanoseconds(40'000'000); }, {"4 entry time"}},
        Planted{"exit of 3 takes 1 ms longer", [](auto& d) { d.truth[3].exit = Nanoseconds(6'000'000); }, {"3 exit time"}},
        Planted{"exit of 4 takes 2 % longer", [](auto& d) { d.truth[4].exit = Nanoseconds(45'900'000); }, {"4 exit time"}},
        Planted{"4 is left after 10 s",
                [](auto& d) { d.leaves_after = Nanoseconds(10'000'000'000); },
                {"3 state held", "3 idle power", "3 maximum power", "4 state held", "4 idle power", "4 maximum power"}},
        Planted{"autonomous transitions do nothing",
                [](auto& d) { d.ignores_transitions = true; },
                {"3 reached by itself", "4 reached by itself"}}));

TEST(States, DriveThatIgnoresRequestsIsNoticed) {
    SimulatedStates drive = honest_drive(5);
    drive.ignores_requests = true;
    const auto report = walk_states(drive, {});
    ASSERT_TRUE(report);
    for (unsigned state = 1; state < 5; ++state) {
        ASSERT_NE(find(*report, state, "state held"), nullptr);
        EXPECT_EQ(find(*report, state, "state held")->verdict, Verdict::fail);
    }
    EXPECT_THAT(find(*report, 1, "state held")->words, HasSubstr("asked for state 1, after the window the drive says 0"));
    EXPECT_EQ(find(*report, 4, "maximum power")->verdict, Verdict::fail);
}

TEST(States, DriveThatLiesAboutItsStateIsNoticedByItsPower) {
    SimulatedStates drive = honest_drive(6);
    drive.leaves_after = Nanoseconds(12'000'000'000);
    drive.says_it_is_still_there = true;
    const auto report = walk_states(drive, {});
    ASSERT_TRUE(report);
    EXPECT_EQ(report->states[4].read_back, 4);
    EXPECT_EQ(find(*report, 4, "state held")->verdict, Verdict::fail);
    EXPECT_THAT(find(*report, 4, "state held")->words, HasSubstr("power rose from"));
    drive = honest_drive(6);
    drive.always_reads = 0;
    const auto other = walk_states(drive, {});
    EXPECT_EQ(find(*other, 4, "state held")->verdict, Verdict::fail);
    EXPECT_EQ(find(*other, 4, "idle power")->verdict, Verdict::pass);
}

TEST(States, CommandInAWindowVoidsIt) {
    SimulatedStates drive = honest_drive(7);
    drive.polls_every = Nanoseconds(10'000'000'000);
    const auto report = walk_states(drive, {});
    ASSERT_TRUE(report);
    EXPECT_FALSE(report->warnings.empty());
    for (const StateReport& state : report->states) {
        EXPECT_FALSE(state.undisturbed);
        for (const Check& check : state.checks) EXPECT_EQ(check.verdict, Verdict::cannot_tell) << check.what;
    }
}

TEST(States, BelowWhatTheRigCanTellThereIsNoVerdict) {
    SimulatedStates drive = honest_drive(8);
    drive.controller.states[3].entry_latency_us = 700;  // 3 x (50 + 200) us is 750
    drive.truth[3].entry = Nanoseconds(600'000);
    drive.uncertainty_watts = 0.01;  // more than half of what state 4 declares
    drive.controller.states[4].idle_power = Watts(drive.truth[4].idle_watts * 0.9);
    drive.coverage = 1;
    const auto report = walk_states(drive, {});
    ASSERT_TRUE(report);
    EXPECT_EQ(find(*report, 3, "entry time")->verdict, Verdict::cannot_tell);
    EXPECT_EQ(find(*report, 4, "idle power")->verdict, Verdict::cannot_tell);
    drive = honest_drive(8);
    drive.coverage = 0.9;
    const auto gaps = walk_states(drive, {});
    EXPECT_EQ(find(*gaps, 0, "idle power")->verdict, Verdict::cannot_tell);
    EXPECT_THAT(find(*gaps, 0, "idle power")->words, HasSubstr("90.0 % of the samples"));
}

TEST(States, WhatIsNotReportedGetsNoVerdict) {
    SimulatedStates drive = honest_drive(9);
    for (PowerState& state : drive.controller.states) {
        state.idle_power.reset();
        state.active_power.reset();
        state.entry_latency_us.reset();
        state.maximum_power.reset();
    }
    drive.controller.states[1].active_power = Watts(1);
    drive.controller.states[1].active_workload = 0;
    const auto report = walk_states(drive, {});
    ASSERT_TRUE(report);
    EXPECT_THAT(failures(*report), testing::IsEmpty());
    EXPECT_EQ(find(*report, 0, "idle power")->verdict, Verdict::not_declared);
    EXPECT_EQ(find(*report, 3, "entry time")->verdict, Verdict::not_declared);
    EXPECT_THAT(find(*report, 1, "active power")->words, HasSubstr("its workload is not named"));
}

TEST(States, DriveWithOneStateOnly) {
    SimulatedStates drive = honest_drive(10);
    drive.controller.states.resize(1);
    drive.controller.autonomous_transitions = false;
    const auto report = walk_states(drive, {});
    ASSERT_TRUE(report);
    EXPECT_EQ(report->states.size(), 1u);
    EXPECT_FALSE(report->failed());
}

}  // namespace
}  // namespace wattrig::nvme
