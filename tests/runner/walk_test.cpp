// The walk over a plan on a stage made of paper: order, interruption, a rig that is lost.
#include "host/runner/walk.hpp"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <chrono>
#include <nlohmann/json.hpp>

#include "tests/runner/temporary_directory.hpp"

namespace wattrig::runner {
namespace {

using namespace std::chrono_literals;
using testing::ElementsAre;
using testing::HasSubstr;

class PaperStage final : public Stage {
  public:
    HostTime now() const override { return now_; }
    Result<io::PhaseOutcome> run_io(const io::Workload& workload, const io::ProgressCallback& progress) override {
        ++phases;
        if (fail_in == phases) return Error{ErrorKind::system, "the ring is gone", 5};
        io::PhaseOutcome outcome;
        outcome.begin = outcome.measured_begin = now_;
        now_ += 1s;
        outcome.measured_end = outcome.end = now_;
        outcome.kinds[0].operations = static_cast<std::uint64_t>(100 + growth * (phases - 1));
        outcome.kinds[0].errors = workload.seed == 7 ? 3 : 0;
        progress({500ms, 0.5, 1000, 4'096'000});
        if (stop && stop_in == phases) {
            *stop = true;
            outcome.stop = io::StopReason::interrupted;
        }
        if (lose_in == phases) {
            status.session.failed = true;
            status.session.failure = "no answer for 1 s";
        }
        return outcome;
    }
    Result<CommandOutcome> run_command(const std::vector<std::string>&, const std::function<void()>& each) override {
        CommandOutcome outcome;
        outcome.begin = now_;
        now_ += 10s;
        outcome.end = now_;
        outcome.status = 3;
        outcome.marks = command_marks;
        each();
        return outcome;
    }
    void pass_until(HostTime until, bool) override { now_ = std::max(now_, until); }
    Nanoseconds slice() const override { return 1s; }
    CaptureStatus capture() override { return status; }
    void mark(const std::string& text) override { marks.push_back(text); }
    Result<void> end_capture() override {
        ended = now_;
        return {};
    }
    std::uint64_t dropped_records() const override { return 0; }
    std::optional<Error> recording_failure() const override {
        return recording_ends_in > 0 && phases >= recording_ends_in
                   ? std::optional(Error{ErrorKind::system, "writing power.wrt ended after 1000 bytes", 28})
                   : std::nullopt;
    }
    std::optional<double> drive_temperature() override {
        if (temperatures.empty()) return std::nullopt;
        const double first = temperatures.front();
        if (temperatures.size() > 1) temperatures.erase(temperatures.begin());
        return first;
    }

    int growth = 0;  // operations that each phase has more than the last
    int phases = 0, fail_in = 0, stop_in = 0, lose_in = 0, recording_ends_in = 0;
    io::StopFlag* stop = nullptr;
    std::vector<Mark> command_marks;
    CaptureStatus status;
    std::vector<std::string> marks;
    std::vector<double> temperatures;
    HostTime ended{};

  private:
    HostTime now_{};
};

suites::Step io_step(const std::string& label) {
    suites::Step step;
    step.name = step.label = label;
    step.workload.limit.time = 1s;
    return step;
}

class WalkTest : public testing::Test {
  protected:
    WalkTest() {
        plan.suite = "paper";
        plan.resolved_json = "{}";
        plan.steps = {io_step("a"), io_step("b"), io_step("c")};
        stage.status.session.clock_ready = true;
        stage.status.info = protocol::Info{};
        stage.stop = &stop;
        hooks.stop = &stop;
        hooks.notice = [this](const std::string& line) { notices.push_back(line); };
        hooks.progress = [this](const RunProgress& progress) { shown.push_back(progress); };
        setup.fidelity = "real";
        setup.rig = true;
        setup.rig_description = "paper rig";
    }
    Result<RunSummary> run() {
        directory.emplace(*recording::RunDirectory::create(folder.file("run")));
        return walk(plan, stage, setup, *directory, nlohmann::json::object(), hooks);
    }
    std::vector<std::string> labels() {
        std::vector<std::string> found;
        const auto read = directory->read_phases();
        EXPECT_TRUE(read);
        for (const auto& phase : *read) found.push_back(phase.label + (phase.complete ? "" : " cut off"));
        return found;
    }
    nlohmann::json run_json() { return *directory->read_json("run.json"); }

