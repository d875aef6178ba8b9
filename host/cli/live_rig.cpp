#include "host/cli/live_rig.hpp"

#include <fmt/format.h>

#include <chrono>
#include <fstream>
#include <nlohmann/json.hpp>

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

Result<power::Calibration> read_calibration(const std::string& path) {
    std::ifstream file(path);
    if (!file) return bad_input("expected a calibration in " + path + ", but it cannot be read");
    const nlohmann::json json = nlohmann::json::parse(file, nullptr, false);
    if (json.is_discarded()) return bad_input(path + ": expected JSON of a calibration, came something else");
    return power::calibration_from_json(json, path);
}

Result<std::unique_ptr<LiveRig>> with_link(std::unique_ptr<rig::Link> link, const RunArguments& arguments) {
    std::vector<std::string> warnings;
    power::Calibration calibration = power::nominal_calibration(power::FrontEnd{});
    if (!arguments.calibration.empty()) {
        auto read = read_calibration(arguments.calibration);
        if (!read) return read.error();
        calibration = std::move(*read);
    } else {
        warnings.push_back("the rig is not calibrated here (no --calibration): power by nominal parts, with large uncertainty");
    }
    return std::unique_ptr<LiveRig>(std::make_unique<LinkedRig>(std::move(link), std::move(calibration), std::move(warnings)));
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
    if (rig.starts_with("replay:")) {
        auto link = rig::ReplayLink::open(rig.substr(7));
        if (!link) return link.error();
        return with_link(std::move(*link), arguments);
    }
    if (rig.starts_with("tcp:") || rig == "usb" || rig.starts_with("usb:")) {
        auto link = connect_rig(rig);
        if (!link) return link.error();
        return with_link(std::move(*link), arguments);
    }
    return bad_input("expected --rig usb, usb:SERIAL, sim, none, replay:FILE or tcp:HOST:PORT, came --rig " + rig);
}

}  // namespace wattrig::cli
