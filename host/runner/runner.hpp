#pragma once
// Carries out a plan into a run directory: engine, capture and clock. What is real and what simulated is handed in by cli.

#include <cstdint>
#include <functional>
#include <nlohmann/json_fwd.hpp>
#include <optional>
#include <string>
#include <vector>

#include "host/base/result.hpp"
#include "host/io/engine.hpp"
#include "host/power/calibration.hpp"
#include "host/recording/run_directory.hpp"
#include "host/rig/link.hpp"
#include "host/suites/plan.hpp"

namespace wattrig::runner {

struct RunProgress {
    std::string label;                // of the step
    std::size_t step = 0, steps = 0;  // 1-based
    double step_done = 0;             // 0 .. 1
    Nanoseconds left{-1};             // of the whole run; -1 = cannot be said
    double megabytes_per_second = 0, iops = 0;
    double watts = -1;  // -1 = not measured
    bool simulated_power = false;
};

struct RunHooks {
    std::function<void(const RunProgress&)> progress;  // main thread
    std::function<void(const std::string&)> notice;    // one line, worth showing at once
    io::StopFlag* stop = nullptr;                      // also set by the run itself when its recording ended too early
};

// Real target, real time. `link` may be null (no rig). `set_taps` tells a live simulation where the operations are.
struct RealRun {
    io::ThreadedOptions engine;  // backend factory, size, block, cpus; taps and stop are filled in here
    rig::Link* link = nullptr;
    const power::Calibration* calibration = nullptr;
    std::function<void(std::vector<io::OperationTap*>)> set_taps;
    std::function<std::optional<double>()> drive_temperature;    // degC, for cool-offs; may be empty
    std::function<std::vector<std::string>()> closing_warnings;  // asked once after the last phase; may be empty
};
// Simulated drive and rig in virtual time.
struct VirtualRun {
    io::VirtualBackend* drive = nullptr;
    io::VirtualActor* rig_actor = nullptr;  // null: no rig
    rig::Link* link = nullptr;
    const power::Calibration* calibration = nullptr;
    io::VirtualOptions engine;
};

// `run_json` is what cli knows (target, host, versions); the plan, rig and calibration are added. An interrupted run is ok():
// what is there is valid and marked. An error means the run could not go on; the directory still holds what was recorded.
struct RunSummary {
    bool interrupted = false;
    std::uint32_t phases = 0;
    std::uint64_t io_errors = 0;
    int command_status = 0;  // of the last command, as a shell has it
    bool rig_lost = false;   // the run went on without power from some point
    std::vector<std::string> warnings;
};
// What a plan asks for and this version cannot do, as one sentence; to be asked before anything is created.
Result<void> check_plan(const suites::Plan& plan);
Result<RunSummary> run_real(const suites::Plan& plan, const RealRun& run, const recording::RunDirectory& directory,
                            nlohmann::json run_json, const RunHooks& hooks);
Result<RunSummary> run_virtual(const suites::Plan& plan, const VirtualRun& run, const recording::RunDirectory& directory,
                               nlohmann::json run_json, const RunHooks& hooks);

}  // namespace wattrig::runner
