#pragma once
// A result as text for a terminal or a log. Any thread.

#include <cstddef>
#include <string>

#include "host/analysis/result.hpp"

namespace wattrig::report {

struct TextOptions {
    bool utf8 = true;           // else plain ASCII
    std::size_t columns = 120;  // of the page; columns of the table that do not fit are left out, and that is said
};

// Everything worth reading at the end of a run: banner when simulated, table, scores, clock, warnings. Ends with a newline and
// holds no terminal escapes.
std::string text_report(const analysis::RunResult& result, const TextOptions& options = {});

// "power: SIMULATED    drive: SIMULATED"; empty when both are real.
std::string simulated_words(const analysis::RunResult& result);
// "guaranteed to 12.3 us, drift +4.20 ppm, 1234 exchanges, two-sided map"; "-" without a rig.
std::string clock_words(const analysis::ClockFigures& clock, const std::string& micro);

}  // namespace wattrig::report
