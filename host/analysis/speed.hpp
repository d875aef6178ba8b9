#pragma once
// Speed against position of a phase that goes through its region in order: samples of equal length out of its window counters,
// for find_cliffs(). Internal to host/analysis.
//
// Thread rule: free functions, any thread.

#include <vector>

#include "host/analysis/cliff.hpp"
#include "host/recording/run_directory.hpp"

namespace wattrig::analysis {

// Whether the phase runs in order, at its own pace and for long enough (20 samples) to have a speed against position.
bool has_position(const recording::PhaseRecord& phase);
// From the begin of the phase. Windows are merged to the longest that it has, so that all samples are alike.
std::vector<SpeedSample> speed_samples(const io::PhaseOutcome& outcome);

}  // namespace wattrig::analysis
