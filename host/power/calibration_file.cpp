#include "host/power/calibration_file.hpp"

#include <fmt/format.h>

#include <nlohmann/json.hpp>
#include <span>

#include "firmware/protocol/crc32c.hpp"
#include "host/power/calibration_fit.hpp"

namespace wattrig::power {
namespace {

using Json = nlohmann::json;
constexpr const char* seal_key = "crc32c";

std::string seal(const Json& json) {
    const std::string text = json.dump();
    const std::span bytes(reinterpret_cast<const std::uint8_t*>(text.data()), text.size());
    return fmt::format("{:08x}", protocol::crc32c(bytes));
}

}  // namespace

std::string calibration_file_text(const Calibration& calibration) {
    Json json = to_json(calibration);
    json[seal_key] = seal(json);
    return json.dump(2) + "\n";
}

Result<CalibrationFile> calibration_from_file_text(std::string_view text, const std::string& where) {
    Json json = Json::parse(text, nullptr, false);
    if (json.is_discarded()) return bad_input(where + ": expected JSON of a calibration, came something else");
    CalibrationFile file;
    std::string seal_found;
    if (json.is_object() && json.contains(seal_key)) {
        file.sealed = true;
        if (json[seal_key].is_string()) seal_found = json[seal_key].get<std::string>();
        json.erase(seal_key);
    }
    auto calibration = calibration_from_json(json, where);
    if (!calibration) return calibration.error();
    // The text itself, too: a bit that turned one blank into another, or a key into a second one of the same name, leaves the
    // values as they were, and the file is damaged all the same.
    if (file.sealed && (seal_found != seal(json) || calibration_file_text(*calibration) != text))
        return bad_input(
            fmt::format("{}: expected the text that its crc32c was made for (\"{}\"), came a changed one: take the "
                        "file from a copy, or calibrate again",
                        where, seal_found.substr(0, 8)));
    for (std::size_t r = 0; r < json["rails"].size(); ++r)
        if (auto ok = check_plausible(calibration->rails[r], calibration->front_end, fmt::format("{}: rails[{}]", where, r));
            !ok)
            return ok.error();
    file.calibration = std::move(*calibration);
    return file;
}

Result<void> check_serial(const Calibration& calibration, std::string_view serial, const std::string& where) {
    if (serial.empty() || calibration.serial == serial) return {};
    return bad_input(
        fmt::format("{}: expected the calibration of rig {}, which is connected, came one of rig {}: give that rig's "
                    "own file, or none",
                    where, serial, calibration.serial.empty() ? "without serial" : calibration.serial));
}

}  // namespace wattrig::power
