#include "host/suites/planner.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <cmath>
#include <map>
#include <set>

#include "host/suites/text.hpp"

namespace wattrig::suites {
namespace {

constexpr std::uint32_t purge_block = 64u << 20, smallest_purge_block = 1u << 20;  // bytes a discard
constexpr std::size_t most_steps = 10'000;
// A file must not keep the planner busy for hours.
constexpr std::size_t most_work = 40'000;

// What the steps inside groups inherit.
struct Scope {
    Settings settings;
    std::vector<std::string> axes;  // names, outermost first
    std::string name;
    std::uint64_t repeat = 0;  // 1 .. n inside a repeated group, 0 outside
    std::uint64_t round = 0;   // the same inside a group that repeats until steady
    bool scored = true;
    std::string condition_note;
};

struct Planned {  // a step with what the scores look at
    Step step;
    Settings settings;
    std::string where;
};

class Planner {
  public:
    Planner(const Surroundings& surroundings, bool all_rounds, Diagnosis& diagnosis)
        : around_(surroundings), all_rounds_(all_rounds), diagnosis_(diagnosis) {}

    void expand(const std::vector<Node>& nodes, const Scope& scope) {
        for (const auto& node : nodes) {
            if (!diagnosis_.ok()) return;
            expand(node, scope);
        }
    }
    [[nodiscard]] std::vector<Planned>& steps() { return steps_; }

  private:
    // Calls `visit` once for each combination of a node's sweep, outermost axis slowest.
    template <class Visit>
    void each_combination(const Node& node, const Scope& scope, Visit visit) {
        std::vector<std::size_t> index(node.sweep.size(), 0);
        while (diagnosis_.ok()) {
            Scope inner = scope;
            inner.settings.set_all(node.settings);
            for (std::size_t i = 0; i < index.size(); ++i) {
                const Settings& one = node.sweep[i].cases[index[i]];
                inner.settings.set_all(one);
                for (const auto& setting : one.all())
                    if (std::find(inner.axes.begin(), inner.axes.end(), setting.parameter->name) == inner.axes.end())
                        inner.axes.emplace_back(setting.parameter->name);
            }
            visit(inner);
            std::size_t level = index.size();
            while (level > 0 && ++index[level - 1] == node.sweep[level - 1].cases.size()) index[--level] = 0;
            if (level == 0) return;
        }
    }

    std::string condition(const Node& node, const Scope& scope, const io::Workload* workload) const {
        if (!scope.condition_note.empty()) return scope.condition_note;
        if (node.skip_when.target_below > 0 && around_.target_size > 0 && around_.target_size < node.skip_when.target_below)
            return fmt::format("left out: needs a target of at least {}", format_size(node.skip_when.target_below));
        if (workload && node.skip_when.block_size_below_logical_block)
            for (const auto& share : workload->block_sizes)
                if (share.bytes < around_.logical_block)
                    return fmt::format("left out: {} is smaller than the logical block of {}", format_size(share.bytes),
                                       format_size(around_.logical_block));
        return "";
    }

    void expand(const Node& node, const Scope& outer) {
        Scope scope = outer;
        if (!node.name.empty()) scope.name = node.name;
        scope.scored = outer.scored && node.scored;
        switch (node.kind) {
            case NodeKind::group: expand_group(node, scope); break;
            case NodeKind::io: each_combination(node, scope, [&](const Scope& inner) { add_io(node, inner); }); break;
            case NodeKind::idle: add_waiting(node, scope, StepKind::idle, "idle"); break;
            case NodeKind::cool_off: add_waiting(node, scope, StepKind::cool_off, "cool-off"); break;
            case NodeKind::fill:
                for (std::uint64_t pass = 1; pass <= node.times && diagnosis_.ok(); ++pass) add_fill(node, scope, pass);
                break;
            case NodeKind::purge: add_waiting(node, scope, StepKind::purge, "purge"); break;
            case NodeKind::feature: add_waiting(node, scope, StepKind::unsupported, node.detail); break;
        }
    }

