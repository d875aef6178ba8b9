#include "host/sim/virtual_simulation.hpp"

namespace wattrig::sim {
namespace {

constexpr int chunks_per_block = static_cast<int>(protocol::samples_per_block / samples_per_chunk);
// Power of operations may lie 126 ms ahead of the codes; a submission waits for the codes well before that.
constexpr Nanoseconds catch_up_after{40'000'000};

}  // namespace

ModelSummary summary_of(const DriveParameters& parameters) {
    return {parameters.name, parameters.description, parameters.capacity_bytes, parameters.logical_block_bytes};
}

std::vector<ModelSummary> list_models() {
    std::vector<ModelSummary> models;
    for (const EmbeddedModel& embedded : embedded_models())
        models.push_back(summary_of(parse_model(embedded.text, embedded.name).value()));
    return models;
}

VirtualRig::VirtualRig(const DriveParameters& parameters, const SimulationOptions& options, SimLinkFaults faults)
    : rig_(options.rig),
      aggregate_(options.aggregate),
      ledger_(parameters.power.idle_watt, parameters.power.active_watt,
              static_cast<double>(parameters.power.active_time_constant_ns)),
      feed_(options.seed, HostTime{}, parameters.power),
      drive_(parameters, options.rig ? &feed_.trace() : nullptr, &ledger_),
      link_(options.seed, feed_, [this](HostTime t) { produce(t); }, std::move(faults)),
      backend_(drive_, [this](HostTime t) { produce(t); }) {
    produce(HostTime{});
}

void VirtualRig::produce(HostTime t) {
    drive_.settle(t.time_since_epoch().count());
    if (!rig_) return;
    feed_.advance(t);
    link_.set_next_production(feed_.chunk_end(chunks_per_block));
    backend_.set_catch_up_at(t + catch_up_after);
}

double VirtualRig::true_energy(HostTime t) const {
    const std::int64_t ns = t.time_since_epoch().count();
    if (ns > ledger_.now()) drive_.settle(ns);
    return ledger_.energy(ns);
}

Result<std::unique_ptr<VirtualSimulation>> VirtualSimulation::create(const SimulationOptions& options) {
    auto parameters = load_model(options.model);
    if (!parameters) return parameters.error();
    return std::unique_ptr<VirtualSimulation>(std::make_unique<VirtualRig>(*parameters, options));
}

}  // namespace wattrig::sim
