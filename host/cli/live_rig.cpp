#include "host/cli/live_rig.hpp"

#include <fmt/format.h>

#include <chrono>
#include <optional>

#include "host/cli/rig_calibration.hpp"
#include "host/cli/rig_link.hpp"
#include "host/rig/replay_link.hpp"
#include "host/sim/simulation.hpp"

namespace wattrig::cli {
namespace {

class LinkedRig final : public LiveRig {
  public:
    LinkedRig(std::unique_ptr<rig::Link> link, power::Calibration calibration, std::vector<std::string> warnings)
        : link_(std::move(link)), calibration_(std::move(calibration)), warnings_(std::move(warnings)) {}
    rig::Link* link() override { return link_.get(); }
    const power::Calibration* calibration() const override { return &calibration_; }
    std::vector<std::string> warnings() const override { return warnings_; }

  private:
    std::unique_ptr<rig::Link> link_;
    power::Calibration calibration_;
    std::vector<std::string> warnings_;
};

class SimulatedRig final : public LiveRig {
  public:
    explicit SimulatedRig(std::unique_ptr<sim::LiveSimulation> simulation) : simulation_(std::move(simulation)) {}
    rig::Link* link() override { return &simulation_->link(); }
    const power::Calibration* calibration() const override { return &simulation_->calibration(); }
    bool follows_operations() const override { return true; }
    void set_taps(const std::vector<io::OperationTap*>& taps) override { simulation_->set_taps(taps); }
    std::vector<std::string> closing_warnings() const override {
        const sim::LiveCounters counters = simulation_->counters();
        std::vector<std::string> warnings;
        if (counters.dropped > 0)
            warnings.push_back(fmt::format("the simulated rig missed {} of {} operations: its power is too low by their energy",
                                           counters.dropped, counters.operations));
        if (counters.late > 0)
            warnings.push_back(
                fmt::format("the simulated rig booked {} of {} operations late", counters.late, counters.operations));
        return warnings;
    }

  private:
    std::unique_ptr<sim::LiveSimulation> simulation_;
};

Result<std::unique_ptr<rig::Link>> open_replay(const std::string& path) {
    auto link = rig::ReplayLink::open(path);
    if (!link) return link.error();
    return std::unique_ptr<rig::Link>(std::move(*link));
}

}  // namespace

Result<std::unique_ptr<LiveRig>> LiveRig::connect(const RunArguments& arguments) {
    const std::string& rig = arguments.rig;
    if (rig.empty() || rig == "none") return std::make_unique<LiveRig>();
    if (rig == "sim" || rig.starts_with("sim:")) {
        sim::SimulationOptions options;
        if (rig.size() > 4) options.model = rig.substr(4);
        options.seed = arguments.seed;
        auto simulation = sim::LiveSimulation::create(options);
        if (!simulation) return simulation.error();
        return std::unique_ptr<LiveRig>(std::make_unique<SimulatedRig>(std::move(*simulation)));
    }
    const bool replay = rig.starts_with("replay:");
    if (replay || rig.starts_with("tcp:") || rig == "usb" || rig.starts_with("usb:")) {
        std::optional<ChosenCalibration> chosen;
        if (!arguments.calibration.empty()) {
            auto read = read_calibration(arguments.calibration);
            if (!read) return read.error();
            chosen = std::move(*read);
        }
        auto link = replay ? open_replay(rig.substr(7)) : connect_rig(rig);
        if (!link) return link.error();
        if (!replay) {
            auto fits = match_calibration(**link, std::move(chosen), arguments.calibration);
            if (!fits) return fits.error();
            chosen = std::move(*fits);
        } else if (!chosen) {
            chosen = nominal_choice("a recording played again says nothing of its rig's calibration, and none is given");
        }
        return std::unique_ptr<LiveRig>(
            std::make_unique<LinkedRig>(std::move(*link), std::move(chosen->calibration), std::move(chosen->warnings)));
    }
    return bad_input("expected --rig usb, usb:SERIAL, sim, none, replay:FILE or tcp:HOST:PORT, came --rig " + rig);
}

}  // namespace wattrig::cli
