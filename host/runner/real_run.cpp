#include <algorithm>
#include <atomic>
#include <cassert>
#include <chrono>
#include <nlohmann/json.hpp>
#include <optional>
#include <thread>

#include "host/runner/runner.hpp"
#include "host/runner/urgency.hpp"
#include "host/runner/wait.hpp"
#include "host/runner/walk.hpp"

namespace wattrig::runner {
namespace {

using namespace std::chrono_literals;

// Runs a capture on a thread of its own, from construction to end(). Link and session are touched by that thread alone.
class CaptureThread {
  public:
    explicit CaptureThread(Capture& capture) : capture_(capture), thread_([this] { run(); }) {}
    ~CaptureThread() { end(); }

    void end() {
        if (!thread_.joinable()) return;
        ending_.store(true, std::memory_order_release);
        wake();
        thread_.join();
    }
    // Whether the host puts it before ordinary threads.
    [[nodiscard]] bool urgent() const { return urgent_.load(std::memory_order_relaxed); }
    // A marker goes through the capture's thread: the recorder has one producer.
    void mark(const std::string& text, HostTime when) {
        Marker marker;
        marker.when = when;
        marker.size = std::min(text.size(), marker.text.size());
        std::copy_n(text.begin(), marker.size, marker.text.begin());
        markers_.push(marker);
        wake();
    }

  private:
    struct Marker {
        HostTime when;
        std::size_t size = 0;
        std::array<char, 300> text{};
    };
    // Links that cannot wait by themselves are looked at so often: the stamp of a reply is only as good as this.
    static constexpr Nanoseconds longest_wait = 1ms;
    static constexpr Nanoseconds end_patience = 1s;

    void wake() {
        waiter_.wake();
        capture_.wake();
    }
    void run() {
        urgent_.store(make_thread_urgent(), std::memory_order_relaxed);
        capture_.start(wait_clock_now());
        HostTime give_up = HostTime::max();
        Marker marker;
        for (;;) {
            const HostTime now = wait_clock_now();
            capture_.poll(now);
            while (markers_.pop(marker)) capture_.marker(marker.when, std::string(marker.text.data(), marker.size));
            if (give_up == HostTime::max() && ending_.load(std::memory_order_acquire)) {
                give_up = now + end_patience;
                capture_.stop(now);
            }
            if (give_up != HostTime::max() && (capture_.stopped() || now >= give_up)) return;
            const HostTime next = std::min(capture_.next_event(), give_up);
            if (!capture_.wait_until(next)) waiter_.wait_until(std::min(next, now + longest_wait));
        }
    }

    Capture& capture_;
    SpscRing<Marker> markers_{64};
    Waiter waiter_;
    std::atomic<bool> ending_{false};
    std::atomic<bool> urgent_{false};
    std::thread thread_;
};

class RealStage final : public Stage {
  public:
    RealStage(const RealRun& run, const recording::RunDirectory& directory, const io::StopFlag* stop) : run_(run), stop_(stop) {
        if (!run_.link) return;
        const ClockPair pair = wait_clock_pair();
        recording::RecordingStart start;
        start.monotonic = pair.monotonic;
        start.realtime_ns = pair.realtime_ns;
        recorder_ = make_threaded_recorder(directory.file("power.wrt"));
        memory_lock_.emplace();
        locked_ = memory_lock_->held();
        capture_ = std::make_unique<Capture>(*run_.link, *run_.calibration, *recorder_, start);
        thread_ = std::make_unique<CaptureThread>(*capture_);
    }
    ~RealStage() override {
        if (run_.set_taps) run_.set_taps({});
    }

