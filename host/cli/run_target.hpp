#pragma once
// What a run is carried out on: chosen from the command line, real or simulated. The only place that knows both.

#include <memory>
#include <nlohmann/json_fwd.hpp>
#include <optional>
#include <string>

#include "host/base/result.hpp"
#include "host/cli/arguments.hpp"
#include "host/runner/runner.hpp"
#include "host/suites/plan.hpp"

namespace wattrig::cli {

class Console;

class RunTarget {
  public:
    virtual ~RunTarget() = default;
    // What the plan needs to know before anything is touched.
    [[nodiscard]] virtual std::uint64_t size() const = 0;  // bytes, 0 = not known yet
    [[nodiscard]] virtual std::uint32_t logical_block() const = 0;
    // Opens, creates and fills what the plan needs; connects the rig. Before the run directory is made.
    virtual Result<void> prepare(const suites::Plan& plan, Console& console, const io::StopFlag& stop) = 0;
    // "target", "drive", "host" and "warnings" of run.json.
    virtual void describe(nlohmann::json& run_json) const = 0;
    virtual Result<runner::RunSummary> carry_out(const suites::Plan& plan, const recording::RunDirectory& directory,
                                                 nlohmann::json run_json, const runner::RunHooks& hooks) = 0;
};

Result<std::unique_ptr<RunTarget>> choose_target(const RunArguments& arguments);

// The two of them; choose_target decides.
Result<std::unique_ptr<RunTarget>> make_simulated_target(const RunArguments& arguments, const std::string& model);
Result<std::unique_ptr<RunTarget>> make_real_target(const RunArguments& arguments);

}  // namespace wattrig::cli