    void expand_group(const Node& node, const Scope& scope) {
        Scope base = scope;
        base.condition_note = condition(node, scope, nullptr);
        each_combination(node, base, [&](Scope& inner) {
            if (node.until_steady) {
                add_rounds(node, inner);
                return;
            }
            for (std::uint64_t round = 1; round <= node.times && diagnosis_.ok(); ++round) {
                if (node.times > 1) inner.repeat = (scope.repeat > 0 ? (scope.repeat - 1) * node.times : 0) + round;
                expand(node.steps, inner);
            }
        });
    }

    void add_rounds(const Node& node, Scope& scope) {
        const SteadySetting& setting = *node.until_steady;
        if (scope.round > 0) {
            diagnosis_.refuse(node.where, "a group that repeats until steady cannot stand inside another");
            return;
        }
        SteadyGroup group;
        group.name = scope.name.empty() ? "rounds" : scope.name;
        for (const auto& axis : scope.axes) group.name += fmt::format(", {} {}", axis, setting_text(scope.settings, axis));
        group.first_step = steps_.size();
        group.window = setting.window;
        group.most_rounds = setting.most_rounds;
        group.excursion_permille = static_cast<std::uint32_t>(std::lround(setting.excursion_percent * 10));
        group.slope_permille = static_cast<std::uint32_t>(std::lround(setting.slope_percent * 10));
        group.figure = setting.figure == "latency"                ? SteadyFigure::latency
                       : setting.figure == "megabytes_per_second" ? SteadyFigure::megabytes_per_second
                                                                  : SteadyFigure::iops;
        group.all_rounds = setting.all_rounds || all_rounds_;
        group.rounds_after = setting.rounds_after;
        for (std::uint64_t round = 1; round <= setting.most_rounds && diagnosis_.ok(); ++round) {
            scope.round = round;
            expand(node.steps, scope);
            if (round == 1) group.steps_per_round = steps_.size() - group.first_step;
        }
        scope.round = 0;
        if (!diagnosis_.ok()) return;
        for (const auto& cell : setting.track)
            if (const auto step = tracked_step(group, cell)) group.tracked.push_back(*step);
        if (scope.condition_note.empty()) steady_.push_back(std::move(group));
    }

    // The one step of a round that has all of the cell's settings.
    std::optional<std::size_t> tracked_step(const SteadyGroup& group, const SteadySetting::Cell& cell) {
        std::optional<std::size_t> found;
        std::size_t count = 0;
        for (std::size_t k = 0; k < group.steps_per_round; ++k) {
            const Planned& planned = steps_[group.first_step + k];
            if (planned.step.kind != StepKind::io) continue;
            const auto& wanted = cell.settings.all();
            if (!std::all_of(wanted.begin(), wanted.end(), [&](const Setting& setting) {
                    return setting_text(planned.settings, setting.parameter->name) ==
                           value_text(*setting.parameter, setting.value);
                }))
                continue;
            ++count;
            found = k;
        }
        if (count != 1)
            diagnosis_.refuse(cell.where, fmt::format("expected to name exactly one I/O step of a round, names {}", count));
        else if (!steps_[group.first_step + *found].step.condition_note.empty())
            diagnosis_.refuse(cell.where, fmt::format("the cell {} is not carried out on this target, so it cannot be tracked",
                                                      quoted_text(steps_[group.first_step + *found].step.label)));
        return found;
    }

    [[nodiscard]] Planned start(const Node& node, const Scope& scope) const {
        Planned planned;
        planned.where = node.where;
        planned.settings = scope.settings;
        planned.step.name = scope.name;
        planned.step.scored = scope.scored;
        return planned;
    }

