// Any text as a rig's calibration: figures that are finite and come back the same, or one sentence.

#include <cmath>
#include <cstdint>
#include <cstdlib>
#include <nlohmann/json.hpp>
#include <string>
#include <string_view>

#include "host/power/calibration.hpp"
#include "host/power/calibration_file.hpp"

extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t* data, std::size_t size) {
    using namespace wattrig;
    const std::string_view text(reinterpret_cast<const char*>(data), size);
    // As a file: a sealed one comes back to the letter.
    const auto file = power::calibration_from_file_text(text, "fuzz.json");
    if (file && file->sealed && power::calibration_file_text(file->calibration) != text) std::abort();
    if (!file && (file.error().message.empty() || file.error().message.find('\n') != std::string::npos)) std::abort();
    const auto json = nlohmann::json::parse(data, data + size, nullptr, false);
    if (json.is_discarded()) return 0;
    const auto calibration = power::calibration_from_json(json, "fuzz.json");
    if (!calibration) {
        const std::string message = calibration.error().message;
        if (message.empty() || message.find('\n') != std::string::npos) std::abort();
        return 0;
    }
    for (const power::RailCalibration& rail : calibration->rails)
        for (const double figure : {rail.v_gain, rail.i_gain, rail.v_offset, rail.i_offset, rail.shunt_ohm})
            if (!std::isfinite(figure)) std::abort();
    const auto written = power::to_json(*calibration);
    const auto again = power::calibration_from_json(written, "again.json");
    if (!again || power::to_json(*again) != written) std::abort();
    return 0;
}
