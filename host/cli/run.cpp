#include <fmt/format.h>

#include <chrono>
#include <ctime>
#include <filesystem>
#include <nlohmann/json.hpp>

#include "host/cli/commands.hpp"
#include "host/cli/console.hpp"
#include "host/cli/interrupt.hpp"
#include "host/cli/output.hpp"
#include "host/cli/repeat.hpp"
#include "host/cli/run_target.hpp"
#include "host/report/escape.hpp"
#include "host/report/figures.hpp"
#include "host/suites/text.hpp"

namespace wattrig::cli {
namespace {

std::string file_name_of(const std::string& suite) { return std::filesystem::path(suite).stem().string(); }

const char* kind_word(suites::StepKind kind) {
    switch (kind) {
        case suites::StepKind::io: return "run";
        case suites::StepKind::idle: return "idle";
        case suites::StepKind::cool_off: return "cool off";
        case suites::StepKind::fill: return "fill";
        case suites::StepKind::purge: return "purge";
        case suites::StepKind::command: return "command";
        case suites::StepKind::unsupported: return "NOT YET";
    }
    return "";
}

void print_plan(const suites::Plan& plan, std::uint64_t target_size) {
    std::string text = fmt::format("{}: {}\n", plan.suite, plan.title);
    std::size_t widest = 0;
    // Rounds are alike: the first is shown, the others are counted.
    const auto later_round = [&](std::size_t k) -> const suites::SteadyGroup* {
        for (const suites::SteadyGroup& group : plan.steady)
            if (k >= group.first_step + group.steps_per_round &&
                k < group.first_step + group.steps_per_round * group.most_rounds)
                return &group;
        return nullptr;
    };
    for (const suites::Step& step : plan.steps) widest = std::max(widest, report::display_width(step.label));
    Nanoseconds total{0};
    bool known = true;
    std::uint64_t written = 0;
    std::size_t number = 0;
    for (const suites::Step& step : plan.steps) {
        const auto expected = suites::expected_time(step);
        const bool left_out = !step.condition_note.empty() && step.kind != suites::StepKind::unsupported;
        if (!left_out) {
            known = known && expected;
            total += expected.value_or(Nanoseconds(0));
            written += suites::expected_bytes_written(step, target_size);
        }
        if (const suites::SteadyGroup* group = later_round(number)) {
            if (number == group->first_step + group->steps_per_round)
                text += fmt::format(
                    "      ... rounds 2 to {} alike{}\n", group->most_rounds,
                    group->all_rounds ? ""
                                      : "; ends after the first steady window of " + std::to_string(group->window) + " rounds");
            ++number;
            continue;
        }
        const std::uint64_t wear = left_out ? 0 : suites::expected_bytes_written(step, target_size);
        const std::string wear_words = wear == 0
                                           ? ""
                                           : fmt::format("  writes {}{:.3f} GB", step.workload.limit.bytes ? "" : "about ",
                                                         static_cast<double>(wear) / 1e9);
        text += fmt::format("{:4}  {:8}  {}{}  {}{}{}\n", ++number, left_out ? "left out" : kind_word(step.kind), step.label,
                            std::string(widest - report::display_width(step.label), ' '),
                            expected ? report::duration_text(*expected) : "as long as the drive needs", wear_words,
                            step.condition_note.empty() ? "" : "  (" + step.condition_note + ")");
    }
    text += fmt::format("{} steps, {}{}\n", plan.steps.size(), known ? plan.steady.empty() ? "" : "at most " : "more than ",
                        report::duration_text(total));
    if (plan.target_size > 0) text += "The target must have " + suites::format_size(plan.target_size) + "\n";
    if (plan.writes)
        text += written > 0 ? fmt::format("Wear: writes about {:.3f} GB{} (phases that end by time are counted at 1 GB/s)\n",
                                          static_cast<double>(written) / 1e9, plan.steady.empty() ? "" : " in all rounds")
                            : "Writes\n";
    if (plan.scale != 1) text += fmt::format("Scaled by {}: not comparable\n", report::significant(plan.scale, 3));
    for (const std::string& note : plan.notes) text += "Note: " + note + "\n";
    std::string safe;
    for (std::size_t begin = 0; begin < text.size();) {
        const std::size_t end = text.find('\n', begin);
        safe += report::terminal_safe(std::string_view(text).substr(begin, end - begin), utf8_wanted()) + '\n';
        begin = end + 1;
    }
    print_text(safe);
}

suites::PlanRequest plan_request(const RunArguments& arguments, const RunTarget* target) {
    suites::PlanRequest request;
    request.suite = arguments.suite;
    request.scale = arguments.scale;
    request.overrides = arguments.overrides;
    request.all_rounds = arguments.all_rounds;
    if (target) {
        request.target_size = target->size();
        request.logical_block = target->logical_block();
    }
    return request;
}

class Run {
  public:
    // `silent`: nothing on standard output, somebody else prints there.
    explicit Run(const RunArguments& arguments, bool silent = false)
        : arguments_(arguments), silent_(silent), stop_(catch_interrupts()) {}
    // After carry_out(); nothing when the run gave none.
    std::optional<analysis::RunResult>& result() { return result_; }

