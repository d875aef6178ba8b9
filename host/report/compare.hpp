#pragma once
// Several runs of one method side by side: text, CSV, one HTML page. Any thread.

#include <string>
#include <vector>

#include "host/analysis/result.hpp"
#include "host/base/result.hpp"
#include "host/report/table.hpp"

namespace wattrig::report {

struct ComparedRun {
    std::string name;   // the drive, told apart by the run directory where two have the same name
    std::string label;  // what keeps it from being compared with the first run; empty when nothing does
    analysis::RunResult result;
};
struct Comparison {
    std::vector<ComparedRun> runs;
    std::vector<std::string> warnings;
};

// Refuses (bad_input) runs of different suites or versions, scaled beside unscaled, simulated beside measured, unless `mixed`:
// then each run that differs from the first says how. At least two runs.
Result<Comparison> make_comparison(std::vector<analysis::RunResult> results, bool mixed);

// Names of all scores, labels of all phases of I/O, in the order in which they are met.
std::vector<std::string> score_names(const Comparison& comparison);
std::vector<std::string> io_labels(const Comparison& comparison);

std::string comparison_text(const Comparison& comparison, const TextOptions& options = {});
std::string comparison_csv(const Comparison& comparison);  // one line for each run and phase
std::string comparison_html(const Comparison& comparison);

}  // namespace wattrig::report
