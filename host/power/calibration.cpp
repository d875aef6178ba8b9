#include "host/power/calibration.hpp"

#include <fmt/format.h>

#include <cmath>
#include <nlohmann/json.hpp>
#include <numbers>
#include <string_view>

#include "host/power/tolerances.hpp"

namespace wattrig::power {
namespace {

using Json = nlohmann::json;

template <class Owner>
struct Key {
    const char* name;
    double Owner::* member;
    double lowest, highest;
    bool required;
};

// Ranges are what a working rig can have at all, wide enough for other shunts and dividers: they catch files that are broken or
// in other units, not parts out of tolerance (the self-test does that).
constexpr Key<FrontEnd> front_end_keys[] = {
    {"shunt_ohm", &FrontEnd::shunt_ohm, 1e-4, 1, false},
    {"amplifier_gain", &FrontEnd::amplifier_gain, 1, 1000, false},
    {"adc_full_scale_volt", &FrontEnd::adc_full_scale_volt, 0.1, 10, false},
    {"divider_ratio", &FrontEnd::divider_ratio, 0.01, 1, false},
    {"v_noise_volt", &FrontEnd::v_noise_volt, 0, 0.1, false},
    {"i_noise_ampere", &FrontEnd::i_noise_ampere, 0, 1, false},
    {"slow_lsb_volt", &FrontEnd::slow_lsb_volt, 1e-10, 1e-5, false},
    {"slow_noise_volt", &FrontEnd::slow_noise_volt, 0, 1e-3, false},
    {"peak_lsb_volt", &FrontEnd::peak_lsb_volt, 1e-5, 1e-2, false},
    {"peak_zero_volt", &FrontEnd::peak_zero_volt, 0, 5, false},
    {"peak_noise_lsb", &FrontEnd::peak_noise_lsb, 0, 100, false},
    {"slow_offset_drift_volt_per_kelvin", &FrontEnd::slow_offset_drift_volt_per_kelvin, 0, 1e-4, false},
    {"amplifier_offset_drift_volt_per_kelvin", &FrontEnd::amplifier_offset_drift_volt_per_kelvin, 0, 1e-4, false},
    {"shunt_temperature_coefficient", &FrontEnd::shunt_temperature_coefficient, 0, 0.01, false},
    {"shunt_thermal_resistance", &FrontEnd::shunt_thermal_resistance, 0, 1000, false},
    {"gain_temperature_coefficient", &FrontEnd::gain_temperature_coefficient, 0, 0.01, false},
    {"thermal_emf_volt", &FrontEnd::thermal_emf_volt, 0, 1e-3, false},
};

constexpr Key<RailCalibration> rail_keys[] = {
    {"v_gain", &RailCalibration::v_gain, 1e-9, 1e-3, true},
    {"v_offset", &RailCalibration::v_offset, -1, 1, true},
    {"i_gain", &RailCalibration::i_gain, -1e-3, 1e-3, true},
    {"i_offset", &RailCalibration::i_offset, -1, 1, true},
    {"shunt_ohm", &RailCalibration::shunt_ohm, 1e-4, 1, true},
    {"slow_gain", &RailCalibration::slow_gain, -1e-3, 1e-3, false},
    {"slow_offset", &RailCalibration::slow_offset, -1, 1, false},
    {"v_gain_per_kelvin", &RailCalibration::v_gain_per_kelvin, -0.01, 0.01, false},
    {"i_gain_per_kelvin", &RailCalibration::i_gain_per_kelvin, -0.01, 0.01, false},
    {"reference_temperature", &RailCalibration::reference_temperature, -40, 125, true},
    {"u_reference", &RailCalibration::u_reference, 0, 0.2, true},
    {"u_v_gain", &RailCalibration::u_v_gain, 0, 0.2, true},
    {"u_i_gain", &RailCalibration::u_i_gain, 0, 0.2, true},
    {"u_v_offset", &RailCalibration::u_v_offset, 0, 1, true},
    {"u_i_offset", &RailCalibration::u_i_offset, 0, 1, true},
    {"u_slow_offset", &RailCalibration::u_slow_offset, 0, 1, true},
    {"u_gain_per_kelvin", &RailCalibration::u_gain_per_kelvin, 0, 0.01, true},
};

constexpr std::string_view schema = "wattrig.calibration/1";

template <class Owner, std::size_t N>
Json write(const Owner& owner, const Key<Owner> (&keys)[N]) {
    Json json = Json::object();
    for (const auto& key : keys) json[key.name] = owner.*key.member;
    return json;
}

std::string shown(const Json& json, const std::string& key) {
    if (!json.contains(key)) return "nothing";
    std::string text = json[key].dump(-1, ' ', false, Json::error_handler_t::replace);
    if (json[key].is_number_float() && !std::isfinite(json[key].get<double>())) return "a number that is not finite";
    if (text.size() > 60) text = text.substr(0, 57) + "...";
    return text;
}

template <class Owner, std::size_t N>
Result<void> read(const Json& json, const Key<Owner> (&keys)[N], Owner& owner, const std::string& where,
                  const std::string& at) {
    if (!json.is_object()) return bad_input(fmt::format("{}: {}: expected an object, came {}", where, at, json.type_name()));
    for (const auto& [name, value] : json.items()) {
        bool known = false;
        for (const auto& key : keys) known = known || name == key.name;
        if (!known)
            return bad_input(fmt::format("{}: {}.{}: expected no such key, came {}", where, at, name, shown(json, name)));
    }
    for (const auto& key : keys) {
        if (!key.required && !json.contains(key.name)) continue;
        const bool number = json.contains(key.name) && json[key.name].is_number();
        const double value = number ? json[key.name].template get<double>() : 0;
        if (!number || !std::isfinite(value) || value < key.lowest || value > key.highest)
            return bad_input(fmt::format("{}: {}.{}: expected a number from {:g} to {:g}, came {}", where, at, key.name,
                                         key.lowest, key.highest, shown(json, key.name)));
        owner.*key.member = value;
    }
    return {};
}

Result<void> read_text(const Json& json, const char* key, std::string& text, const std::string& where) {
    if (!json.contains(key) || !json[key].is_string() || json[key].get_ref<const std::string&>().size() > 200)
        return bad_input(
            fmt::format("{}: {}: expected a text of at most 200 characters, came {}", where, key, shown(json, key)));
    text = json[key].get<std::string>();
    return {};
}

}  // namespace

Json to_json(const Calibration& calibration) {
    Json rails = Json::array();
    for (const RailCalibration& rail : calibration.rails)
        if (rail.v_gain != 0) rails.push_back(write(rail, rail_keys));
    Json json = {{"schema", schema},
                 {"serial", calibration.serial},
                 {"date", calibration.date},
                 {"reference", calibration.reference},
                 {"simulated", calibration.simulated},
                 {"front_end", write(calibration.front_end, front_end_keys)},
                 {"rails", rails}};
    if (!calibration.uncertainty_known) json["uncertainty_known"] = false;
    return json;
}

Result<Calibration> calibration_from_json(const Json& json, const std::string& where) {
    if (!json.is_object())
        return bad_input(fmt::format("{}: expected an object with schema {}, came {}", where, schema, json.type_name()));
    for (const auto& [name, value] : json.items()) {
        constexpr std::string_view known[] = {"schema",    "serial", "date", "reference", "simulated", "uncertainty_known",
                                              "front_end", "rails"};
        if (std::find(std::begin(known), std::end(known), name) == std::end(known))
            return bad_input(fmt::format("{}: {}: expected no such key, came {}", where, name, shown(json, name)));
    }
    if (!json.contains("schema") || json["schema"] != schema)
        return bad_input(fmt::format("{}: schema: expected \"{}\", came {}", where, schema, shown(json, "schema")));
    Calibration calibration;
    if (auto read = read_text(json, "serial", calibration.serial, where); !read) return read.error();
    if (auto read = read_text(json, "date", calibration.date, where); !read) return read.error();
    if (auto read = read_text(json, "reference", calibration.reference, where); !read) return read.error();
    if (!json.contains("simulated") || !json["simulated"].is_boolean())
        return bad_input(fmt::format("{}: simulated: expected true or false, came {}", where, shown(json, "simulated")));
    calibration.simulated = json["simulated"].get<bool>();
    if (json.contains("uncertainty_known")) {
        if (!json["uncertainty_known"].is_boolean())
            return bad_input(
                fmt::format("{}: uncertainty_known: expected true or false, came {}", where, shown(json, "uncertainty_known")));
        calibration.uncertainty_known = json["uncertainty_known"].get<bool>();
    }
    if (json.contains("front_end"))
        if (auto done = read(json["front_end"], front_end_keys, calibration.front_end, where, "front_end"); !done)
            return done.error();
    if (!json.contains("rails") || !json["rails"].is_array() || json["rails"].empty() ||
        json["rails"].size() > calibration.rails.size())
        return bad_input(fmt::format("{}: rails: expected a list of 1 or 2 objects, came {}", where, shown(json, "rails")));
    for (std::size_t rail = 0; rail < json["rails"].size(); ++rail) {
        const std::string at = fmt::format("rails[{}]", rail);
        if (auto done = read(json["rails"][rail], rail_keys, calibration.rails[rail], where, at); !done) return done.error();
        if (calibration.rails[rail].i_gain == 0)
            return bad_input(fmt::format("{}: {}.i_gain: expected a number other than 0, came 0", where, at));
    }
    return calibration;
}

Calibration nominal_calibration(const FrontEnd& front_end) {
    Calibration calibration;
    calibration.date = "1970-01-01";
    calibration.reference = "none: nominal values of the parts";
    calibration.front_end = front_end;
    RailCalibration rail;
    rail.v_gain = front_end.volt_per_v_code();
    rail.i_gain = front_end.ampere_per_i_code();
    rail.shunt_ohm = front_end.shunt_ohm;
    rail.slow_gain = front_end.slow_lsb_volt / front_end.shunt_ohm;
    // Tolerances are limits of a rectangular distribution; divided by sqrt(3). Of the divider's resistors the share 1 - ratio
    // acts.
    constexpr Tolerances limits;
    const double rectangular = 1 / std::numbers::sqrt3;
    rail.u_reference = limits.adc_reference * rectangular;
    rail.u_v_gain = std::hypot(limits.adc_gain, std::numbers::sqrt2 * limits.divider_resistor * (1 - front_end.divider_ratio)) *
                    rectangular;
    rail.u_i_gain = std::hypot(limits.adc_gain, limits.shunt, limits.amplifier_gain) * rectangular;
    rail.u_v_offset = limits.adc_offset_volt / front_end.divider_ratio;
    const double adc_offset = limits.adc_offset_volt / front_end.amplifier_gain / front_end.shunt_ohm;
    rail.u_i_offset = std::hypot(
        std::hypot(limits.amplifier_offset_volt / front_end.shunt_ohm, limits.amplifier_bias_ampere) * rectangular, adc_offset);
    // The thermal voltage sits at the shunt's taps.
    rail.u_slow_offset = std::hypot(limits.slow_offset_volt, front_end.thermal_emf_volt) / front_end.shunt_ohm * rectangular;
    rail.u_gain_per_kelvin =
        std::hypot(front_end.gain_temperature_coefficient, front_end.shunt_temperature_coefficient) * rectangular;
    calibration.rails = {rail, rail};
    return calibration;
}

}  // namespace wattrig::power
