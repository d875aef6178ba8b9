#include "host/live/live_recording.hpp"

#include <nlohmann/json.hpp>

namespace wattrig::live {
namespace {

constexpr Nanoseconds on_the_way{150'000'000};

}  // namespace

Result<std::unique_ptr<LiveRecording>> LiveRecording::start(const std::string& path, const std::string& description,
                                                            Capture& capture) {
    auto directory = recording::RunDirectory::create(path);
    if (!directory) return directory.error();
    std::unique_ptr<LiveRecording> made(new LiveRecording(std::move(*directory), capture));
    nlohmann::json& run_json = *made->run_json_;
    run_json = nlohmann::json::parse(description, nullptr, false);
    if (!run_json.is_object()) run_json = nlohmann::json::object();
    run_json["schema"] = "wattrig.run/1";
    run_json["suite"] = {{"name", "live"}, {"title", "recorded while watching"}, {"version", "1"}, {"scale", 1}};
    run_json["fidelity"] = "real";
    run_json["complete"] = false;
    run_json["interrupted"] = false;
    if (auto written = made->directory_.write_json("run.json", run_json); !written) return written.error();
    made->recorder_ = runner::make_threaded_recorder(made->directory_.file("power.wrt"));
    if (!capture.start_recording(*made->recorder_)) {
        (void)made->recorder_->finish();
        return link_broke("nothing is recorded: the rig has not answered yet");
    }
    made->running_ = true;
    made->phase_.step = made->phase_.label = "recording";
    made->phase_.scored = false;
    made->phase_.outcome.begin = made->phase_.outcome.measured_begin = runner::wait_clock_now();
    if (auto written = made->directory_.append_phase_begin(made->phase_); !written) return written.error();
    return made;
}

LiveRecording::LiveRecording(recording::RunDirectory directory, Capture& capture)
    : directory_(std::move(directory)), run_json_(std::make_unique<nlohmann::json>()), capture_(capture) {}

LiveRecording::~LiveRecording() {
    if (running_) (void)stop();
}

Result<void> LiveRecording::stop() {
    if (!running_) return {};
    running_ = false;
    phase_.outcome.measured_end = phase_.outcome.end = runner::wait_clock_now();
    // The last samples of the phase are still on their way.
    runner::Waiter waiter;
    waiter.wait_until(phase_.outcome.end + on_the_way);
    capture_.stop_recording();
    auto finished = recorder_->finish();
    phase_.complete = true;
    auto ended = directory_.append_phase_end(phase_);
    (*run_json_)["complete"] = finished.has_value();
    if (recorder_->dropped() > 0)
        (*run_json_)["warnings"].push_back("the disk was too slow: " + std::to_string(recorder_->dropped()) +
                                           " records were not written");
    auto written = directory_.write_json("run.json", *run_json_);
    if (!finished) return finished;
    if (!ended) return ended;
    return written;
}

}  // namespace wattrig::live
