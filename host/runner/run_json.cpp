#include "host/runner/run_json.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <nlohmann/json.hpp>

namespace wattrig::runner {

using nlohmann::json;

void complete_run_json(json& run_json, const suites::Plan& plan, const WalkSetup& setup) {
    run_json["schema"] = "wattrig.run/1";
    json resolved = json::parse(plan.resolved_json, nullptr, false);
    run_json["suite"] = {{"name", plan.suite},
                         {"title", plan.title},
                         {"version", plan.version},
                         {"scale", plan.scale},
                         {"resolved", resolved.is_discarded() ? json(plan.resolved_json) : std::move(resolved)}};
    run_json["scores"] = json::array();
    for (const suites::ScoreRequest& score : plan.scores) {
        json& asked = run_json["scores"].emplace_back(json{{"name", score.name}, {"steps", score.step_labels}});
        if (!score.weights.empty()) asked["weights"] = score.weights;
    }
    run_json["steady_state"] = json::array();
    for (const suites::SteadyGroup& group : plan.steady) {
        json rounds = json::array(), tracked = json::array();
        for (std::size_t round = 0; round < group.most_rounds; ++round) {
            json& labels = rounds.emplace_back(json::array());
            for (std::size_t k = 0; k < group.steps_per_round; ++k)
                labels.push_back(plan.steps[group.first_step + round * group.steps_per_round + k].label);
        }
        for (const std::size_t step : group.tracked) tracked.push_back(step);
        run_json["steady_state"].push_back({{"name", group.name},
                                            {"window", group.window},
                                            {"most_rounds", group.most_rounds},
                                            {"excursion_permille", group.excursion_permille},
                                            {"slope_permille", group.slope_permille},
                                            {"figure", suites::steady_figure_name(group.figure)},
                                            {"all_rounds", group.all_rounds},
                                            {"rounds_after", group.rounds_after},
                                            {"tracked", std::move(tracked)},
                                            {"rounds", std::move(rounds)}});
    }
    run_json["notes"] = plan.notes;
    run_json["rig"] = {
        {"present", setup.rig}, {"description", setup.rig_description}, {"simulated", setup.rig && setup.rig_simulated}};
    if (setup.wire.out.count() > 0)
        run_json["rig"]["sync_wire_ns"] = {{"out", setup.wire.out.count()}, {"in", setup.wire.in.count()}};
    if (setup.rig && setup.calibration) run_json["calibration"] = power::to_json(*setup.calibration);
    run_json["fidelity"] = setup.fidelity;
    run_json["interrupted"] = false;
    run_json["complete"] = false;
    if (!run_json.contains("warnings")) run_json["warnings"] = json::array();
}

json info_json(const protocol::Info& info) {
    const std::string serial(info.serial.begin(), std::find(info.serial.begin(), info.serial.end(), '\0'));
    return {{"serial", serial},
            {"board_id", info.board_id},
            {"firmware", fmt::format("{}.{}.{}", info.firmware_version >> 16, info.firmware_version >> 8 & 0xff,
                                     info.firmware_version & 0xff)},
            {"boot_id", info.boot_id},
            {"shunt_micro_ohm", info.shunt_micro_ohm},
            {"protocol_version", info.protocol_version},
            {"rails", info.rails},
            {"has_peak_path", info.has_peak_path != 0},
            {"has_slow_path", info.has_slow_path != 0},
            {"has_power_switch", info.has_power_switch != 0},
            {"reset_cause", info.reset_cause}};
}

}  // namespace wattrig::runner
