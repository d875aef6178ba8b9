#include "host/cli/live_rig.hpp"

#include <fmt/format.h>

#include <chrono>
#include <cstring>
#include <fstream>
#include <iterator>
#include <thread>

#include "host/base/clock.hpp"
#include "host/cli/rig_link.hpp"
#include "host/power/calibration_file.hpp"
#include "host/rig/command_client.hpp"
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

Result<power::CalibrationFile> read_calibration(const std::string& path) {
    std::ifstream file(path, std::ios::binary);
    if (!file) return bad_input("expected a calibration in " + path + ", but it cannot be read");
    const std::string text{std::istreambuf_iterator<char>(file), {}};
    return power::calibration_from_file_text(text, path);
}

Result<std::string> serial_of(rig::Link& link) {
    rig::CommandClient client(link, real_host_time, [] { std::this_thread::sleep_for(std::chrono::milliseconds(1)); });
    const auto info = client.info();
    if (!info) return info.error();
    return std::string(info->serial.data(), strnlen(info->serial.data(), info->serial.size()));
}

struct ChosenCalibration {
    power::Calibration calibration;
    std::vector<std::string> warnings;
};

// The file's, or nominal figures. Never the latter in place of a file that cannot be used.
Result<ChosenCalibration> choose_calibration(const std::string& path) {
    if (path.empty())
        return ChosenCalibration{
            power::nominal_calibration(power::FrontEnd{}),
            {"the rig is not calibrated here (no --calibration): power by nominal parts, with large uncertainty"}};
    auto read = read_calibration(path);
    if (!read) return read.error();
    ChosenCalibration chosen{std::move(read->calibration), {}};
    if (!read->sealed)
        chosen.warnings.push_back(path + ": has no crc32c: a damaged figure in it is seen only when it is out of its range");
    return chosen;
}

Result<std::unique_ptr<rig::Link>> open_replay(const std::string& path) {
    auto link = rig::ReplayLink::open(path);
    if (!link) return link.error();
    return std::unique_ptr<rig::Link>(std::move(*link));
}

Result<void> check_owner(rig::Link& link, const power::Calibration& calibration, const std::string& path) {
    if (path.empty()) return {};
    const auto serial = serial_of(link);
    if (!serial) return serial.error();
    return power::check_serial(calibration, *serial, path);
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
        auto chosen = choose_calibration(arguments.calibration);
        if (!chosen) return chosen.error();
        auto link = replay ? open_replay(rig.substr(7)) : connect_rig(rig);
        if (!link) return link.error();
        // A rig that is there says who it is; a recording played again does not answer.
        if (!replay)
            if (auto own = check_owner(**link, chosen->calibration, arguments.calibration); !own) return own.error();
        return std::unique_ptr<LiveRig>(
            std::make_unique<LinkedRig>(std::move(*link), std::move(chosen->calibration), std::move(chosen->warnings)));
    }
    return bad_input("expected --rig usb, usb:SERIAL, sim, none, replay:FILE or tcp:HOST:PORT, came --rig " + rig);
}

}  // namespace wattrig::cli
