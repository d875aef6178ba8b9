#include <fmt/format.h>

#include <algorithm>
#include <nlohmann/json.hpp>

#include "host/analysis/join.hpp"
#include "host/analysis/power_source.hpp"
#include "host/analysis/result.hpp"
#include "host/power/energy.hpp"
#include "host/recording/recording.hpp"

namespace wattrig::analysis {
namespace {

using Json = nlohmann::json;

// run.json comes from another version of this program or from an editor, so nothing in it is taken for granted.
std::string text_of(const Json& json, const char* key) {
    return json.is_object() && json.contains(key) && json[key].is_string() ? json[key].get<std::string>() : std::string();
}
bool flag_of(const Json& json, const char* key, bool otherwise) {
    return json.is_object() && json.contains(key) && json[key].is_boolean() ? json[key].get<bool>() : otherwise;
}
const Json& part_of(const Json& json, const char* key) {
    static const Json nothing = Json::object();
    return json.is_object() && json.contains(key) ? json[key] : nothing;
}

// Second pass: energy, and the books of what was lost.
class PowerVisitor final : public recording::RecordingVisitor {
  public:
    explicit PowerVisitor(power::EnergyPass& pass) : pass_(pass) {}
    std::uint64_t samples = 0, lost_samples = 0, lost_blocks = 0;

    void on_block(const rig::BlockView& block) override {
        const protocol::BlockHeader& header = block.header;
        const std::uint64_t count = block.rails[0].sums.count;
        const bool same = any_ && header.boot_id == boot_ && count >= count_ && header.first_index >= end_index_;
        if (same) {
            const std::uint64_t indices = header.first_index + header.span - end_index_;
            const std::uint64_t summed = count - count_;
            samples += summed;
            lost_samples += indices > summed ? indices - summed : 0;
            // Samples that are in the sums but came with no block of their own.
            const std::uint64_t without = summed > header.count ? summed - header.count : 0;
            lost_blocks += (without + protocol::samples_per_block - 1) / protocol::samples_per_block;
        } else {
            samples += header.count;
            lost_samples += header.span - std::min(header.span, header.count);
        }
        any_ = true;
        boot_ = header.boot_id;
        count_ = count;
        end_index_ = header.first_index + header.span;
        pass_.add(block);
    }

