#pragma once
// A suite (a test method as JSON) and the plan made from it: a flat list of steps, each carried out once, in order.

#include <cstdint>
#include <nlohmann/json_fwd.hpp>
#include <optional>
#include <string>
#include <utility>
#include <vector>

#include "host/base/clock.hpp"
#include "host/base/result.hpp"
#include "host/io/workload.hpp"

namespace wattrig::suites {

enum class StepKind {
    io,           // run `workload`
    idle,         // no I/O for `duration`
    cool_off,     // idle until the temperature is back, at most `duration`
    fill,         // sequential write over the region so that reads count
    purge,        // files: recreate; devices: discard, format, sanitize (with NVMe control)
    command,      // run `command`, a program of the user's
    unsupported,  // a step of a method this version cannot carry out yet: the plan says so and the run refuses
};

struct Step {
    StepKind kind = StepKind::io;
    std::string name;   // of the step in the suite
    std::string label;  // "randread 4 KiB QD4", unique in the plan
    io::Workload workload;
    Nanoseconds duration{0};
    double within_kelvin = 1;  // cool_off: over before `duration` when the drive is this near to its temperature at the start
    std::vector<std::pair<std::string, std::string>> parameters;  // axes of the table, in the suite's order
    bool scored = true;
    std::vector<std::string> command;
    std::string condition_note;  // why it is left out (or, for unsupported: what is missing), for the result; empty = runs
};

// Steps that are repeated round by round until the cells tracked are in steady state (SNIA). All rounds are in the plan; the
// run leaves out those after the last that is needed.
enum class SteadyFigure { iops, megabytes_per_second, latency };  // latency: mean, microseconds
struct SteadyGroup {
    std::string name;
    std::size_t first_step = 0, steps_per_round = 0;  // in Plan::steps
    std::size_t window = 5, most_rounds = 25;
    std::uint32_t excursion_permille = 200, slope_permille = 100;  // of the mean
    SteadyFigure figure = SteadyFigure::iops;
    bool all_rounds = false;           // go on after steady state
    std::size_t rounds_after = 0;      // average so many rounds after the first steady window; 0 = the window itself
    std::vector<std::size_t> tracked;  // steps within a round, each an I/O step
};
const char* steady_figure_name(SteadyFigure figure);

struct ScoreRequest {
    std::string name;
    std::vector<std::string> step_labels;
    std::vector<double> weights;  // one for each label; empty = all equal
};

struct Plan {
    std::string suite;  // name
    std::string title;  // one line
    std::string version;
    double scale = 1;
    std::vector<Step> steps;
    std::vector<ScoreRequest> scores;
    std::vector<SteadyGroup> steady;  // in order, none inside another
    std::vector<std::string> notes;   // choices of ours that the result prints
    bool writes = false;
    std::uint64_t target_size = 0;  // bytes that the target must have, 0 = any
    bool prefill = true;            // reads count only where something was written
    std::string resolved_json;      // the suite as resolved, for run.json
};

struct PlanRequest {
    std::string suite = {};         // a name of list_suites, or a path of a suite's JSON
    double scale = 1;               // (0, 1]: less time and data
    std::uint64_t target_size = 0;  // bytes, 0 = not known yet
    std::uint32_t logical_block = 512;
    bool all_rounds = false;                                          // repeat to the most rounds also after steady state
    std::vector<std::pair<std::string, std::string>> overrides = {};  // "runtime=10s", "depth=1,4", "pattern=randwrite"
};

struct SuiteSummary {
    std::string name, title;
    bool writes = false;
};
std::vector<SuiteSummary> list_suites();

// Every refusal is one sentence with file and key: unknown key, wrong type, absurd number, contradiction.
Result<Plan> make_plan(const PlanRequest& request);
// For files from elsewhere and for the fuzzer.
Result<Plan> make_plan_from_text(const std::string& json_text, const std::string& file_name, const PlanRequest& request);

// Expected time of a step, as far as it can be said (limits by bytes depend on the drive: unknown).
std::optional<Nanoseconds> expected_time(const Step& step);
std::uint64_t expected_bytes_written(const Step& step, std::uint64_t target_size);

}  // namespace wattrig::suites
