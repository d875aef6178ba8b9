#include "host/suites/parameters.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <array>

#include "host/suites/text.hpp"

namespace wattrig::suites {
namespace {

constexpr double mebi = 1024 * 1024, gibi = 1024 * mebi;
constexpr double day = 86'400;
using Type = ParameterType;

const std::vector<ParameterInfo>& table() {
    static const std::vector<ParameterInfo> entries{
        {"pattern",
         Type::pattern,
         0,
         0,
         {"rw", "readwrite"},
         {"read", "write", "rw", "randread", "randwrite", "randrw", "trim", "randtrim"}},
        {"read_percent", Type::percent, 0, 100, {"rwmixread"}},
        {"block_size", Type::block_size, 512, 64 * mebi, {"bs", "blocksize"}},
        {"block_sizes", Type::shares, 0, 0, {"bssplit"}},
        {"offset", Type::size, 0, gibi * gibi, {}},
        {"span", Type::amount, 512, gibi * gibi, {"size", "region"}},
        {"zones", Type::zones, 0, 0, {"random_distribution"}},
        {"cover", Type::flag, 0, 0, {}},
        {"depth", Type::count, 1, 1024, {"iodepth", "qd", "queue_depth"}},
        {"workers", Type::count, 1, 256, {"numjobs", "jobs", "threads"}},
        {"runtime", Type::time, 0.001, 30 * day, {"time", "duration"}},
        {"bytes", Type::amount, 512, gibi * gibi, {"io_size"}},
        {"operations", Type::count, 1, 1e15, {"number_ios"}},
        {"ramp", Type::time, 0, day, {"ramp_time"}},
        {"bursts", Type::bursts, 0, 0, {"thinktime"}},
        {"rate_iops", Type::number, 0.001, 1e9, {}},
        {"rate", Type::rate, 512, 1e12, {"rate_bytes"}},
        {"rate_process", Type::word, 0, 0, {}, {"linear", "poisson"}},
        {"fsync", Type::count, 1, 1e9, {"sync_every"}},
        {"end_fsync", Type::flag, 0, 0, {}},
        {"compress_percent", Type::percent, 0, 100, {"buffer_compress_percentage"}},
        {"data_pool", Type::size, mebi, gibi, {}},
        {"verify", Type::flag, 0, 0, {}},
        {"batching", Type::word, 0, 0, {}, {"natural", "throughput", "strict"}},
        {"seed", Type::count, 1, 9e15, {"randseed"}},
        {"maximum_errors", Type::count, 0, 1e15, {"max_errors"}},
        {"operation_log", Type::flag, 0, 0, {"log"}},
    };
    return entries;
}

bool is_pure(const std::string& pattern) { return pattern != "rw" && pattern != "randrw"; }

std::string burst_text(const BurstSetting& setting) {
    const auto& bursts = setting.bursts;
    std::string text = bursts.bytes > 0 ? format_size(bursts.bytes) : fmt::format("{} operations", bursts.operations);
    if (setting.count > 0) text = fmt::format("{} x {}", setting.count, text);
    return fmt::format("{} at {} %", text, format_number(bursts.duty * 100));
}

}  // namespace

std::span<const ParameterInfo> parameters() { return table(); }

const ParameterInfo* find_parameter(std::string_view name) {
    const auto found = std::find_if(table().begin(), table().end(), [&](const ParameterInfo& p) { return p.name == name; });
    return found == table().end() ? nullptr : &*found;
}

const ParameterInfo* find_parameter_or_synonym(std::string_view name) {
    if (const auto* parameter = find_parameter(name)) return parameter;
    const auto found = std::find_if(table().begin(), table().end(), [&](const ParameterInfo& p) {
        return std::find(p.words.begin(), p.words.end(), name) != p.words.end();
    });
    return found == table().end() ? nullptr : &*found;
}

std::string value_text(const ParameterInfo& parameter, const Value& value) {
    struct Text {
        Type type;
        std::string operator()(bool flag) const { return flag ? "yes" : "no"; }
        std::string operator()(std::uint64_t number) const {
            return type == Type::count ? std::to_string(number) : format_size(number);
        }
        std::string operator()(double number) const {
            return type == Type::rate ? format_size(static_cast<std::uint64_t>(number)) + "/s" : format_number(number);
        }
        std::string operator()(const std::string& text) const { return text; }
        std::string operator()(Nanoseconds time) const { return format_time(time); }
        std::string operator()(const Amount& amount) const {
            if (amount.target_percent > 0) return format_number(amount.target_percent) + " %";
            return amount.bytes == 0 ? "whole" : format_size(amount.bytes);
        }
        std::string operator()(const BurstSetting& bursts) const { return burst_text(bursts); }
        std::string operator()(const std::vector<io::Zone>& zones) const {
            std::string text;
            for (const auto& zone : zones)
                text += fmt::format("{}{}/{}", text.empty() ? "" : ":", format_number(zone.access_percent),
                                    format_number(zone.span_percent));
            return text;
        }
        std::string operator()(const std::vector<io::BlockSizeShare>& shares) const {
            std::string text;
            for (const auto& share : shares)
                text += fmt::format("{}{}/{}", text.empty() ? "" : ":", format_size(share.bytes), format_number(share.percent));
            return text;
        }
    };
    return std::visit(Text{parameter.type}, value);
}

void Settings::set(const Setting& setting) {
    const std::string_view name = setting.parameter->name;
    if (name == "block_size") erase("block_sizes");
    if (name == "block_sizes") erase("block_size");
    if (name == "rate") erase("rate_iops");
    if (name == "rate_iops") erase("rate");
    for (auto& old : settings_)
        if (old.parameter == setting.parameter) {
            old = setting;
            return;
        }
    settings_.push_back(setting);
}

void Settings::set_all(const Settings& others) {
    // A pattern of pure reads or writes ends an inherited mix, unless the mix comes with it.
    if (const auto* pattern = others.find("pattern");
        pattern && !others.find("read_percent") && is_pure(std::get<std::string>(pattern->value)))
        erase("read_percent");
    for (const auto& setting : others.all()) set(setting);
}

void Settings::erase(std::string_view name) {
    std::erase_if(settings_, [&](const Setting& setting) { return setting.parameter->name == name; });
}

const Setting* Settings::find(std::string_view name) const {
    const auto found = std::find_if(settings_.begin(), settings_.end(),
                                    [&](const Setting& setting) { return setting.parameter->name == name; });
    return found == settings_.end() ? nullptr : &*found;
}

std::string setting_text(const Settings& settings, std::string_view name) {
    if (const auto* setting = settings.find(name)) return value_text(*setting->parameter, setting->value);
    static constexpr std::array<std::pair<std::string_view, std::string_view>, 7> defaults{{{"depth", "1"},
                                                                                            {"workers", "1"},
                                                                                            {"span", "whole"},
                                                                                            {"compress_percent", "0"},
                                                                                            {"verify", "no"},
                                                                                            {"batching", "natural"},
                                                                                            {"ramp", "0 s"}}};
    for (const auto& [key, text] : defaults)
        if (key == name) return std::string(text);
    const auto* pattern = settings.find("pattern");
    if (name == "read_percent" && pattern) {
        const auto& text = std::get<std::string>(pattern->value);
        if (text == "read" || text == "randread") return "100";
        return text == "rw" || text == "randrw" ? "50" : "0";
    }
    return "";
}

}  // namespace wattrig::suites
