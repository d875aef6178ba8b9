#pragma once
// Drive and rig in virtual time, put together. Callers use simulation.hpp; tests reach the parts through this header.
// Thread rule: one thread.

#include <cstdint>
#include <memory>

#include "host/sim/aggregate.hpp"
#include "host/sim/drive_backend.hpp"
#include "host/sim/drive_model.hpp"
#include "host/sim/energy_ledger.hpp"
#include "host/sim/meter_feed.hpp"
#include "host/sim/sim_link.hpp"
#include "host/sim/simulation.hpp"

namespace wattrig::sim {

ModelSummary summary_of(const DriveParameters& parameters);

class VirtualRig final : public VirtualSimulation {
  public:
    VirtualRig(const DriveParameters& parameters, const SimulationOptions& options, SimLinkFaults faults = {});

    io::VirtualBackend& drive() override { return backend_; }
    io::VirtualActor& rig_actor() override { return actor_; }
    rig::Link& link() override { return link_; }
    [[nodiscard]] const power::Calibration& calibration() const override { return feed_.front_end().calibration(); }
    [[nodiscard]] ModelSummary model() const override { return summary_of(drive_.parameters()); }
    [[nodiscard]] double true_energy(HostTime t) const override;
    void format(HostTime now) override;
    [[nodiscard]] DriveCondition condition(HostTime now) override;
    [[nodiscard]] std::vector<DriveTransition> true_transitions() const override;

    // Settles the drive and makes codes up to `t`.
    void produce(HostTime t);
    [[nodiscard]] const Aggregate* aggregate() const { return aggregate_ ? &*aggregate_ : nullptr; }

    // For tests.
    [[nodiscard]] HostTime true_host_time(DeviceTime t) { return feed_.clock().to_host(t); }
    [[nodiscard]] DriveModel& drive_model() { return drive_; }
    [[nodiscard]] MeterFeed& feed() { return feed_; }

  private:
    class Actor final : public io::VirtualActor {
      public:
        explicit Actor(VirtualRig& rig) : rig_(rig) {}
        [[nodiscard]] HostTime next_event() const override { return rig_.rig_ ? rig_.link_.next_event() : HostTime::max(); }
        void run(HostTime now) override { rig_.link_.poll(now); }

      private:
        VirtualRig& rig_;
    };

    void produce_when_due(HostTime t);

    bool rig_;
    HostTime idle_production_{};
    EnergyLedger ledger_;
    MeterFeed feed_;
    DriveModel drive_;
    SimLink link_;
    DriveBackend backend_;
    std::optional<Aggregate> aggregate_;
    Actor actor_{*this};
};

}  // namespace wattrig::sim
