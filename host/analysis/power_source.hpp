#pragma once
// What is needed to turn the recording of a run into watts on the host's clock: calibration, clock maps, and what the recording
// says about itself. One pass over power.wrt; a second one with power::EnergyPass then gives figures or a trace.
//
// Thread rule: free functions, any thread.

#include <cstdint>
#include <nlohmann/json_fwd.hpp>
#include <optional>
#include <string>
#include <vector>

#include "host/base/result.hpp"
#include "host/power/calibration.hpp"
#include "host/recording/run_directory.hpp"
#include "host/rig/clock_map.hpp"

namespace wattrig::analysis {

struct PowerSource {
    std::string path;  // of power.wrt
    power::Calibration calibration;
    std::vector<rig::ClockMap> clocks;  // one for each boot that can be placed
    std::uint64_t exchanges = 0;
    std::int64_t realtime_offset_ns = 0;  // UTC since 1970 minus host time; 0 in virtual time
    bool simulated = false;
    bool whole = true;  // the recording has its end and no damage
    std::vector<std::string> warnings;
};
// The two-sided map takes longer than anything else in a long run: half a second for an hour, 11 s for a day. A picture may do
// with the live map there, whose bound is some 10 us wider.
enum class ClockChoice : std::uint8_t { best, quick };
// Nothing when the run has no recording. bad_input when the recording or the calibration in `run` (run.json) cannot be used.
Result<std::optional<PowerSource>> open_power_source(const recording::RunDirectory& directory, const nlohmann::json& run,
                                                     ClockChoice clock = ClockChoice::best);

}  // namespace wattrig::analysis
