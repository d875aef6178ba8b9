#pragma once
// A result as one HTML file: charts, table, settings. It fetches nothing, needs no other file, and says all but the charts
// without a script. Any thread.

#include <string>

#include "host/analysis/result.hpp"

namespace wattrig::report {

std::string html_report(const analysis::RunResult& result);

}  // namespace wattrig::report
