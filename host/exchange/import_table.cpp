#include "host/exchange/import_table.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <array>
#include <cerrno>
#include <charconv>
#include <cmath>
#include <fstream>
#include <nlohmann/json.hpp>
#include <regex>
#include <string_view>

namespace wattrig::exchange {
namespace {

using nlohmann::json;

constexpr std::size_t longest_line = 1 << 20;
constexpr std::size_t most_lines_before_header = 200;

struct Unit {
    const char* name;
    double scale;
};
constexpr std::array time_units{Unit{"ns", 1e-9}, Unit{"us", 1e-6}, Unit{"\xc2\xb5s", 1e-6}, Unit{"ms", 1e-3}, Unit{"s", 1}};
constexpr std::array volt_units{Unit{"uV", 1e-6}, Unit{"mV", 1e-3}, Unit{"V", 1}};
constexpr std::array ampere_units{Unit{"nA", 1e-9}, Unit{"uA", 1e-6},
                                  Unit{"\xc2\xb5"
                                       "A",
                                       1e-6},
                                  Unit{"mA", 1e-3}, Unit{"A", 1}};
constexpr std::array watt_units{Unit{"nW", 1e-9}, Unit{"uW", 1e-6}, Unit{"\xc2\xb5W", 1e-6}, Unit{"mW", 1e-3}, Unit{"W", 1}};

std::string lower(std::string text) {
    for (char& c : text)
        if (c >= 'A' && c <= 'Z') c = static_cast<char>(c - 'A' + 'a');
    return text;
}
std::string shown(std::string_view text) {
    std::string out;
    for (const char c : text.substr(0, 60)) out += static_cast<unsigned char>(c) < 0x20 ? '?' : c;
    return text.size() > 60 ? out + "..." : out;
}
std::string_view trimmed(std::string_view text) {
    const auto blank = [](char c) { return c == ' ' || c == '\t' || c == '\r' || c == '"'; };
    while (!text.empty() && blank(text.front())) text.remove_prefix(1);
    while (!text.empty() && blank(text.back())) text.remove_suffix(1);
    return text;
}

// Fields of a line; a quoted one may hold the delimiter. With ' ' any run of blanks is one delimiter.
void split(std::string_view line, char delimiter, std::vector<std::string_view>& fields) {
    fields.clear();
    if (delimiter == ' ') {
        for (std::size_t at = 0; at < line.size();) {
            at = line.find_first_not_of(" \t\r", at);
            if (at == std::string_view::npos) break;
            const std::size_t end = std::min(line.find_first_of(" \t\r", at), line.size());
            fields.push_back(line.substr(at, end - at));
            at = end;
        }
        return;
    }
    bool quoted = false;
    std::size_t begin = 0;
    for (std::size_t at = 0; at <= line.size(); ++at) {
        if (at < line.size() && line[at] == '"') quoted = !quoted;
        if (at < line.size() && (line[at] != delimiter || quoted)) continue;
        fields.push_back(trimmed(line.substr(begin, at - begin)));
        begin = at + 1;
    }
}

// Unit at the end of a column's name: "Time uS", "Current(uA)", "voltage [mV]".
template <std::size_t N>
std::optional<double> unit_of(const std::string& name, const std::array<Unit, N>& units) {
    std::string_view text = trimmed(name);
    while (!text.empty() && (text.back() == ')' || text.back() == ']')) text.remove_suffix(1);
    for (const Unit& unit : units) {
        const std::string_view word = unit.name;
        if (text.size() < word.size()) continue;
        const std::string_view end = text.substr(text.size() - word.size());
        // "uS" and "US" stand for microseconds in instruments' files; of volts and amperes the case counts.
        const bool same =
            end == word || (&units[0] == static_cast<const void*>(&time_units[0]) && lower(std::string(end)) == word);
        const bool alone = text.size() == word.size() ||
                           std::string_view(" ([_").find(text[text.size() - word.size() - 1]) != std::string_view::npos;
        if (same && alone) return unit.scale;
    }
    return std::nullopt;
}

// What a format calls its columns, as regular expressions on lower-case names.
struct Format {
    const char* name;
    const char* instrument;
    const char* time;
    const char* volts;
    const char* amperes;
    const char* watts;
    double time_scale, volt_scale, ampere_scale, watt_scale;  // where the name has no unit
    char delimiter;
};
constexpr Format formats[] = {
    {"csv", "table", "^#?\\s*time|^t$|^t[ ([_]|timestamp", "volt|^v$|^v[ ([_]", "current|amp|^i$|^i[ ([_]",
     "power|watt|^p$|^p[ ([_]", 1, 1, 1, 1, 0},
    {"quarch", "Quarch power module", "^time", "voltage|\\bv(olt)?\\b", "current", "power", 1e-6, 1e-3, 1e-3, 1e-3, ','},
    {"joulescope", "Joulescope", "^#?\\s*time", "voltage", "current", "power", 1, 1, 1, 1, ','},
    {"powersensor3", "PowerSensor3", "^time", "^v", "^i", "total|^p", 1, 1, 1, 1, ' '},
    {"ppk2", "Nordic PPK2", "^timestamp", "^volt", "^current", "^power", 1e-3, 1e-3, 1e-6, 1e-6, ','},
};
const Format* format_of(const std::string& name) {
    for (const Format& format : formats)
        if (name == format.name) return &format;
    return nullptr;
}

// Plain numbers; with a decimal comma it becomes a point first.
bool to_number(std::string_view text, char decimal, double& value) {
    char copy[64];
    if (text.size() >= sizeof copy) return false;
    if (!text.empty() && text.front() == '+') text.remove_prefix(1);
    std::size_t size = 0;
    for (const char c : text) copy[size++] = c == decimal ? '.' : c;
    const auto [end, error] = std::from_chars(copy, copy + size, value);
    return error == std::errc() && end == copy + size;
}
// Of seconds in any unit, without losing nanoseconds of long times to the binary point.
bool to_nanoseconds(std::string_view text, char decimal, double scale, std::int64_t& ns) {
    double value = 0;
    if (!to_number(text, decimal, value) || !std::isfinite(value)) return false;
    const long double exact = static_cast<long double>(value) * static_cast<long double>(scale) * 1e9L;
    if (std::fabs(exact) > 9e18L) return false;
    ns = std::llround(exact);
    return true;
}

class Table {
  public:
    Table(std::string path, const std::string& format, const std::optional<ImportMapping>& mapping)
        : path_(std::move(path)), format_(format_of(format)), given_(mapping) {}

