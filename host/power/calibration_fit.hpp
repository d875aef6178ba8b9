#pragma once
// From readings of the rig beside a reference instrument to a calibration: weighted least squares, with what the readings say
// about themselves (residuals, outliers, bend) checked before anything is believed.
//
// Thread rule: free functions, any thread.

#include <cstddef>
#include <span>
#include <string>
#include <vector>

#include "host/base/result.hpp"
#include "host/power/calibration.hpp"

namespace wattrig::power {

// One reading: the mean code `x` at `temperature` (degC) while the reference showed `y` (volt or ampere).
struct LinePoint {
    double x = 0, y = 0;
    double u_x = 0;  // standard uncertainty of the mean code: from its own scatter
    double u_y = 0;  // of the reference at this point, without what is common to all its points
    double temperature = 25;
};

// y = offset + gain (1 + per_kelvin (temperature - reference_temperature)) x. All uncertainties standard; enlarged by
// sqrt(chi_square / degrees_of_freedom) where the points scatter more than they say, never made smaller where less.
struct LineFit {
    double offset = 0, gain = 0;
    double per_kelvin = 0;                              // relative; 0 unless has_per_kelvin
    double u_offset = 0, u_gain = 0, u_per_kelvin = 0;  // u_gain and u_per_kelvin relative
    double covariance = 0;                              // of offset and gain (absolute)
    double chi_square = 0;
    std::size_t degrees_of_freedom = 0;
    bool has_per_kelvin = false;    // the points spread over at least `least_kelvin`
    double bend = 0;                // t value of a quadratic term; 0 with fewer than 5 points
    std::vector<double> residuals;  // of each point, standardised: in its own uncertainties, leverage counted
};

inline constexpr double least_kelvin = 5;     // spread of temperatures from which a coefficient is fitted
inline constexpr double outlier_limit = 4;    // standardised residual from which a point is refused
inline constexpr double bend_limit = 5;       // t value from which the readings are not a straight line
inline constexpr double validity_kelvin = 5;  // drifts of offsets are stated for use within this of the calibration

// Refuses fewer than 3 points, points that are not finite or claim no uncertainty, codes that do not differ, an outlier (named
// by its number from 1) and a line that bends. `what` names the line in messages ("voltage of rail 1").
Result<LineFit> fit_line(std::span<const LinePoint> points, double reference_temperature, const std::string& what);

// The readings of one rail. The temperature of voltage points is the board's, of the two others the shunt's. `slow` may be
// empty (a rail without an INA228, or one that did not answer).
struct RailReadings {
    std::vector<LinePoint> voltage, current, slow;
    double u_reference = 0;  // relative standard uncertainty common to all readings of the reference
    double reference_temperature = 25;
};

struct RailFit {
    RailCalibration rail;
    LineFit voltage, current, slow;
};

// The rail's calibration: the fits, and on top what no calibration sees, by `parts`: thermal voltages at the shunt then and in
// use, and the offsets' drift within `validity_kelvin`. Refuses what fit_line refuses and a gain beyond what parts within their
// tolerances can have.
Result<RailFit> fit_rail(const RailReadings& readings, const FrontEnd& parts, const std::string& name);

// Whether gains lie within three times the tolerances of the parts in `calibration.front_end`; names the first that does not.
Result<void> check_plausible(const RailCalibration& rail, const FrontEnd& parts, const std::string& where);

}  // namespace wattrig::power
