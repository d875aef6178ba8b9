// Whole suites in virtual time. Truth is the model's own energy, which passes no code, sample or clock map.
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <cmath>
#include <nlohmann/json.hpp>

#include "host/analysis/result.hpp"
#include "host/runner/runner.hpp"
#include "host/sim/simulation.hpp"
#include "host/suites/plan.hpp"
#include "tests/runner/temporary_directory.hpp"

namespace wattrig::runner {
namespace {

struct Played {
    std::unique_ptr<sim::VirtualSimulation> simulation;
    suites::Plan plan;
    RunSummary summary;
    analysis::RunResult result;
};

using Overrides = std::vector<std::pair<std::string, std::string>>;

// `stop_after`: phases that begin before the stop flag is set; 0 = never.
void play(Played& played, const TemporaryDirectory& folder, const std::string& suite, const Overrides& overrides = {},
          bool rig = true, std::size_t stop_after = 0, std::uint64_t seed = 1) {
    sim::SimulationOptions options;
    options.seed = seed;
    options.rig = rig;
    auto simulation = sim::VirtualSimulation::create(options);
    ASSERT_TRUE(simulation) << simulation.error().message;
    played.simulation = std::move(*simulation);
    suites::PlanRequest request;
    request.suite = suite;
    request.overrides = overrides;
    request.target_size = played.simulation->model().capacity;
    auto plan = suites::make_plan(request);
    ASSERT_TRUE(plan) << plan.error().message;
    played.plan = *plan;

    VirtualRun run;
    run.drive = &played.simulation->drive();
    if (rig) {
        run.rig_actor = &played.simulation->rig_actor();
        run.link = &played.simulation->link();
        run.calibration = &played.simulation->calibration();
    }
    run.engine.target_size = played.simulation->model().capacity;
    run.engine.logical_block = played.simulation->model().logical_block;
    io::StopFlag stop{false};
    RunHooks hooks;
    hooks.stop = &stop;
    hooks.progress = [&](const RunProgress& progress) {
        if (stop_after > 0 && progress.step > stop_after) stop = true;
    };
    auto directory = recording::RunDirectory::create(folder.file("run"));
    ASSERT_TRUE(directory);
    const nlohmann::json run_json = {{"target", {{"description", "sim:client-1tb"}}},
                                     {"drive", {{"name", "client-1tb"}, {"simulated", true}}}};
    auto summary = run_virtual(played.plan, run, *directory, run_json, hooks);
    ASSERT_TRUE(summary) << summary.error().message;
    played.summary = *summary;
    auto result = analysis::analyze(*directory);
    ASSERT_TRUE(result) << result.error().message;
    played.result = *result;
    auto again = analysis::analyze(*directory);
    ASSERT_TRUE(again);
    EXPECT_EQ(analysis::to_json(*again), analysis::to_json(played.result));
}

// Errors of mean power against the model, in units of U (k = 2).
std::vector<double> power_errors(const Played& played) {
    std::vector<double> errors;
    for (const analysis::PhaseResult& phase : played.result.phases) {
        const auto& outcome = phase.phase.outcome;
        const double joules =
            played.simulation->true_energy(outcome.measured_end) - played.simulation->true_energy(outcome.measured_begin);
        const double truth = joules / to_seconds(outcome.measured());
        EXPECT_TRUE(phase.watts.value && phase.watts.u) << phase.phase.label;
        if (!phase.watts.value || !phase.watts.u) continue;
        errors.push_back((*phase.watts.value - truth) / *phase.watts.u);
        EXPECT_LT(std::abs(errors.back()), 2)
            << phase.phase.label << ": " << *phase.watts.value << " +- " << *phase.watts.u << ", truth " << truth;
    }
    return errors;
}

TEST(VirtualRun, QuickComesOutAsTheModelSpentIt) {
    TemporaryDirectory folder;
    Played played;
    ASSERT_NO_FATAL_FAILURE(play(played, folder, "quick"));
    EXPECT_FALSE(played.summary.interrupted);
    EXPECT_EQ(played.summary.phases, played.plan.steps.size());
    ASSERT_EQ(played.result.phases.size(), played.plan.steps.size());
    EXPECT_TRUE(played.result.complete);
    EXPECT_TRUE(played.result.power_simulated);
    EXPECT_TRUE(played.result.drive_simulated);
    EXPECT_EQ(played.result.fidelity, "exact");
    for (const auto& phase : played.result.phases) EXPECT_TRUE(phase.phase.complete) << phase.phase.label;
    const auto errors = power_errors(played);
    const auto inside = std::count_if(errors.begin(), errors.end(), [](double e) { return std::abs(e) <= 1; });
    // One rig's phases share its errors of gain: they stand or fall together, so the seed's luck is fixed here and rotates in
    // the tests of coverage.
    EXPECT_EQ(inside, static_cast<std::ptrdiff_t>(errors.size()));
    for (const auto& score : played.result.scores) EXPECT_TRUE(score.mean_of_ratios.value) << score.name;
}

TEST(VirtualRun, PlantedFaultAShiftedClockIsSeen) {
    TemporaryDirectory folder;
    Played played;
    ASSERT_NO_FATAL_FAILURE(play(played, folder, "quick", {{"runtime", "0.5s"}}));
    // The same comparison, with truth taken 100 ms late: phases of different power must not agree any more.
    std::size_t outside = 0;
    for (const auto& phase : played.result.phases) {
        const auto& outcome = phase.phase.outcome;
        const Nanoseconds shift = std::chrono::milliseconds(100);
        const double truth = (played.simulation->true_energy(outcome.measured_end + shift) -
                              played.simulation->true_energy(outcome.measured_begin + shift)) /
                             to_seconds(outcome.measured());
        outside += std::abs(*phase.watts.value - truth) > *phase.watts.u;
    }
    EXPECT_GT(outside, played.result.phases.size() / 2);
}

TEST(VirtualRun, SweepOverDepths) {
    TemporaryDirectory folder;
    Played played;
    ASSERT_NO_FATAL_FAILURE(play(played, folder, "qd-sweep", {{"runtime", "2s"}, {"depth", "1,4,32"}}));
    power_errors(played);
    double last = 0;
    for (const auto& phase : played.result.phases) {
        if (!phase.phase.has_io) continue;
        EXPECT_GT(*phase.iops, last) << phase.phase.label;
        last = *phase.iops;
        // Little's law, in every cell.
        const double depth = *phase.iops * *phase.latency.mean * 1e-6;
        EXPECT_NEAR(depth, phase.phase.outcome.mean_depth, 0.01 * depth);
    }
}

TEST(VirtualRun, AnInterruptedRunIsValid) {
    TemporaryDirectory folder;
    Played played;
    ASSERT_NO_FATAL_FAILURE(play(played, folder, "quick", {}, true, 3));
    EXPECT_TRUE(played.summary.interrupted);
    EXPECT_TRUE(played.result.interrupted);
    EXPECT_GE(played.result.phases.size(), 3u);
    EXPECT_LT(played.result.phases.size(), played.plan.steps.size());
    for (const auto& phase : played.result.phases) EXPECT_TRUE(phase.phase.complete) << phase.phase.label;
    EXPECT_TRUE(played.result.phases[1].watts.value);
}

TEST(VirtualRun, WithoutARigThereIsNoPowerAndNoZero) {
    TemporaryDirectory folder;
    Played played;
    ASSERT_NO_FATAL_FAILURE(play(played, folder, "quick", {{"runtime", "0.5s"}}, false));
    EXPECT_FALSE(played.result.power_measured);
    for (const auto& phase : played.result.phases) {
        EXPECT_FALSE(phase.watts.value);
        EXPECT_FALSE(phase.megabytes_per_second_per_watt.value);
    }
    EXPECT_TRUE(played.result.phases[1].iops);
}

TEST(VirtualRun, TheSameSeedGivesTheSameResult) {
    TemporaryDirectory one, two;
    Played first, second;
    const Overrides overrides = {{"runtime", "0.5s"}};
    ASSERT_NO_FATAL_FAILURE(play(first, one, "quick", overrides, true, 0, 5));
    ASSERT_NO_FATAL_FAILURE(play(second, two, "quick", overrides, true, 0, 5));
    ASSERT_EQ(first.result.phases.size(), second.result.phases.size());
    for (std::size_t k = 0; k < first.result.phases.size(); ++k) {
        EXPECT_EQ(first.result.phases[k].iops, second.result.phases[k].iops);
        EXPECT_EQ(first.result.phases[k].watts.value, second.result.phases[k].watts.value);
    }
}

}  // namespace
}  // namespace wattrig::runner
