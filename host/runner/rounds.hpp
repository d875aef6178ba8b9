#pragma once
// Keeps the figures of the cells tracked in groups that repeat until steady state, and says which step comes next.
//
// Thread rule: the main thread.

#include <cstdint>
#include <nlohmann/json_fwd.hpp>
#include <optional>
#include <string>
#include <vector>

#include "host/io/outcome.hpp"
#include "host/suites/plan.hpp"

namespace wattrig::runner {

class Rounds {
  public:
    // `plan` is the caller's and outlives this.
    explicit Rounds(const suites::Plan& plan) : plan_(plan), groups_(plan.steady.size()) {}

    // The outcome of step `k`, carried out just now.
    void track(std::size_t k, const io::PhaseOutcome& outcome);

    struct Next {
        std::size_t step = 0;     // index into the plan's steps
        std::string notice;       // a sentence for the user, or nothing
        bool not_steady = false;  // the notice is a warning: steady state was not reached
        bool round_ended = false;
    };
    // After step `k`: the next step, or the first after the group when its rounds were enough.
    Next after(std::size_t k);
    // Whether step `k` repeats one of an earlier round.
    [[nodiscard]] bool repeats(std::size_t k) const;
    // For each group what was found, in the figures' units: run.json, steady_state[].result.
    void write_to(nlohmann::json& steady_state) const;

  private:
    struct Group {
        std::vector<std::vector<std::int64_t>> values;  // of each tracked cell, one a round; thousandths
        std::size_t rounds = 0;                         // carried out in full
    };
    [[nodiscard]] std::optional<std::size_t> group_of(std::size_t k) const;
    [[nodiscard]] bool complete(std::size_t group) const;

    const suites::Plan& plan_;
    std::vector<Group> groups_;
};

// A phase's figure in thousandths of its unit (operations a second, MB/s, microseconds); none when nothing was done.
std::optional<std::int64_t> tracked_figure(suites::SteadyFigure figure, const io::PhaseOutcome& outcome);

}  // namespace wattrig::runner
