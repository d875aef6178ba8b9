#include "host/suites/json_reader.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <array>
#include <cmath>
#include <nlohmann/json.hpp>
#include <set>

#include "host/suites/text.hpp"

namespace wattrig::suites {
namespace {

constexpr std::size_t largest_file = 1u << 20;
constexpr int deepest_nesting = 24;

const Json null_json;

// Brackets outside strings, before the parser builds anything.
int nesting_of(const std::string& text) {
    int depth = 0, deepest = 0;
    bool in_string = false;
    for (std::size_t i = 0; i < text.size(); ++i) {
        const char c = text[i];
        if (in_string) {
            if (c == '\\') ++i;
            if (c == '"') in_string = false;
        } else if (c == '"') {
            in_string = true;
        } else if (c == '{' || c == '[') {
            deepest = std::max(deepest, ++depth);
        } else if (c == '}' || c == ']') {
            --depth;
        }
    }
    return deepest;
}

struct Place {
    std::size_t line = 1, column = 1;
};
Place place_of(const std::string& text, std::size_t byte) {
    Place place;
    for (std::size_t i = 0; i + 1 < byte && i < text.size(); ++i) {
        ++place.column;
        if (text[i] == '\n') {
            ++place.line;
            place.column = 1;
        }
    }
    return place;
}

// The library's text without its own prefix and without what was read, which may be long.
std::string syntax_text(const std::string& what) {
    std::string text = what;
    if (const auto colon = text.find("column "); colon != std::string::npos)
        if (const auto end = text.find(": ", colon); end != std::string::npos) text = text.substr(end + 2);
    if (const auto read = text.find("; last read: "); read != std::string::npos) {
        const auto expected = text.find("; expected ", read);
        text = text.substr(0, read) + (expected != std::string::npos ? text.substr(expected) : "");
    }
    return text;
}

std::string range_text(const ParameterInfo& parameter) {
    return fmt::format("from {} to {}", format_number(parameter.lowest), format_number(parameter.highest));
}

std::optional<std::uint64_t> whole_number(const Json& value) {
    if (value.is_number_unsigned()) return value.get<std::uint64_t>();
    if (value.is_number_float()) {
        const double number = value.get<double>();
        if (number >= 0 && number < 9e15 && std::floor(number) == number) return static_cast<std::uint64_t>(number);
    }
    return std::nullopt;
}

std::optional<std::uint64_t> read_size(const Json& value, const std::string& where, Diagnosis& diagnosis) {
    if (const auto bytes = whole_number(value)) {
        if (*bytes <= (std::uint64_t{1} << 60)) return bytes;
        diagnosis.refuse(where, fmt::format("expected a size of at most 1024 PiB, came {}", *bytes));
        return std::nullopt;
    }
    if (!value.is_string()) {
        diagnosis.refuse(where, fmt::format("expected a size such as \"4 KiB\" or \"16 GB\", came {}", json_text(value)));
        return std::nullopt;
    }
    const auto bytes = parse_size(value.get_ref<const std::string&>(), false);
    if (!bytes) {
        diagnosis.refuse(where, bytes.error().message);
        return std::nullopt;
    }
    return *bytes;
}

std::optional<Nanoseconds> read_time(const Json& value, const std::string& where, Diagnosis& diagnosis) {
    if (!value.is_string()) {
        diagnosis.refuse(where, fmt::format("expected a time with its unit such as \"60 s\", came {}", json_text(value)));
        return std::nullopt;
    }
    const auto time = parse_time(value.get_ref<const std::string&>(), false);
    if (!time) {
        diagnosis.refuse(where, time.error().message);
        return std::nullopt;
    }
    return *time;
}

std::optional<std::vector<io::Zone>> read_zones(const Json& value, const std::string& where, Diagnosis& diagnosis) {
    std::vector<io::Zone> zones;
    if (!value.is_array() || value.empty() || value.size() > 256) {
        diagnosis.refuse(where, fmt::format("expected a list of 1 to 256 zones, came {}", json_text(value)));
        return std::nullopt;
    }
    double access = 0, span = 0;
    for (std::size_t i = 0; i < value.size(); ++i) {
        ObjectReader zone(value[i], fmt::format("{}/{}", where, i), "a zone", diagnosis);
        zones.push_back({zone.number("access_percent", 0, 100).value_or(0), zone.number("span_percent", 0, 100).value_or(0)});
        if (!value[i].is_object() || !value[i].contains("access_percent") || !value[i].contains("span_percent"))
            diagnosis.refuse(zone.where(), "a zone needs access_percent and span_percent");
        zone.finish();
        access += zones.back().access_percent;
        span += zones.back().span_percent;
    }
    if (std::abs(access - 100) > 1e-6 || std::abs(span - 100) > 1e-6)
        diagnosis.refuse(
            where, fmt::format("all zones together must be 100 % of the accesses and 100 % of the span, came {} % and {} %",
                               format_number(access), format_number(span)));
    return zones;
}

std::optional<std::vector<io::BlockSizeShare>> read_shares(const Json& value, const std::string& where, Diagnosis& diagnosis) {
    std::vector<io::BlockSizeShare> shares;
    if (!value.is_array() || value.empty() || value.size() > 64) {
        diagnosis.refuse(where,
                         fmt::format("expected a list of 1 to 64 block sizes with their shares, came {}", json_text(value)));
        return std::nullopt;
    }
    double percent = 0;
    for (std::size_t i = 0; i < value.size(); ++i) {
        ObjectReader share(value[i], fmt::format("{}/{}", where, i), "a block size with its share", diagnosis);
        const auto block =
            read_value(*find_parameter("block_size"), share.require("size", "a size"), share.at("size"), diagnosis);
        shares.push_back({block ? static_cast<std::uint32_t>(std::get<std::uint64_t>(*block)) : 4096,
                          share.number("percent", 0, 100).value_or(0)});
        share.finish();
        percent += shares.back().percent;
    }
    if (std::abs(percent - 100) > 1e-6)
        diagnosis.refuse(
            where, fmt::format("the shares of all block sizes must be 100 % together, came {} %", format_number(percent)));
    return shares;
}

std::optional<BurstSetting> read_bursts(const Json& value, const std::string& where, Diagnosis& diagnosis) {
    BurstSetting setting;
    ObjectReader reader(value, where, "bursts", diagnosis);
    setting.bursts.bytes = reader.size("bytes").value_or(0);
    setting.bursts.operations = reader.count("operations", 1, 1'000'000'000'000).value_or(0);
    const auto duty = reader.number("duty_percent", 0.01, 100);
    setting.bursts.duty = duty.value_or(100) / 100;
    setting.count = reader.count("count", 1, 1'000'000).value_or(0);
    reader.finish();
    if (!duty) diagnosis.refuse(where, "bursts need duty_percent, the share of the time that the drive is busy");
    if ((setting.bursts.bytes > 0) == (setting.bursts.operations > 0))
        diagnosis.refuse(where, "bursts need exactly one of bytes and operations, above 0");
    return setting;
}

}  // namespace

std::optional<Json> parse_json(const std::string& text, Diagnosis& diagnosis) {
    if (text.size() > largest_file) {
        diagnosis.refuse("", fmt::format("expected a suite of at most 1 MiB, came {} bytes", text.size()));
        return std::nullopt;
    }
    if (const int nesting = nesting_of(text); nesting > deepest_nesting) {
        diagnosis.refuse("", fmt::format("is nested {} deep, at most {} is allowed", nesting, deepest_nesting));
        return std::nullopt;
    }
    std::vector<std::set<std::string>> keys;
    std::string twice;
    const Json::parser_callback_t note_keys = [&](int, Json::parse_event_t event, Json& parsed) {
        if (event == Json::parse_event_t::object_start) keys.emplace_back();
        if (event == Json::parse_event_t::object_end && !keys.empty()) keys.pop_back();
        if (event == Json::parse_event_t::key && !keys.empty() && twice.empty())
            if (!keys.back().insert(parsed.get_ref<const std::string&>()).second) twice = parsed.get_ref<const std::string&>();
        return true;
    };
    try {
        Json json = Json::parse(text, note_keys);
        if (!twice.empty()) {
            diagnosis.refuse("", fmt::format("has the key {} twice in one object", quoted_text(twice)));
            return std::nullopt;
        }
        return json;
    } catch (const Json::parse_error& error) {
        const Place place = place_of(text, error.byte);
        diagnosis.refuse("", fmt::format("line {}, column {}: {}", place.line, place.column, syntax_text(error.what())));
    } catch (const Json::exception& error) {
        // A number that no double holds.
        std::string what = error.what();
        const auto close = what.find("] ");
        diagnosis.refuse("", close == std::string::npos ? what : what.substr(close + 2));
    }
    return std::nullopt;
}

std::string json_text(const Json& value) {
    switch (value.type()) {
        case Json::value_t::null: return "null";
        case Json::value_t::boolean: return value.get<bool>() ? "true" : "false";
        case Json::value_t::string: return quoted_text(value.get_ref<const std::string&>());
        case Json::value_t::object: return "an object";
        case Json::value_t::array: return value.empty() ? "an empty list" : fmt::format("a list of {}", value.size());
        default: return value.dump();
    }
}

std::optional<Value> read_value(const ParameterInfo& parameter, const Json& value, const std::string& where,
                                Diagnosis& diagnosis) {
    const auto refuse = [&](const std::string& expected) -> std::optional<Value> {
        diagnosis.refuse(where, fmt::format("expected {}, came {}", expected, json_text(value)));
        return std::nullopt;
    };
    const auto lowest = parameter.lowest, highest = parameter.highest;
    switch (parameter.type) {
        case ParameterType::pattern:
        case ParameterType::word: {
            if (value.is_string()) {
                const auto& text = value.get_ref<const std::string&>();
                if (std::find(parameter.values.begin(), parameter.values.end(), text) != parameter.values.end()) return text;
            }
            return refuse(fmt::format("one of {}", fmt::join(parameter.values, ", ")));
        }
        case ParameterType::percent:
        case ParameterType::number: {
            const double number = value.is_number() ? value.get<double>() : -1;
            if (!value.is_number() || !(number >= lowest && number <= highest))
                return refuse(fmt::format("a number {}", range_text(parameter)));
            return number;
        }
        case ParameterType::count: {
            const auto number = whole_number(value);
            if (!number || static_cast<double>(*number) < lowest || static_cast<double>(*number) > highest)
                return refuse(fmt::format("a whole number {}", range_text(parameter)));
            return *number;
        }
        case ParameterType::flag:
            if (!value.is_boolean()) return refuse("true or false");
            return value.get<bool>();
        case ParameterType::time: {
            const auto time = read_time(value, where, diagnosis);
            if (!time) return std::nullopt;
            if (to_seconds(*time) < lowest || to_seconds(*time) > highest)
                return refuse(
                    fmt::format("a time from {} to {}", format_time(from_seconds(lowest)), format_time(from_seconds(highest))));
            return *time;
        }
        case ParameterType::amount:
            if (value.is_string()) {
                const auto& text = value.get_ref<const std::string&>();
                if (text == "whole" && parameter.name == "span") return Amount{};
                if (text.size() > 1 && text.back() == '%') {
                    const auto number = parse_size(text.substr(0, text.size() - 1), true);
                    if (!number || *number == 0 || *number > 10'000)
                        return refuse("a share of the target from \"1 %\" to \"10000 %\"");
                    return Amount{0, static_cast<double>(*number)};
                }
            }
            [[fallthrough]];
        case ParameterType::size:
        case ParameterType::block_size:
        case ParameterType::rate: {
            std::optional<std::uint64_t> bytes;
            if (parameter.type == ParameterType::rate && value.is_string()) {
                std::string text = value.get<std::string>();
                if (text.ends_with("/s")) text.resize(text.size() - 2);
                bytes = read_size(Json(text), where, diagnosis);
            } else {
                bytes = read_size(value, where, diagnosis);
            }
            if (!bytes) return std::nullopt;
            if (static_cast<double>(*bytes) < lowest || static_cast<double>(*bytes) > highest)
                return refuse(fmt::format("a size from {} to {}", format_size(static_cast<std::uint64_t>(lowest)),
                                          format_size(static_cast<std::uint64_t>(highest))));
            if (parameter.type == ParameterType::block_size && *bytes % 512 != 0) return refuse("a multiple of 512 bytes");
            if (parameter.type == ParameterType::amount) return Amount{*bytes, 0};
            if (parameter.type == ParameterType::rate) return static_cast<double>(*bytes);
            return *bytes;
        }
        case ParameterType::bursts: {
            if (auto bursts = read_bursts(value, where, diagnosis)) return *bursts;
            return std::nullopt;
        }
        case ParameterType::zones: {
            if (auto zones = read_zones(value, where, diagnosis)) return *zones;
            return std::nullopt;
        }
        case ParameterType::shares: {
            if (auto shares = read_shares(value, where, diagnosis)) return *shares;
            return std::nullopt;
        }
    }
    return std::nullopt;
}

std::optional<Value> value_from_text(const ParameterInfo& parameter, const std::string& text, const std::string& where,
                                     Diagnosis& diagnosis) {
    switch (parameter.type) {
        case ParameterType::percent:
        case ParameterType::number:
        case ParameterType::count: {
            const Json number = Json::parse(text, nullptr, false);
            return read_value(parameter, number.is_number() ? number : Json(text), where, diagnosis);
        }
        case ParameterType::flag:
            return read_value(parameter,
                              text == "1" || text == "true" || text == "yes"   ? Json(true)
                              : text == "0" || text == "false" || text == "no" ? Json(false)
                                                                               : Json(text),
                              where, diagnosis);
        case ParameterType::time:
            if (const auto seconds = parse_time(text, true))
                return read_value(parameter, Json(fmt::format("{} ns", seconds->count())), where, diagnosis);
            return read_value(parameter, Json(text), where, diagnosis);
        case ParameterType::amount:
        case ParameterType::size:
        case ParameterType::block_size:
        case ParameterType::rate:
            if (const auto bytes = parse_size(text, true)) return read_value(parameter, Json(*bytes), where, diagnosis);
            return read_value(parameter, Json(text), where, diagnosis);
        case ParameterType::pattern:
        case ParameterType::word: return read_value(parameter, Json(text), where, diagnosis);
        case ParameterType::bursts:
        case ParameterType::zones:
        case ParameterType::shares: break;
    }
    diagnosis.refuse(where, "cannot be given on the command line; write it into a suite file");
    return std::nullopt;
}

ObjectReader::ObjectReader(const Json& value, std::string where, std::string_view what, Diagnosis& diagnosis)
    : value_(value.is_object() ? value : null_json), where_(std::move(where)), diagnosis_(diagnosis) {
    if (!value.is_object()) diagnosis.refuse(where_, fmt::format("expected {} as an object, came {}", what, json_text(value)));
}

const Json* ObjectReader::take(const std::string& key) {
    known_.push_back(key);
    if (!value_.is_object()) return nullptr;
    const auto found = value_.find(key);
    if (found == value_.end()) return nullptr;
    taken_.push_back(key);
    return &*found;
}

const Json& ObjectReader::require(const std::string& key, std::string_view what) {
    if (const Json* value = take(key)) return *value;
    diagnosis_.refuse(where_, fmt::format("the key \"{}\" is missing, expected {}", key, what));
    return null_json;
}

std::string ObjectReader::at(std::string_view key) const { return fmt::format("{}/{}", where_, key); }

std::string ObjectReader::text(const std::string& key, std::string_view fallback) {
    const Json* value = take(key);
    if (!value) return std::string(fallback);
    if (!value->is_string() || value->get_ref<const std::string&>().empty() ||
        value->get_ref<const std::string&>().size() > 1000) {
        diagnosis_.refuse(at(key), fmt::format("expected a text of 1 to 1000 characters, came {}", json_text(*value)));
        return std::string(fallback);
    }
    return value->get<std::string>();
}

std::string ObjectReader::required_text(const std::string& key) {
    if (value_.is_object() && !value_.contains(key))
        diagnosis_.refuse(where_, fmt::format("the key \"{}\" is missing, expected a text", key));
    return text(key);
}

std::string ObjectReader::word(const std::string& key, std::initializer_list<std::string_view> words,
                               std::string_view fallback) {
    const Json* value = take(key);
    if (!value) return std::string(fallback);
    if (value->is_string() && std::find(words.begin(), words.end(), value->get_ref<const std::string&>()) != words.end())
        return value->get<std::string>();
    std::string hint;
    if (value->is_string()) {
        const std::vector<std::string> candidates(words.begin(), words.end());
        if (const auto near = nearest_word(value->get_ref<const std::string&>(), candidates))
            hint = fmt::format("; was \"{}\" meant?", *near);
    }
    diagnosis_.refuse(at(key), fmt::format("expected one of {}, came {}{}", fmt::join(words, ", "), json_text(*value), hint));
    return std::string(fallback);
}

bool ObjectReader::flag(const std::string& key, bool fallback) {
    const Json* value = take(key);
    if (!value) return fallback;
    if (!value->is_boolean()) {
        diagnosis_.refuse(at(key), fmt::format("expected true or false, came {}", json_text(*value)));
        return fallback;
    }
    return value->get<bool>();
}

std::optional<double> ObjectReader::number(const std::string& key, double lowest, double highest) {
    const Json* value = take(key);
    if (!value) return std::nullopt;
    const double number = value->is_number() ? value->get<double>() : 0;
    if (!value->is_number() || !(number >= lowest && number <= highest)) {
        diagnosis_.refuse(at(key), fmt::format("expected a number from {} to {}, came {}", format_number(lowest),
                                               format_number(highest), json_text(*value)));
        return std::nullopt;
    }
    return number;
}

std::optional<std::uint64_t> ObjectReader::count(const std::string& key, std::uint64_t lowest, std::uint64_t highest) {
    const Json* value = take(key);
    if (!value) return std::nullopt;
    const auto number = whole_number(*value);
    if (!number || *number < lowest || *number > highest) {
        diagnosis_.refuse(at(key),
                          fmt::format("expected a whole number from {} to {}, came {}", lowest, highest, json_text(*value)));
        return std::nullopt;
    }
    return number;
}

std::optional<Nanoseconds> ObjectReader::time(const std::string& key) {
    const Json* value = take(key);
    return value ? read_time(*value, at(key), diagnosis_) : std::nullopt;
}

std::optional<std::uint64_t> ObjectReader::size(const std::string& key) {
    const Json* value = take(key);
    return value ? read_size(*value, at(key), diagnosis_) : std::nullopt;
}

std::vector<std::string> ObjectReader::texts(const std::string& key) {
    std::vector<std::string> out;
    const Json* value = take(key);
    if (!value) return out;
    if (!value->is_array()) {
        diagnosis_.refuse(at(key), fmt::format("expected a list of texts, came {}", json_text(*value)));
        return out;
    }
    for (std::size_t i = 0; i < value->size(); ++i) {
        const Json& entry = (*value)[i];
        if (!entry.is_string() || entry.get_ref<const std::string&>().empty())
            diagnosis_.refuse(fmt::format("{}/{}", at(key), i), fmt::format("expected a text, came {}", json_text(entry)));
        else
            out.push_back(entry.get<std::string>());
    }
    return out;
}

Settings ObjectReader::settings() {
    for (const auto& parameter : parameters()) known_.emplace_back(parameter.name);
    Settings settings;
    if (!value_.is_object()) return settings;
    static constexpr std::array<std::pair<const char*, const char*>, 2> exclusive{
        {{"block_size", "block_sizes"}, {"rate", "rate_iops"}}};
    for (const auto& [one, other] : exclusive)
        if (value_.contains(one) && value_.contains(other))
            diagnosis_.refuse(where_, fmt::format("{} and {} contradict each other, expected one of them", one, other));
    for (const auto& [key, value] : value_.items()) {
        const ParameterInfo* parameter = find_parameter(key);
        if (!parameter) continue;
        taken_.push_back(key);
        if (auto read = read_value(*parameter, value, at(key), diagnosis_))
            settings.set({parameter, std::move(*read), at(key), false});
    }
    return settings;
}

void ObjectReader::finish() {
    if (!value_.is_object()) return;
    for (const auto& [key, value] : value_.items()) {
        if (std::find(taken_.begin(), taken_.end(), key) != taken_.end()) continue;
        std::string hint;
        const ParameterInfo* synonym = find_parameter_or_synonym(key);
        const bool offered = synonym && std::find(known_.begin(), known_.end(), synonym->name) != known_.end();
        const auto near = offered ? std::optional<std::string>(synonym->name) : nearest_word(key, known_);
        if (near)
            hint = fmt::format("was \"{}\" meant?", *near);
        else
            hint = fmt::format("known here: {}", fmt::join(known_, ", "));
        diagnosis_.refuse(where_, fmt::format("unknown key {}; {}", quoted_text(key), hint));
        return;
    }
}

}  // namespace wattrig::suites
