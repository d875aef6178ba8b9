#include "host/nvme/states.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <cmath>
#include <numeric>

namespace wattrig::nvme {
namespace {

using std::chrono::microseconds;
using std::chrono::milliseconds;

constexpr Nanoseconds ten_seconds{10'000'000'000}, one_second{1'000'000'000};
// Three steps of the converter: the group delay and the width of its filter.
constexpr Nanoseconds converter{92'000};

double mean(const PowerTrace& trace) {
    return trace.watts.empty()
               ? 0
               : std::accumulate(trace.watts.begin(), trace.watts.end(), 0.0) / static_cast<double>(trace.watts.size());
}

Check not_declared(const char* what, const char* words) {
    Check check;
    check.what = what;
    check.words = words;
    return check;
}

// A declared upper limit or typical value against what was measured; `uncertainty` decides near the edge.
Check compare_power(const char* what, std::optional<Watts> declared, double measured, double uncertainty, double coverage) {
    if (!declared) return not_declared(what, "the drive does not report it");
    Check check{what, Verdict::pass, declared->value(), measured, uncertainty, "W", ""};
    if (coverage < 0.99) {
        check.verdict = Verdict::cannot_tell;
        check.words = fmt::format("only {:.1f} % of the samples arrived", coverage * 100);
    } else if (measured - uncertainty > declared->value()) {
        check.verdict = Verdict::fail;
        check.words = fmt::format("{:.4g} W above what is declared", measured - declared->value());
    } else if (measured > declared->value() && uncertainty > declared->value() / 2) {
        check.verdict = Verdict::cannot_tell;
        check.words = "the declared power is below what this rig can tell from nothing";
    }
    return check;
}

Check compare_time(const char* what, std::optional<std::uint32_t> declared_us, std::optional<Nanoseconds> measured,
                   Nanoseconds bound, const char* why_not) {
    if (!declared_us) return not_declared(what, "the drive does not report it");
    Check check;
    check.what = what;
    check.unit = "us";
    check.declared = *declared_us;
    check.uncertainty = static_cast<double>(bound.count()) / 1000;
    if (!measured) {
        check.verdict = Verdict::cannot_tell;
        check.words = why_not;
        return check;
    }
    const Nanoseconds declared = microseconds(*declared_us);
    check.measured = static_cast<double>(measured->count()) / 1000;
    if (*measured - bound > declared) {
        // A long time is a long time, however short the declared one is.
        check.verdict = Verdict::fail;
        check.words = fmt::format("{:.4g} us longer than declared", *check.measured - *check.declared);
    } else if (declared < 3 * bound) {
        check.verdict = Verdict::cannot_tell;
        check.words = fmt::format("declared is below 3 x {:.0f} us, which is what this rig can tell apart", *check.uncertainty);
    } else {
        check.verdict = Verdict::pass;
    }
    return check;
}

const char* load_name(Load load) {
    switch (load) {
        case Load::sequential_write: return "sequential writes";
        case Load::random_write: return "random writes";
        case Load::random_read: return "random reads";
    }
    return "";
}

class Walk {
  public:
    Walk(StateBench& bench, const StatesPlan& plan, const std::function<void(const std::string&)>& progress)
        : bench_(bench), plan_(plan), progress_(progress) {}

    Result<StatesReport> run() {
        auto controller = bench_.identify();
        if (!controller) return controller.error();
        report_.controller = std::move(*controller);
        // The drive's own transitions would mix with ours.
        if (report_.controller.autonomous_transitions)
            if (auto off = bench_.set_transitions(false, {}); !off) return off.error();
        for (std::size_t i = 0; i < report_.controller.states.size(); ++i) {
            StateReport state;
            state.state = static_cast<std::uint8_t>(i);
            state.declared = report_.controller.states[i];
            if (auto done = measure(state); !done) return done.error();
            report_.states.push_back(std::move(state));
        }
        if (auto back = bench_.enter(0); !back) return back.error();
        return std::move(report_);
    }

  private:
    void say(const std::string& words) const {
        if (progress_) progress_(words);
    }
    Nanoseconds bound(const PowerTrace& trace) const { return bench_.clock_bound() + std::max(converter, trace.step); }
    Nanoseconds declared_entry(const StateReport& s) const { return microseconds(s.declared.entry_latency_us.value_or(0)); }

    // Enters, leaves alone for `total`, gives the trace from before the entry, and when the command was done.
    Result<PowerTrace> entered(StateReport& s, Nanoseconds total, Nanoseconds& done) {
        if (auto base = bench_.enter(0); !base) return base.error();
        bench_.leave_alone(plan_.settle);
        const Nanoseconds begin = bench_.now() - plan_.settle / 2;
        auto completion = bench_.enter(s.state);
        if (!completion) return completion.error();
        done = *completion;
        const std::uint64_t before = bench_.commands();
        bench_.leave_alone(total);
        if (bench_.commands() != before) {
            s.undisturbed = false;
            report_.warnings.push_back(
                fmt::format("state {}: {} commands reached the drive while it was to be left alone; its "
                            "figures do not count",
                            s.state, bench_.commands() - before));
        }
        return bench_.power(begin, bench_.now());
    }

    Result<void> measure(StateReport& s) {
        say(fmt::format("state {}: idle", s.state));
        Nanoseconds done{};
        const Nanoseconds tail = plan_.settle + 3 * declared_entry(s);
        auto trace = entered(s, tail + plan_.idle_window, done);
        if (!trace) return trace.error();
        auto now = bench_.read_back();
        if (!now) return now.error();
        s.read_back = *now;
        const Nanoseconds end = trace->begin + trace->step * static_cast<std::int64_t>(trace->watts.size());
        auto window = bench_.power(end - plan_.idle_window, end);
        if (!window) return window.error();
        s.idle = Watts(mean(*window));
        const auto seconds = static_cast<std::int64_t>(plan_.idle_window / one_second);
        const std::size_t steps = window->watts.size() / static_cast<std::size_t>(std::max<std::int64_t>(seconds, 1));
        for (std::size_t i = 0; steps > 0 && i + steps <= window->watts.size(); i += steps)
            s.idle_watts.push_back(std::accumulate(window->watts.begin() + static_cast<std::ptrdiff_t>(i),
                                                   window->watts.begin() + static_cast<std::ptrdiff_t>(i + steps), 0.0) /
                                   static_cast<double>(steps));
        check_state(s, *window);
        s.checks.push_back(
            compare_power("idle power", s.declared.idle_power, s.idle->value(), window->uncertainty.value(), window->coverage));
        if (s.state == 0) {
            idle_0_ = s.idle->value();
        } else {
            check_entry(s, *trace, done);
            if (auto exit = measure_exit(s); !exit) return exit;
        }
        if (s.declared.operational) {
            if (plan_.loads)
                if (auto load = measure_loads(s); !load) return load;
        } else {
            const double highest = highest_mean(*window, std::min(ten_seconds, plan_.idle_window)).value_or(s.idle->value());
            s.highest_10s = Watts(highest);
            s.checks.push_back(compare_power("maximum power", s.declared.maximum_power, highest, window->uncertainty.value(),
                                             window->coverage));
            if (plan_.transitions && report_.controller.autonomous_transitions)
                if (auto own = measure_transition(s); !own) return own;
        }
        if (!s.undisturbed)
            for (Check& check : s.checks) {
                check.verdict = Verdict::cannot_tell;
                check.words = "a command reached the drive in the window";
            }
        return {};
    }

    void check_state(StateReport& s, const PowerTrace& window) const {
        Check check;
        check.what = "state held";
        check.declared = s.state;
        check.measured = *s.read_back;
        check.verdict = *s.read_back == s.state ? Verdict::pass : Verdict::fail;
        if (check.verdict == Verdict::fail)
            check.words = fmt::format(
                "asked for state {}, after the window the drive says {}: it ignored the request or left the "
                "state by itself",
                s.state, *s.read_back);
        // Power that rises within the window and stays up betrays a drive that left, whatever it says.
        if (!s.declared.operational && s.idle_watts.size() >= 4) {
            const auto [low, high] = std::minmax_element(s.idle_watts.begin(), s.idle_watts.end());
            const double last = s.idle_watts.back();
            const double noise = window.step_noise.value() + window.uncertainty.value();
            const double step = idle_0_ - *low;
            if (step > 6 * noise && *high - *low > step / 2 && last - *low > step / 2) {
                check.verdict = Verdict::fail;
                check.words = fmt::format("power rose from {:.4g} W to {:.4g} W within the window, though no command was sent",
                                          *low, last);
            }
        }
        s.checks.push_back(std::move(check));
    }

    void check_entry(StateReport& s, const PowerTrace& trace, Nanoseconds done) const {
        const double step = idle_0_ - s.idle->value();
        const char* why_not = "power does not fall enough on entry to see when";
        if (step > 6 * trace.step_noise.value())
            if (const auto at = falls_below(trace, s.idle->value() + step / 2, done))
                s.entry = std::max(*at - done, Nanoseconds{0});
        s.checks.push_back(compare_time("entry time", s.declared.entry_latency_us, s.entry, bound(trace), why_not));
    }

    Result<void> measure_exit(StateReport& s) {
        say(fmt::format("state {}: exit", s.state));
        // The same read from state 0: what is longer comes from leaving the state.
        if (auto base = bench_.enter(0); !base) return base.error();
        bench_.leave_alone(plan_.settle);
        auto plain = bench_.one_read();
        if (!plain) return plain.error();
        Nanoseconds done{};
        auto trace = entered(s, plan_.settle + 3 * declared_entry(s), done);
        if (!trace) return trace.error();
        auto read = bench_.one_read();
        if (!read) return read.error();
        s.exit = std::max(read->latency - plain->latency, Nanoseconds{0});
        // Beside it, when the power rose.
        const double step = idle_0_ - s.idle->value();
        if (step > 6 * trace->step_noise.value()) {
            auto after = bench_.power(read->submitted, bench_.now());
            if (!after) return after.error();
            if (const auto edge = rises_above(*after, s.idle->value() + step / 2, read->submitted))
                s.exit_edge = *edge - read->submitted;
        }
        s.checks.push_back(compare_time("exit time", s.declared.exit_latency_us, s.exit, bound(*trace), ""));
        return {};
    }

    Result<void> measure_loads(StateReport& s) {
        double heaviest = 0, uncertainty = 0, coverage = 1;
        std::optional<double> active;
        std::string name;
        for (const Load load : {Load::sequential_write, Load::random_write, Load::random_read}) {
            say(fmt::format("state {}: {}", s.state, load_name(load)));
            if (auto in = bench_.enter(s.state); !in) return in.error();
            const Nanoseconds begin = bench_.now();
            if (auto ran = bench_.run_load(load, plan_.load_window); !ran) return ran;
            auto trace = bench_.power(begin, bench_.now());
            if (!trace) return trace.error();
            const auto highest = highest_mean(*trace, ten_seconds);
            if (!highest) continue;
            coverage = std::min(coverage, trace->coverage);
            // The two workloads that the specification names: 1 is bursts of random writes, 2 is heavy sequential writes.
            if ((s.declared.active_workload == 1 && load == Load::random_write) ||
                (s.declared.active_workload == 2 && load == Load::sequential_write))
                active = highest;
            if (*highest <= heaviest) continue;
            heaviest = *highest;
            uncertainty = trace->uncertainty.value();
            name = load_name(load);
            s.peak_1s = Watts(highest_mean(*trace, one_second).value_or(*highest));
        }
        if (name.empty()) {
            s.checks.push_back(not_declared("maximum power", "the loads were shorter than 10 s"));
            return {};
        }
        s.highest_10s = Watts(heaviest);
        Check most = compare_power("maximum power", s.declared.maximum_power, heaviest, uncertainty, coverage);
        most.words += (most.words.empty() ? "heaviest: " : "; heaviest: ") + name;
        s.checks.push_back(std::move(most));
        if (active) {
            Check check = compare_power("active power", s.declared.active_power, *active, uncertainty, coverage);
            // Ours has no pauses: it can clear a drive, and cannot convict it.
            if (s.declared.active_workload == 1 && check.verdict == Verdict::fail) {
                check.verdict = Verdict::cannot_tell;
                check.words = "above what is declared, but under random writes without the pauses of workload 1";
            }
            s.checks.push_back(std::move(check));
        } else {
            s.checks.push_back(not_declared("active power", s.declared.active_power ? "its workload is not named: no verdict"
                                                                                    : "the drive does not report it"));
        }
        return {};
    }

    Result<void> measure_transition(StateReport& s) {
        say(fmt::format("state {}: entered by the drive itself", s.state));
        if (auto base = bench_.enter(0); !base) return base.error();
        std::vector<AutonomousTransition> table(32);
        for (std::size_t i = 0; i < s.state; ++i) table[i] = {s.state, 100};
        if (auto on = bench_.set_transitions(true, table); !on) return on;
        const std::uint64_t before = bench_.commands();
        bench_.leave_alone(milliseconds(100) + plan_.settle + 3 * declared_entry(s) + plan_.idle_window);
        const bool quiet = bench_.commands() == before;
        const Nanoseconds end = bench_.now();
        auto window = bench_.power(end - plan_.idle_window, end);
        if (!window) return window.error();
        if (auto off = bench_.set_transitions(false, {}); !off) return off;
        s.idle_by_transition = Watts(mean(*window));
        Check check{"reached by itself",
                    Verdict::pass,
                    s.idle->value(),
                    s.idle_by_transition->value(),
                    window->uncertainty.value(),
                    "W",
                    ""};
        const double step = idle_0_ - s.idle->value();
        if (!quiet || step < 6 * window->uncertainty.value()) {
            check.verdict = Verdict::cannot_tell;
            check.words = quiet ? "its power is too near to that of state 0" : "a command reached the drive in the window";
        } else if (s.idle_by_transition->value() > s.idle->value() + step / 2) {
            check.verdict = Verdict::fail;
            check.words = "autonomous transition was allowed after 100 ms, and the power stayed up";
        }
        s.checks.push_back(std::move(check));
        return {};
    }

    StateBench& bench_;
    const StatesPlan& plan_;
    const std::function<void(const std::string&)>& progress_;
    StatesReport report_;
    double idle_0_ = 0;
};

}  // namespace

const char* verdict_name(Verdict verdict) {
    switch (verdict) {
        case Verdict::pass: return "pass";
        case Verdict::fail: return "FAIL";
        case Verdict::cannot_tell: return "cannot tell";
        case Verdict::not_declared: return "-";
    }
    return "";
}

bool StatesReport::failed() const {
    return std::any_of(states.begin(), states.end(), [](const StateReport& state) {
        return std::any_of(state.checks.begin(), state.checks.end(),
                           [](const Check& check) { return check.verdict == Verdict::fail; });
    });
}

std::optional<double> highest_mean(const PowerTrace& trace, Nanoseconds window) {
    if (trace.step <= Nanoseconds{0}) return std::nullopt;
    const auto steps = static_cast<std::size_t>(window / trace.step);
    if (steps == 0 || steps > trace.watts.size()) return std::nullopt;
    double sum = std::accumulate(trace.watts.begin(), trace.watts.begin() + static_cast<std::ptrdiff_t>(steps), 0.0);
    double highest = sum;
    for (std::size_t i = steps; i < trace.watts.size(); ++i) {
        sum += trace.watts[i] - trace.watts[i - steps];
        highest = std::max(highest, sum);
    }
    return highest / static_cast<double>(steps);
}

std::optional<Nanoseconds> falls_below(const PowerTrace& trace, double level, Nanoseconds from) {
    // From the end: the drive may dip and come up again before it has really entered.
    std::size_t i = trace.watts.size();
    while (i > 0 && trace.watts[i - 1] < level) --i;
    if (i == trace.watts.size()) return std::nullopt;
    if (i == 0) return from;
    return std::max(trace.begin + trace.step * static_cast<std::int64_t>(i), from);
}

std::optional<Nanoseconds> rises_above(const PowerTrace& trace, double level, Nanoseconds from) {
    for (std::size_t i = 0; i < trace.watts.size(); ++i) {
        const Nanoseconds at = trace.begin + trace.step * static_cast<std::int64_t>(i);
        if (at >= from && trace.watts[i] > level) return at;
    }
    return std::nullopt;
}

Result<StatesReport> walk_states(StateBench& bench, const StatesPlan& plan,
                                 const std::function<void(const std::string&)>& progress) {
    return Walk(bench, plan, progress).run();
}

std::string states_text(const StatesReport& report) {
    std::string text = fmt::format("{} (serial {}, firmware {})\n\n", report.controller.model, report.controller.serial,
                                   report.controller.firmware);
    const auto number = [](std::optional<double> value) { return value ? fmt::format("{:.5g}", *value) : std::string("-"); };
    text += fmt::format("{:5}  {:18}  {:>10}  {:>10}  {:>8}  {:4}  {:11}  {}\n", "state", "check", "declared", "measured", "+-",
                        "unit", "verdict", "why");
    for (const StateReport& state : report.states)
        for (const Check& check : state.checks)
            text += fmt::format("{:5}  {:18}  {:>10}  {:>10}  {:>8}  {:4}  {:11}  {}\n", state.state, check.what,
                                number(check.declared), number(check.measured), number(check.uncertainty), check.unit,
                                verdict_name(check.verdict), check.words);
    for (const std::string& warning : report.warnings) text += "warning: " + warning + "\n";
    return text;
}

}  // namespace wattrig::nvme
