#pragma once
// A result as one HTML file: charts, table, settings. It fetches nothing, needs no other file, and says all but the charts
// without a script. Any thread.

#include <string>

#include "host/analysis/result.hpp"
#include "host/report/run_detail.hpp"

namespace wattrig::report {

// Without `detail` it has no power over time, no speed against position and no distributions.
std::string html_report(const analysis::RunResult& result, const RunDetail* detail = nullptr);

}  // namespace wattrig::report
