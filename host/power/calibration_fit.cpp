#include "host/power/calibration_fit.hpp"

#include <fmt/format.h>

#include <Eigen/Dense>
#include <algorithm>
#include <cmath>
#include <numbers>

#include "host/power/tolerances.hpp"

namespace wattrig::power {
namespace {

struct Solution {
    Eigen::VectorXd parameters;
    Eigen::MatrixXd covariance;
    Eigen::VectorXd residuals;  // standardised
    double chi_square = 0;
};

// Rows of `design` and `values` are divided by the points' uncertainty before; columns are scaled to length 1, so that codes
// near 10^6 beside a 1 cost no digits.
Solution solve(const Eigen::MatrixXd& design, const Eigen::VectorXd& values) {
    const Eigen::VectorXd scale = design.colwise().norm().transpose();
    const Eigen::MatrixXd scaled = design * scale.cwiseInverse().asDiagonal();
    const Eigen::HouseholderQR<Eigen::MatrixXd> qr(scaled);
    Solution found;
    const Eigen::VectorXd solution = qr.solve(values);
    found.parameters = solution.cwiseQuotient(scale);
    const Eigen::MatrixXd inverse = (scaled.transpose() * scaled).inverse();
    found.covariance = scale.cwiseInverse().asDiagonal() * inverse * scale.cwiseInverse().asDiagonal();
    const Eigen::VectorXd left = values - scaled * solution;
    found.chi_square = left.squaredNorm();
    // The leverage is the part of a point's error that the line follows.
    const Eigen::VectorXd leverage = (scaled * inverse).cwiseProduct(scaled).rowwise().sum();
    found.residuals = left.cwiseQuotient((1 - leverage.array()).max(1e-9).sqrt().matrix());
    return found;
}

Error wrong_point(const std::string& what, std::size_t point, const std::string& why) {
    return bad_input(fmt::format("{}, point {}: {}", what, point + 1, why));
}

Result<void> check_gain(double gain, double nominal, double tolerance, const std::string& name) {
    const double ratio = gain / nominal;
    if (std::isfinite(ratio) && std::fabs(ratio - 1) <= 3 * tolerance) return {};
    return bad_input(
        fmt::format("{}: expected within {:.1f} % of what the parts have by their nominal values ({:g}), came {:g}", name,
                    300 * tolerance, nominal, gain));
}

}  // namespace

Result<LineFit> fit_line(std::span<const LinePoint> points, double reference_temperature, const std::string& what) {
    if (points.size() < 3) return bad_input(fmt::format("{}: expected at least 3 points, came {}", what, points.size()));
    for (std::size_t k = 0; k < points.size(); ++k) {
        const LinePoint& p = points[k];
        if (!std::isfinite(p.x) || !std::isfinite(p.y) || !std::isfinite(p.temperature))
            return wrong_point(what, k, "expected finite numbers, came one that is not");
        if (!(p.u_x >= 0) || !(p.u_y >= 0) || !(p.u_x + p.u_y > 0) || !std::isfinite(p.u_x + p.u_y))
            return wrong_point(what, k, "expected an uncertainty above 0 of the code or the reference, came none");
    }
    const auto [low, high] = std::minmax_element(points.begin(), points.end(), [](auto& a, auto& b) { return a.x < b.x; });
    if (high->x - low->x < 1 || high->x - low->x < 10 * std::max(low->u_x, high->u_x))
        return bad_input(
            fmt::format("{}: expected points at different values, came codes from {:g} to {:g} only", what, low->x, high->x));
    const auto [cold, warm] =
        std::minmax_element(points.begin(), points.end(), [](auto& a, auto& b) { return a.temperature < b.temperature; });
    LineFit fit;
    fit.has_per_kelvin = points.size() >= 5 && warm->temperature - cold->temperature >= least_kelvin;
    const auto rows = static_cast<Eigen::Index>(points.size());
    const Eigen::Index columns = fit.has_per_kelvin ? 3 : 2;
    // The code's uncertainty counts through the gain: a first gain from the ends is good enough for a weight.
    const double rough_gain = (high->y - low->y) / (high->x - low->x);
    const double middle = (high->x + low->x) / 2, half = (high->x - low->x) / 2;
    Eigen::MatrixXd design(rows, columns + 1);  // the last column: a bend, 0 at both ends
    Eigen::VectorXd values(rows);
    for (Eigen::Index k = 0; k < rows; ++k) {
        const LinePoint& p = points[static_cast<std::size_t>(k)];
        const double weight = 1 / std::hypot(p.u_y, rough_gain * p.u_x);
        design(k, 0) = weight;
        design(k, 1) = weight * p.x;
        if (fit.has_per_kelvin) design(k, 2) = weight * p.x * (p.temperature - reference_temperature);
        const double place = (p.x - middle) / half;
        design(k, columns) = weight * (place * place - 1);
        values(k) = weight * p.y;
    }
    const Solution line = solve(design.leftCols(columns), values);
    if (!line.parameters.allFinite() || !line.covariance.allFinite())
        return bad_input(
            fmt::format("{}: expected points that tell offset, gain and temperature apart, came some that do not: "
                        "take points at several values at each temperature",
                        what));
    fit.residuals.assign(line.residuals.begin(), line.residuals.end());
    fit.chi_square = line.chi_square;
    fit.degrees_of_freedom = static_cast<std::size_t>(rows - columns);
    const auto worst = std::max_element(fit.residuals.begin(), fit.residuals.end(),
                                        [](double a, double b) { return std::fabs(a) < std::fabs(b); });
    if (rows > columns + 2 && (design.col(columns).array().abs() > 0.1 * design.col(0).array()).count() > 1) {
        const Solution bent = solve(design, values);
        const double u = std::sqrt(bent.covariance(columns, columns) *
                                   std::max(1.0, bent.chi_square / static_cast<double>(rows - columns - 1)));
        fit.bend = bent.parameters(columns) / u;
        if (std::fabs(fit.bend) > bend_limit)
            return bad_input(
                fmt::format("{}: expected a straight line, came one that bends by {:g} at the middle of its range, {:.1f} "
                            "times what its points leave open: look for clipping and for a range of the reference that changed",
                            what, -bent.parameters(columns), std::fabs(fit.bend)));
    }
    if (std::fabs(*worst) > outlier_limit)
        return wrong_point(what, static_cast<std::size_t>(worst - fit.residuals.begin()),
                           fmt::format("expected within {:g} times its uncertainty of the line through all points, came {:.1f} "
                                       "times: measure it again, or leave it out",
                                       outlier_limit, std::fabs(*worst)));
    const double enlarge = std::max(1.0, fit.chi_square / static_cast<double>(fit.degrees_of_freedom));
    fit.offset = line.parameters(0);
    fit.gain = line.parameters(1);
    fit.u_offset = std::sqrt(line.covariance(0, 0) * enlarge);
    fit.u_gain = std::sqrt(line.covariance(1, 1) * enlarge) / std::fabs(fit.gain);
    fit.covariance = line.covariance(0, 1) * enlarge;
    if (fit.has_per_kelvin) {
        fit.per_kelvin = line.parameters(2) / fit.gain;
        fit.u_per_kelvin = std::sqrt(line.covariance(2, 2) * enlarge) / std::fabs(fit.gain);
    }
    return fit;
}

Result<void> check_plausible(const RailCalibration& rail, const FrontEnd& parts, const std::string& where) {
    constexpr Tolerances limits;
    const double voltage = limits.adc_reference + limits.adc_gain + 2 * limits.divider_resistor * (1 - parts.divider_ratio);
    const double current = limits.adc_reference + limits.adc_gain + limits.shunt + limits.amplifier_gain;
    if (auto ok = check_gain(rail.v_gain, parts.volt_per_v_code(), voltage, where + ".v_gain"); !ok) return ok.error();
    if (auto ok = check_gain(rail.i_gain, parts.ampere_per_i_code(), current, where + ".i_gain"); !ok) return ok.error();
    if (auto ok = check_gain(rail.shunt_ohm, parts.shunt_ohm, limits.shunt, where + ".shunt_ohm"); !ok) return ok.error();
    if (rail.slow_gain == 0) return {};
    return check_gain(rail.slow_gain, parts.slow_lsb_volt / parts.shunt_ohm, current, where + ".slow_gain");
}

Result<RailFit> fit_rail(const RailReadings& readings, const FrontEnd& parts, const std::string& name) {
    if (!(readings.u_reference >= 0) || readings.u_reference > 0.2)
        return bad_input(fmt::format("{}: expected a relative uncertainty of the reference from 0 to 0.2, came {:g}", name,
                                     readings.u_reference));
    RailFit out;
    const double reference_temperature = readings.reference_temperature;
    auto voltage = fit_line(readings.voltage, reference_temperature, "voltage of " + name);
    if (!voltage) return voltage.error();
    auto current = fit_line(readings.current, reference_temperature, "current of " + name);
    if (!current) return current.error();
    out.voltage = std::move(*voltage);
    out.current = std::move(*current);
    const RailCalibration nominal = nominal_calibration(parts).rails[0];
    RailCalibration& rail = out.rail;
    rail.reference_temperature = reference_temperature;
    rail.u_reference = readings.u_reference;
    rail.v_gain = out.voltage.gain;
    rail.v_offset = out.voltage.offset;
    rail.v_gain_per_kelvin = out.voltage.per_kelvin;
    rail.i_gain = out.current.gain;
    rail.i_offset = out.current.offset;
    rail.i_gain_per_kelvin = out.current.per_kelvin;
    rail.u_v_gain = out.voltage.u_gain;
    rail.u_v_offset = out.voltage.u_offset;
    rail.shunt_ohm = parts.shunt_ohm;
    rail.u_i_gain = out.current.u_gain;
    // A coefficient that was not fitted is as unknown as before.
    const bool both = out.voltage.has_per_kelvin && out.current.has_per_kelvin;
    rail.u_gain_per_kelvin = both ? std::max(out.voltage.u_per_kelvin, out.current.u_per_kelvin) : nominal.u_gain_per_kelvin;
    // Thermal voltages differ between calibration and use; each is a rectangle.
    const double rectangular = 1 / std::numbers::sqrt3;
    const double thermal = std::numbers::sqrt2 * parts.thermal_emf_volt / parts.shunt_ohm * rectangular;
    const double fast_drift = parts.amplifier_offset_drift_volt_per_kelvin * validity_kelvin / parts.shunt_ohm * rectangular;
    const double slow_drift = parts.slow_offset_drift_volt_per_kelvin * validity_kelvin / parts.shunt_ohm * rectangular;
    rail.u_i_offset = std::hypot(out.current.u_offset, thermal, fast_drift);
    rail.u_slow_offset = nominal.u_slow_offset;
    if (!readings.slow.empty()) {
        auto slow = fit_line(readings.slow, reference_temperature, "INA228 of " + name);
        if (!slow) return slow.error();
        out.slow = std::move(*slow);
        rail.slow_gain = out.slow.gain;
        rail.slow_offset = out.slow.offset;
        rail.u_slow_offset = std::hypot(out.slow.u_offset, thermal, slow_drift);
        rail.shunt_ohm = parts.slow_lsb_volt / out.slow.gain;
        rail.u_i_gain = std::max(rail.u_i_gain, out.slow.u_gain);
    }
    if (auto ok = check_plausible(rail, parts, name); !ok) return ok.error();
    return out;
}

}  // namespace wattrig::power
