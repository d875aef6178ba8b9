#include "host/runner/walk.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <cerrno>
#include <chrono>
#include <cmath>
#include <nlohmann/json.hpp>

#include "host/runner/rounds.hpp"
#include "host/runner/run_json.hpp"

namespace wattrig::runner {
namespace {

using namespace std::chrono_literals;
using suites::StepKind;

constexpr Nanoseconds clock_patience = 10s;
constexpr Nanoseconds edge = 500ms;  // recorded before the first and after the last phase
// A full disk is waited for about as long as the recording can wait in memory.
constexpr Nanoseconds disk_patience = 20s;

const char* phase_kind(StepKind kind) {
    switch (kind) {
        case StepKind::io: return "io";
        case StepKind::idle: return "idle";
        case StepKind::cool_off: return "cool_off";
        case StepKind::fill: return "precondition";
        case StepKind::purge: return "purge";
        case StepKind::command: return "command";
        case StepKind::unsupported: break;
    }
    return "unsupported";
}
// An unsupported step's note says what is missing; it is refused, not left out.
bool runs(const suites::Step& step) { return step.kind == StepKind::unsupported || step.condition_note.empty(); }
bool has_io(StepKind kind) { return kind == StepKind::io || kind == StepKind::fill || kind == StepKind::purge; }

std::string self_test_words(std::uint32_t failed) {
    struct Part {
        std::uint32_t bit;
        const char* name;
    };
    constexpr Part parts[] = {
        {protocol::self_test_adc_id, "ADC identity"},        {protocol::self_test_adc_short, "ADC inputs shorted"},
        {protocol::self_test_adc_signal, "ADC test signal"}, {protocol::self_test_slow_path, "INA228"},
        {protocol::self_test_peak_path, "peak path"},        {protocol::self_test_storage, "EEPROM"},
        {protocol::self_test_temperature, "temperature"},    {protocol::self_test_voltage, "voltage"}};
    std::string words;
    for (const Part& part : parts)
        if (failed & part.bit) words += (words.empty() ? "" : ", ") + std::string(part.name);
    return words.empty() ? fmt::format("bits {:#x}", failed) : words;
}

class Walk {
  public:
    Walk(const suites::Plan& plan, Stage& stage, const WalkSetup& setup, const recording::RunDirectory& directory,
         nlohmann::json& run_json, const RunHooks& hooks)
        : plan_(plan), stage_(stage), setup_(setup), directory_(directory), run_json_(run_json), hooks_(hooks), rounds_(plan) {
        for (const auto& warning : run_json_.value("warnings", nlohmann::json::array()))
            if (warning.is_string()) summary_.warnings.push_back(warning.get<std::string>());
    }

    Result<RunSummary> carry_out() {
        if (auto possible = check_plan(plan_); !possible) return possible.error();
        complete_run_json(run_json_, plan_, setup_);
        if (auto written = write_run_json(false); !written) return written.error();
        Result<void> done = with_rig();
        if (setup_.rig) {
            if (auto ended = stage_.end_capture(); !ended && !recording_failed_)
                warn("the recording was not ended: " + ended.error().message);
            follow_rig();
            if (const auto dropped = stage_.dropped_records(); dropped > 0)
                warn(fmt::format("{} records of the rig were dropped because the disk of the run directory was too slow",
                                 dropped));
        }
        for (const std::string& line : stage_.closing_warnings()) warn(line);
        if (done && recording_failed_) done = *recording_failed_;
        auto written = write_run_json(done.has_value());
        if (!done) return done.error();
        if (!written) return written.error();
        return summary_;
    }

  private:
    Result<void> with_rig() {
        if (setup_.rig) {
            if (auto ready = wait_for_clock(); !ready) return ready;
            pass(edge, nullptr);
        }
        auto done = steps();
        // What follows the last phase belongs to its edge, also after Ctrl-C.
        if (setup_.rig) stage_.pass_until(stage_.now() + edge, false);
        return done;
    }

