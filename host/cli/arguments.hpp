#pragma once
// The command line, understood. CLI11 is included by arguments.cpp alone.

#include <cstdint>
#include <optional>
#include <string>
#include <utility>
#include <variant>
#include <vector>

namespace wattrig::cli {

struct RunArguments {
    std::string suite;
    std::string target;       // a path, or "sim:MODEL"; may be empty with `plan`
    std::string rig;          // empty: sim for sim:MODEL, else none
    std::string out;          // empty: wattrig-runs/SUITE-DATE-TIME
    std::string calibration;  // path; empty = the rig's own, or nominal
    double scale = 1;
    unsigned repeat = 1;
    std::uint64_t seed = 1;
    std::string fidelity = "exact";
    std::vector<std::pair<std::string, std::string>> overrides;
    std::optional<std::uint64_t> size;  // bytes
    std::vector<int> cpus;
    bool all_rounds = false, buffered = false, keep = false, overwrite_data = false, plan = false, json = false, quiet = false;
    std::vector<std::string> command_line;  // as typed, for run.json
};
struct AnalyzeArguments {
    std::string directory;
    bool json = false, quiet = false;
};
struct ReportArguments {
    std::string directory;
    bool json = false, quiet = false;
};
struct ListArguments {
    std::string what;  // rigs, targets, suites, models
    bool json = false;
};
struct DoctorArguments {
    bool json = false;
};
// The command line was answered already (--help, --version) or refused; the program ends with this.
struct Ended {
    int exit_code = 0;
};

using Arguments = std::variant<Ended, RunArguments, AnalyzeArguments, ReportArguments, ListArguments, DoctorArguments>;
Arguments parse_arguments(int count, const char* const* values);

}  // namespace wattrig::cli
