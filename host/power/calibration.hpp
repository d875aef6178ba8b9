#pragma once
// What turns codes into volts, amperes and watts, and how well each figure of it is known. All uncertainties are standard (k =
// 1).

#include <array>
#include <cstdint>
#include <nlohmann/json_fwd.hpp>
#include <string>

#include "host/base/result.hpp"
#include "host/base/units.hpp"

namespace wattrig::power {

// Figures of the parts, from data sheets: the one source that the simulated front end, the uncertainty calculation and the
// error budget use. Sources: facts of each part in hardware/README.md.
struct FrontEnd {
    double shunt_ohm = 0.010;
    double amplifier_gain = 20;                      // INA240A1
    double adc_full_scale_volt = 1.2;                // ADS131M04, gain 1
    double divider_ratio = 2.00 / 6.02;              // 4.02k / 2.00k: 3.3 V -> 1.096 V
    double v_noise_volt = 21.31e-6 / (2.00 / 6.02);  // rms per sample, referred to the rail (OSR 128)
    double i_noise_ampere = 0.393e-3;                // rms per sample
    double slow_lsb_volt = 78.125e-9;                // INA228, +-40.96 mV
    double slow_noise_volt = 0.2e-6;                 // rms per 4.12 ms conversion
    double peak_lsb_volt = 7.5 / 4096;               // at the amplifier: MCU ADC, reference 3.0 V, behind a divider of 2/5
    double peak_zero_volt = 1.25;                    // the amplifier's REF
    double peak_noise_lsb = 1.5;                     // rms per reading
    // Drift after the zero and two-point calibration.
    double slow_offset_drift_volt_per_kelvin = 10e-9;
    double amplifier_offset_drift_volt_per_kelvin = 250e-9;
    double shunt_temperature_coefficient = 35e-6;  // per kelvin, maximum
    double shunt_thermal_resistance = 60;          // kelvin per watt
    double gain_temperature_coefficient = 8.5e-6;  // per kelvin, ADC with its reference: common to V and I
    double thermal_emf_volt = 0.1e-6;              // at the shunt's taps, rectangular half-width

    [[nodiscard]] double volt_per_v_code() const { return adc_full_scale_volt / 8388608.0 / divider_ratio; }
    [[nodiscard]] double ampere_per_i_code() const { return adc_full_scale_volt / 8388608.0 / amplifier_gain / shunt_ohm; }
};

// One calibrated rail. volt = v_offset + v_gain * code (host side of the shunt); ampere = i_offset + i_gain * code.
// Power is meant at the drive's side of the shunt: (volt - ampere * shunt) * ampere.
struct RailCalibration {
    double v_gain = 0, v_offset = 0;
    double i_gain = 0, i_offset = 0;
    double shunt_ohm = 0;
    double slow_gain = 0, slow_offset = 0;                // ampere per INA228 code, ampere
    double v_gain_per_kelvin = 0, i_gain_per_kelvin = 0;  // relative, against reference_temperature
    double reference_temperature = 25;                    // degC
    // Standard uncertainties. Relative for gains.
    double u_reference = 0;  // relative, common to V and I: adds linearly in power
    double u_v_gain = 0, u_i_gain = 0;
    double u_v_offset = 0, u_i_offset = 0;  // volt, ampere: fast path alone
    double u_slow_offset = 0;               // ampere: with the INA228 as the DC truth
    double u_gain_per_kelvin = 0;           // relative per kelvin, V and I each
};

struct Calibration {
    std::string serial;     // of the rig
    std::string date;       // ISO 8601
    std::string reference;  // what it was calibrated against
    bool simulated = false;
    bool uncertainty_known = true;  // false: of an instrument that states none; then every U is "not known"
    FrontEnd front_end;
    std::array<RailCalibration, 2> rails;
};

nlohmann::json to_json(const Calibration& calibration);
// Refuses what is not finite, out of range or of the wrong type, naming the key. `where` names the file in messages.
Result<Calibration> calibration_from_json(const nlohmann::json& json, const std::string& where);
// What a rig of nominal parts would have, uncalibrated: large honest uncertainties.
Calibration nominal_calibration(const FrontEnd& front_end);

}  // namespace wattrig::power
