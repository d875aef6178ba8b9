// `wattrig states DEVICE`: the declared table, then each state set and read back, and the settings put back. Power is measured
// by nvme::walk_states over a bench; the bench of a real rig is not part of this command yet, and it says so.

#include "host/nvme/states.hpp"

#include <fmt/format.h>

#include <filesystem>

#include "host/cli/commands.hpp"
#include "host/cli/console.hpp"
#include "host/cli/output.hpp"
#include "host/nvme/settings.hpp"
#include "host/target/host_facts.hpp"
#include "host/target/interlock.hpp"

namespace wattrig::cli {
namespace {

std::string text(std::optional<Watts> power) { return power ? fmt::format("{:.4f} W", power->value()) : "not reported"; }
std::string text(std::optional<std::uint32_t> us) { return us ? fmt::format("{} us", *us) : "not reported"; }

std::string declared_table(const nvme::Controller& controller) {
    std::string table = fmt::format("{} (serial {}, firmware {}): {} power states, autonomous transitions {}\n\n",
                                    controller.model, controller.serial, controller.firmware, controller.states.size(),
                                    controller.autonomous_transitions ? "yes" : "no");
    table += fmt::format("{:5}  {:14}  {:4}  {:12}  {:12}  {:14}  {:14}  {:8}  {}\n", "state", "maximum", "I/O", "entry",
                         "exit", "idle", "active", "workload", "ranks RT RL WT WL");
    for (std::size_t i = 0; i < controller.states.size(); ++i) {
        const nvme::PowerState& s = controller.states[i];
        table += fmt::format("{:5}  {:14}  {:4}  {:12}  {:12}  {:14}  {:14}  {:8}  {} {} {} {}\n", i, text(s.maximum_power),
                             s.operational ? "yes" : "no", text(s.entry_latency_us), text(s.exit_latency_us),
                             text(s.idle_power), text(s.active_power), s.active_workload, s.relative_read_throughput,
                             s.relative_read_latency, s.relative_write_throughput, s.relative_write_latency);
    }
    return table;
}

Result<bool> carry_out(const StatesArguments& arguments) {
    const auto name = target::controller_of_path("", arguments.device);
    if (!name)
        return bad_input(
            fmt::format("{}: is no NVMe controller or namespace of this machine; power states are NVMe's; `wattrig list "
                        "targets` shows the drives",
                        arguments.device));
    auto device = nvme::open_controller(*name);
    if (!device) return device.error();
    auto controller = nvme::identify_controller(**device);
    if (!controller) return controller.error();
    print_text(declared_table(*controller));

    const target::HostFacts host = target::read_controller_facts(*name);
    print_text("\nsettings of this machine that decide which states are reached:\n");
    for (const target::Fact& fact : host.facts) print_text(fmt::format("  {:30}  {}\n", fact.key, fact.value));
    for (const std::string& warning : host.warnings) print_error(warning);

    const std::string folder = arguments.out.empty() ? "wattrig-runs/states" : arguments.out;
    std::error_code error;
    std::filesystem::create_directories(folder, error);
    if (const auto left = nvme::find_restore_records(folder); !left.empty())
        return bad_input(
            fmt::format("{}: an earlier run left settings changed; put them back first with `wattrig doctor --restore "
                        "{}`",
                        folder, folder));
    nvme::Settings settings(**device, controller->serial, folder);
    bool all = true;
    print_text("\n");
    for (std::size_t i = 0; i < controller->states.size(); ++i) {
        auto set = settings.set(nvme::Feature::power_management, {static_cast<std::uint32_t>(i), {}});
        if (!set) {
            all = false;
            print_text(fmt::format("state {}: {}\n", i, set.error().message));
        } else if (!set->taken()) {
            all = false;
            print_text(
                fmt::format("state {}: the drive accepted the request and reads back state {}: it ignored it or left the "
                            "state by itself\n",
                            i, nvme::decode_power_management(set->read_back.word).state));
        } else {
            print_text(fmt::format("state {}: set and read back\n", i));
        }
    }
    if (auto back = settings.restore(); !back) return back.error();
    print_text("settings put back as they were\npower was not measured: this command does not drive a rig yet\n");
    return all;
}

}  // namespace

int states(const StatesArguments& arguments) {
    auto done = carry_out(arguments);
    if (!done) return refuse(done.error());
    return *done ? exit_ok : exit_device;
}

}  // namespace wattrig::cli
