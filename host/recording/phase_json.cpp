#include "host/recording/phase_json.hpp"

#include <algorithm>
#include <array>
#include <cmath>
#include <nlohmann/json.hpp>
#include <optional>
#include <string_view>

namespace wattrig::recording {
namespace {

using nlohmann::json;

constexpr int phases_version = 1;
constexpr std::array<const char*, 6> stop_names{"time", "bytes", "operations", "errors", "interrupted", "failed"};

// Text from elsewhere (a label, a file name) may not be UTF-8: replaced, never thrown.
std::string dump(const json& value) { return value.dump(-1, ' ', false, json::error_handler_t::replace); }

std::int64_t ns(HostTime t) { return t.time_since_epoch().count(); }

json kind_json(const io::KindOutcome& kind) {
    return {{"operations", kind.operations},
            {"bytes", kind.bytes},
            {"errors", kind.errors},
            {"latency_sum_ns", kind.latency_sum},
            {"latency_minimum_ns", kind.latency_minimum},
            {"latency_maximum_ns", kind.latency_maximum}};
}

json common_json(const PhaseRecord& phase, const char* event) {
    json parameters = json::array();  // pairs, because their order is the table's
    for (const auto& [key, value] : phase.parameters) parameters.push_back({key, value});
    return {{"event", event},
            {"version", phases_version},
            {"number", phase.number},
            {"step", phase.step},
            {"label", phase.label},
            {"kind", phase.kind},
            {"scored", phase.scored},
            {"has_io", phase.has_io},
            {"parameters", std::move(parameters)},
            {"begin_ns", ns(phase.outcome.begin)}};
}

// Reads members of one object; the first that is missing or of another type is remembered by name.
class Fields {
  public:
    explicit Fields(const json& object) : object_(object) {
        if (!object.is_object()) wrong_ = "the line itself, which is no object";
    }
    const json* find(const char* key) {
        if (!object_.is_object()) return nullptr;
        const auto at = object_.find(key);
        return at == object_.end() ? nullptr : &*at;
    }
    void get(const char* key, std::string& to) {
        const json* value = find(key);
        if (value == nullptr || !value->is_string()) return fault(key);
        to = value->get<std::string>();
    }
    void get(const char* key, bool& to) {
        const json* value = find(key);
        if (value == nullptr || !value->is_boolean()) return fault(key);
        to = value->get<bool>();
    }
    void get(const char* key, std::uint64_t& to) {
        const json* value = find(key);
        if (value == nullptr || !value->is_number_unsigned()) return fault(key);
        to = value->get<std::uint64_t>();
    }
    void get(const char* key, std::uint32_t& to) {
        std::uint64_t wide = 0;
        get(key, wide);
        if (wide > UINT32_MAX) return fault(key);
        to = static_cast<std::uint32_t>(wide);
    }
    void get(const char* key, int& to) {
        const json* value = find(key);
        if (value == nullptr || !value->is_number_integer()) return fault(key);
        const auto wide = value->get<std::int64_t>();
        if (wide < INT32_MIN || wide > INT32_MAX) return fault(key);
        to = static_cast<int>(wide);
    }
    void get(const char* key, HostTime& to) {
        const json* value = find(key);
        constexpr std::int64_t limit = std::int64_t{1} << 61;  // differences of two of them never overflow
        if (value == nullptr || !value->is_number_integer()) return fault(key);
        if (value->is_number_unsigned() && value->get<std::uint64_t>() > static_cast<std::uint64_t>(limit)) return fault(key);
        const auto count = value->get<std::int64_t>();
        if (count < -limit) return fault(key);
        to = HostTime(Nanoseconds(count));
    }
    void get(const char* key, double& to) {  // null: not a finite number when it was written
        const json* value = find(key);
        if (value == nullptr || !(value->is_number() || value->is_null())) return fault(key);
        to = value->is_null() ? std::nan("") : value->get<double>();
    }
    void fault(const char* key) {
        if (wrong_.empty()) wrong_ = std::string("\"") + key + "\"";
    }
    [[nodiscard]] const std::string& wrong() const { return wrong_; }

