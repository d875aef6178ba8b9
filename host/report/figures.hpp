#pragma once
// Figures as text, the same in every locale: as many digits as the uncertainty allows, "-" for what was not measured.
// Any thread.

#include <optional>
#include <string>

#include "host/analysis/result.hpp"

namespace wattrig::report {

// Plain decimal text of `value` rounded to `decimals` places; negative: to tens, hundreds ...
std::string with_decimals(double value, int decimals);
// Rounded to `digits` significant digits, plain decimal (no exponent).
std::string significant(double value, int digits);
std::string significant(std::optional<double> value, int digits);
// Decimal places that show `uncertainty` with two significant digits: 0.0123 -> 3.
int decimals_for(double uncertainty);

struct FigureText {
    std::string value = "-", u = "-", spread = "-";
};
// Value and U with the decimals of U; the spread with its own two digits (it is another thing), "<0.001" when below the last
// digit of U, "short" when too short to tell. Without U: four digits.
FigureText figure_text(const analysis::Figure& figure);

std::string duration_text(Nanoseconds duration);  // "0.250 s", "3 min 20 s", "23 h 05 min"

}  // namespace wattrig::report