    Result<void> wait_for_clock() {
        const HostTime give_up = stage_.now() + clock_patience;
        for (;;) {
            const CaptureStatus status = follow_rig();
            if (status.session.failed) return link_broke(fmt::format("{}: {}", setup_.rig_description, status.session.failure));
            if (status.self_test && status.self_test->failed != 0)
                return device_refused(
                    fmt::format("{}: its self-test failed ({}); power off the rig and the drive, check the "
                                "cables, and try again",
                                setup_.rig_description, self_test_words(status.self_test->failed)));
            if (status.session.clock_ready && status.info) {
                run_json_["rig"]["info"] = info_json(*status.info);
                return write_run_json(false);
            }
            if (stopping()) return {};
            if (stage_.now() >= give_up)
                return link_broke(fmt::format(
                    "{}: expected its clock to be known within {} s, but {}", setup_.rig_description, clock_patience / 1s,
                    status.session.streaming ? "its answers came too late or not at all" : "it did not start its stream"));
            stage_.pass_until(std::min(give_up, stage_.now() + Nanoseconds(50ms)), true);
        }
    }

    Result<void> steps() {
        start_temperature_ = stage_.drive_temperature();
        for (std::size_t k = 0; k < plan_.steps.size(); k = step_after(k)) {
            const suites::Step& step = plan_.steps[k];
            step_number_ = k + 1;
            if (stopping()) break;
            if (!runs(step)) {
                if (!rounds_.repeats(k)) warn(fmt::format("{} was left out: {}", step.label, step.condition_note));
                continue;
            }
            if (auto done = carry_out(step); !done) return done;
            follow_rig();
        }
        summary_.interrupted = stopping();
        return {};
    }

    // The step to be carried out after step `k`.
    std::size_t step_after(std::size_t k) {
        // A round that was cut off is not judged.
        if (stopping()) return k + 1;
        const Rounds::Next next = rounds_.after(k);
        if (next.round_ended) rounds_.write_to(run_json_["steady_state"]);
        if (next.not_steady)
            warn(next.notice);
        else if (!next.notice.empty())
            notice(next.notice);
        return next.step;
    }

    Result<void> carry_out(const suites::Step& step) {
        recording::PhaseRecord phase;
        phase.number = summary_.phases;
        phase.step = step.name;
        phase.label = step.label;
        phase.kind = phase_kind(step.kind);
        phase.parameters = step.parameters;
        phase.scored = step.scored;
        phase.has_io = has_io(step.kind);
        phase.outcome.begin = phase.outcome.measured_begin = phase.outcome.measured_end = phase.outcome.end = stage_.now();
        if (auto begun = patiently([&] { return directory_.append_phase_begin(phase); }); !begun) return begun;
        if (setup_.rig) stage_.mark("begin " + step.label);
        ++summary_.phases;
        report({}, step);

        if (phase.has_io) {
            auto outcome = stage_.run_io(step.workload, [&](const io::Progress& progress) { report(progress, step); });
            if (!outcome) {
                // The begin stands in phases.jsonl without an end: a phase that was cut off.
                if (outcome.error().kind == ErrorKind::interrupted) return {};
                return Error{outcome.error().kind, step.label + ": " + outcome.error().message, outcome.error().os_error};
            }
            phase.outcome = std::move(*outcome);
            judge(phase);
            rounds_.track(step_number_ - 1, phase.outcome);
        } else if (step.kind == StepKind::command) {
            return finish_command(step, phase);
        } else {
            const HostTime end = idle(step);
            phase.outcome.measured_end = phase.outcome.end = end;
            phase.outcome.stop = stopping() ? io::StopReason::interrupted : io::StopReason::time;
        }
        phase.complete = true;
        if (setup_.rig) stage_.mark("end " + step.label);
        return patiently([&] { return directory_.append_phase_end(phase); });
    }