    Result<ImportMapping> read(const std::function<Result<void>(const ImportRow&)>& sink) {
        std::ifstream file(path_, std::ios::binary);
        if (!file) return system_error("cannot open " + path_, errno);
        if (given_) mapping_ = *given_;
        std::string line;
        bool ready = false;
        while (std::getline(file, line)) {
            ++number_;
            if (line.size() > longest_line)
                return wrong("a line of text", fmt::format("{} bytes without an end of line", line.size()));
            if (line.find('\0') != std::string::npos) return wrong("text", "a zero byte: is this file binary?");
            if (number_ <= mapping_.skip_lines || trimmed(line).empty()) continue;
            if (number_ == 1 && line.starts_with("\xef\xbb\xbf")) line.erase(0, 3);
            const bool comment = mapping_.comment && line.starts_with(*mapping_.comment);
            if (!ready) {
                if (comment && given_) continue;
                auto found = find_columns(line);
                if (!found) return found.error();
                ready = *found;
                if (!ready && number_ > most_lines_before_header) break;
                if (!ready || mapping_.header) continue;
            } else if (comment || line.starts_with('#')) {
                continue;
            }
            if (auto done = row(line, sink); !done) return done.error();
        }
        if (!ready) return no_columns();
        return mapping_;
    }

  private:
    Error wrong(const std::string& expected, const std::string& came) const {
        return bad_input(fmt::format("{}:{}: expected {}, came {}", path_, number_, expected, came));
    }
    Error no_columns() const {
        return bad_input(
            fmt::format("{}: expected a header line that names a time and a current or power, found none in {} lines: give a "
                        "mapping with --mapping (see `wattrig import --help`)",
                        path_, number_));
    }

