// wattrig record and wattrig mark. The command's own output goes where it always goes; ours follows it.

#include <sys/socket.h>
#include <sys/un.h>
#include <unistd.h>

#include <nlohmann/json.hpp>

#include "host/analysis/result.hpp"
#include "host/cli/commands.hpp"
#include "host/cli/console.hpp"
#include "host/cli/interrupt.hpp"
#include "host/cli/live_rig.hpp"
#include "host/cli/output.hpp"
#include "host/report/escape.hpp"
#include "host/runner/child.hpp"
#include "host/runner/runner.hpp"
#include "host/runner/wattrig_mark.h"
#include "host/target/host_facts.hpp"

namespace wattrig::cli {
namespace {

// As env and timeout do, so that a script can tell the recording's failure from the command's.
constexpr int exit_recording_failed = 125;

int failed(const Error& error) {
    const int code = refuse(error);
    (void)code;
    return exit_recording_failed;
}

// As one would type it: words with blanks or quotes in quotes.
std::string shown(const std::vector<std::string>& command) {
    std::string text;
    for (const std::string& word : command) {
        const bool plain = !word.empty() && word.find_first_of(" \t\n\"'\\$`|&;<>()*?") == std::string::npos;
        text += (text.empty() ? "" : " ") + (plain ? word : "'" + word + "'");
    }
    return text.size() > 120 ? text.substr(0, 117) + "..." : text;
}

suites::Plan plan_of(const RecordArguments& arguments) {
    suites::Step step;
    step.kind = suites::StepKind::command;
    step.name = "command";
    step.label = report::clean_utf8(arguments.label.empty() ? shown(arguments.command) : arguments.label);
    step.command = arguments.command;
    step.scored = false;
    suites::Plan plan;
    plan.suite = "record";
    plan.title = "Power while another program ran";
    plan.version = "1";
    plan.steps = {step};
    plan.resolved_json =
        nlohmann::json{{"command", arguments.command}}.dump(-1, ' ', false, nlohmann::json::error_handler_t::replace);
    return plan;
}

}  // namespace

int record(const RecordArguments& arguments) {
    RunArguments wanted;
    wanted.rig = arguments.rig;
    wanted.calibration = arguments.calibration;
    wanted.seed = arguments.seed;
    auto rig = LiveRig::connect(wanted);
    if (!rig) return failed(rig.error());
    if ((*rig)->link() == nullptr)
        return failed(bad_input("record needs a rig: expected --rig usb, tcp:HOST:PORT or sim, came --rig " + arguments.rig));
    auto directory = recording::RunDirectory::create(arguments.out.empty() ? default_directory("record") : arguments.out);
    if (!directory) return failed(directory.error());

    const target::HostFacts facts = target::read_host_facts(nullptr);
    nlohmann::json run_json = {{"program", {{"name", "wattrig"}, {"version", program_version()}}},
                               {"command_line", arguments.command_line},
                               {"started", now_text("%Y-%m-%dT%H:%M:%S%z")},
                               {"target", {{"description", shown(arguments.command)}}},
                               {"drive", {{"name", "not told"}, {"simulated", false}}},
                               {"host", nlohmann::json::object()},
                               {"warnings", (*rig)->warnings()}};
    for (const target::Fact& fact : facts.facts) run_json["host"][fact.key] = fact.value;

    Console console(true);
    runner::RunHooks hooks;
    hooks.stop = &catch_interrupts();
    hooks.notice = [&](const std::string& line) { console.notice(line); };
    runner::RealRun run;
    run.link = (*rig)->link();
    run.calibration = (*rig)->calibration();
    run.closing_warnings = [&] { return (*rig)->closing_warnings(); };
    auto summary = runner::run_real(plan_of(arguments), run, *directory, std::move(run_json), hooks);
    if (!summary) {
        const Error& error = summary.error();
        if (error.kind == ErrorKind::device_refused && error.os_error != 0) {
            refuse(error);
            return error.os_error == ENOENT ? runner::command_not_found : runner::command_not_executable;
        }
        return failed(error);
    }
    auto result = analysis::analyze(*directory);
    if (!result) return failed(result.error());
    if (auto written = write_result(*directory, *result); !written) return failed(written.error());
    if (arguments.json)
        print_json(analysis::to_json(*result));
    else if (!arguments.quiet) {
        print_text("\n");
        print_result(*result);
        print_text("\nResult  " + directory->file("result.json") + "\nReport  " + directory->file("report.html") + "\n");
    }
    return summary->command_status;
}

int mark(const MarkArguments& arguments) {
    if (arguments.begin && arguments.end) return refuse(bad_input("expected --begin or --end, came both"));
    if (!arguments.socket.empty()) ::setenv("WATTRIG_MARK_SOCKET", arguments.socket.c_str(), 1);
    const std::string text = (arguments.begin ? "begin " : arguments.end ? "end " : "") + arguments.text;
    if (wattrig_mark(text.c_str()) == 0) return exit_ok;
    const char* socket = std::getenv("WATTRIG_MARK_SOCKET");
    return refuse(socket == nullptr
                      ? bad_input("no recording runs: expected `wattrig record -- COMMAND` to have started this program "
                                  "(WATTRIG_MARK_SOCKET is not set)")
                      : system_error("the recording does not answer on " + std::string(socket), errno));
}

}  // namespace wattrig::cli
