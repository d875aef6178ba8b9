#pragma once
// The result of a run: phases joined with power, scores, and how sure. Derived from a run directory alone, so it can be made
// again. JSON form: schema "wattrig.result/1", host/analysis/result.schema.json.

#include <cstdint>
#include <nlohmann/json_fwd.hpp>
#include <optional>
#include <string>
#include <vector>

#include "host/base/result.hpp"
#include "host/base/units.hpp"
#include "host/power/energy.hpp"
#include "host/recording/run_directory.hpp"

namespace wattrig::analysis {

// A figure with the two kinds of doubt, never merged. Empty optionals are "not measured", JSON null, never 0.
struct Figure {
    std::optional<double> value;
    std::optional<double> u;       // expanded, k = 2: how well the instrument knows it
    std::optional<double> spread;  // half-width of a 95 % interval over batches: how much the drive varies
    std::string spread_note;       // "too short to tell" below 10 batches
};

struct LatencyFigures {  // microseconds
    std::optional<double> mean, p50, p90, p99, p99_9, p99_99, maximum, minimum;
    std::uint64_t overflow = 0;
};

// Speed against position of a phase in order: one region for each level the drive kept to.
struct SpeedFigures {
    struct Region {
        double begin_bytes = 0, end_bytes = 0;  // host bytes since the begin of the phase
        double seconds = 0;
        double megabytes_per_second = 0;  // typical: outside dips
        std::optional<double> low, high;  // its 95 % interval
        double mean_megabytes_per_second = 0;
        Figure watts;
    };
    struct Change {  // the end of a region, with its 95 % interval
        double bytes = 0, low_bytes = 0, high_bytes = 0;
        double ratio = 0;  // speed after / before
    };
    std::string verdict;
    std::vector<Region> regions;
    std::vector<Change> changes;  // regions - 1
};

struct PhaseResult {
    recording::PhaseRecord phase;  // label, parameters, times, counts
    std::optional<double> iops, read_iops, write_iops;
    std::optional<double> megabytes_per_second;  // MB = 10^6 bytes
    LatencyFigures latency, read_latency, write_latency;
    power::IntervalPower power;  // of the whole measured time; of an idle or cool-off phase: of all of it
    // Mean power. In a phase with bursts: of the bursts, as are IOPS, MB/s and efficiency; `idle_watts` is between them.
    Figure watts;
    power::PowerUncertainty budget;  // of `watts`, by cause, standard
    Figure idle_watts;
    Figure megabytes_per_second_per_watt, iops_per_watt, microjoules_per_operation;
    Figure idle_subtracted_microjoules_per_operation;  // when the run tells what idle is
    std::optional<double> cool_off_joules;             // above idle, in the cool-off that follows; null without an idle power
    std::optional<SpeedFigures> speed;                 // of a phase in order
    std::optional<double> little_error;                // mean depth / (IOPS x latency) - 1
    std::vector<std::string> warnings;
};

// A score over the low queue depths, the three ways to average side by side (METHODS section 1).
struct Score {
    std::string name;  // "random read, QD 1-2-4"
    std::vector<std::uint32_t> phases;
    std::vector<double> weights;  // one for each phase, in all of the means below; empty = all alike
    std::optional<double> megabytes_per_second, watts;
    Figure mean_of_ratios, ratio_of_means, total_bytes_per_joule;  // MB/s/W
};

struct ClockFigures {
    std::string map;  // "two-sided" or "live"
    std::optional<double> bound_us, drift_ppm;
    std::uint64_t exchanges = 0;
};

struct RunResult {
    std::string suite, run_directory, target, drive, rig;
    bool power_measured = false;  // a rig was there
    bool power_simulated = false, drive_simulated = false;
    std::string fidelity;         // "exact", "aggregate", "real"
    std::optional<double> scale;  // "scaled, not comparable" when not 1
    bool complete = true, interrupted = false;
    ClockFigures clock;
    // samples: in the sums; lost_samples: in no sum; lost_blocks: detail missing, energy exact.
    std::uint64_t samples = 0, lost_samples = 0, lost_blocks = 0;
    Figure idle_watts;        // what "idle-subtracted" and "cool-off" subtract
    std::string idle_source;  // "idle phase 3" or "quietest part of the cool-offs"; empty when there is none
    std::vector<PhaseResult> phases;
    std::vector<Score> scores;
    std::vector<std::string> warnings;
    std::string run_json;  // run.json as text: the settings, for the report
};

// From the files of the directory; a recording that is cut off or missing gives a result marked so.
Result<RunResult> analyze(const recording::RunDirectory& directory);

nlohmann::json to_json(const RunResult& result);
Result<RunResult> result_from_json(const nlohmann::json& json, const std::string& where);

}  // namespace wattrig::analysis