    // True when this line is the header (or, without one, the first row).
    Result<bool> find_columns(const std::string& line) {
        if (mapping_.delimiter == 0)
            mapping_.delimiter = format_ && format_->delimiter ? format_->delimiter : guess_delimiter(line);
        split(line, mapping_.delimiter, fields_);
        if (!given_) return find_by_names();
        const auto place = [&](const ImportColumn& column, std::size_t& at) -> Result<void> {
            std::size_t index = 0;
            const auto [end, error] = std::from_chars(column.name.data(), column.name.data() + column.name.size(), index);
            if (error == std::errc() && end == column.name.data() + column.name.size() && index >= 1) {
                if (index > fields_.size())
                    return wrong(fmt::format("at least {} columns", index), std::to_string(fields_.size()));
                at = index - 1;
                return {};
            }
            for (std::size_t k = 0; k < fields_.size(); ++k)
                if (fields_[k] == column.name) {
                    at = k;
                    return {};
                }
            return wrong(fmt::format("a column \"{}\", as the mapping says", column.name), "\"" + shown(line) + "\"");
        };
        if (auto found = place(mapping_.time, time_); !found) return found.error();
        const auto maybe = [&](const std::optional<ImportColumn>& column, std::optional<std::size_t>& at) -> Result<void> {
            if (!column) return {};
            std::size_t index = 0;
            if (auto found = place(*column, index); !found) return found;
            at = index;
            return {};
        };
        if (auto found = maybe(mapping_.volts, volts_); !found) return found.error();
        if (auto found = maybe(mapping_.amperes, amperes_); !found) return found.error();
        if (auto found = maybe(mapping_.watts, watts_); !found) return found.error();
        return true;
    }
    Result<bool> find_by_names() {
        const auto find = [&](const char* pattern, std::size_t from) -> std::optional<std::size_t> {
            const std::regex expression(pattern);
            for (std::size_t k = from; k < fields_.size(); ++k)
                if (std::regex_search(lower(std::string(fields_[k])), expression)) return k;
            return std::nullopt;
        };
        const auto time = find(format_->time, 0);
        if (!time) return false;
        const auto amperes = find(format_->amperes, *time + 1);
        const auto watts = find(format_->watts, *time + 1);
        if (!amperes && !watts) return false;
        const auto column = [&](std::size_t at, const auto& units, double otherwise) {
            const std::string name(fields_[at]);
            return ImportColumn{name, unit_of(name, units).value_or(otherwise)};
        };
        time_ = *time;
        amperes_ = amperes;
        watts_ = watts;
        volts_ = find(format_->volts, *time + 1);
        mapping_.instrument = format_->instrument;
        mapping_.time = column(*time, time_units, format_->time_scale);
        if (volts_) mapping_.volts = column(*volts_, volt_units, format_->volt_scale);
        if (amperes_) mapping_.amperes = column(*amperes_, ampere_units, format_->ampere_scale);
        if (watts_) mapping_.watts = column(*watts_, watt_units, format_->watt_scale);
        return true;
    }
    static char guess_delimiter(const std::string& line) {
        for (const char candidate : {'\t', ';', ','})
            if (line.find(candidate) != std::string::npos) return candidate;
        return ' ';
    }

    Result<void> row(const std::string& line, const std::function<Result<void>(const ImportRow&)>& sink) {
        split(line, mapping_.delimiter, fields_);
        // A line of words between rows, as a marker of PowerSensor3's dump.
        if (format_ && format_->delimiter == ' ' && !fields_.empty() && fields_[0] == "M") return {};
        if (mapping_.decimal == 0)
            mapping_.decimal =
                mapping_.delimiter != ',' && line.find(',') != std::string::npos && line.find('.') == std::string::npos ? ','
                                                                                                                        : '.';
        ImportRow row;
        row.line = number_;
        if (time_ >= fields_.size() || fields_[time_].empty()) return wrong("a time", "\"" + shown(line) + "\"");
        if (!to_nanoseconds(fields_[time_], mapping_.decimal, mapping_.time.scale, row.time_ns))
            return wrong("a time as a number", "\"" + shown(fields_[time_]) + "\"");
        const auto cell = [&](const std::optional<std::size_t>& at, const std::optional<ImportColumn>& column,
                              double& value) -> Result<void> {
            if (!at) return {};
            // A ragged row or an empty cell: nothing was measured.
            if (*at >= fields_.size() || fields_[*at].empty()) return {};
            double number = 0;
            const std::string name = lower(std::string(fields_[*at]));
            if (name == "nan" || name == "-") return {};
            if (!to_number(fields_[*at], mapping_.decimal, number) || !std::isfinite(number))
                return wrong(fmt::format("a number in column \"{}\"", column->name), "\"" + shown(fields_[*at]) + "\"");
            value = number * column->scale;
            return {};
        };
        if (auto done = cell(volts_, mapping_.volts, row.volts); !done) return done;
        if (auto done = cell(amperes_, mapping_.amperes, row.amperes); !done) return done;
        if (auto done = cell(watts_, mapping_.watts, row.watts); !done) return done;
        if (mapping_.fixed_volts && std::isnan(row.volts)) row.volts = *mapping_.fixed_volts;
        return sink(row);
    }

