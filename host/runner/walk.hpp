#pragma once
// The walk over a plan: each step once, in order, into the run directory.

#include <nlohmann/json_fwd.hpp>
#include <string>

#include "host/power/calibration.hpp"
#include "host/runner/runner.hpp"
#include "host/runner/stage.hpp"

namespace wattrig::runner {

struct WalkSetup {
    std::string fidelity;  // "exact", "aggregate", "real"
    bool rig = false;
    std::string rig_description;
    bool rig_simulated = false;
    rig::WireTime wire;  // taken off the clock map's bounds
    const power::Calibration* calibration = nullptr;
};

Result<RunSummary> walk(const suites::Plan& plan, Stage& stage, const WalkSetup& setup,
                        const recording::RunDirectory& directory, nlohmann::json run_json, const RunHooks& hooks);

}  // namespace wattrig::runner
