#pragma once
// Does each power state do what Identify says? The walk through the states and the verdicts, over an interface that a real
// drive with a rig and a simulated one both fill. Nothing here waits or reads a clock. One thread.
//
// The observer must not wake the drive: between entering a state and the end of its window no command is sent, and the
// interface's counter of commands proves it. What the drive says (its state read back) is asked afterwards.

#include <functional>
#include <optional>
#include <string>
#include <vector>

#include "host/base/clock.hpp"
#include "host/nvme/decode.hpp"

namespace wattrig::nvme {

enum class Load { sequential_write, random_write, random_read };

struct PowerTrace {  // equal steps without a gap; what was not received is said by coverage
    Nanoseconds begin{}, step{};
    std::vector<double> watts;  // mean of each step
    double coverage = 1;        // 0 .. 1
    Watts uncertainty;          // of a mean over many steps, k = 2
    Watts step_noise;           // standard deviation of one step
};

class StateBench {
  public:
    virtual ~StateBench() = default;
    virtual Result<Controller> identify() = 0;
    // Set Features 02h; returns when its completion came, on the clock of the trace.
    virtual Result<Nanoseconds> enter(std::uint8_t state) = 0;
    virtual Result<std::uint8_t> read_back() = 0;
    virtual Result<void> set_transitions(bool enabled, const std::vector<AutonomousTransition>& table) = 0;
    virtual Nanoseconds now() = 0;
    virtual void leave_alone(Nanoseconds duration) = 0;  // nothing may reach the drive
    struct Operation {
        Nanoseconds submitted{}, latency{};
    };
    virtual Result<Operation> one_read() = 0;
    virtual Result<void> run_load(Load load, Nanoseconds duration) = 0;
    virtual Result<PowerTrace> power(Nanoseconds begin, Nanoseconds end) = 0;
    virtual std::uint64_t commands() = 0;         // admin and I/O, all that reached the drive by this program
    virtual Nanoseconds clock_bound() const = 0;  // guaranteed bound between the trace's clock and that of the operations
};

enum class Verdict { pass, fail, cannot_tell, not_declared };
const char* verdict_name(Verdict verdict);

struct Check {
    std::string what;  // "idle power"
    Verdict verdict = Verdict::not_declared;
    std::optional<double> declared, measured, uncertainty;  // in `unit`
    std::string unit;
    std::string words;  // why, where it is not a plain comparison
};

struct StateReport {
    std::uint8_t state = 0;
    PowerState declared;
    std::optional<std::uint8_t> read_back;
    bool undisturbed = true;
    std::optional<Watts> idle;                // mean of 30 s
    std::vector<double> idle_watts;           // 30 means of 1 s
    std::optional<Watts> highest_10s;         // under the heaviest load; non-operational states: idle
    std::optional<Watts> peak_1s;             // shown, not judged
    std::optional<Nanoseconds> entry, exit;   // power edge; first read beside one from state 0
    std::optional<Nanoseconds> exit_edge;     // shown, not judged
    std::optional<Watts> idle_by_transition;  // entered by the drive itself
    std::vector<Check> checks;
};

struct StatesReport {
    Controller controller;
    std::vector<StateReport> states;
    std::vector<std::string> warnings;
    [[nodiscard]] bool failed() const;
};

struct StatesPlan {
    Nanoseconds idle_window{30'000'000'000};
    Nanoseconds load_window{12'000'000'000};  // the highest 10 s of it
    Nanoseconds settle{2'000'000'000};        // after the declared entry, before the window; and before each entry
    bool loads = true, transitions = true;
};

// `progress` names what is done next. The drive is left in state 0 with transitions off; the caller puts its settings back.
Result<StatesReport> walk_states(StateBench& bench, const StatesPlan& plan,
                                 const std::function<void(const std::string&)>& progress = {});

// Highest mean over `window` of the trace; nothing when the trace is shorter.
std::optional<double> highest_mean(const PowerTrace& trace, Nanoseconds window);
// When the trace crosses `level` for good (falling) or first (rising), after `from`; between two steps by their means.
std::optional<Nanoseconds> falls_below(const PowerTrace& trace, double level, Nanoseconds from);
std::optional<Nanoseconds> rises_above(const PowerTrace& trace, double level, Nanoseconds from);

std::string states_text(const StatesReport& report);  // a table of plain text

}  // namespace wattrig::nvme