    void add_io(const Node& node, const Scope& scope) {
        if (!spend()) return;
        Planned planned = start(node, scope);
        Step& step = planned.step;
        // A cell that is left out on this target is not held against it.
        Surroundings around = around_;
        const auto* block = scope.settings.find("block_size");
        io::Workload probe;
        if (block) probe.block_sizes = {{static_cast<std::uint32_t>(std::get<std::uint64_t>(block->value)), 100.0}};
        const std::string note = condition(node, scope, block ? &probe : nullptr);
        if (!note.empty()) around.target_size = 0;
        step.kind = node.missing.empty() ? StepKind::io : StepKind::unsupported;
        step.workload = make_workload(scope.settings, around, node.where, diagnosis_);
        if (!diagnosis_.ok()) return;
        // Another order in each phase, or a drive's cache would know what comes; the same in each run.
        if (!scope.settings.find("seed")) step.workload.seed = steps_.size() + 1;
        step.condition_note = !note.empty() || node.missing.empty() ? note : "not possible in this version: " + node.missing;
        add_parameters(step, scope);
        std::string label = workload_label(scope.settings, scope.axes);
        if (!node.label.empty()) {
            label = node.label;
            for (const auto& axis : scope.axes) label += fmt::format(", {} {}", axis, setting_text(scope.settings, axis));
        }
        if (scope.repeat > 0) label += fmt::format(" #{}", scope.repeat);
        if (scope.round > 0) label += fmt::format(" round {}", scope.round);
        if (labels_.contains(label) && node.label.empty() && !scope.name.empty()) label = scope.name + ": " + label;
        add(std::move(planned), label, false);
    }

    static void add_parameters(Step& step, const Scope& scope) {
        const auto add_one = [&](const std::string& name) {
            const auto known =
                std::find_if(step.parameters.begin(), step.parameters.end(), [&](const auto& p) { return p.first == name; });
            const std::string text = setting_text(scope.settings, name);
            if (known == step.parameters.end() && !text.empty()) step.parameters.emplace_back(name, text);
        };
        for (const auto& axis : scope.axes) add_one(axis);
        add_one("pattern");
        const std::string pattern = setting_text(scope.settings, "pattern");
        if (pattern == "rw" || pattern == "randrw") add_one("read_percent");
        add_one(scope.settings.find("block_sizes") ? "block_sizes" : "block_size");
        add_one("depth");
        if (setting_text(scope.settings, "workers") != "1") add_one("workers");
        add_one("rate");
        add_one("rate_iops");
        if (scope.repeat > 0) step.parameters.emplace_back("repeat", std::to_string(scope.repeat));
        if (scope.round > 0) step.parameters.emplace_back("round", std::to_string(scope.round));
    }

    // Steps without a load: idle, cool-off, purge, a feature.
    void add_waiting(const Node& node, const Scope& scope, StepKind kind, const std::string& word) {
        if (!spend()) return;
        Planned planned = start(node, scope);
        Step& step = planned.step;
        step.kind = node.missing.empty() ? kind : StepKind::unsupported;
        step.duration = around_.scaled(node.duration, false);
        step.within_kelvin = node.within_kelvin;
        step.workload.read_percent = node.kind == NodeKind::purge ? 0 : 100;
        if (node.kind == NodeKind::purge && node.missing.empty()) {
            // All of the target, in order, in pieces that every device takes.
            step.workload.discard = true;
            const std::uint64_t target = around_.target_size > 0 ? around_.target_size : Surroundings::assumed_target_size;
            std::uint32_t block = purge_block;
            while (block > smallest_purge_block && target % block != 0) block /= 2;
            step.workload.block_sizes = {{block, 100.0}};
            step.workload.data.pool_bytes = std::max<std::uint64_t>(step.workload.data.pool_bytes, block);
            step.workload.limit.bytes = target;
        }
        step.scored = scope.scored && kind == StepKind::idle;
        step.condition_note = condition(node, scope, nullptr);
        if (step.condition_note.empty() && !node.missing.empty()) {
            if (node.optional) step.kind = StepKind::idle;
            step.condition_note = (node.optional ? "left out: needs " : "not possible in this version: ") + node.missing;
        }
        std::string label = node.name.empty() ? word : node.name;
        if (step.name.empty()) step.name = word;
        for (const auto& axis : scope.axes) step.parameters.emplace_back(axis, setting_text(scope.settings, axis));
        add(std::move(planned), label, true);
    }

