#include <algorithm>
#include <cassert>
#include <chrono>
#include <nlohmann/json.hpp>

#include "host/runner/runner.hpp"
#include "host/runner/walk.hpp"

namespace wattrig::runner {
namespace {

using namespace std::chrono_literals;

// The capture as something that lives in virtual time.
class CaptureActor final : public io::VirtualActor {
  public:
    explicit CaptureActor(Capture& capture) : capture_(capture) {}
    HostTime next_event() const override { return capture_.next_event(); }
    void run(HostTime now) override { capture_.poll(now); }

  private:
    Capture& capture_;
};

class VirtualStage final : public Stage {
  public:
    VirtualStage(const VirtualRun& run, const recording::RunDirectory& directory, const io::StopFlag* stop)
        : run_(run), stop_(stop) {
        if (!run_.link) return;
        recorder_ = make_direct_recorder(directory.file("power.wrt"));
        capture_ = std::make_unique<Capture>(*run_.link, *run_.calibration, *recorder_, recording::RecordingStart{});
        actor_ = std::make_unique<CaptureActor>(*capture_);
        loop_.add(*run_.rig_actor);
        loop_.add(*actor_);
        capture_->start(loop_.now());
    }

    HostTime now() const override { return loop_.now(); }
    Result<io::PhaseOutcome> run_io(const io::Workload& workload, const io::ProgressCallback& progress) override {
        io::VirtualOptions options = run_.engine;
        options.stop = stop_;
        options.progress = progress;
        return io::run_virtual(workload, *run_.drive, loop_, options);
    }
    Result<CommandOutcome> run_command(const std::vector<std::string>&, const std::function<void()>&) override {
        return bad_input("a command runs in real time: expected a real rig, or the simulated one beside real I/O");
    }
    void pass_until(HostTime until, bool stoppable) override {
        if (stoppable && stop_ && stop_->load(std::memory_order_relaxed)) return;
        loop_.advance_to(until, run_.drive);
    }
    Nanoseconds slice() const override { return 1s; }
    CaptureStatus capture() override { return capture_->status(); }
    void mark(const std::string& text) override { capture_->marker(loop_.now(), text); }
    Result<void> end_capture() override {
        const HostTime patience = loop_.now() + 1s;
        capture_->stop(loop_.now());
        while (!capture_->stopped() && loop_.now() < patience) loop_.advance_to(loop_.now() + 10ms, run_.drive);
        return recorder_->finish();
    }
    std::optional<Error> recording_failure() const override { return recorder_ ? recorder_->failure() : std::nullopt; }
    std::uint64_t dropped_records() const override { return 0; }
    std::optional<double> drive_temperature() override { return std::nullopt; }

  private:
    const VirtualRun& run_;
    const io::StopFlag* stop_;
    io::VirtualLoop loop_;
    std::unique_ptr<Recorder> recorder_;
    std::unique_ptr<Capture> capture_;
    std::unique_ptr<CaptureActor> actor_;
};

}  // namespace

Result<RunSummary> run_virtual(const suites::Plan& plan, const VirtualRun& run, const recording::RunDirectory& directory,
                               nlohmann::json run_json, const RunHooks& hooks) {
    assert(run.drive && (!run.link || (run.rig_actor && run.calibration)));
    if (auto possible = check_plan(plan); !possible) return possible.error();
    WalkSetup setup;
    setup.fidelity = run.engine.aggregate ? "aggregate" : "exact";
    setup.rig = run.link != nullptr;
    setup.rig_description = run.link ? run.link->description() : "none";
    setup.rig_simulated = run.link && run.link->simulated();
    setup.calibration = run.calibration;
    VirtualStage stage(run, directory, hooks.stop);
    return walk(plan, stage, setup, directory, std::move(run_json), hooks);
}

}  // namespace wattrig::runner