    HostTime now() const override { return wait_clock_now(); }
    Result<io::PhaseOutcome> run_io(const io::Workload& workload, const io::ProgressCallback& progress) override {
        io::ThreadedOptions options = run_.engine;
        options.stop = stop_;
        options.progress = progress;
        options.taps.clear();
        if (run_.set_taps) {
            // New ones for each phase: the simulation may still be reading the last phase's, 50 ms behind.
            std::vector<std::unique_ptr<io::OperationTap>> taps;
            for (std::uint32_t worker = 0; worker < workload.workers; ++worker) {
                taps.push_back(std::make_unique<io::OperationTap>(tap_records));
                taps.back()->watermark.store(wait_clock_now().time_since_epoch().count());
                options.taps.push_back(taps.back().get());
            }
            run_.set_taps(options.taps);
            taps_.swap(taps);  // the last phase's die here, after the simulation has let go of them
        }
        auto outcome = io::run_threaded(workload, options);
        if (run_.set_taps) run_.set_taps({});
        return outcome;
    }
    Result<CommandOutcome> run_command(const std::vector<std::string>& command, const std::function<void()>& each) override {
        return run_child(command, stop_, each, [this](const Mark& mark) {
            if (thread_) thread_->mark(mark.text, mark.when);
        });
    }
    void pass_until(HostTime until, bool stoppable) override { waiter_.wait_until(until, stoppable ? stop_ : nullptr); }
    Nanoseconds slice() const override { return 200ms; }
    CaptureStatus capture() override { return capture_->status(); }
    void mark(const std::string& text) override { thread_->mark(text, wait_clock_now()); }
    Result<void> end_capture() override {
        thread_->end();
        memory_lock_.reset();  // the analysis reads the recording, which need not stay
        return recorder_->finish();
    }
    std::optional<Error> recording_failure() const override { return recorder_ ? recorder_->failure() : std::nullopt; }
    std::uint64_t dropped_records() const override { return recorder_ ? recorder_->dropped() : 0; }
    std::optional<double> drive_temperature() override {
        return run_.drive_temperature ? run_.drive_temperature() : std::nullopt;
    }

    std::vector<std::string> closing_warnings() override {
        std::vector<std::string> lines = run_.closing_warnings ? run_.closing_warnings() : std::vector<std::string>{};
        if (!capture_) return lines;
        // On an idle machine neither makes a difference: it is told where it matters.
        const bool lost = capture_->status().session.lost_samples > 0;
        if ((lost || !run_.link->simulated()) && !(thread_->urgent() && locked_))
            lines.emplace_back(std::string(lost ? "samples were lost, and the" : "the") +
                               " capture may not run before other programs or keep its memory (needs CAP_SYS_NICE and "
                               "CAP_IPC_LOCK, or rtprio and memlock in limits.conf): a busy host can lose samples, which are "
                               "counted");
        return lines;
    }

  private:
    static constexpr std::size_t tap_records = 1u << 17;  // 100 ms of a million operations a second

    const RealRun& run_;
    const io::StopFlag* stop_;
    Waiter waiter_;
    std::vector<std::unique_ptr<io::OperationTap>> taps_;
    std::unique_ptr<Recorder> recorder_;
    std::unique_ptr<Capture> capture_;
    std::optional<MemoryLock> memory_lock_;
    bool locked_ = false;
    std::unique_ptr<CaptureThread> thread_;
};

}  // namespace

Result<RunSummary> run_real(const suites::Plan& plan, const RealRun& run, const recording::RunDirectory& directory,
                            nlohmann::json run_json, const RunHooks& hooks) {
    assert(!run.link || run.calibration);
    if (auto possible = check_plan(plan); !possible) return possible.error();
    WalkSetup setup;
    setup.fidelity = "real";
    setup.rig = run.link != nullptr;
    setup.rig_description = run.link ? run.link->description() : "none";
    setup.rig_simulated = run.link && run.link->simulated();
    if (run.link) setup.wire = run.link->sync_wire_time();
    setup.calibration = run.calibration;
    RealStage stage(run, directory, hooks.stop);
    return walk(plan, stage, setup, directory, std::move(run_json), hooks);
}

}  // namespace wattrig::runner