    void add_fill(const Node& node, const Scope& scope, std::uint64_t pass) {
        if (!spend()) return;
        Planned planned = start(node, scope);
        Step& step = planned.step;
        Settings settings;
        const auto give = [&](std::string_view name, const Value& value) {
            settings.set({find_parameter(name), value, node.where, false});
        };
        give("pattern", std::string("write"));
        give("block_size", std::uint64_t{1} << 20);
        give("depth", std::uint64_t{32});
        settings.set_all(node.settings);
        give("bytes", Amount{0, 100});
        step.workload = make_workload(settings, around_, node.where, diagnosis_);
        if (!diagnosis_.ok()) return;
        auto& workload = step.workload;
        // Every block once, in whatever order.
        if (workload.pattern == io::Pattern::random) workload.cover = true;
        const std::uint64_t target = around_.target_size > 0 ? around_.target_size : Surroundings::assumed_target_size;
        workload.limit.bytes = workload.span > 0 ? workload.span : target - std::min(target, workload.offset);
        workload.seed = steps_.size() + 1;
        planned.settings = settings;
        step.kind = node.missing.empty() ? StepKind::fill : StepKind::unsupported;
        step.scored = false;
        step.condition_note = condition(node, scope, nullptr);
        if (step.condition_note.empty() && !node.missing.empty())
            step.condition_note = "not possible in this version: " + node.missing;
        if (step.name.empty()) step.name = "fill";
        std::string label = node.name.empty() ? "fill" : node.name;
        if (node.times > 1) {
            label += fmt::format(" {}/{}", pass, node.times);
            step.parameters.emplace_back("pass", std::to_string(pass));
        }
        add(std::move(planned), label, true);
    }

    bool spend() {
        if (++work_ > most_work || steps_.size() >= most_steps)
            diagnosis_.refuse(
                "", fmt::format("the suite expands to more than {} steps; sweep over fewer values or repeat less", most_steps));
        return diagnosis_.ok();
    }

    void add(Planned planned, std::string label, bool number_it) {
        if (!diagnosis_.ok()) return;
        if (number_it && labels_.contains(label)) {
            std::size_t& next = numbers_[label];
            std::string numbered;
            do numbered = fmt::format("{} {}", label, next = std::max<std::size_t>(next, 1) + 1);
            while (labels_.contains(numbered));
            label = numbered;
        }
        if (!labels_.insert(label).second) {
            diagnosis_.refuse(planned.where, fmt::format("the label {} is that of another step; give the steps different names",
                                                         quoted_text(label)));
            return;
        }
        need(planned);
        planned.step.label = std::move(label);
        steps_.push_back(std::move(planned));
    }

  public:
    static bool step_writes(const Step& step) {
        if (!step.condition_note.empty() && step.kind != StepKind::unsupported) return false;
        return step.kind == StepKind::purge || step.workload.writes();
    }
    [[nodiscard]] std::vector<SteadyGroup>& steady() { return steady_; }
    [[nodiscard]] std::uint64_t needed_size() const { return needed_size_; }

  private:
    void need(const Planned& planned) {
        const Step& step = planned.step;
        const auto* span = planned.settings.find("span");
        if (span && std::get<Amount>(span->value).target_percent > 0) return;  // fits every target
        if (!step.condition_note.empty() && step.kind != StepKind::unsupported) return;
        if (step.kind == StepKind::idle || step.kind == StepKind::cool_off || step.workload.span == 0) return;
        needed_size_ = std::max(needed_size_, step.workload.offset + step.workload.span);
    }

