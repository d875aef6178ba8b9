#pragma once
// A calibration as a file: its JSON, sealed by a CRC32C over all of it. A file without the seal is one that somebody wrote or
// changed by hand; it is told apart, not refused.
//
// Thread rule: free functions, any thread.

#include <string>
#include <string_view>

#include "host/base/result.hpp"
#include "host/power/calibration.hpp"

namespace wattrig::power {

// The sealed text, always the same for the same calibration.
std::string calibration_file_text(const Calibration& calibration);

struct CalibrationFile {
    Calibration calibration;
    bool sealed = false;
};

// Refuses what calibration_from_json refuses, a sealed text that differs in any bit from what was written, and gains that parts
// within three times their tolerances cannot have. `where` names the file in messages.
Result<CalibrationFile> calibration_from_file_text(std::string_view text, const std::string& where);

// Refuses a calibration of another rig. `serial` is what the connected rig says; empty (a recording played again, a rig whose
// serial could not be read) is not compared.
Result<void> check_serial(const Calibration& calibration, std::string_view serial, const std::string& where);

}  // namespace wattrig::power
