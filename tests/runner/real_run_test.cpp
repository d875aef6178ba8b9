// A run in real time: threads of capture and recording beside an engine whose target is memory that answers at once.
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <chrono>
#include <deque>
#include <nlohmann/json.hpp>
#include <thread>

#include "host/recording/recording.hpp"
#include "host/rig/replay_link.hpp"
#include "host/runner/runner.hpp"
#include "host/runner/wait.hpp"
#include "host/sim/simulation.hpp"
#include "tests/runner/temporary_directory.hpp"

namespace wattrig::runner {
namespace {

using namespace std::chrono_literals;

class InstantBackend final : public io::Backend {
  public:
    io::Capabilities capabilities() const override {
        io::Capabilities capabilities;
        capabilities.description = "memory";
        return capabilities;
    }
    Result<std::size_t> exchange(std::span<const io::Operation> operations, std::size_t want, HostTime deadline,
                                 std::span<io::Completion> out) override {
        waiting_.insert(waiting_.end(), operations.begin(), operations.end());
        std::size_t count = 0;
        while (!waiting_.empty() && count < out.size()) {
            const io::Operation& operation = waiting_.front();
            out[count++] = {wait_clock_now(), operation.slot, static_cast<std::int32_t>(operation.length)};
            waiting_.pop_front();
        }
        if (count < want && waiting_.empty() && deadline != HostTime::max()) waiter_.wait_until(deadline);
        return count;
    }
    void cancel() override {}

  private:
    std::deque<io::Operation> waiting_;
    Waiter waiter_;
};

suites::Plan two_phases() {
    suites::Plan plan;
    plan.suite = "two";
    plan.resolved_json = "{}";
    suites::Step step;
    step.workload.limit.time = 200ms;
    step.workload.span = 1 << 20;
    for (const char* label : {"a", "b"}) {
        step.name = step.label = label;
        plan.steps.push_back(step);
    }
    suites::Step idle;
    idle.kind = suites::StepKind::idle;
    idle.name = idle.label = "idle";
    idle.duration = 200ms;
    plan.steps.push_back(idle);
    return plan;
}

RealRun on_memory() {
    RealRun run;
    run.engine.make_backend = [](std::uint32_t, std::span<std::byte>) -> Result<std::unique_ptr<io::Backend>> {
        return std::unique_ptr<io::Backend>(std::make_unique<InstantBackend>());
    };
    run.engine.target_size = 1 << 20;
    return run;
}

// What a simulated rig sends in `length`, as a recording to be replayed.
void record(const std::string& path, Nanoseconds length, power::Calibration& calibration) {
    TemporaryDirectory folder;
    auto simulation = sim::VirtualSimulation::create({});
    ASSERT_TRUE(simulation);
    calibration = (*simulation)->calibration();
    suites::Plan plan = two_phases();
    plan.steps.erase(plan.steps.begin(), plan.steps.begin() + 2);
    plan.steps[0].duration = length;
    VirtualRun run;
    run.drive = &(*simulation)->drive();
    run.rig_actor = &(*simulation)->rig_actor();
    run.link = &(*simulation)->link();
    run.calibration = &calibration;
    run.engine.target_size = (*simulation)->model().capacity;
    auto directory = recording::RunDirectory::create(folder.file("run"));
    ASSERT_TRUE(directory);
    const auto played = run_virtual(plan, run, *directory, nlohmann::json::object(), {});
    ASSERT_TRUE(played) << played.error().message;
    std::filesystem::copy_file(directory->file("power.wrt"), path);
}

TEST(RealRun, WithoutARig) {
    TemporaryDirectory folder;
    auto directory = recording::RunDirectory::create(folder.file("run"));
    const auto summary = run_real(two_phases(), on_memory(), *directory, nlohmann::json::object(), {});
    ASSERT_TRUE(summary) << summary.error().message;
    EXPECT_EQ(summary->phases, 3u);
    EXPECT_FALSE(std::filesystem::exists(directory->file("power.wrt")));
    const auto phases = directory->read_phases();
    ASSERT_TRUE(phases);
    EXPECT_GT((*phases)[0].outcome.total().operations, 0u);
    EXPECT_GE((*phases)[2].outcome.measured(), Nanoseconds(200ms));
    EXPECT_FALSE((*directory->read_json("run.json"))["rig"]["present"].get<bool>());
}

TEST(RealRun, CapturesARigBesideTheEngine) {
    TemporaryDirectory folder;
    power::Calibration calibration;
    ASSERT_NO_FATAL_FAILURE(record(folder.file("old.wrt"), 20s, calibration));
    auto link = rig::ReplayLink::open(folder.file("old.wrt"));
    ASSERT_TRUE(link) << link.error().message;
    RealRun run = on_memory();
    run.link = link->get();
    run.calibration = &calibration;
    double watts = -1;
    RunHooks hooks;
    hooks.progress = [&](const RunProgress& progress) { watts = std::max(watts, progress.watts); };
    auto directory = recording::RunDirectory::create(folder.file("run"));
    const auto summary = run_real(two_phases(), run, *directory, nlohmann::json::object(), hooks);
    ASSERT_TRUE(summary) << summary.error().message;
    EXPECT_FALSE(summary->rig_lost);
    EXPECT_THAT(summary->warnings, testing::IsEmpty());
    EXPECT_GT(watts, 0.1);

    struct Seen final : recording::RecordingVisitor {
        HostTime start{};
        std::int64_t realtime = 0;
        std::uint64_t blocks = 0;
        std::vector<std::string> markers;
        void on_start(const recording::RecordingStart& begun) override {
            start = begun.monotonic;
            realtime = begun.realtime_ns;
        }
        void on_block(const rig::BlockView&) override { ++blocks; }
        void on_marker(const recording::Marker& marker) override { markers.push_back(marker.text); }
    } seen;
    const auto report = recording::read_recording(directory->file("power.wrt"), seen);
    ASSERT_TRUE(report) << report.error().message;
    EXPECT_TRUE(report->clean_end);
    EXPECT_GT(seen.start, HostTime{});
    EXPECT_GT(seen.realtime, 1'700'000'000'000'000'000);
    EXPECT_GT(seen.blocks, 300u);
    EXPECT_THAT(seen.markers, testing::ElementsAre("begin a", "end a", "begin b", "end b", "begin idle", "end idle"));
}

TEST(RealRun, TheStopFlagEndsIt) {
    TemporaryDirectory folder;
    suites::Plan plan = two_phases();
    plan.steps[0].workload.limit.time = 600s;
    io::StopFlag stop{false};
    RunHooks hooks;
    hooks.stop = &stop;
    hooks.progress = [&](const RunProgress& progress) {
        if (progress.iops > 0) stop = true;
    };
    auto directory = recording::RunDirectory::create(folder.file("run"));
    const auto summary = run_real(plan, on_memory(), *directory, nlohmann::json::object(), hooks);
    ASSERT_TRUE(summary) << summary.error().message;
    EXPECT_TRUE(summary->interrupted);
    EXPECT_EQ(summary->phases, 1u);
    const auto phases = directory->read_phases();
    ASSERT_TRUE(phases);
    EXPECT_TRUE((*phases)[0].complete);
    EXPECT_EQ((*phases)[0].outcome.stop, io::StopReason::interrupted);
}

}  // namespace
}  // namespace wattrig::runner
