// The plan as JSON, for run.json: all that is needed to repeat a run or to see what it really did.

#include <nlohmann/json.hpp>

#include "host/suites/json_reader.hpp"
#include "host/suites/planner.hpp"

namespace wattrig::suites {
namespace {

const char* kind_text(StepKind kind) {
    switch (kind) {
        case StepKind::io: return "io";
        case StepKind::idle: return "idle";
        case StepKind::cool_off: return "cool_off";
        case StepKind::fill: return "fill";
        case StepKind::purge: return "purge";
        case StepKind::command: return "command";
        case StepKind::unsupported: return "unsupported";
    }
    return "";
}

Json limit_json(const io::Limit& limit) {
    Json json = Json::object();
    if (limit.time) json["time_s"] = to_seconds(*limit.time);
    if (limit.bytes) json["bytes"] = *limit.bytes;
    if (limit.operations) json["operations"] = *limit.operations;
    return json;
}

Json workload_json(const io::Workload& workload) {
    Json json;
    json["pattern"] = workload.pattern == io::Pattern::random ? "random" : "sequential";
    json["read_percent"] = workload.read_percent;
    json["discard"] = workload.discard;
    Json blocks = Json::array();
    for (const auto& share : workload.block_sizes) blocks.push_back({{"bytes", share.bytes}, {"percent", share.percent}});
    json["block_sizes"] = std::move(blocks);
    json["offset"] = workload.offset;
    json["span"] = workload.span;
    if (!workload.zones.empty()) {
        Json zones = Json::array();
        for (const auto& zone : workload.zones)
            zones.push_back({{"access_percent", zone.access_percent}, {"span_percent", zone.span_percent}});
        json["zones"] = std::move(zones);
    }
    json["cover"] = workload.cover;
    json["depth"] = workload.depth;
    json["workers"] = workload.workers;
    json["limit"] = limit_json(workload.limit);
    json["ramp_s"] = to_seconds(workload.ramp);
    if (workload.bursts)
        json["bursts"] = {
            {"bytes", workload.bursts->bytes}, {"operations", workload.bursts->operations}, {"duty", workload.bursts->duty}};
    if (workload.rate)
        json["rate"] = {{"operations_per_second", workload.rate->operations_per_second},
                        {"bytes_per_second", workload.rate->bytes_per_second},
                        {"process", workload.rate->poisson ? "poisson" : "linear"}};
    json["sync"] = workload.sync == io::SyncPolicy::none     ? "none"
                   : workload.sync == io::SyncPolicy::at_end ? "at_end"
                                                             : "every_n";
    if (workload.sync == io::SyncPolicy::every_n) json["sync_every"] = workload.sync_every;
    json["data"] = {{"compressibility", workload.data.compressibility},
                    {"pool_bytes", workload.data.pool_bytes},
                    {"verify", workload.data.verify}};
    json["batching"] = workload.batching == io::Batching::natural      ? "natural"
                       : workload.batching == io::Batching::throughput ? "throughput"
                                                                       : "strict";
    json["seed"] = workload.seed;
    json["maximum_errors"] = workload.maximum_errors;
    json["operation_log"] = workload.operation_log;
    return json;
}

Json step_json(const Step& step) {
    Json json;
    json["kind"] = kind_text(step.kind);
    json["name"] = step.name;
    json["label"] = step.label;
    json["scored"] = step.scored;
    if (!step.condition_note.empty()) json["note"] = step.condition_note;
    if (!step.parameters.empty()) {
        Json parameters = Json::object();
        for (const auto& [name, text] : step.parameters) parameters[name] = text;
        json["parameters"] = std::move(parameters);
    }
    if (step.kind == StepKind::idle || step.kind == StepKind::cool_off) json["duration_s"] = to_seconds(step.duration);
    if (step.kind == StepKind::cool_off) json["within_kelvin"] = step.within_kelvin;
    if (step.kind == StepKind::io || step.kind == StepKind::fill) json["workload"] = workload_json(step.workload);
    return json;
}

}  // namespace

std::string resolved_json(const Plan& plan, const Document& document,
                          const std::vector<std::pair<std::string, std::string>>& overrides) {
    Json json;
    json["format"] = "wattrig.plan/1";
    json["suite"] = plan.suite;
    json["title"] = plan.title;
    json["version"] = plan.version;
    json["scale"] = plan.scale;
    Json changes = Json::array();
    for (const auto& [key, value] : overrides) changes.push_back({{"key", key}, {"value", value}});
    json["overrides"] = std::move(changes);
    json["prefill"] = plan.prefill;
    json["writes"] = plan.writes;
    json["target_size"] = plan.target_size;
    json["notes"] = plan.notes;
    Json steps = Json::array();
    for (const auto& step : plan.steps) steps.push_back(step_json(step));
    json["steps"] = std::move(steps);
    Json scores = Json::array();
    for (const auto& score : plan.scores) {
        Json one{{"name", score.name}, {"steps", score.step_labels}};
        if (!score.weights.empty()) one["weights"] = score.weights;
        scores.push_back(std::move(one));
    }
    json["scores"] = std::move(scores);
    json["source"] = Json::parse(document.source_json);
    // Overrides come from a command line, which may hold any bytes.
    return json.dump(-1, ' ', false, Json::error_handler_t::replace);
}

}  // namespace wattrig::suites
