#include "host/sim/live_simulation.hpp"

#include <algorithm>

#include "host/sim/virtual_simulation.hpp"

namespace wattrig::sim {
namespace {

constexpr Nanoseconds poll_period{5'000'000};

}  // namespace

LiveRig::LiveRig(const DriveParameters& parameters, const SimulationOptions& options, SimLinkFaults faults)
    : parameters_(parameters),
      ledger_(parameters.power.idle_watt, parameters.power.active_watt,
              static_cast<double>(parameters.power.active_time_constant_ns)),
      feed_(options.seed, HostTime{}, parameters.power),
      drive_(parameters_, feed_.trace(), ledger_),
      link_(options.seed, feed_, {[this](HostTime t) { produce(t); }, [this](HostTime t) { produce(t); }, {}},
            std::move(faults)) {
    link_.attach(wrapper_);
    link_.set_live();
}

ModelSummary LiveRig::model() const { return summary_of(parameters_); }

void LiveRig::set_taps(std::vector<io::OperationTap*> taps) {
    const std::lock_guard lock(mutex_);
    collect();  // what the old ones still hold
    for (const io::OperationTap* tap : taps_) dropped_before_ += tap->records.dropped();
    taps_ = std::move(taps);
}

void LiveRig::collect() {
    for (io::OperationTap* tap : taps_) {
        io::OperationRecord record;
        while (tap->records.pop(record)) {
            const auto inner = [&](HostTime t) { return (t - base()).time_since_epoch().count(); };
            // Before the first poll there was no rig to see it.
            if (base_ && record.completed > HostTime(base()))
                drive_.add(record.kind, record.length, std::max<std::int64_t>(inner(record.issued), 0),
                           inner(record.completed));
        }
    }
}

void LiveRig::produce(HostTime t) {
    const std::lock_guard lock(mutex_);
    HostTime until = t - behind;
    for (const io::OperationTap* tap : taps_) {
        const std::int64_t watermark = tap->watermark.load(std::memory_order_acquire);
        until = std::min(until, HostTime(Nanoseconds(watermark)) - base());
    }
    // Watermarks first, rings second: what was issued before a watermark stands in its ring by then.
    collect();
    if (until <= HostTime{}) return;
    drive_.settle(until.time_since_epoch().count());
    feed_.advance(until);
}

LiveCounters LiveRig::counters() const {
    const std::lock_guard lock(mutex_);
    LiveCounters counters{drive_.operations(), drive_.late(), dropped_before_};
    for (const io::OperationTap* tap : taps_) counters.dropped += tap->records.dropped();
    return counters;
}

double LiveRig::true_energy(HostTime t) const {
    const std::lock_guard lock(mutex_);
    return ledger_.energy((t - base()).time_since_epoch().count());
}

HostTime LiveRig::settled() const {
    const std::lock_guard lock(mutex_);
    return HostTime(Nanoseconds(drive_.settled())) + base();
}

Result<HostTime> LiveRig::Wrapper::send(std::span<const std::uint8_t> frame) {
    auto sent = rig_.link_.send(frame);
    if (!sent) return sent;
    return *sent + rig_.base();
}

void LiveRig::Wrapper::poll(HostTime now) {
    if (!rig_.base_) rig_.base_ = now.time_since_epoch();
    rig_.now_ = std::max(rig_.now_, now - *rig_.base_);
    rig_.link_.set_next_production(rig_.now_ + poll_period);
    rig_.link_.poll(rig_.now_);
}

HostTime LiveRig::Wrapper::next_event() const {
    const HostTime inner = rig_.link_.next_event();
    return inner == HostTime::max() ? inner : inner + rig_.base();
}

std::string LiveRig::Wrapper::description() const { return rig_.link_.description() + " beside real I/O"; }

void LiveRig::Wrapper::on_stream(std::span<const std::uint8_t> bytes, HostTime arrival) {
    if (handler_) handler_->on_stream(bytes, arrival + rig_.base());
}
void LiveRig::Wrapper::on_reply(std::span<const std::uint8_t> bytes, HostTime arrival) {
    if (handler_) handler_->on_reply(bytes, arrival + rig_.base());
}
void LiveRig::Wrapper::on_broken(const Error& error, HostTime when) {
    if (handler_) handler_->on_broken(error, when + rig_.base());
}

Result<std::unique_ptr<LiveSimulation>> LiveSimulation::create(const SimulationOptions& options) {
    auto parameters = load_model(options.model);
    if (!parameters) return parameters.error();
    return std::unique_ptr<LiveSimulation>(std::make_unique<LiveRig>(*parameters, options));
}

}  // namespace wattrig::sim
