#pragma once
// A suite file, read and checked by itself: what it says, before a target or an override is known. Internal to host/suites.

#include <cstdint>
#include <optional>
#include <string>
#include <vector>

#include "host/base/clock.hpp"
#include "host/suites/parameters.hpp"

namespace wattrig::suites {

// One level of a sweep: each case sets one parameter, or several that belong together.
struct Axis {
    std::vector<Settings> cases;
    std::string where;
    [[nodiscard]] bool sets(std::string_view name) const;
};

enum class NodeKind { io, idle, cool_off, fill, purge, feature, group };

struct Condition {  // a step is left out, visibly, when one of these holds
    bool block_size_below_logical_block = false;
    std::uint64_t target_below = 0;  // bytes; 0 = no condition
};

struct SteadySetting {  // until_steady of a group
    std::size_t window = 5, most_rounds = 25;
    double excursion_percent = 20, slope_percent = 10;
    std::string figure = "iops";
    bool all_rounds = false;
    std::size_t rounds_after = 0;
    struct Cell {
        Settings settings;
        std::string where;
    };
    std::vector<Cell> track;
};

struct Node {
    NodeKind kind = NodeKind::io;
    std::string where;  // JSON pointer
    std::string name;   // "" = that of the group around it
    std::string label;  // "" = made from the parameters
    bool scored = true;
    Condition skip_when;
    std::vector<Axis> sweep;                    // outermost first
    Settings settings;                          // io and fill: own parameters; group: those that its steps inherit
    std::vector<Node> steps;                    // group
    std::uint64_t times = 1;                    // group: repeats; fill: passes
    std::optional<SteadySetting> until_steady;  // group: instead of times
    bool optional = false;                      // feature: where this version cannot, left out visibly and the run goes on
    Nanoseconds duration{0};                    // idle, cool_off
    double within_kelvin = 1;
    std::string detail;   // feature and purge: what is asked, "write_cache off"
    std::string missing;  // the capability that this version lacks for it; "" = can be carried out
};

struct ScoreRule {
    struct Match {
        const ParameterInfo* parameter;
        std::vector<std::string> texts;
    };
    std::string name, where;
    std::vector<Match> matches;
    std::string step;  // name of the step, "" = any
    std::vector<double> weights;
};

struct Document {
    std::string name, title, version;
    std::vector<std::string> notes;
    bool prefill = true;
    Settings defaults;
    std::vector<Node> steps;
    std::vector<ScoreRule> scores;
    std::string source_json;  // the file itself, compact
};

std::optional<Document> read_document(const std::string& json_text, Diagnosis& diagnosis);

}  // namespace wattrig::suites