    int carry_out() {
        // The suite first: its name or a setting is the likeliest slip, and nothing has been touched.
        std::unique_ptr<RunTarget> target;
        if (!arguments_.target.empty() || !arguments_.plan) {
            if (auto plan = suites::make_plan(plan_request(arguments_, nullptr)); !plan) return refuse(plan.error());
            auto chosen = choose_target(arguments_);
            if (!chosen) return refuse(chosen.error());
            target = std::move(*chosen);
        }
        auto plan = suites::make_plan(plan_request(arguments_, target.get()));
        if (!plan) return refuse(plan.error());
        if (arguments_.plan) {
            print_plan(*plan, target ? target->size() : plan->target_size);
            return exit_ok;
        }
        if (auto possible = runner::check_plan(*plan); !possible) return refuse(possible.error());

        const std::string path = arguments_.out.empty() ? default_directory(plan->suite) : arguments_.out;
        Console console(arguments_.quiet);
        auto directory = recording::RunDirectory::create(path);
        if (!directory) return refuse(directory.error());
        if (auto prepared = target->prepare(*plan, console, stop_); !prepared) return give_up(*directory, prepared.error());

        nlohmann::json run_json = {{"program", {{"name", "wattrig"}, {"version", program_version()}}},
                                   {"command_line", arguments_.command_line},
                                   {"started", now_text("%Y-%m-%dT%H:%M:%S%z")}};
        target->describe(run_json);
        runner::RunHooks hooks;
        hooks.stop = &stop_;
        hooks.progress = [&](const runner::RunProgress& progress) { console.progress(progress); };
        hooks.notice = [&](const std::string& line) { console.notice(line); };
        auto summary = target->carry_out(*plan, *directory, std::move(run_json), hooks);
        // A file that the run made is removed here, before the result is worked out.
        target.reset();
        if (!summary && !std::filesystem::exists(directory->file("phases.jsonl"))) return give_up(*directory, summary.error());
        console.notice("working out the result");
        const int finished = finish(*directory);
        if (!summary) return refuse(summary.error());
        if (finished != exit_ok) return finished;
        if (summary->interrupted) return exit_interrupted;
        if (summary->rig_lost) return exit_device;
        if (summary->io_errors > 0) {
            print_error(fmt::format("{} I/O errors; the table marks the phases", summary->io_errors));
            return exit_failed;
        }
        return exit_ok;
    }

  private:
    // Nothing was measured: an empty directory of ours is not left behind.
    int give_up(const recording::RunDirectory& directory, const Error& error) const {
        remove_if_empty(directory);
        return refuse(error);
    }
    int finish(const recording::RunDirectory& directory) {
        auto result = analysis::analyze(directory);
        if (!result) return refuse(result.error());
        if (auto written = write_result(directory, *result); !written) return refuse(written.error());
        if (arguments_.json) {
            print_json(analysis::to_json(*result));
        } else if (!silent_) {
            print_result(*result);
            print_text(fmt::format("\nResult  {}\nReport  {}\n", directory.file("result.json"), directory.file("report.html")));
        }
        result_ = std::move(*result);
        return exit_ok;
    }

    const RunArguments& arguments_;
    const bool silent_;
    std::optional<analysis::RunResult> result_;
    io::StopFlag& stop_;
};

}  // namespace

int run(const RunArguments& arguments) {
    if (arguments.repeat == 1 || arguments.plan) return Run(arguments).carry_out();
    const std::string base = arguments.out.empty() ? default_directory(file_name_of(arguments.suite)) : arguments.out;
    auto directory = recording::RunDirectory::create(base);
    if (!directory) return refuse(directory.error());
    std::vector<analysis::RunResult> results;
    int code = exit_ok;
    for (unsigned k = 1; k <= arguments.repeat && code == exit_ok; ++k) {
        RunArguments one = arguments;
        one.out = fmt::format("{}/run-{}", base, k);
        one.seed = arguments.seed + k - 1;  // another simulated drive and rig each time
        one.json = false;
        if (arguments.json) one.quiet = true;
        Run run(one, arguments.json);
        code = run.carry_out();
        if (run.result()) results.push_back(std::move(*run.result()));
    }
    if (results.empty()) return code;
    const nlohmann::json summary = repeat_summary(results);
    if (auto written = directory->write_json("repeat.json", summary); !written) return refuse(written.error());
    if (arguments.json)
        print_json(summary);
    else
        print_text(repeat_text(summary));
    return code;
}

}  // namespace wattrig::cli
