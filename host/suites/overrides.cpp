#include "host/suites/overrides.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <charconv>

#include "host/suites/text.hpp"

namespace wattrig::suites {
namespace {

std::vector<std::string> split(const std::string& text) {
    std::vector<std::string> parts;
    std::size_t begin = 0;
    while (true) {
        const auto comma = text.find(',', begin);
        std::string part = text.substr(begin, comma - begin);
        part.erase(0, std::min(part.find_first_not_of(' '), part.size()));
        part.erase(part.find_last_not_of(' ') + 1);
        parts.push_back(std::move(part));
        if (comma == std::string::npos || parts.size() > 1000) return parts;
        begin = comma + 1;
    }
}

// "1..32": doubling, the end included even when it is no power of two times the begin.
std::vector<std::string> expand_range(const std::string& text) {
    const auto dots = text.find("..");
    if (dots == std::string::npos) return {text};
    std::uint64_t from = 0, to = 0;
    const char *first = text.data(), *middle = first + dots, *last = first + text.size();
    const auto begin = std::from_chars(first, middle, from);
    const auto end = std::from_chars(middle + 2, last, to);
    if (begin.ec != std::errc() || begin.ptr != middle || end.ec != std::errc() || end.ptr != last || from == 0 || from > to ||
        to > 1'000'000)
        return {text};  // refused later with its text
    std::vector<std::string> values;
    for (std::uint64_t value = from; value < to; value *= 2) values.push_back(std::to_string(value));
    values.push_back(std::to_string(to));
    return values;
}

bool same(const Settings& a, const Settings& b) {
    if (a.all().size() != b.all().size()) return false;
    return std::all_of(a.all().begin(), a.all().end(), [&](const Setting& setting) {
        const auto* other = b.find(setting.parameter->name);
        return other && value_text(*setting.parameter, setting.value) == value_text(*other->parameter, other->value);
    });
}

class Override {
  public:
    Override(const ParameterInfo* parameter, std::vector<Setting> values) : parameter_(parameter), values_(std::move(values)) {}

    // `covered`: a sweep around these nodes has taken the values already.
    void apply(std::vector<Node>& nodes, const Settings& around, bool covered) {
        for (auto& node : nodes) apply(node, around, covered);
    }
    [[nodiscard]] bool used() const { return used_; }

  private:
    void apply(Node& node, const Settings& around, bool covered) {
        if (node.kind != NodeKind::io && node.kind != NodeKind::group) {
            // The region of a fill is that of the phases it prepares.
            if (node.kind == NodeKind::fill && parameter_->name == "span" && values_.size() == 1 && node.settings.find("span"))
                node.settings.set(values_.front());
            return;
        }
        bool swept = false;
        for (auto& axis : node.sweep) {
            if (!axis.sets(parameter_->name)) continue;
            replace(axis);
            swept = true;
            used_ = true;
        }
        Settings inherited = around;
        inherited.set_all(node.settings);
        if (node.kind == NodeKind::group) {
            if (swept || covered) node.settings.erase(parameter_->name);
            apply(node.steps, inherited, covered || swept);
            return;
        }
        if (swept || covered) {
            node.settings.erase(parameter_->name);
            return;
        }
        used_ = true;
        widen_pattern(node, inherited);
        if (values_.size() == 1) {
            Settings one;
            one.set(values_.front());
            node.settings.set_all(one);
            if (parameter_->name == "pattern") drop_mix(node);
        } else {
            node.settings.erase(parameter_->name);
            Axis axis;
            axis.where = values_.front().where;
            for (const auto& value : values_) {
                axis.cases.emplace_back();
                axis.cases.back().set(value);
            }
            node.sweep.push_back(std::move(axis));
        }
    }

