#include "host/report/figures.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <cmath>

namespace wattrig::report {
namespace {

// Position of the leading digit: 1 for 12.3, -2 for 0.0123.
int magnitude(double value) { return static_cast<int>(std::floor(std::log10(std::abs(value)))); }

}  // namespace

std::string with_decimals(double value, int decimals) {
    if (!std::isfinite(value)) return "-";
    if (decimals < 0) {
        const double step = std::pow(10.0, -decimals);
        value = std::round(value / step) * step;
        decimals = 0;
    }
    std::string text = fmt::format("{:.{}f}", value, std::min(decimals, 9));
    // "-0.00" says nothing that "0.00" does not.
    if (text.find_first_not_of("-0.") == std::string::npos && text.front() == '-') text.erase(0, 1);
    return text;
}

std::string significant(double value, int digits) {
    if (!std::isfinite(value)) return "-";
    if (value == 0) return "0";
    int decimals = digits - 1 - magnitude(value);
    // 9.996 to three digits is 10.0, not 10.00.
    const double step = std::pow(10.0, -decimals);
    const double rounded = std::round(value / step) * step;
    if (rounded != 0 && magnitude(rounded) > magnitude(value)) --decimals;
    return with_decimals(value, decimals);
}

std::string significant(std::optional<double> value, int digits) { return value ? significant(*value, digits) : "-"; }

int decimals_for(double uncertainty) {
    if (!(uncertainty > 0) || !std::isfinite(uncertainty)) return 4;
    return std::min(1 - magnitude(uncertainty), 9);
}

FigureText figure_text(const analysis::Figure& figure) {
    FigureText text;
    if (!figure.value) return text;
    if (figure.u && *figure.u > 0) {
        const int decimals = decimals_for(*figure.u);
        text.value = with_decimals(*figure.value, decimals);
        text.u = with_decimals(*figure.u, decimals);
    } else {
        text.value = significant(*figure.value, 4);
        if (figure.u) text.u = "0";
    }
    if (figure.spread) {
        text.spread = significant(*figure.spread, 2);
        // Digits far below what the instrument knows are noise to a reader.
        const double least = figure.u && *figure.u > 0 ? std::pow(10.0, -decimals_for(*figure.u)) : 0;
        if (*figure.spread < least) text.spread = "<" + significant(least, 1);
    } else if (!figure.spread_note.empty())
        text.spread = "short";
    return text;
}

std::string duration_text(Nanoseconds duration) {
    const double s = to_seconds(duration);
    if (s < 0) return "-";
    if (s < 10) return fmt::format("{:.3f} s", s);
    if (s < 100) return fmt::format("{:.1f} s", s);
    const auto whole = static_cast<long long>(std::llround(s));
    if (whole < 3600) return fmt::format("{} min {:02} s", whole / 60, whole % 60);
    return fmt::format("{} h {:02} min", whole / 3600, whole % 3600 / 60);
}

}  // namespace wattrig::report
