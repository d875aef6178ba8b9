#pragma once
// A run's power, opened for an export: source, range, zero of time and length of the rows. Internal to host/exchange.

#include <optional>
#include <vector>

#include "host/exchange/export.hpp"
#include "host/exchange/trace.hpp"

namespace wattrig::exchange {

struct RunTrace {
    analysis::PowerSource source;
    std::vector<recording::PhaseRecord> phases;
    std::string suite, drive;
    bool drive_simulated = false;
    HostTime origin;  // begin of the first phase, or of the recording
    TraceExtent extent;
    std::optional<Nanoseconds> row_length;  // nothing: sample by sample
};
Result<RunTrace> open_run_trace(const recording::RunDirectory& directory, const TraceOptions& options);

}  // namespace wattrig::exchange
