#include "host/suites/document.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <cmath>
#include <nlohmann/json.hpp>

#include "host/suites/json_reader.hpp"
#include "host/suites/text.hpp"

namespace wattrig::suites {
namespace {

constexpr std::size_t most_values = 1000;  // of one axis

bool is_name(const std::string& text) {
    return !text.empty() && text.size() <= 64 && std::all_of(text.begin(), text.end(), [](char c) {
        return (c >= 'a' && c <= 'z') || (c >= '0' && c <= '9') || c == '-' || c == '_' || c == '.';
    });
}

// {"from": 1, "to": 32, "factor": 2} or {"from": 0, "to": 100, "step": 10}
std::vector<Json> read_range(const Json& value, const std::string& where, Diagnosis& diagnosis) {
    ObjectReader reader(value, where, "a range", diagnosis);
    const auto from = reader.number("from", 0, 1e15), to = reader.number("to", 0, 1e15);
    const auto factor = reader.number("factor", 1.01, 1e6), step = reader.number("step", 1e-6, 1e15);
    reader.finish();
    if (!from || !to || factor.has_value() == step.has_value() || *from > *to || (factor && *from <= 0)) {
        diagnosis.refuse(where, "a range needs from, to (not below it) and exactly one of factor (from above 0) and step");
        return {};
    }
    std::vector<Json> values;
    for (std::size_t i = 0;; ++i) {
        const double number =
            factor ? *from * std::pow(*factor, static_cast<double>(i)) : *from + *step * static_cast<double>(i);
        if (number > *to * (1 + 1e-12)) break;
        if (values.size() >= most_values) {
            diagnosis.refuse(where, fmt::format("the range has more than {} values", most_values));
            return {};
        }
        const bool whole = std::abs(number - std::round(number)) < 1e-9 && number < 9e15;
        values.push_back(whole ? Json(static_cast<std::uint64_t>(std::round(number))) : Json(number));
    }
    return values;
}

Axis read_cases(const Json& cases, const std::string& where, Diagnosis& diagnosis) {
    Axis axis;
    axis.where = where;
    if (!cases.is_array() || cases.empty() || cases.size() > most_values) {
        diagnosis.refuse(where, fmt::format("expected a list of 1 to {} cases, came {}", most_values, json_text(cases)));
        return axis;
    }
    for (std::size_t i = 0; i < cases.size() && diagnosis.ok(); ++i) {
        ObjectReader one(cases[i], fmt::format("{}/{}", where, i), "a case", diagnosis);
        axis.cases.push_back(one.settings());
        one.finish();
        if (axis.cases.back().all().empty()) diagnosis.refuse(one.where(), "a case sets at least one parameter");
    }
    return axis;
}

Axis read_axis(const Json& value, const std::string& where, Diagnosis& diagnosis) {
    ObjectReader reader(value, where, "an axis of a sweep", diagnosis);
    if (const Json* cases = reader.take("cases")) {
        Axis axis = read_cases(*cases, reader.at("cases"), diagnosis);
        reader.finish();
        return axis;
    }
    Axis axis;
    axis.where = where;
    const std::string name = reader.required_text("axis");
    const Json& values = reader.require("values", "a list or a range");
    reader.finish();
    if (!diagnosis.ok()) return axis;
    const auto* parameter = find_parameter(name);
    if (!parameter) {
        std::vector<std::string> names;
        for (const auto& known : parameters()) names.emplace_back(known.name);
        const auto* synonym = find_parameter_or_synonym(name);
        const auto near = synonym ? std::optional<std::string>(synonym->name) : nearest_word(name, names);
        diagnosis.refuse(reader.at("axis"),
                         near ? fmt::format("unknown parameter {}; was \"{}\" meant?", quoted_text(name), *near)
                              : fmt::format("unknown parameter {}; known: {}", quoted_text(name), fmt::join(names, ", ")));
        return axis;
    }
    std::vector<Json> list;
    if (values.is_object())
        list = read_range(values, reader.at("values"), diagnosis);
    else if (values.is_array() && !values.empty() && values.size() <= most_values)
        list.assign(values.begin(), values.end());
    else
        diagnosis.refuse(reader.at("values"),
                         fmt::format("expected a list of 1 to {} values, or a range, came {}", most_values, json_text(values)));
    for (std::size_t i = 0; i < list.size() && diagnosis.ok(); ++i) {
        const std::string place = fmt::format("{}/values/{}", where, i);
        const auto read = read_value(*parameter, list[i], place, diagnosis);
        if (!read) break;
        Settings one;
        one.set({parameter, *read, place, false});
        const std::string text = value_text(*parameter, *read);
        for (const auto& other : axis.cases)
            if (setting_text(other, name) == text) diagnosis.refuse(place, fmt::format("the value {} is there twice", text));
        axis.cases.push_back(std::move(one));
    }
    return axis;
}

std::vector<Axis> read_sweep(ObjectReader& reader, Diagnosis& diagnosis) {
    std::vector<Axis> axes;
    const Json* sweep = reader.take("sweep");
    if (!sweep) return axes;
    const std::string where = reader.at("sweep");
    if (!sweep->is_array() || sweep->empty() || sweep->size() > 8) {
        diagnosis.refuse(where, fmt::format("expected a list of 1 to 8 axes, outermost first, came {}", json_text(*sweep)));
        return axes;
    }
    for (std::size_t i = 0; i < sweep->size() && diagnosis.ok(); ++i) {
        Axis axis = read_axis((*sweep)[i], fmt::format("{}/{}", where, i), diagnosis);
        for (const auto& one : axis.cases)
            for (const auto& setting : one.all())
                for (const auto& before : axes)
                    if (before.sets(setting.parameter->name))
                        diagnosis.refuse(axis.where, fmt::format("{} is swept by two axes", setting.parameter->name));
        axes.push_back(std::move(axis));
    }
    return axes;
}

Condition read_condition(ObjectReader& reader, Diagnosis& diagnosis) {
    Condition condition;
    const Json* value = reader.take("skip_when");
    if (!value) return condition;
    ObjectReader when(*value, reader.at("skip_when"), "a condition", diagnosis);
    condition.block_size_below_logical_block = when.flag("block_size_below_logical_block", false);
    condition.target_below = when.size("target_below").value_or(0);
    when.finish();
    return condition;
}

void note_missing(Node& node, const std::string& capability) {
    if (node.missing.empty()) node.missing = capability;
}

std::vector<Node> read_steps(const Json& value, const std::string& where, Diagnosis& diagnosis);

void read_io(Node& node, ObjectReader& reader, Diagnosis& diagnosis) {
    node.label = reader.text("label");
    node.settings = reader.settings();
    if (const Json* beside = reader.take("beside")) {
        ObjectReader probe(*beside, reader.at("beside"), "a load beside the step", diagnosis);
        const Settings load = probe.settings();
        probe.finish();
        if (!load.find("pattern"))
            diagnosis.refuse(probe.where(), "a load beside a step needs a pattern, such as \"randread\"");
        note_missing(node, "a second load beside a step");
    }
    if (const Json* files = reader.take("files")) {
        ObjectReader many(*files, reader.at("files"), "files", diagnosis);
        const auto size = many.size("size");
        const auto count = many.count("count", 1, 1'000'000);
        const bool all = many.flag("until_full", false);
        many.flag("keep", false);
        many.flag("delete", false);
        many.word("mode", {"direct", "buffered"}, "direct");
        many.finish();
        if (!size || *size == 0) diagnosis.refuse(many.where(), "files need a size above 0, such as \"1 GiB\"");
        if (count.has_value() == all) diagnosis.refuse(many.where(), "files need exactly one of count and until_full");
        note_missing(node, "writing and reading many files");
    }
}

void read_idle(Node& node, ObjectReader& reader, Diagnosis& diagnosis) {
    const auto duration = reader.time("duration");
    if (const Json* readings = reader.take("readings")) {
        ObjectReader each(*readings, reader.at("readings"), "readings", diagnosis);
        const auto count = each.count("count", 1, 1'000'000);
        const auto length = each.time("each");
        each.finish();
        if (!count || !length || duration)
            diagnosis.refuse(each.where(), "readings need count and each, and stand in the place of duration");
        else if (length->count() > 0 && static_cast<double>(*count) * to_seconds(*length) < 30 * 86'400.0)
            node.duration = Nanoseconds(length->count() * static_cast<std::int64_t>(*count));
    } else if (duration) {
        node.duration = *duration;
    }
    if (node.duration.count() <= 0 || node.duration > std::chrono::hours(24 * 30))
        diagnosis.refuse(reader.where(), "an idle step needs a duration above 0 and of at most 30 d");
    const std::string power = reader.word("power_management", {"as_set", "active", "desktop", "mobile"}, "as_set");
    if (power != "as_set") {
        note_missing(node, "setting APST and ASPM (NVMe control)");
        node.detail = power;
    }
}

void read_cool_off(Node& node, ObjectReader& reader, Diagnosis& diagnosis) {
    const auto at_most = reader.time("at_most");
    node.within_kelvin = reader.number("within_kelvin", 0.1, 100).value_or(1);
    if (!at_most || at_most->count() <= 0 || *at_most > std::chrono::hours(24))
        diagnosis.refuse(reader.where(), "a cool_off needs at_most, a time above 0 and of at most 1 d");
    else
        node.duration = *at_most;
}

void read_fill(Node& node, ObjectReader& reader, Diagnosis& diagnosis) {
    node.times = reader.count("passes", 1, 100).value_or(1);
    if (const Json* until = reader.take("until_steady")) {
        if (!until->is_boolean())
            diagnosis.refuse(reader.at("until_steady"), fmt::format("expected true or false, came {}", json_text(*until)));
        else if (until->get<bool>())
            note_missing(node, "filling until steady state");
    }
    node.settings = reader.settings();
    for (const auto& setting : node.settings.all()) {
        static constexpr std::array<std::string_view, 8> allowed{"pattern", "block_size", "offset", "span",
                                                                 "depth",   "workers",    "cover",  "seed"};
        if (std::find(allowed.begin(), allowed.end(), setting.parameter->name) == allowed.end())
            diagnosis.refuse(setting.where, fmt::format("a fill does not know {}, expected some of {}", setting.parameter->name,
                                                        fmt::join(allowed, ", ")));
    }
    if (const auto* pattern = node.settings.find("pattern"))
        if (const auto& text = std::get<std::string>(pattern->value); text != "write" && text != "randwrite")
            diagnosis.refuse(pattern->where, fmt::format("a fill writes, expected write or randwrite, came {}", text));
}

void read_feature(Node& node, ObjectReader& reader, Diagnosis& diagnosis) {
    const std::string feature =
        reader.word("feature", {"write_cache", "host_memory_buffer", "apst", "aspm", "power_state", "trim_files"}, "");
    if (feature.empty()) diagnosis.refuse(reader.where(), "a feature step needs feature, such as \"write_cache\"");
    const Json& value = reader.require("value", "a text, number, true or false");
    if (!value.is_primitive() || value.is_null())
        diagnosis.refuse(reader.at("value"), fmt::format("expected a text, number, true or false, came {}", json_text(value)));
    node.detail = feature + " " +
                  (value.is_boolean()  ? (value.get<bool>() ? "on" : "off")
                   : value.is_string() ? value.get<std::string>()
                                       : value.dump());
    node.optional = reader.flag("optional", false);
    note_missing(node, "NVMe control (" + node.detail + ")");
}

void read_until_steady(Node& node, const Json& value, const std::string& where, Diagnosis& diagnosis) {
    ObjectReader until(value, where, "until_steady", diagnosis);
    const auto window = until.count("window", 3, 1000), rounds = until.count("most_rounds", 3, 10'000);
    SteadySetting steady;
    steady.excursion_percent = until.number("excursion_percent", 0.1, 1000).value_or(20);
    steady.slope_percent = until.number("slope_percent", 0.1, 1000).value_or(10);
    steady.figure = until.word("figure", {"iops", "megabytes_per_second", "latency"}, "iops");
    steady.all_rounds = until.flag("all_rounds", false);
    steady.rounds_after = until.count("rounds_after", 1, 1000).value_or(0);
    if (!window || !rounds || *window > *rounds)
        diagnosis.refuse(where, "until_steady needs window (3 or more) and most_rounds (not below it)");
    const Json& tracked = until.require("track", "a list of cells, each an object of parameters");
    if (!tracked.is_array() || tracked.empty() || tracked.size() > 16)
        diagnosis.refuse(until.at("track"), fmt::format("expected a list of 1 to 16 cells, came {}", json_text(tracked)));
    else
        for (std::size_t i = 0; i < tracked.size(); ++i) {
            ObjectReader cell(tracked[i], fmt::format("{}/{}", until.at("track"), i), "a cell", diagnosis);
            steady.track.push_back({cell.settings(), cell.where()});
            if (steady.track.back().settings.all().empty())
                diagnosis.refuse(cell.where(), "a cell names at least one parameter");
            cell.finish();
        }
    until.finish();
    if (steady.rounds_after > 0 && !steady.all_rounds)
        diagnosis.refuse(until.at("rounds_after"), "rounds after the steady window are there only with all_rounds true");
    steady.window = window.value_or(5);
    steady.most_rounds = rounds.value_or(25);
    node.until_steady = std::move(steady);
}

void read_group(Node& node, ObjectReader& reader, Diagnosis& diagnosis) {
    if (const Json* set = reader.take("set")) {
        ObjectReader inherited(*set, reader.at("set"), "parameters", diagnosis);
        node.settings = inherited.settings();
        inherited.finish();
    }
    node.times = reader.count("times", 1, 10'000).value_or(1);
    if (const Json* until = reader.take("until_steady")) read_until_steady(node, *until, reader.at("until_steady"), diagnosis);
    if (node.until_steady && node.times != 1)
        diagnosis.refuse(reader.where(), "a group repeats by times or by until_steady, expected one of them");
    node.steps = read_steps(reader.require("steps", "a list of steps"), reader.at("steps"), diagnosis);
}

Node read_node(const Json& value, const std::string& where, Diagnosis& diagnosis) {
    Node node;
    node.where = where;
    ObjectReader reader(value, where, "a step", diagnosis);
    if (value.is_object() && !value.contains("do"))
        diagnosis.refuse(where, "the key \"do\" is missing, expected one of io, idle, cool_off, fill, purge, feature, group");
    const std::string kind = reader.word("do", {"io", "idle", "cool_off", "fill", "purge", "feature", "group"}, "io");
    node.name = reader.text("name");
    reader.text("note");
    node.scored = reader.flag("scored", true);
    node.skip_when = read_condition(reader, diagnosis);
    if (!diagnosis.ok()) return node;
    if (kind == "io" || kind == "group") node.sweep = read_sweep(reader, diagnosis);
    if (kind == "io") {
        node.kind = NodeKind::io;
        read_io(node, reader, diagnosis);
    } else if (kind == "idle") {
        node.kind = NodeKind::idle;
        read_idle(node, reader, diagnosis);
    } else if (kind == "cool_off") {
        node.kind = NodeKind::cool_off;
        read_cool_off(node, reader, diagnosis);
    } else if (kind == "fill") {
        node.kind = NodeKind::fill;
        read_fill(node, reader, diagnosis);
    } else if (kind == "purge") {
        node.kind = NodeKind::purge;
        node.detail = reader.word("method", {"any", "secure_erase", "format", "sanitize", "discard", "recreate"}, "any");
        // Discarding is what every target understands; the others need NVMe control.
        if (node.detail != "any" && node.detail != "discard" && node.detail != "recreate")
            note_missing(node, "purging (" + node.detail + ")");
    } else if (kind == "feature") {
        node.kind = NodeKind::feature;
        read_feature(node, reader, diagnosis);
    } else {
        node.kind = NodeKind::group;
        read_group(node, reader, diagnosis);
    }
    reader.finish();
    for (const auto& setting : node.settings.all())
        for (const auto& axis : node.sweep)
            if (axis.sets(setting.parameter->name))
                diagnosis.refuse(setting.where, fmt::format("{} is set here and swept by {}, expected one of them",
                                                            setting.parameter->name, axis.where));
    return node;
}

std::vector<Node> read_steps(const Json& value, const std::string& where, Diagnosis& diagnosis) {
    std::vector<Node> steps;
    if (!diagnosis.ok()) return steps;
    if (!value.is_array() || value.empty() || value.size() > 1000) {
        diagnosis.refuse(where, fmt::format("expected a list of 1 to 1000 steps, came {}", json_text(value)));
        return steps;
    }
    for (std::size_t i = 0; i < value.size() && diagnosis.ok(); ++i)
        steps.push_back(read_node(value[i], fmt::format("{}/{}", where, i), diagnosis));
    return steps;
}

ScoreRule read_score(const Json& value, const std::string& where, Diagnosis& diagnosis) {
    ScoreRule rule;
    rule.where = where;
    ObjectReader reader(value, where, "a score", diagnosis);
    rule.name = reader.required_text("name");
    rule.step = reader.text("step");
    if (const Json* over = reader.take("over")) {
        const std::string place = reader.at("over");
        ObjectReader cells(*over, place, "the cells of a score", diagnosis);
        for (const auto& parameter : parameters()) {
            const Json* wanted = cells.take(std::string(parameter.name));
            if (!wanted) continue;
            ScoreRule::Match match{&parameter, {}};
            const std::vector<Json> list =
                wanted->is_array() ? std::vector<Json>(wanted->begin(), wanted->end()) : std::vector<Json>{*wanted};
            for (const auto& entry : list)
                if (const auto read = read_value(parameter, entry, cells.at(parameter.name), diagnosis))
                    match.texts.push_back(value_text(parameter, *read));
            if (list.empty()) diagnosis.refuse(cells.at(parameter.name), "expected at least one value, came an empty list");
            rule.matches.push_back(std::move(match));
        }
        cells.finish();
    }
    if (const Json* weights = reader.take("weights")) {
        if (!weights->is_array() || weights->empty())
            diagnosis.refuse(reader.at("weights"), fmt::format("expected a list of numbers, came {}", json_text(*weights)));
        else
            for (const auto& weight : *weights) {
                if (!weight.is_number() || !(weight.get<double>() > 0) || weight.get<double>() > 1e6)
                    diagnosis.refuse(reader.at("weights"), fmt::format("expected numbers above 0, came {}", json_text(weight)));
                else
                    rule.weights.push_back(weight.get<double>());
            }
    }
    reader.finish();
    return rule;
}

// Charts are hints for the report: checked here, carried along as they stand.
void check_chart(const Json& value, const std::string& where, Diagnosis& diagnosis) {
    ObjectReader reader(value, where, "a chart", diagnosis);
    if (reader.word("kind", {"line", "bar", "table", "surface", "position", "convergence", "steady_state", "time"}, "").empty())
        diagnosis.refuse(where, "a chart needs a kind, such as \"line\"");
    reader.text("title");
    reader.text("step");
    const std::string x = reader.text("x"), series = reader.text("series");
    for (const auto& [key, name] : {std::pair<const char*, const std::string&>{"x", x}, {"series", series}})
        if (!name.empty() && !find_parameter(name) && name != "repeat" && name != "position" && name != "time" &&
            name != "round")
            diagnosis.refuse(reader.at(key),
                             fmt::format("expected a parameter, position, time, round or repeat, came {}", quoted_text(name)));
    static constexpr std::array<std::string_view, 9> figures{"iops",
                                                             "megabytes_per_second",
                                                             "latency_mean",
                                                             "latency_p99",
                                                             "latency_maximum",
                                                             "watts",
                                                             "megabytes_per_second_per_watt",
                                                             "iops_per_watt",
                                                             "microjoules_per_operation"};
    const auto wanted = reader.texts("y");
    for (const auto& figure : wanted)
        if (std::find(figures.begin(), figures.end(), figure) == figures.end())
            diagnosis.refuse(reader.at("y"),
                             fmt::format("expected some of {}, came {}", fmt::join(figures, ", "), quoted_text(figure)));
    reader.finish();
}

template <class Read>
void read_list(const Json* list, const std::string& where, std::size_t most, Diagnosis& diagnosis, Read read) {
    if (!list) return;
    if (!list->is_array() || list->size() > most) {
        diagnosis.refuse(where, fmt::format("expected a list of at most {}, came {}", most, json_text(*list)));
        return;
    }
    for (std::size_t i = 0; i < list->size() && diagnosis.ok(); ++i) read((*list)[i], fmt::format("{}/{}", where, i));
}

void check_require(const Json* value, const std::string& where, Diagnosis& diagnosis) {
    if (!value) return;
    ObjectReader reader(*value, where, "requirements", diagnosis);
    reader.number("filesystem_used_percent_before", 0, 100);
    reader.number("filesystem_free_percent_after_at_least", 0, 100);
    reader.number("filesystem_free_percent_after_at_most", 0, 100);
    reader.finish();
}

}  // namespace

bool Axis::sets(std::string_view name) const {
    return std::any_of(cases.begin(), cases.end(), [&](const Settings& one) { return one.find(name) != nullptr; });
}

std::optional<Document> read_document(const std::string& json_text_of_suite, Diagnosis& diagnosis) {
    const auto json = parse_json(json_text_of_suite, diagnosis);
    if (!json) return std::nullopt;
    Document document;
    ObjectReader reader(*json, "", "a suite", diagnosis);
    const std::string format = reader.required_text("format");
    if (diagnosis.ok() && format != "wattrig.suite/1")
        diagnosis.refuse("/format", fmt::format("expected \"wattrig.suite/1\", came {}", quoted_text(format)));
    document.name = reader.required_text("name");
    if (diagnosis.ok() && !is_name(document.name))
        diagnosis.refuse("/name", fmt::format("expected small letters, digits, '-', '_' and '.', at most 64, came {}",
                                              quoted_text(document.name)));
    document.title = reader.required_text("title");
    document.version = reader.text("version", "1");
    reader.text("source");
    document.notes = reader.texts("notes");
    document.prefill = reader.flag("prefill", true);
    if (const Json* defaults = reader.take("defaults")) {
        ObjectReader parameters_of_all(*defaults, "/defaults", "parameters", diagnosis);
        document.defaults = parameters_of_all.settings();
        parameters_of_all.finish();
    }
    check_require(reader.take("require"), "/require", diagnosis);
    document.steps = read_steps(reader.require("steps", "a list of steps"), "/steps", diagnosis);
    read_list(reader.take("scores"), "/scores", 100, diagnosis, [&](const Json& value, const std::string& where) {
        document.scores.push_back(read_score(value, where, diagnosis));
        for (std::size_t i = 0; i + 1 < document.scores.size(); ++i)
            if (document.scores[i].name == document.scores.back().name)
                diagnosis.refuse(where,
                                 fmt::format("the name {} is that of another score", quoted_text(document.scores.back().name)));
    });
    read_list(reader.take("charts"), "/charts", 100, diagnosis,
              [&](const Json& value, const std::string& where) { check_chart(value, where, diagnosis); });
    reader.finish();
    if (!diagnosis.ok()) return std::nullopt;
    document.source_json = json->dump();
    return document;
}

}  // namespace wattrig::suites