    // The command as one phase, and after it one for each pair of its marks "begin NAME" and "end NAME".
    Result<void> finish_command(const suites::Step& step, recording::PhaseRecord& phase) {
        auto outcome = stage_.run_command(step.command, [&] { report({}, step); });
        if (!outcome) return outcome.error();
        summary_.command_status = outcome->status;
        const auto set_times = [](recording::PhaseRecord& record, HostTime begin, HostTime end) {
            record.outcome.begin = record.outcome.measured_begin = begin;
            record.outcome.end = record.outcome.measured_end = end;
            record.complete = true;
        };
        set_times(phase, outcome->begin, outcome->end);
        if (outcome->status != 0) phase.warnings.push_back(fmt::format("the command ended with exit code {}", outcome->status));
        if (stopping()) phase.warnings.emplace_back("ended early: interrupted");
        if (setup_.rig) stage_.mark("end " + step.label);
        if (auto ended = patiently([&] { return directory_.append_phase_end(phase); }); !ended) return ended;

        std::vector<std::pair<std::string, HostTime>> open;
        const auto write = [&](const std::string& label, HostTime begin, HostTime end, bool closed) -> Result<void> {
            recording::PhaseRecord marked;
            marked.number = summary_.phases++;
            marked.step = step.name;
            marked.label = label;
            marked.kind = "marked";
            if (!closed) marked.warnings.emplace_back("its end was not marked: it lasts to the end of the command");
            marked.outcome.begin = begin;
            if (auto begun = directory_.append_phase_begin(marked); !begun) return begun;
            set_times(marked, begin, end);
            return directory_.append_phase_end(marked);
        };
        for (const Mark& mark : outcome->marks) {
            if (mark.text.starts_with("begin ")) open.emplace_back(mark.text.substr(6), mark.when);
            if (!mark.text.starts_with("end ")) continue;
            const std::string name = mark.text.substr(4);
            const auto found = std::find_if(open.rbegin(), open.rend(), [&](const auto& begun) { return begun.first == name; });
            if (found == open.rend()) {
                warn(fmt::format("the mark \"end {}\" has no begin", name));
                continue;
            }
            if (auto written = write(name, found->second, mark.when, true); !written) return written;
            open.erase(std::next(found).base());
        }
        for (const auto& [name, begin] : open)
            if (auto written = write(name, begin, outcome->end, false); !written) return written;
        return {};
    }

    // Writes into the run directory; a full disk gets time to have room again.
    template <class Write>
    Result<void> patiently(Write&& write) {
        const HostTime give_up = stage_.now() + disk_patience;
        Result<void> done = write();
        if (!done && done.error().os_error == ENOSPC) notice(done.error().message + ": waiting for room");
        while (!done && done.error().os_error == ENOSPC && stage_.now() < give_up && !stopping()) {
            pass(Nanoseconds(1s), nullptr);
            follow_rig();
            done = write();
        }
        return done;
    }

    // What a phase's own outcome has to say to the reader of the result.
    void judge(recording::PhaseRecord& phase) {
        const io::PhaseOutcome& outcome = phase.outcome;
        std::uint64_t errors = 0;
        for (const io::KindOutcome& kind : outcome.kinds) errors += kind.errors;
        summary_.io_errors += errors + outcome.verify_failures;
        if (errors > 0) phase.warnings.push_back(fmt::format("{} operations failed", errors));
        if (outcome.verify_failures > 0)
            phase.warnings.push_back(fmt::format("{} reads returned other data than were written", outcome.verify_failures));
        if (outcome.log_dropped > 0)
            phase.warnings.push_back(fmt::format("{} operations are missing from the log", outcome.log_dropped));
        switch (outcome.stop) {
            case io::StopReason::errors: phase.warnings.push_back("ended early: too many errors"); break;
            case io::StopReason::interrupted: phase.warnings.push_back("ended early: interrupted"); break;
            case io::StopReason::failed: phase.warnings.push_back("ended early: the engine could not go on"); break;
            case io::StopReason::time:
            case io::StopReason::bytes:
            case io::StopReason::operations: break;
        }
        if (phase.label.empty()) return;
        for (const std::string& warning : phase.warnings) notice(phase.label + ": " + warning);
    }

    HostTime idle(const suites::Step& step) {
        const bool may_end_early = step.kind == StepKind::cool_off && start_temperature_;
        const auto cool = [&] {
            if (!may_end_early) return false;
            const auto temperature = stage_.drive_temperature();
            return temperature && *temperature <= *start_temperature_ + step.within_kelvin;
        };
        pass(step.duration, &step, cool);
        return stage_.now();
    }

    template <class Enough>
    void pass(Nanoseconds duration, const suites::Step* step, Enough&& enough) {
        const HostTime begin = stage_.now();
        const HostTime end = begin + duration;
        while (stage_.now() < end && !stopping() && !enough()) {
            stage_.pass_until(std::min(end, stage_.now() + stage_.slice()), true);
            if (!step) continue;
            const Nanoseconds elapsed = stage_.now() - begin;
            report({elapsed, std::min(1.0, to_seconds(elapsed) / std::max(1e-9, to_seconds(duration))), 0, 0}, *step);
        }
    }
    void pass(Nanoseconds duration, const suites::Step* step) {
        pass(duration, step, [] { return false; });
    }

