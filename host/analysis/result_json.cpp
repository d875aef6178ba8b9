#include <cmath>
#include <nlohmann/json.hpp>

#include "host/analysis/result.hpp"
#include "host/analysis/result_names.hpp"

namespace wattrig::analysis {
namespace {

using Json = nlohmann::json;

// What is not measured is null; a number that is not finite would be a bug of ours, and JSON could not hold it either.
Json number(std::optional<double> value) { return value && std::isfinite(*value) ? Json(*value) : Json(nullptr); }
template <int V, int A, int S>
Json number(const std::optional<Quantity<V, A, S>>& value) {
    return value ? number(value->value()) : Json(nullptr);
}
Json nanoseconds(HostTime t) { return t.time_since_epoch().count(); }

Json figure(const Figure& f) {
    return {{"value", number(f.value)}, {"u", number(f.u)}, {"spread", number(f.spread)}, {"spread_note", f.spread_note}};
}

Json latency(const LatencyFigures& f) {
    Json json = {{"overflow", f.overflow}};
    for (const auto& [name, member] : latency_names) json[name] = number(f.*member);
    return json;
}

Json budget(const power::PowerUncertainty& u) {
    Json json = {{"standard", number(u.standard())}};
    for (const auto& [name, member] : budget_names) json[name] = number(u.*member);
    return json;
}

// What the OCP NVMe SSD specification asks of the two figures: 15 min; PCM-1 from samples at most 2 ms apart, PCM-2 from
// readings 4 us apart; all of the time seen.
Json ocp_part(const power::IntervalPower& p) {
    constexpr double sample_us = 30.72, peak_us = 4, whole = 0.9999, shortest_seconds = 15 * 60;
    const bool long_enough = to_seconds(p.interval.end - p.interval.begin) >= shortest_seconds;
    const auto compliant = [&](bool there, double coverage) { return there && long_enough && coverage >= whole; };
    return {{"long_enough", long_enough},
            {"pcm1_sample_period_us", sample_us},
            {"pcm1_compliant", compliant(p.pcm1.has_value(), p.pcm1_coverage)},
            {"pcm2_sample_period_us", peak_us},
            {"pcm2_compliant", compliant(p.pcm2.has_value(), p.pcm2_coverage)}};
}

Json speed_part(const SpeedFigures& s) {
    Json regions = Json::array(), changes = Json::array();
    for (const SpeedFigures::Region& r : s.regions)
        regions.push_back({{"begin_bytes", number(r.begin_bytes)},
                           {"end_bytes", number(r.end_bytes)},
                           {"seconds", number(r.seconds)},
                           {"megabytes_per_second", number(r.megabytes_per_second)},
                           {"low", number(r.low)},
                           {"high", number(r.high)},
                           {"mean_megabytes_per_second", number(r.mean_megabytes_per_second)},
                           {"watts", figure(r.watts)}});
    for (const SpeedFigures::Change& c : s.changes)
        changes.push_back({{"bytes", number(c.bytes)},
                           {"low_bytes", number(c.low_bytes)},
                           {"high_bytes", number(c.high_bytes)},
                           {"ratio", number(c.ratio)}});
    return {{"verdict", s.verdict}, {"regions", regions}, {"changes", changes}};
}

Json power_part(const power::IntervalPower& p) {
    Json batches = Json::array();
    for (const double watts : p.batch_means) batches.push_back(number(watts));
    return {{"begin_ns", nanoseconds(p.interval.begin)},
            {"end_ns", nanoseconds(p.interval.end)},
            {"samples", p.samples},
            {"coverage", number(p.coverage)},
            {"energy_joules", number(p.energy)},
            {"energy_at_least_joules", number(p.energy_at_least)},
            {"mean_watts", number(p.mean)},
            {"budget_watts", p.mean ? budget(p.u) : Json(nullptr)},
            {"minimum_watts", number(p.minimum)},
            {"maximum_watts", number(p.maximum)},
            {"mean_volts", number(p.mean_voltage)},
            {"minimum_volts", number(p.minimum_voltage)},
            {"mean_amperes", number(p.mean_current)},
            {"pcm1_watts", number(p.pcm1)},
            {"pcm1_coverage", number(p.pcm1_coverage)},
            {"pcm2_watts", number(p.pcm2)},
            {"pcm2_coverage", number(p.pcm2_coverage)},
            {"ocp", ocp_part(p)},
            {"batch_watts", batches},
            {"batch_length_ns", p.batch_length.count()},
            {"flags", p.flags},
            {"simulated", p.simulated}};
}

Json io_part(const io::PhaseOutcome& o) {
    Json kinds = Json::object();
    for (std::size_t k = 0; k < io::operation_kinds; ++k) {
        const io::KindOutcome& kind = o.kinds[k];
        if (kind.operations == 0 && kind.errors == 0) continue;
        kinds[kind_names[k]] = {{"operations", kind.operations}, {"bytes", kind.bytes}, {"errors", kind.errors}};
    }
    Json errors = Json::array();
    for (const io::ErrorCount& e : o.errors)
        errors.push_back({{"kind", kind_names[static_cast<std::size_t>(e.kind)]},
                          {"errno", e.os_error},
                          {"count", e.count},
                          {"first_offset", e.first_offset}});
    return {{"measured_begin_ns", nanoseconds(o.measured_begin)},
            {"measured_end_ns", nanoseconds(o.measured_end)},
            {"stop", stop_names[static_cast<std::size_t>(o.stop)]},
            {"kinds", kinds},
            {"errors", errors},
            {"bursts", o.bursts.size()},
            {"mean_depth", number(o.mean_depth)},
            {"device_mean_depth", o.device_mean_depth < 0 ? Json(nullptr) : number(o.device_mean_depth)},
            {"verify_failures", o.verify_failures},
            {"log_dropped", o.log_dropped},
            {"rate_error", number(o.rate_error)},
            {"cpu_seconds", number(o.cpu_seconds)},
            {"engine", o.engine}};
}

Json phase(const PhaseResult& p) {
    Json parameters = Json::array();
    for (const auto& [name, value] : p.phase.parameters) parameters.push_back({{"name", name}, {"value", value}});
    Json json = {{"number", p.phase.number},
                 {"step", p.phase.step},
                 {"label", p.phase.label},
                 {"kind", p.phase.kind},
                 {"parameters", parameters},
                 {"scored", p.phase.scored},
                 {"complete", p.phase.complete},
                 {"begin_ns", nanoseconds(p.phase.outcome.begin)},
                 {"end_ns", nanoseconds(p.phase.outcome.end)},
                 {"io", p.phase.has_io ? io_part(p.phase.outcome) : Json(nullptr)},
                 {"latency_us", latency(p.latency)},
                 {"read_latency_us", latency(p.read_latency)},
                 {"write_latency_us", latency(p.write_latency)},
                 {"power", power_part(p.power)},
                 {"budget_watts", p.watts.value ? budget(p.budget) : Json(nullptr)},
                 {"speed", p.speed ? speed_part(*p.speed) : Json(nullptr)},
                 {"warnings", p.warnings}};
    for (const auto& [name, member] : phase_number_names) json[name] = number(p.*member);
    for (const auto& [name, member] : phase_figure_names) json[name] = figure(p.*member);
    return json;
}

Json score(const Score& s) {
    return {{"name", s.name},
            {"phases", s.phases},
            {"weights", s.weights},
            {"megabytes_per_second", number(s.megabytes_per_second)},
            {"watts", number(s.watts)},
            {"mean_of_ratios", figure(s.mean_of_ratios)},
            {"ratio_of_means", figure(s.ratio_of_means)},
            {"total_bytes_per_joule", figure(s.total_bytes_per_joule)}};
}

}  // namespace

Json to_json(const RunResult& r) {
    Json phases = Json::array(), scores = Json::array();
    for (const PhaseResult& p : r.phases) phases.push_back(phase(p));
    for (const Score& s : r.scores) scores.push_back(score(s));
    Json run = nullptr;
    if (!r.run_json.empty()) run = Json::parse(r.run_json, nullptr, false);
    if (run.is_discarded() || !run.is_object()) run = nullptr;
    return {{"schema", result_schema},
            {"suite", r.suite},
            {"run_directory", r.run_directory},
            {"target", r.target},
            {"drive", r.drive},
            {"rig", r.rig},
            {"power_measured", r.power_measured},
            {"power_simulated", r.power_simulated},
            {"drive_simulated", r.drive_simulated},
            {"fidelity", r.fidelity},
            {"scale", number(r.scale)},
            {"complete", r.complete},
            {"interrupted", r.interrupted},
            {"clock",
             {{"map", r.clock.map},
              {"bound_us", number(r.clock.bound_us)},
              {"drift_ppm", number(r.clock.drift_ppm)},
              {"exchanges", r.clock.exchanges}}},
            {"samples", r.samples},
            {"lost_samples", r.lost_samples},
            {"lost_blocks", r.lost_blocks},
            {"idle_watts", figure(r.idle_watts)},
            {"idle_source", r.idle_source},
            {"phases", phases},
            {"scores", scores},
            {"warnings", r.warnings},
            {"run", run}};
}

}  // namespace wattrig::analysis