  private:
    const json& object_;
    std::string wrong_;
};

void read_parameters(Fields& fields, PhaseRecord& phase) {
    const json* list = fields.find("parameters");
    if (list == nullptr || !list->is_array()) return fields.fault("parameters");
    phase.parameters.clear();
    for (const json& pair : *list) {
        if (!pair.is_array() || pair.size() != 2 || !pair[0].is_string() || !pair[1].is_string())
            return fields.fault("parameters");
        phase.parameters.emplace_back(pair[0].get<std::string>(), pair[1].get<std::string>());
    }
}

void read_kinds(Fields& fields, io::PhaseOutcome& outcome) {
    const json* list = fields.find("kinds");
    if (list == nullptr || !list->is_array() || list->size() > outcome.kinds.size()) return fields.fault("kinds");
    for (std::size_t k = 0; k < list->size(); ++k) {
        Fields kind((*list)[k]);
        io::KindOutcome& to = outcome.kinds[k];
        kind.get("operations", to.operations);
        kind.get("bytes", to.bytes);
        kind.get("errors", to.errors);
        kind.get("latency_sum_ns", to.latency_sum);
        kind.get("latency_minimum_ns", to.latency_minimum);
        kind.get("latency_maximum_ns", to.latency_maximum);
        if (!kind.wrong().empty()) return fields.fault("kinds");
    }
}

void read_errors(Fields& fields, io::PhaseOutcome& outcome) {
    const json* list = fields.find("errors");
    if (list == nullptr || !list->is_array()) return fields.fault("errors");
    outcome.errors.clear();
    for (const json& entry : *list) {
        Fields one(entry);
        std::uint32_t kind = 0;
        io::ErrorCount count{};
        one.get("kind", kind);
        one.get("errno", count.os_error);
        one.get("count", count.count);
        one.get("first_offset", count.first_offset);
        if (!one.wrong().empty() || kind >= io::operation_kinds) return fields.fault("errors");
        count.kind = static_cast<io::OperationKind>(kind);
        outcome.errors.push_back(count);
    }
}

void read_warnings(Fields& fields, PhaseRecord& phase) {
    const json* list = fields.find("warnings");
    if (list == nullptr || !list->is_array()) return fields.fault("warnings");
    phase.warnings.clear();
    for (const json& warning : *list) {
        if (!warning.is_string()) return fields.fault("warnings");
        phase.warnings.push_back(warning.get<std::string>());
    }
}

void read_end(Fields& fields, PhaseRecord& record, IoPlace& place) {
    io::PhaseOutcome& outcome = record.outcome;
    fields.get("measured_begin_ns", outcome.measured_begin);
    fields.get("measured_end_ns", outcome.measured_end);
    fields.get("end_ns", outcome.end);
    std::string stop;
    fields.get("stop", stop);
    const auto named = std::find_if(stop_names.begin(), stop_names.end(), [&](const char* name) { return stop == name; });
    if (named == stop_names.end()) {
        fields.fault("stop");
    } else {
        outcome.stop = static_cast<io::StopReason>(named - stop_names.begin());
    }
    read_kinds(fields, outcome);
    read_errors(fields, outcome);
    read_warnings(fields, record);
    fields.get("mean_depth", outcome.mean_depth);
    fields.get("device_mean_depth", outcome.device_mean_depth);
    fields.get("verify_failures", outcome.verify_failures);
    fields.get("log_dropped", outcome.log_dropped);
    fields.get("rate_error", outcome.rate_error);
    fields.get("cpu_seconds", outcome.cpu_seconds);
    fields.get("engine", outcome.engine);
    fields.get("io_offset", place.offset);
    fields.get("io_bytes", place.bytes);
    record.complete = true;
}

// What is wrong with the line, or nothing.
std::optional<std::string> read_line(std::string_view line, ParsedPhases& phases) {
    const json value = json::parse(line, nullptr, false);
    if (value.is_discarded()) return "is no JSON";
    Fields fields(value);
    std::string event;
    std::uint32_t version = 0;
    std::uint32_t number = 0;
    fields.get("event", event);
    fields.get("version", version);
    fields.get("number", number);
    if (!fields.wrong().empty()) return "lacks or misuses " + fields.wrong();
    if (version != phases_version) {
        return "has version " + std::to_string(version) + ", this program reads " + std::to_string(phases_version);
    }
    if (event != "begin" && event != "end") return "has the event \"" + event + "\", expected begin or end";
    if (event == "begin") {
        phases.records.emplace_back();
        phases.places.emplace_back();
    }
    std::size_t at = phases.records.size();
    while (at > 0 && phases.records[at - 1].number != number && event == "end") --at;
    if (at == 0) return "ends phase " + std::to_string(number) + ", which has not begun";
    PhaseRecord& record = phases.records[at - 1];
    if (record.complete) return "ends phase " + std::to_string(number) + " a second time";
    record.number = number;
    fields.get("step", record.step);
    fields.get("label", record.label);
    fields.get("kind", record.kind);
    fields.get("scored", record.scored);
    fields.get("has_io", record.has_io);
    fields.get("begin_ns", record.outcome.begin);
    read_parameters(fields, record);
    if (event == "end") read_end(fields, record, phases.places[at - 1]);
    if (!fields.wrong().empty()) return "lacks or misuses " + fields.wrong();
    return std::nullopt;
}

}  // namespace

std::string phase_begin_line(const PhaseRecord& phase) { return dump(common_json(phase, "begin")); }

std::string phase_end_line(const PhaseRecord& phase, const IoPlace& place) {
    const io::PhaseOutcome& outcome = phase.outcome;
    json line = common_json(phase, "end");
    json kinds = json::array();
    for (const io::KindOutcome& kind : outcome.kinds) kinds.push_back(kind_json(kind));
    json errors = json::array();
    for (const io::ErrorCount& error : outcome.errors) {
        errors.push_back({{"kind", static_cast<std::uint32_t>(error.kind)},
                          {"errno", error.os_error},
                          {"count", error.count},
                          {"first_offset", error.first_offset}});
    }
    line.update({{"measured_begin_ns", ns(outcome.measured_begin)},
                 {"measured_end_ns", ns(outcome.measured_end)},
                 {"end_ns", ns(outcome.end)},
                 {"stop", stop_names.at(static_cast<std::size_t>(outcome.stop))},
                 {"kinds", std::move(kinds)},
                 {"errors", std::move(errors)},
                 {"warnings", phase.warnings},
                 {"mean_depth", outcome.mean_depth},
                 {"device_mean_depth", outcome.device_mean_depth},
                 {"verify_failures", outcome.verify_failures},
                 {"log_dropped", outcome.log_dropped},
                 {"rate_error", outcome.rate_error},
                 {"cpu_seconds", outcome.cpu_seconds},
                 {"engine", outcome.engine},
                 {"io_offset", place.offset},
                 {"io_bytes", place.bytes}});
    return dump(line);
}

Result<ParsedPhases> parse_phases(const std::string& text, const std::string& name) {
    ParsedPhases phases;
    phases.records.reserve(static_cast<std::size_t>(std::count(text.begin(), text.end(), '\n')) / 2 + 1);
    std::size_t number = 0;
    for (std::size_t at = 0; at < text.size();) {
        const std::size_t end = text.find('\n', at);
        if (end == std::string::npos) break;
        ++number;
        const std::string_view line(text.data() + at, end - at);
        at = end + 1;
        if (line.empty()) continue;
        if (const std::optional<std::string> wrong = read_line(line, phases)) {
            return bad_input(name + ", line " + std::to_string(number) + " " + *wrong);
        }
    }
    return phases;
}

}  // namespace wattrig::recording
