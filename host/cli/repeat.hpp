#pragma once
// Several runs of one suite: median and range of each figure, phase by phase.

#include <nlohmann/json_fwd.hpp>
#include <string>
#include <vector>

#include "host/analysis/result.hpp"

namespace wattrig::cli {

// Schema "wattrig.repeat/1". Phases are met by their labels; a figure that a run lacks is not counted ("runs" says how many).
nlohmann::json repeat_summary(const std::vector<analysis::RunResult>& results);
std::string repeat_text(const nlohmann::json& summary);

}  // namespace wattrig::cli
