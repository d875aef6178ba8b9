#pragma once
// run.json, schema "wattrig.run/1": what the runner adds to what cli knows. host/analysis reads it again.

#include <nlohmann/json_fwd.hpp>

#include "firmware/protocol/protocol.hpp"
#include "host/runner/walk.hpp"

namespace wattrig::runner {

// Adds schema, suite, scores, notes, rig, calibration, fidelity, and empty or false values for what is known at the end.
void complete_run_json(nlohmann::json& run_json, const suites::Plan& plan, const WalkSetup& setup);
nlohmann::json info_json(const protocol::Info& info);

}  // namespace wattrig::runner