  private:
    power::EnergyPass& pass_;
    bool any_ = false;
    std::uint32_t boot_ = 0;
    std::uint64_t count_ = 0, end_index_ = 0;
};

void read_run_json(const Json& run, RunResult& result) {
    const Json& suite = part_of(run, "suite");
    result.suite = text_of(suite, "name");
    if (const Json& scale = part_of(suite, "scale"); scale.is_number()) result.scale = scale.get<double>();
    result.target = text_of(part_of(run, "target"), "description");
    result.drive = text_of(part_of(run, "drive"), "name");
    result.drive_simulated = flag_of(part_of(run, "drive"), "simulated", false);
    const Json& rig = part_of(run, "rig");
    result.rig = text_of(rig, "description");
    result.power_measured = flag_of(rig, "present", false);
    result.power_simulated = flag_of(rig, "simulated", false);
    result.fidelity = text_of(run, "fidelity");
    result.interrupted = flag_of(run, "interrupted", false);
    result.complete = flag_of(run, "complete", true);
    for (const Json& warning : part_of(run, "warnings"))
        if (warning.is_string()) result.warnings.push_back(warning.get<std::string>());
    result.run_json = run.dump(2, ' ', false, Json::error_handler_t::replace);
}

// Largest bound at any edge of a phase, and the drift in the middle of the run, over the boot that knows it best.
void set_clock_figures(RunResult& result, const std::vector<rig::ClockMap>& maps, const std::vector<io::Interval>& intervals) {
    for (const io::Interval& interval : intervals) {
        for (const HostTime edge : {interval.begin, interval.end}) {
            std::optional<double> best;
            for (const rig::ClockMap& map : maps) {
                const double bound = to_seconds(map.half_width(edge)) * 1e6;
                best = std::min(best.value_or(bound), bound);
            }
            if (best) result.clock.bound_us = std::max(result.clock.bound_us.value_or(0), *best);
        }
    }
    if (!maps.empty() && !intervals.empty()) {
        const HostTime begin = intervals.front().begin, end = intervals.back().end;
        result.clock.drift_ppm = maps.front().rate_ppm(begin + (end - begin) / 2);
    }
}

// Power of all phases, or a warning why there is none. Leaves `powers` empty then.
void measure(const recording::RunDirectory& directory, const Json& run, const PowerPlan& plan, RunResult& result,
             std::vector<power::IntervalPower>& powers) {
    const auto refuse = [&](const std::string& why) {
        result.complete = false;
        result.warnings.push_back(why);
    };
    const auto source = open_power_source(directory, run);
    if (!source) return refuse(source.error().message + ": no power figures");
    if (!*source) {
        if (result.power_measured) refuse("power.wrt is missing although a rig was there: no power figures");
        return;
    }
    const PowerSource& power = **source;
    result.power_measured = true;
    for (const std::string& warning : power.warnings) result.warnings.push_back(warning);
    result.complete = result.complete && power.whole;
    for (const rig::ClockMap& map : power.clocks)
        result.clock.map = result.clock.map.empty() ? map.name() : result.clock.map + "; " + map.name();
    result.clock.exchanges = power.exchanges;
    set_clock_figures(result, power.clocks, plan.intervals);

    power::EnergyPass pass(power.calibration, power.clocks, plan.intervals);
    PowerVisitor blocks(pass);
    if (const auto second = recording::read_recording(power.path, blocks); !second) return refuse(second.error().message);
    result.samples = blocks.samples;
    result.lost_samples = blocks.lost_samples;
    result.lost_blocks = blocks.lost_blocks;
    powers = pass.finish();
    result.power_simulated = result.power_simulated || power.simulated;
    for (const power::IntervalPower& part : powers) result.power_simulated = result.power_simulated || part.simulated;
    for (power::IntervalPower& part : powers) part.simulated = result.power_simulated;
}

void make_scores(const Json& run, RunResult& result) {
    const Json& scores = part_of(run, "scores");
    if (!scores.is_array()) return;
    for (const Json& request : scores) {
        const std::string name = text_of(request, "name");
        const Json& labels = part_of(request, "steps");
        const Json& given = part_of(request, "weights");
        std::vector<std::size_t> which;
        std::vector<double> weights;
        bool all = labels.is_array();
        const bool weighted = given.is_array() && !given.empty();
        if (weighted && given.size() != labels.size()) {
            all = false;
            result.warnings.push_back(
                fmt::format("score \"{}\": {} weights for {} phases: no value", name, given.size(), labels.size()));
        }
        for (std::size_t l = 0; all && l < labels.size(); ++l) {
            const std::string label = labels[l].is_string() ? labels[l].get<std::string>() : std::string();
            bool found = false;
            for (std::size_t k = 0; k < result.phases.size(); ++k) {
                const recording::PhaseRecord& phase = result.phases[k].phase;
                if (phase.label != label || !phase.scored) continue;
                which.push_back(k);
                if (weighted) weights.push_back(given[l].is_number() ? given[l].get<double>() : 0);
                found = true;
            }
            if (!found) result.warnings.push_back(fmt::format("score \"{}\": no scored phase \"{}\" in this run", name, label));
            all = all && found;
        }
        // A mean over fewer depths than the method names would carry its name wrongly.
        if (!all) {
            which.clear();
            weights.clear();
        }
        result.scores.push_back(make_score(name, result.phases, which, weights));
    }
}

}  // namespace

Result<RunResult> analyze(const recording::RunDirectory& directory) {
    RunResult result;
    result.run_directory = directory.path();
    Json run;
    if (auto json = directory.read_json("run.json"); json) {
        run = std::move(*json);
        read_run_json(run, result);
    } else {
        result.complete = false;
        result.warnings.push_back(json.error().message);
    }
    const auto phases = directory.read_phases();
    if (!phases) return phases.error();

    const PowerPlan plan = plan_power(*phases);
    std::vector<power::IntervalPower> powers;
    measure(directory, run, plan, result, powers);
    for (std::size_t k = 0; k < phases->size(); ++k) {
        const recording::PhaseRecord& phase = (*phases)[k];
        PhaseResult& figures = result.phases.emplace_back(io_figures(phase));
        if (!phase.complete) result.complete = false;
        add_speed(figures, plan.phases[k]);
        if (!powers.empty()) add_power(figures, plan.phases[k], powers);
    }
    subtract_idle(result.phases);
    if (const auto idle = idle_for(result.phases, result.phases.size())) {
        result.idle_watts.value = idle->watts;
        result.idle_watts.u = idle->u.expanded();
        result.idle_source = idle->source;
    }
    make_scores(run, result);
    if (result.interrupted) result.warnings.emplace_back("interrupted: the phases after the stop are missing");
    return result;
}

}  // namespace wattrig::analysis
