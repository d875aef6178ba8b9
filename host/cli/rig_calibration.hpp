#pragma once
// Which calibration a rig's codes are read by: the file the user gave, else what the rig holds, else nominal parts. A
// calibration that cannot be used is never replaced without a word.
//
// Thread rule: one thread, before the rig streams.

#include <optional>
#include <string>
#include <vector>

#include "host/base/result.hpp"
#include "host/power/calibration.hpp"
#include "host/rig/link.hpp"

namespace wattrig::cli {

struct ChosenCalibration {
    power::Calibration calibration;
    std::vector<std::string> warnings;  // what a run made with it has to say
};

// The file's; or the reason why it cannot be used. A file without seal is taken with a warning.
Result<ChosenCalibration> read_calibration(const std::string& path);
// Nominal parts, with `why` among the warnings.
ChosenCalibration nominal_choice(const std::string& why);
// `given` (from the file `path`) when it is this rig's; refused when it is another's. Without one: what the rig holds, or
// nominal parts with the reason why that is not used.
Result<ChosenCalibration> match_calibration(rig::Link& link, std::optional<ChosenCalibration> given, const std::string& path);

}  // namespace wattrig::cli
