#pragma once
// The rig beside real I/O. Inside, time begins at 0 when the link is first polled; its link shifts it to the caller's clock.
// Callers use simulation.hpp; tests reach the parts through this header.
//
// Thread rule: link on the capture thread, set_taps on the main thread; one mutex keeps the two apart.

#include <memory>
#include <mutex>
#include <optional>
#include <vector>

#include "host/sim/live_drive.hpp"
#include "host/sim/meter_feed.hpp"
#include "host/sim/sim_link.hpp"
#include "host/sim/simulation.hpp"

namespace wattrig::sim {

class LiveRig final : public LiveSimulation {
  public:
    static constexpr Nanoseconds behind{50'000'000};  // codes are made no closer to the clock

    LiveRig(const DriveParameters& parameters, const SimulationOptions& options, SimLinkFaults faults = {});
    rig::Link& link() override { return wrapper_; }
    void set_taps(std::vector<io::OperationTap*> taps) override;
    [[nodiscard]] const power::Calibration& calibration() const override { return feed_.front_end().calibration(); }
    [[nodiscard]] ModelSummary model() const override;
    [[nodiscard]] LiveCounters counters() const override;

    // For tests: energy at the drive since the first poll; `t` at most the time up to which codes are made.
    [[nodiscard]] double true_energy(HostTime t) const;
    [[nodiscard]] HostTime settled() const;
    [[nodiscard]] HostTime true_host_time(DeviceTime t) { return feed_.clock().to_host(t) + base_.value_or(Nanoseconds(0)); }

  private:
    // Translates between the caller's clock and the inner one.
    class Wrapper final : public rig::Link, public rig::LinkHandler {
      public:
        explicit Wrapper(LiveRig& rig) : rig_(rig) {}
        void attach(rig::LinkHandler& handler) override { handler_ = &handler; }
        Result<HostTime> send(std::span<const std::uint8_t> frame) override;
        void poll(HostTime now) override;
        [[nodiscard]] HostTime next_event() const override;
        [[nodiscard]] std::string description() const override;
        [[nodiscard]] bool simulated() const override { return true; }
        void on_stream(std::span<const std::uint8_t> bytes, HostTime arrival) override;
        void on_reply(std::span<const std::uint8_t> bytes, HostTime arrival) override;
        void on_broken(const Error& error, HostTime when) override;

      private:
        LiveRig& rig_;
        rig::LinkHandler* handler_ = nullptr;
    };
    void produce(HostTime t);
    void collect();
    [[nodiscard]] Nanoseconds base() const { return base_.value_or(Nanoseconds(0)); }

    DriveParameters parameters_;
    EnergyLedger ledger_;
    MeterFeed feed_;
    LiveDrive drive_;
    SimLink link_;
    Wrapper wrapper_{*this};
    std::optional<Nanoseconds> base_;  // caller's clock at inner time 0
    HostTime now_{};                   // inner
    mutable std::mutex mutex_;         // taps_, drive_, dropped_
    std::vector<io::OperationTap*> taps_;
    std::uint64_t dropped_before_ = 0;  // by taps of earlier phases
};

}  // namespace wattrig::sim
