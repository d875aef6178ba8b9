#pragma once
// A recording made while one watches: a run directory of its own with one phase, which analyze, report and export read.
//
// Thread rule: one thread, not the capture's.

#include <memory>
#include <nlohmann/json_fwd.hpp>
#include <string>

#include "host/base/result.hpp"
#include "host/live/capture.hpp"
#include "host/recording/run_directory.hpp"

namespace wattrig::live {

class LiveRecording {
  public:
    // `directory`: new. `run_json`: JSON of an object, what describes rig, program and calibration; the rest is added here.
    static Result<std::unique_ptr<LiveRecording>> start(const std::string& directory, const std::string& run_json,
                                                        Capture& capture);
    ~LiveRecording();
    [[nodiscard]] const std::string& path() const { return directory_.path(); }
    [[nodiscard]] std::optional<Error> failure() const { return recorder_->failure(); }
    // Ends the file and the phase; what kept either from being whole. Once.
    Result<void> stop();

  private:
    LiveRecording(recording::RunDirectory directory, Capture& capture);

    recording::RunDirectory directory_;
    std::unique_ptr<nlohmann::json> run_json_;
    Capture& capture_;
    std::unique_ptr<runner::Recorder> recorder_;
    recording::PhaseRecord phase_;
    bool running_ = false;
};

}  // namespace wattrig::live
