#pragma once
// A phase's I/O beside its power. Internal to host/analysis: `analyze` reads the files, this computes.
//
// Thread rule: free functions, any thread.

#include <cstddef>
#include <optional>
#include <span>
#include <string>
#include <vector>

#include "host/analysis/cliff.hpp"
#include "host/analysis/result.hpp"
#include "host/power/energy.hpp"
#include "host/recording/run_directory.hpp"

namespace wattrig::analysis {

// Which intervals of power a run needs, phase by phase, and where each landed in the list for EnergyPass.
struct PowerPlan {
    struct Phase {
        std::optional<std::size_t> whole;
        std::vector<std::size_t> bursts, pauses;
        std::optional<CliffFigures> cliff;  // of a phase in order
        std::vector<std::size_t> regions;   // one for each of its regions
    };
    std::vector<io::Interval> intervals;
    std::vector<Phase> phases;
};
PowerPlan plan_power(std::span<const recording::PhaseRecord> phases);

// Speed against position, as planned; power comes with add_power.
void add_speed(PhaseResult& result, const PowerPlan::Phase& plan);

// I/O figures alone.
PhaseResult io_figures(const recording::PhaseRecord& phase);
// Adds power and what follows from both. `powers` as EnergyPass returned them for plan.intervals.
void add_power(PhaseResult& result, const PowerPlan::Phase& plan, std::span<const power::IntervalPower> powers);

// Mean power over several intervals together; nothing when one of them has none.
struct CombinedPower {
    double joules = 0, seconds = 0;
    power::PowerUncertainty u;
    [[nodiscard]] double watts() const { return joules / seconds; }
};
std::optional<CombinedPower> combine(std::span<const power::IntervalPower> powers, std::span<const std::size_t> which);

// What idle is in this run: the last idle phase before a phase (else the first after), or the quietest part of the cool-offs.
struct IdlePower {
    double watts;
    power::PowerUncertainty u;
    std::string source;
};
std::optional<IdlePower> idle_for(std::span<const PhaseResult> phases, std::size_t phase);
// Idle-subtracted energy per operation and the joules of the cool-offs.
void subtract_idle(std::span<PhaseResult> phases);

// `weights`: one for each of `which`, or none for all alike.
Score make_score(const std::string& name, std::span<const PhaseResult> phases, std::span<const std::size_t> which,
                 std::span<const double> weights = {});

}  // namespace wattrig::analysis