    TemporaryDirectory folder;
    std::optional<recording::RunDirectory> directory;
    suites::Plan plan;
    PaperStage stage;
    WalkSetup setup;
    RunHooks hooks;
    io::StopFlag stop{false};
    std::vector<std::string> notices;
    std::vector<RunProgress> shown;
};

TEST_F(WalkTest, CarriesOutEachStepOnceInOrder) {
    const auto summary = run();
    ASSERT_TRUE(summary) << summary.error().message;
    EXPECT_EQ(summary->phases, 3u);
    EXPECT_THAT(labels(), ElementsAre("a", "b", "c"));
    EXPECT_THAT(stage.marks, ElementsAre("begin a", "end a", "begin b", "end b", "begin c", "end c"));
    // Half a second before the first phase and after the last: edges of phases lie inside the recording.
    EXPECT_GE(stage.ended, HostTime(4s));
    EXPECT_TRUE(run_json()["complete"].get<bool>());
    EXPECT_FALSE(run_json()["interrupted"].get<bool>());
}

TEST_F(WalkTest, RunJsonHasTheKeysThatAnalysisReads) {
    plan.scores = {{.name = "s", .step_labels = {"a", "b"}, .weights = {2, 1}}};
    plan.notes = {"ours"};
    plan.scale = 0.5;
    ASSERT_TRUE(run());
    const auto json = run_json();
    EXPECT_EQ(json["schema"], "wattrig.run/1");
    EXPECT_EQ(json["suite"]["name"], "paper");
    EXPECT_EQ(json["suite"]["scale"], 0.5);
    EXPECT_EQ(json["scores"][0]["steps"], nlohmann::json({"a", "b"}));
    EXPECT_EQ(json["scores"][0]["weights"], nlohmann::json({2.0, 1.0}));
    EXPECT_EQ(json["notes"], nlohmann::json({"ours"}));
    EXPECT_TRUE(json["rig"]["present"].get<bool>());
    EXPECT_EQ(json["fidelity"], "real");
    EXPECT_TRUE(json["warnings"].is_array());
}

TEST_F(WalkTest, CtrlCEndsThePhaseAndSkipsTheRest) {
    stage.stop_in = 2;
    const auto summary = run();
    ASSERT_TRUE(summary);
    EXPECT_TRUE(summary->interrupted);
    EXPECT_THAT(labels(), ElementsAre("a", "b"));
    EXPECT_TRUE(run_json()["interrupted"].get<bool>());
}

TEST_F(WalkTest, ARecordingThatEndsStopsTheRunAndSaysWhere) {
    stage.recording_ends_in = 2;
    const auto summary = run();
    ASSERT_FALSE(summary);
    EXPECT_EQ(summary.error().kind, ErrorKind::system);
    EXPECT_THAT(summary.error().message, HasSubstr("writing power.wrt ended after 1000 bytes"));
    EXPECT_THAT(summary.error().message, HasSubstr(directory->path()));
    EXPECT_THAT(labels(), ElementsAre("a", "b"));
    EXPECT_TRUE(stop);  // the engine looks at it within a phase
    EXPECT_FALSE(run_json()["complete"].get<bool>());
}

TEST_F(WalkTest, ACommandIsAPhaseAndSoIsEachPairOfItsMarks) {
    suites::Step step;
    step.kind = suites::StepKind::command;
    step.name = step.label = "sleep 10";
    plan.steps = {step};
    const auto at = [](int s) { return HostTime(std::chrono::seconds(s)); };
    stage.command_marks = {{at(1), "begin a"}, {at(2), "begin b"}, {at(3), "note"},   {at(4), "end b"},
                           {at(5), "end a"},   {at(6), "end c"},   {at(7), "begin d"}};
    const auto summary = run();
    ASSERT_TRUE(summary) << summary.error().message;
    EXPECT_EQ(summary->command_status, 3);
    EXPECT_THAT(labels(), ElementsAre("sleep 10", "b", "a", "d"));
    const auto phases = *directory->read_phases();
    EXPECT_EQ(phases[1].outcome.begin, at(2));
    EXPECT_EQ(phases[1].outcome.end, at(4));
    EXPECT_EQ(phases[2].outcome.end, at(5));
    EXPECT_EQ(phases[3].outcome.end, phases[0].outcome.end);
    EXPECT_THAT(phases[3].warnings, ElementsAre(HasSubstr("was not marked")));
    EXPECT_THAT(summary->warnings, ElementsAre(HasSubstr("\"end c\" has no begin")));
}

TEST(Marks, OnlyWhatIsOneIsTaken) {
    const HostTime now(100s);
    EXPECT_EQ(parse_mark("wattrig-mark 1 99000000000 begin x", now)->when, HostTime(99s));
    EXPECT_EQ(parse_mark("wattrig-mark 1 99000000000 a\x1b[2Jb\n", now)->text, "a [2Jb");
    for (const char* bad : {"", "wattrig-mark", "wattrig-mark 2 99000000000 x", "wattrig-mark 1 x y",
                            "wattrig-mark 1 99000000000", "wattrig-mark 1 99000000000 ", "wattrig-mark 1 101000000000 later",
                            "wattrig-mark 1 1 old", "wattrig-mark 1 -5 x", "wattrig-mark 1 99999999999999999999 x"})
        EXPECT_FALSE(parse_mark(bad, now)) << bad;
    EXPECT_EQ(parse_mark("wattrig-mark 1 99000000000 " + std::string(2000, 'x'), now)->text.size(), 300u);
}

TEST_F(WalkTest, ALostRigDoesNotEndTheRun) {
    stage.lose_in = 1;
    const auto summary = run();
    ASSERT_TRUE(summary);
    EXPECT_TRUE(summary->rig_lost);
    EXPECT_EQ(summary->phases, 3u);
    ASSERT_EQ(summary->warnings.size(), 1u);
    EXPECT_THAT(summary->warnings[0], HasSubstr("no answer for 1 s"));
    EXPECT_LT(shown.back().watts, 0);
    EXPECT_EQ(run_json()["warnings"][0], summary->warnings[0]);
}

TEST_F(WalkTest, ARigThatRefusesStopsBeforeTheFirstPhase) {
    stage.status.session.failed = true;
    stage.status.session.failure = "unknown protocol";
    const auto summary = run();
    ASSERT_FALSE(summary);
    EXPECT_EQ(summary.error().kind, ErrorKind::link_broke);
    EXPECT_EQ(stage.phases, 0);
    EXPECT_FALSE(run_json()["complete"].get<bool>());
}

TEST_F(WalkTest, AClockThatIsNeverKnownStopsAfterTenSeconds) {
    stage.status.session.clock_ready = false;
    const auto summary = run();
    ASSERT_FALSE(summary);
    EXPECT_EQ(summary.error().kind, ErrorKind::link_broke);
    EXPECT_GE(stage.now(), HostTime(10s));
    EXPECT_LT(stage.now(), HostTime(12s));
}

TEST_F(WalkTest, AFailedSelfTestNamesItsParts) {
    stage.status.self_test = protocol::SelfTestReport{};
    stage.status.self_test->failed = protocol::self_test_slow_path | protocol::self_test_voltage;
    const auto summary = run();
    ASSERT_FALSE(summary);
    EXPECT_EQ(summary.error().kind, ErrorKind::device_refused);
    EXPECT_THAT(summary.error().message, HasSubstr("INA228, voltage"));
}

TEST_F(WalkTest, AnEngineErrorLeavesThePhaseOpenAndTheDirectoryUsable) {
    stage.fail_in = 2;
    const auto summary = run();
    ASSERT_FALSE(summary);
    EXPECT_THAT(summary.error().message, HasSubstr("b: the ring is gone"));
    EXPECT_THAT(labels(), ElementsAre("a", "b cut off"));
    EXPECT_GT(stage.ended, HostTime(0s));  // the recording was ended all the same
    EXPECT_FALSE(run_json()["complete"].get<bool>());
}

TEST_F(WalkTest, IoErrorsAreCountedAndThePhaseSaysSo) {
    plan.steps[1].workload.seed = 7;
    const auto summary = run();
    ASSERT_TRUE(summary);
    EXPECT_EQ(summary->io_errors, 3u);
    EXPECT_THAT(notices, testing::Contains(HasSubstr("b: 3 operations failed")));
}

TEST_F(WalkTest, UnsupportedStepsAreRefusedAndConditionsAreNot) {
    plan.steps[1].condition_note = "4Kn drive";
    auto summary = run();
    ASSERT_TRUE(summary);
    EXPECT_THAT(labels(), ElementsAre("a", "c"));
    EXPECT_THAT(summary->warnings[0], HasSubstr("b was left out: 4Kn drive"));
    plan.steps[2].kind = suites::StepKind::unsupported;
    plan.steps[2].condition_note = "needs NVMe control";
    const auto possible = check_plan(plan);
    ASSERT_FALSE(possible);
    EXPECT_EQ(possible.error().kind, ErrorKind::bad_input);
    EXPECT_THAT(possible.error().message, HasSubstr("c (needs NVMe control)"));
}

// Two cells a round; the stage gives 100 operations a second always, so three rounds of a window of three are steady.
suites::Plan rounds_plan(std::size_t most_rounds, bool all_rounds) {
    suites::Plan plan;
    plan.suite = "rounds";
    plan.resolved_json = "{}";
    for (std::size_t round = 1; round <= most_rounds; ++round)
        for (const char* cell : {"x", "y"}) plan.steps.push_back(io_step(std::string(cell) + std::to_string(round)));
    plan.steps.push_back(io_step("after"));
    suites::SteadyGroup group;
    group.name = "rounds";
    group.steps_per_round = 2;
    group.window = 3;
    group.most_rounds = most_rounds;
    group.all_rounds = all_rounds;
    group.tracked = {0, 1};
    plan.steady = {group};
    return plan;
}

TEST_F(WalkTest, RoundsEndWithTheFirstSteadyWindow) {
    plan = rounds_plan(5, false);
    ASSERT_TRUE(run());
    EXPECT_THAT(labels(), ElementsAre("x1", "y1", "x2", "y2", "x3", "y3", "after"));
    const auto result = run_json()["steady_state"][0]["result"];
    EXPECT_EQ(result["reached_after_round"], 3);
    EXPECT_EQ(result["window_rounds"], (nlohmann::json{{"first", 1}, {"last", 3}}));
    EXPECT_EQ(result["variables"][1]["values"], nlohmann::json({100.0, 100.0, 100.0}));
    EXPECT_EQ(result["variables"][1]["window"]["lower_bound"], 90.0);
}

TEST_F(WalkTest, AllRoundsAreCarriedOutWhenAsked) {
    plan = rounds_plan(5, true);
    plan.steady[0].rounds_after = 2;
    ASSERT_TRUE(run());
    EXPECT_EQ(labels().size(), 11u);
    const auto result = run_json()["steady_state"][0]["result"];
    EXPECT_EQ(result["reached_after_round"], 3);
    EXPECT_EQ(result["averaged_rounds"]["first"], 4);
    EXPECT_EQ(result["averaged_rounds"]["last"], 5);
}

TEST_F(WalkTest, SteadyStateThatIsNotReachedIsSaid) {
    plan = rounds_plan(4, false);
    stage.growth = 50;
    const auto summary = run();
    ASSERT_TRUE(summary);
    EXPECT_EQ(labels().size(), 9u);
    EXPECT_THAT(summary->warnings, testing::Contains(HasSubstr("steady state was not reached in 4 rounds; the last 3")));
    const auto result = run_json()["steady_state"][0]["result"];
    EXPECT_TRUE(result["reached_after_round"].is_null());
    EXPECT_EQ(result["words"], "not reached");
    EXPECT_EQ(result["window_rounds"], (nlohmann::json{{"first", 2}, {"last", 4}}));
}

TEST_F(WalkTest, ACoolOffEndsWhenTheDriveIsCool) {
    suites::Step cool;
    cool.kind = suites::StepKind::cool_off;
    cool.name = cool.label = "cool off";
    cool.duration = 60s;
    plan.steps = {io_step("a"), cool};
    stage.temperatures = {40, 45, 43, 40.5};
    ASSERT_TRUE(run());
    const auto phases = directory->read_phases();
    EXPECT_EQ((*phases)[1].outcome.measured(), Nanoseconds(2s));
    EXPECT_EQ((*phases)[1].kind, "cool_off");
}

TEST_F(WalkTest, TimeLeftCountsWhatIsToCome) {
    ASSERT_TRUE(run());
    // In the middle of the first of three phases of 1 s.
    const auto middle = std::find_if(shown.begin(), shown.end(), [](const RunProgress& p) { return p.step_done == 0.5; });
    ASSERT_NE(middle, shown.end());
    EXPECT_EQ(middle->left, Nanoseconds(2500ms));
    EXPECT_EQ(middle->step, 1u);
    EXPECT_EQ(middle->steps, 3u);
    EXPECT_DOUBLE_EQ(middle->megabytes_per_second, 4.096);
}

}  // namespace
}  // namespace wattrig::runner
