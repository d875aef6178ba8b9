#pragma once
// The reports of a run directory.

#include "host/analysis/result.hpp"
#include "host/base/result.hpp"
#include "host/recording/run_directory.hpp"

namespace wattrig::report {

// Writes report.html, phases.csv and scores.csv; older ones are replaced. Any thread, one at a time for a directory.
Result<void> write_reports(const recording::RunDirectory& directory, const analysis::RunResult& result);

}  // namespace wattrig::report