    const Surroundings& around_;
    const bool all_rounds_;
    Diagnosis& diagnosis_;
    std::vector<Planned> steps_;
    std::vector<SteadyGroup> steady_;
    std::set<std::string> labels_;
    std::map<std::string, std::size_t> numbers_;
    std::size_t work_ = 0;
    std::uint64_t needed_size_ = 0;
};

bool matches(const Planned& planned, const ScoreRule& rule) {
    const Step& step = planned.step;
    if (!step.scored || step.kind != StepKind::io || !step.condition_note.empty()) return false;
    if (!rule.step.empty() && step.name != rule.step) return false;
    return std::all_of(rule.matches.begin(), rule.matches.end(), [&](const ScoreRule::Match& match) {
        const std::string text = setting_text(planned.settings, match.parameter->name);
        return std::find(match.texts.begin(), match.texts.end(), text) != match.texts.end();
    });
}

// Every value that a rule names must be met, or the score would carry the name of another figure.
bool is_complete(const ScoreRule& rule, const std::vector<const Planned*>& found) {
    if (found.empty()) return false;
    if (!rule.weights.empty() && rule.weights.size() != found.size()) return false;
    for (const auto& match : rule.matches)
        for (const auto& text : match.texts)
            if (std::none_of(found.begin(), found.end(), [&](const Planned* planned) {
                    return setting_text(planned->settings, match.parameter->name) == text;
                }))
                return false;
    return true;
}

bool may_lack_cells(const std::vector<Planned>& steps) {
    return std::any_of(steps.begin(), steps.end(), [](const Planned& planned) { return !planned.step.condition_note.empty(); });
}

void add_scores(const Document& document, const std::vector<Planned>& steps, bool overridden, Plan& plan,
                Diagnosis& diagnosis) {
    for (const auto& rule : document.scores) {
        std::vector<const Planned*> found;
        for (const auto& planned : steps)
            if (matches(planned, rule)) found.push_back(&planned);
        if (is_complete(rule, found)) {
            ScoreRequest score{rule.name, {}, rule.weights};
            for (const auto* planned : found) score.step_labels.push_back(planned->step.label);
            plan.scores.push_back(std::move(score));
        } else if (overridden || may_lack_cells(steps)) {
            plan.notes.push_back(fmt::format("no score \"{}\": its cells are not all in this run", rule.name));
        } else if (!rule.weights.empty() && !found.empty() && rule.weights.size() != found.size()) {
            diagnosis.refuse(rule.where, fmt::format("expected one weight for each of {} steps, came {}", found.size(),
                                                     rule.weights.size()));
        } else {
            diagnosis.refuse(rule.where,
                             fmt::format("the score {} names cells that no scored I/O step has", quoted_text(rule.name)));
        }
    }
}

}  // namespace

Plan expand(const Document& document, const Surroundings& surroundings, bool overridden, bool all_rounds,
            Diagnosis& diagnosis) {
    Plan plan;
    plan.suite = document.name;
    plan.title = document.title;
    plan.version = document.version;
    plan.scale = surroundings.scale;
    plan.notes = document.notes;
    plan.prefill = document.prefill;
    Planner planner(surroundings, all_rounds, diagnosis);
    Scope scope;
    scope.settings = document.defaults;
    planner.expand(document.steps, scope);
    if (!diagnosis.ok()) return plan;
    if (surroundings.scale != 1)
        plan.notes.push_back(fmt::format("scaled to {}: times and amounts of data are smaller, not comparable with full runs",
                                         format_number(surroundings.scale)));
    add_scores(document, planner.steps(), overridden, plan, diagnosis);
    for (const auto& planned : planner.steps()) {
        plan.writes = plan.writes || Planner::step_writes(planned.step);
        plan.steps.push_back(planned.step);
    }
    plan.steady = std::move(planner.steady());
    plan.target_size = planner.needed_size();
    return plan;
}

}  // namespace wattrig::suites