    std::string path_;
    const Format* format_;
    std::optional<ImportMapping> given_;
    ImportMapping mapping_;
    std::size_t number_ = 0;
    std::vector<std::string_view> fields_;
    std::size_t time_ = 0;
    std::optional<std::size_t> volts_, amperes_, watts_;
};

template <std::size_t N>
Result<ImportColumn> mapping_column(const json& value, const std::string& key, const std::array<Unit, N>& units,
                                    const std::string& where) {
    ImportColumn column;
    const json& name = value.is_object() && value.contains("column") ? value["column"] : value;
    if (name.is_string())
        column.name = name.get<std::string>();
    else if (name.is_number_unsigned() && name.get<std::uint64_t>() >= 1)
        column.name = std::to_string(name.get<std::uint64_t>());
    else
        return bad_input(fmt::format("{}: {}: expected a column's name or its number from 1, came {}", where, key,
                                     name.dump(-1, ' ', false, json::error_handler_t::replace)));
    column.scale = unit_of(column.name, units).value_or(1);
    if (!value.is_object() || !value.contains("unit")) return column;
    const json& unit = value["unit"];
    for (const Unit& known : units)
        if (unit == known.name) {
            column.scale = known.scale;
            return column;
        }
    return bad_input(fmt::format("{}: {}.unit: expected a unit such as {} or {}, came {}", where, key, units.front().name,
                                 units.back().name, unit.dump(-1, ' ', false, json::error_handler_t::replace)));
}

}  // namespace

const std::vector<std::string>& import_formats() {
    static const std::vector<std::string> names = [] {
        std::vector<std::string> all;
        for (const Format& format : formats) all.emplace_back(format.name);
        return all;
    }();
    return names;
}

Result<ImportMapping> parse_mapping(const std::string& text, const std::string& where) {
    const json document = json::parse(text, nullptr, false);
    if (!document.is_object())
        return bad_input(where + ": expected a JSON object with the keys of a mapping (see `wattrig import --help`)");
    ImportMapping mapping;
    const auto one_character = [&](const char* key, char& to) -> Result<void> {
        const json& value = document[key];
        if (!value.is_string() || value.get_ref<const std::string&>().size() != 1)
            return bad_input(fmt::format("{}: {}: expected one character, came {}", where, key,
                                         value.dump(-1, ' ', false, json::error_handler_t::replace)));
        to = value.get_ref<const std::string&>()[0];
        return {};
    };
    for (const auto& [key, value] : document.items()) {
        const auto came = [&] { return value.dump(-1, ' ', false, json::error_handler_t::replace); };
        if (key == "instrument" && value.is_string()) {
            mapping.instrument = value.get<std::string>();
        } else if (key == "delimiter") {
            if (auto read = one_character("delimiter", mapping.delimiter); !read) return read.error();
        } else if (key == "decimal") {
            if (auto read = one_character("decimal", mapping.decimal); !read) return read.error();
        } else if (key == "comment" && value.is_string() && !value.get_ref<const std::string&>().empty()) {
            mapping.comment = value.get<std::string>();
        } else if (key == "header" && value.is_boolean()) {
            mapping.header = value.get<bool>();
        } else if (key == "skip_lines" && value.is_number_unsigned() && value.get<std::uint64_t>() < 1'000'000) {
            mapping.skip_lines = value.get<std::size_t>();
        } else if (key == "fixed_volts" && value.is_number() && value.get<double>() > 0 && value.get<double>() < 1e4) {
            mapping.fixed_volts = value.get<double>();
        } else if (key == "accuracy_percent" && value.is_number() && value.get<double>() > 0 && value.get<double>() <= 100) {
            mapping.accuracy = value.get<double>() / 100;
        } else if (key == "time" || key == "volts" || key == "amperes" || key == "watts") {
            auto column = key == "time"    ? mapping_column(value, key, time_units, where)
                          : key == "volts" ? mapping_column(value, key, volt_units, where)
                          : key == "watts" ? mapping_column(value, key, watt_units, where)
                                           : mapping_column(value, key, ampere_units, where);
            if (!column) return column.error();
            if (key == "time") mapping.time = *column;
            if (key == "volts") mapping.volts = *column;
            if (key == "amperes") mapping.amperes = *column;
            if (key == "watts") mapping.watts = *column;
        } else {
            return bad_input(
                fmt::format("{}: {}: expected one of instrument, delimiter, decimal, comment, header, skip_lines, fixed_volts, "
                            "accuracy_percent, time, volts, amperes, watts with a fitting value, came {}",
                            where, key, came()));
        }
    }
    if (mapping.time.name.empty()) return bad_input(where + ": time: expected a column, came nothing");
    if (!mapping.amperes && !mapping.watts)
        return bad_input(where + ": expected a column for amperes or for watts, came neither");
    if (!mapping.watts && !mapping.volts && !mapping.fixed_volts)
        return bad_input(where + ": power needs a voltage: expected volts or fixed_volts beside amperes, came neither");
    if (mapping.instrument.empty()) mapping.instrument = "table";
    return mapping;
}

Result<ImportMapping> read_table(const std::string& path, const std::string& format,
                                 const std::optional<ImportMapping>& mapping,
                                 const std::function<Result<void>(const ImportRow&)>& sink) {
    if (!mapping && format_of(format) == nullptr) return bad_input("no format '" + format + "'");
    return Table(path, format, mapping).read(sink);
}

}  // namespace wattrig::exchange