    // Every case with every value; cases that have become equal are one.
    void replace(Axis& axis) const {
        std::vector<Settings> cases;
        const bool alone =
            std::all_of(axis.cases.begin(), axis.cases.end(), [](const Settings& one) { return one.all().size() == 1; });
        const std::vector<Settings> old = alone ? std::vector<Settings>{Settings{}} : axis.cases;
        for (const auto& one : old)
            for (const auto& value : values_) {
                Settings changed = one;
                Settings just;
                just.set(value);
                changed.set_all(just);
                if (std::none_of(cases.begin(), cases.end(), [&](const Settings& other) { return same(other, changed); }))
                    cases.push_back(std::move(changed));
            }
        axis.cases = std::move(cases);
    }

    // read_percent on a step of pure reads or writes means the mix of the same kind.
    void widen_pattern(Node& node, const Settings& inherited) const {
        if (parameter_->name != "read_percent") return;
        const auto widen = [](const Setting& pattern) {
            Setting mixed = pattern;
            const auto& text = std::get<std::string>(pattern.value);
            mixed.value = text.starts_with("rand") ? std::string("randrw") : std::string("rw");
            return mixed;
        };
        for (auto& axis : node.sweep) {
            for (auto& one : axis.cases)
                if (const auto* pattern = one.find("pattern")) one.set(widen(*pattern));
            std::vector<Settings> distinct;
            for (const auto& one : axis.cases)
                if (std::none_of(distinct.begin(), distinct.end(), [&](const Settings& other) { return same(other, one); }))
                    distinct.push_back(one);
            axis.cases = std::move(distinct);
        }
        if (const auto* pattern = inherited.find("pattern")) node.settings.set(widen(*pattern));
    }

    static void drop_mix(Node& node) {
        const auto& text = std::get<std::string>(node.settings.find("pattern")->value);
        if (text != "rw" && text != "randrw") node.settings.erase("read_percent");
    }

    const ParameterInfo* parameter_;
    std::vector<Setting> values_;
    bool used_ = false;
};

const ParameterInfo* find_key(const std::string& key, Diagnosis& diagnosis) {
    if (const auto* parameter = find_parameter_or_synonym(key)) return parameter;
    std::vector<std::string> names;
    for (const auto& known : parameters()) {
        names.emplace_back(known.name);
        for (const auto& word : known.words) names.emplace_back(word);
    }
    const auto near = nearest_word(key, names);
    diagnosis.refuse("",
                     near ? fmt::format("unknown override {}; was \"{}\" meant?", quoted_text(key), *near)
                          : fmt::format("unknown override {}; known: runtime, ramp, pattern, read_percent, block_size, depth, "
                                        "workers, span, offset, bytes, rate, rate_iops and the other parameters of a step",
                                        quoted_text(key)));
    return nullptr;
}

}  // namespace

void apply_overrides(Document& document, const std::vector<std::pair<std::string, std::string>>& overrides,
                     Diagnosis& diagnosis) {
    std::vector<const ParameterInfo*> seen;
    for (const auto& [key, text] : overrides) {
        const auto* parameter = find_key(key, diagnosis);
        if (!parameter) return;
        if (std::find(seen.begin(), seen.end(), parameter) != seen.end()) {
            diagnosis.refuse("", fmt::format("the override of {} is there twice", parameter->name));
            return;
        }
        seen.push_back(parameter);
        const std::string where = "override " + key;
        std::vector<Setting> values;
        for (const auto& part : split(text))
            for (const auto& one :
                 parameter->type == ParameterType::count ? expand_range(part) : std::vector<std::string>{part}) {
                const auto value = value_from_text(*parameter, one, where, diagnosis);
                if (!value) return;
                if (std::any_of(values.begin(), values.end(), [&](const Setting& old) {
                        return value_text(*parameter, old.value) == value_text(*parameter, *value);
                    })) {
                    diagnosis.refuse(where, fmt::format("the value {} is there twice", quoted_text(one)));
                    return;
                }
                values.push_back({parameter, *value, where, true});
            }
        Override change(parameter, std::move(values));
        change.apply(document.steps, document.defaults, false);
        if (!change.used())
            diagnosis.refuse(where,
                             fmt::format("the suite {} has no I/O step that {} could change", document.name, parameter->name));
    }
}

}  // namespace wattrig::suites
