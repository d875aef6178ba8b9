#include "host/sim/virtual_simulation.hpp"

namespace wattrig::sim {
namespace {

// Power of operations may lie 126 ms ahead of the codes; a submission waits for the codes well before that.
constexpr Nanoseconds catch_up_after{40'000'000};

constexpr Nanoseconds settling{50'000'000};       // exact codes after the begin of a stream
constexpr Nanoseconds idle_stretch{700'000'000};  // well below the second after which a stream counts as silent

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
      ledger_(parameters.power.idle_watt, parameters.power.active_watt,
              static_cast<double>(parameters.power.active_time_constant_ns)),
      feed_(options.seed, HostTime{}, parameters.power),
      drive_(parameters, options.seed, options.rig ? &feed_.trace() : nullptr, &ledger_),
      link_(options.seed, feed_,
            {[this](HostTime t) { produce(t); }, [this](HostTime t) { produce_when_due(t); },
             [this](HostTime t) {
                 if (aggregate_) aggregate_->hold_until(t + settling);
             }},
            std::move(faults)),
      backend_(drive_, [this](HostTime t) { produce(t); }) {
    if (options.aggregate) {
        aggregate_.emplace(drive_, ledger_, rig_ ? &feed_ : nullptr, backend_, [this](HostTime t) { produce(t); });
        backend_.set_leaper(&*aggregate_);
    }
    produce(HostTime{});
}

// Leapt-over idle time comes in stretches of about a second, however often the link looks, and what is too short for one waits
// for the next.
void VirtualRig::produce_when_due(HostTime t) {
    if (aggregate_ && aggregate_->idle()) {
        if (t < idle_production_) return;
        aggregate_->pass_idle(t);
        if (aggregate_->may_wait(t)) {
            idle_production_ = t + idle_stretch;
            link_.set_next_production(idle_production_);
            return;
        }
    }
    produce(t);
}

void VirtualRig::produce(HostTime t) {
    if (aggregate_) aggregate_->pass_idle(t);
    drive_.settle(t.time_since_epoch().count());
    if (!rig_) return;
    feed_.advance(t);
    HostTime next = feed_.block_end();
    if (aggregate_) {
        idle_production_ = t + idle_stretch;
        next = aggregate_->idle() ? idle_production_ : next;
    }
    link_.set_next_production(next);
    backend_.set_catch_up_at(t + catch_up_after);
}

double VirtualRig::true_energy(HostTime t) const {
    const std::int64_t ns = t.time_since_epoch().count();
    // Asking makes what was put off; nothing that anybody sees depends on when that is.
    if (ns > ledger_.now()) const_cast<VirtualRig*>(this)->produce(t);
    return ledger_.energy(ns);
}

void VirtualRig::format(HostTime now) {
    produce(now);
    drive_.format(now.time_since_epoch().count());
}

DriveCondition VirtualRig::condition(HostTime now) {
    produce(now);
    const std::int64_t ns = now.time_since_epoch().count();
    return {drive_.celsius(),
            drive_.parameters().thermal.kelvin_per_watt > 0,
            drive_.throttled(),
            drive_.idle_state(ns),
            drive_.idle_watt(ns),
            drive_.cache_used(),
            1 + drive_.copies_per_byte(),
            drive_.host_bytes_written()};
}

std::vector<DriveTransition> VirtualRig::true_transitions() const {
    std::vector<DriveTransition> list;
    for (const Transition& t : drive_.transitions()) list.push_back({name(t.kind), t.host_bytes});
    return list;
}

Result<std::unique_ptr<VirtualSimulation>> VirtualSimulation::create(const SimulationOptions& options) {
    auto parameters = load_model(options.model);
    if (!parameters) return parameters.error();
    return std::unique_ptr<VirtualSimulation>(std::make_unique<VirtualRig>(*parameters, options));
}

}  // namespace wattrig::sim
