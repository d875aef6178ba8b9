#include <nlohmann/json.hpp>

#include "host/cli/run_target.hpp"
#include "host/sim/simulation.hpp"

namespace wattrig::cli {
namespace {

class SimulatedTarget final : public RunTarget {
  public:
    SimulatedTarget(std::unique_ptr<sim::VirtualSimulation> simulation, const RunArguments& arguments, bool rig)
        : simulation_(std::move(simulation)), arguments_(arguments), model_(simulation_->model()), rig_(rig) {}

    std::uint64_t size() const override { return model_.capacity; }
    std::uint32_t logical_block() const override { return model_.logical_block; }
    Result<void> prepare(const suites::Plan&, Console&, const io::StopFlag&) override { return {}; }
    void describe(nlohmann::json& run_json) const override {
        run_json["target"] = {{"kind", "model"},
                              {"path", arguments_.target},
                              {"description", "sim:" + model_.name},
                              {"size", model_.capacity},
                              {"logical_block", model_.logical_block},
                              {"seed", arguments_.seed}};
        run_json["drive"] = {{"name", model_.name + " (model)"}, {"simulated", true}, {"description", model_.description}};
        // Virtual time: nothing of this machine has an influence on a figure.
        run_json["host"] = {{"time", "virtual"}};
    }
    Result<runner::RunSummary> carry_out(const suites::Plan& plan, const recording::RunDirectory& directory,
                                         nlohmann::json run_json, const runner::RunHooks& hooks) override {
        runner::VirtualRun run;
        run.drive = &simulation_->drive();
        if (rig_) {
            run.rig_actor = &simulation_->rig_actor();
            run.link = &simulation_->link();
            run.calibration = &simulation_->calibration();
        }
        run.engine.target_size = model_.capacity;
        run.engine.logical_block = model_.logical_block;
        run.engine.aggregate = arguments_.fidelity == "aggregate";
        return runner::run_virtual(plan, run, directory, std::move(run_json), hooks);
    }

  private:
    std::unique_ptr<sim::VirtualSimulation> simulation_;
    RunArguments arguments_;
    sim::ModelSummary model_;
    bool rig_;
};

}  // namespace

Result<std::unique_ptr<RunTarget>> make_simulated_target(const RunArguments& arguments, const std::string& model) {
    if (!arguments.rig.empty() && arguments.rig != "sim" && arguments.rig != "none")
        return bad_input("a simulated drive lives in virtual time: expected --rig sim or --rig none, came --rig " +
                         arguments.rig);
    if (arguments.size) return bad_input("--size is for files; a simulated drive has the size of its model");
    if (arguments.buffered) return bad_input("--buffered is for files; a simulated drive has no page cache in front");
    const bool rig = arguments.rig != "none";
    sim::SimulationOptions options;
    options.model = model;
    options.seed = arguments.seed;
    options.aggregate = arguments.fidelity == "aggregate";
    options.rig = rig;
    auto simulation = sim::VirtualSimulation::create(options);
    if (!simulation) return simulation.error();
    return std::unique_ptr<RunTarget>(std::make_unique<SimulatedTarget>(std::move(*simulation), arguments, rig));
}

Result<std::unique_ptr<RunTarget>> choose_target(const RunArguments& arguments) {
    constexpr std::string_view prefix = "sim:";
    if (arguments.target.empty())
        return bad_input("no target given: expected --target PATH of a file, or --target sim:MODEL (wattrig list models)");
    if (arguments.target.starts_with(prefix)) return make_simulated_target(arguments, arguments.target.substr(prefix.size()));
    return make_real_target(arguments);
}

}  // namespace wattrig::cli
