#pragma once
// Another instrument's recording as a run directory, so that analyze, report, compare and export work on it.
//
// The table's values are laid on the recording's own grid of 30.72 us and go through the firmware's core like a rig's samples.
// Each row stands for the time halfway to its neighbours; values within a cell are averaged and values across cells repeated,
// and power is kept rather than current: the energy of the file is the energy of the recording. Holes in its times stay holes.
//
// Thread rule: free functions, any thread.

#include <optional>
#include <string>
#include <vector>

#include "host/base/result.hpp"
#include "host/exchange/import_table.hpp"
#include "host/recording/run_directory.hpp"

namespace wattrig::exchange {

struct ImportPhase {
    std::string label;
    double from = 0, to = 0;  // seconds since the first row
};
struct ImportOptions {
    std::string format = "csv";
    std::optional<ImportMapping> mapping;
    std::optional<double> fixed_volts;  // where the file has no voltage
    std::optional<double> accuracy;     // relative, k = 2; nothing: unknown, and no uncertainty is given
    std::string drive;                  // as it shall be called
    std::vector<ImportPhase> phases;    // empty: one, the whole recording
};
struct ImportSummary {
    std::uint64_t rows = 0, empty_rows = 0, repeated_rows = 0, gaps = 0;
    double seconds = 0, period_seconds = 0, joules = 0, mean_watts = 0;
    std::vector<std::string> warnings;
};
// "label,from,to" a line, seconds; a header line is left out.
Result<std::vector<ImportPhase>> read_phases(const std::string& path);
// Two passes over the file; memory constant in its length.
Result<ImportSummary> import_recording(const std::string& path, const ImportOptions& options,
                                       const recording::RunDirectory& directory, const std::string& version);

}  // namespace wattrig::exchange
