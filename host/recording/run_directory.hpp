#pragma once
// The run directory: run.json, power.wrt, power.sum, phases.jsonl, io.bin, result.json, reports. Written so that a kill at any
// moment leaves something `wattrig analyze` can use.

#include <cstdint>
#include <nlohmann/json_fwd.hpp>
#include <string>
#include <vector>

#include "host/base/clock.hpp"
#include "host/base/result.hpp"
#include "host/io/outcome.hpp"

namespace wattrig::recording {

// One line of phases.jsonl: a phase that has begun and, unless the run was cut off in it, ended.
struct PhaseRecord {
    std::uint32_t number = 0;                                     // 0, 1, ... in order of execution
    std::string step;                                             // the suite step it came from
    std::string label;                                            // "randread QD4"
    std::string kind = "io";                                      // io, idle, cool_off, precondition, purge
    std::vector<std::pair<std::string, std::string>> parameters;  // "depth" -> "4", "pattern" -> "randread": the table's axes
    bool scored = true;
    bool complete = false;  // an end was written
    bool has_io = false;
    io::PhaseOutcome outcome;  // begin/end always; the rest when has_io
    std::vector<std::string> warnings;
};

class RunDirectory {
  public:
    // A new directory (made, with parents). bad_input when it exists and is not empty: nothing is ever overwritten.
    static Result<RunDirectory> create(const std::string& path);
    static Result<RunDirectory> open(const std::string& path);

    [[nodiscard]] const std::string& path() const { return path_; }
    [[nodiscard]] std::string file(const std::string& name) const { return path_ + "/" + name; }

    // run.json and result.json: written to a temporary name, synced, renamed.
    Result<void> write_json(const std::string& name, const nlohmann::json& value) const;
    Result<nlohmann::json> read_json(const std::string& name) const;
    Result<void> write_text(const std::string& name, const std::string& text) const;

    // phases.jsonl: one line when a phase begins, one when it ends; appended and flushed.
    Result<void> append_phase_begin(const PhaseRecord& phase) const;
    Result<void> append_phase_end(const PhaseRecord& phase) const;  // windows and histograms go to io.bin
    Result<std::vector<PhaseRecord>> read_phases() const;

  private:
    explicit RunDirectory(std::string path) : path_(std::move(path)) {}
    std::string path_;
};

}  // namespace wattrig::recording
