#pragma once
// How far parts may be from nominal before any calibration: limits from data sheets, of which the standard uncertainty is the
// limit / sqrt(3). The one source: power::nominal_calibration, the bounds of a plausible calibration and
// hardware/ERROR_BUDGET.md use these and repeat none. Sources: facts of each part in hardware/README.md.

namespace wattrig::power {

struct Tolerances {
    double shunt = 0.010;  // relative, as the other four
    double amplifier_gain = 0.002;
    double adc_gain = 0.001;
    double adc_reference = 0.001;
    double divider_resistor = 0.001;         // each of the two
    double amplifier_offset_volt = 28.3e-6;  // 25 uV, and 3.3 uV of common mode over 3.3 V
    double amplifier_bias_ampere = 90e-6;    // drawn behind the shunt
    double adc_offset_volt = 175e-6;         // standard, not a limit: the data sheet gives it as typical
    double slow_offset_volt = 1e-6;          // INA228
};

}  // namespace wattrig::power
