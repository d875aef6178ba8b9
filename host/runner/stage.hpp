#pragma once
// What differs between a run in real time and one in virtual time. The walk over the plan (walk.hpp) is the same for both.

#include <functional>
#include <optional>
#include <string>
#include <vector>

#include "host/base/result.hpp"
#include "host/io/engine.hpp"
#include "host/runner/capture.hpp"
#include "host/runner/child.hpp"

namespace wattrig::runner {

// Thread rule: the main thread.
class Stage {
  public:
    virtual ~Stage() = default;
    [[nodiscard]] virtual HostTime now() const = 0;
    // One phase of I/O, from begin to end. Stops early by the run's stop flag.
    virtual Result<io::PhaseOutcome> run_io(const io::Workload& workload, const io::ProgressCallback& progress) = 0;
    // A program of the user's, from begin to end; `each` at least each 200 ms. Marks are recorded as they come.
    virtual Result<CommandOutcome> run_command(const std::vector<std::string>& command, const std::function<void()>& each) = 0;
    // Lets time pass. With `stoppable`, at most until the stop flag is set.
    virtual void pass_until(HostTime until, bool stoppable) = 0;
    [[nodiscard]] virtual Nanoseconds slice() const = 0;  // how long to pass at a time so that progress can be shown
    // Capture. Without a rig nothing of it is called.
    virtual CaptureStatus capture() = 0;
    virtual void mark(const std::string& text) = 0;  // in the recording, now
    virtual Result<void> end_capture() = 0;          // stream ended, recording finished
    [[nodiscard]] virtual std::uint64_t dropped_records() const = 0;
    [[nodiscard]] virtual std::optional<Error> recording_failure() const = 0;  // why the recording ended before its end
    virtual std::optional<double> drive_temperature() = 0;                     // degC
    virtual std::vector<std::string> closing_warnings() { return {}; }         // after the last phase
};

}  // namespace wattrig::runner