    void report(const io::Progress& progress, const suites::Step& step) {
        const CaptureStatus status = follow_rig();
        if (!hooks_.progress) return;
        RunProgress shown;
        shown.label = step.label;
        shown.step = step_number_;
        shown.steps = plan_.steps.size();
        shown.step_done = progress.done;
        shown.left = time_left(progress, step);
        shown.megabytes_per_second = progress.bytes_per_second / 1e6;
        shown.iops = progress.operations_per_second;
        shown.watts = setup_.rig && !summary_.rig_lost ? status.watts.value_or(-1) : -1;
        shown.simulated_power = setup_.rig_simulated;
        hooks_.progress(shown);
    }

    // -1 as soon as one step to come cannot be told.
    Nanoseconds time_left(const io::Progress& progress, const suites::Step& step) const {
        Nanoseconds left{0};
        if (progress.done > 0.02)
            left = from_seconds(to_seconds(progress.elapsed) * (1 - progress.done) / progress.done);
        else if (const auto expected = suites::expected_time(step))
            left = *expected;
        else
            return Nanoseconds(-1);
        for (std::size_t k = step_number_; k < plan_.steps.size(); ++k) {
            if (!runs(plan_.steps[k])) continue;
            const auto expected = suites::expected_time(plan_.steps[k]);
            if (!expected) return Nanoseconds(-1);
            left += *expected;
        }
        return left;
    }

    CaptureStatus follow_rig() {
        if (!setup_.rig) return {};
        if (const auto failure = stage_.recording_failure(); failure && !recording_failed_) {
            // Figures without their recording could not be checked by anyone: better to stop than to go on.
            recording_failed_ = Error{failure->kind,
                                      fmt::format("{}; the run is stopped, and what was recorded until then is in {}",
                                                  failure->message, directory_.path()),
                                      failure->os_error};
            warn(recording_failed_->message);
            if (hooks_.stop) hooks_.stop->store(true, std::memory_order_relaxed);
        }
        CaptureStatus status = stage_.capture();
        for (const std::string& trouble : status.troubles) notice("rig: " + trouble);
        if (status.session.failed && !summary_.rig_lost && summary_.phases > 0) {
            summary_.rig_lost = true;
            warn(fmt::format("the rig was lost, what follows is without power: {}", status.session.failure));
        }
        return status;
    }

    Result<void> write_run_json(bool complete) {
        run_json_["interrupted"] = summary_.interrupted;
        run_json_["complete"] = complete;
        run_json_["warnings"] = summary_.warnings;
        return directory_.write_json("run.json", run_json_);
    }

    bool stopping() const { return recording_failed_ || (hooks_.stop && hooks_.stop->load(std::memory_order_relaxed)); }
    void notice(const std::string& line) const {
        if (hooks_.notice) hooks_.notice(line);
    }
    void warn(const std::string& line) {
        summary_.warnings.push_back(line);
        notice(line);
    }

    const suites::Plan& plan_;
    Stage& stage_;
    const WalkSetup& setup_;
    const recording::RunDirectory& directory_;
    nlohmann::json& run_json_;
    const RunHooks& hooks_;
    RunSummary summary_;
    std::size_t step_number_ = 0;
    Rounds rounds_;
    std::optional<double> start_temperature_;
    std::optional<Error> recording_failed_;
};

}  // namespace

Result<void> check_plan(const suites::Plan& plan) {
    std::string labels;
    std::size_t count = 0;
    for (const suites::Step& step : plan.steps) {
        if (!runs(step)) continue;
        // A purge is carried out as discards; other ways need control of the drive.
        const bool possible = step.kind != StepKind::unsupported && (step.kind != StepKind::purge || step.workload.discard);
        if (possible) continue;
        if (++count > 3) continue;
        labels += (labels.empty() ? "" : ", ") + step.label;
        if (!step.condition_note.empty()) labels += " (" + step.condition_note + ")";
    }
    if (count == 0) return {};
    return bad_input(fmt::format("the suite {} has steps that this version cannot carry out: {}{}", plan.suite, labels,
                                 count > 3 ? fmt::format(" and {} more", count - 3) : ""));
}

Result<RunSummary> walk(const suites::Plan& plan, Stage& stage, const WalkSetup& setup,
                        const recording::RunDirectory& directory, nlohmann::json run_json, const RunHooks& hooks) {
    return Walk(plan, stage, setup, directory, run_json, hooks).carry_out();
}

}  // namespace wattrig::runner
