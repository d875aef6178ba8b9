#include <fmt/format.h>

#include <algorithm>
#include <nlohmann/json.hpp>
#include <string_view>

#include "host/analysis/result.hpp"
#include "host/analysis/result_names.hpp"

namespace wattrig::analysis {
namespace {

using Json = nlohmann::json;

// Walks into the file and remembers the way, so that a refusal names the place. Throws Refusal, which result_from_json catches:
// with a check after each of a hundred keys nobody could read this.
struct Refusal {
    std::string message;
};

class Reader {
  public:
    Reader(const Json& json, std::string at) : json_(json), at_(std::move(at)) {}

    [[nodiscard]] Reader operator[](const char* key) const {
        if (!json_.is_object() || !json_.contains(key)) refuse_at(at_ + "." + key, "a value", "nothing");
        return {json_[key], at_ + "." + key};
    }
    template <class F>
    void each(F&& f) const {
        if (!json_.is_array()) refuse("a list");
        for (std::size_t k = 0; k < json_.size(); ++k) f(Reader(json_[k], fmt::format("{}[{}]", at_, k)));
    }
    [[nodiscard]] bool null() const { return json_.is_null(); }
    [[nodiscard]] bool has(const char* key) const { return json_.is_object() && json_.contains(key); }
    [[nodiscard]] const Json& json() const { return json_; }
    [[nodiscard]] std::string text() const {
        if (!json_.is_string()) refuse("a text");
        return json_.get<std::string>();
    }
    [[nodiscard]] bool flag() const {
        if (!json_.is_boolean()) refuse("true or false");
        return json_.get<bool>();
    }
    [[nodiscard]] std::optional<double> number() const {
        if (json_.is_null()) return std::nullopt;
        if (!json_.is_number()) refuse("a number or null");
        return json_.get<double>();
    }
    [[nodiscard]] double number_or_zero() const { return number().value_or(0); }
    template <class Integer>
    [[nodiscard]] Integer integer() const {
        if (std::is_unsigned_v<Integer> ? !json_.is_number_unsigned() : !json_.is_number_integer()) refuse("a whole number");
        return json_.get<Integer>();
    }
    [[nodiscard]] HostTime time() const { return HostTime(Nanoseconds(integer<std::int64_t>())); }
    [[nodiscard]] std::vector<std::string> texts() const {
        std::vector<std::string> list;
        each([&](const Reader& item) { list.push_back(item.text()); });
        return list;
    }
    [[noreturn]] void refuse(const char* expected) const {
        std::string came = json_.dump(-1, ' ', false, Json::error_handler_t::replace);
        if (came.size() > 60) came = came.substr(0, 57) + "...";
        refuse_at(at_, expected, came);
    }

  private:
    [[noreturn]] static void refuse_at(const std::string& at, const char* expected, const std::string& came) {
        throw Refusal{fmt::format("{}: expected {}, came {}", at, expected, came)};
    }
    const Json& json_;
    std::string at_;
};

Figure figure(const Reader& in) {
    return {in["value"].number(), in["u"].number(), in["spread"].number(), in["spread_note"].text()};
}

LatencyFigures latency(const Reader& in) {
    LatencyFigures f;
    for (const auto& [name, member] : latency_names) f.*member = in[name].number();
    f.overflow = in["overflow"].integer<std::uint64_t>();
    return f;
}

power::PowerUncertainty budget(const Reader& in) {
    power::PowerUncertainty u;
    if (in.null()) return u;
    for (const auto& [name, member] : budget_names) u.*member = in[name].number_or_zero();
    return u;
}

template <class Unit>
std::optional<Unit> quantity(const Reader& in) {
    const auto value = in.number();
    return value ? std::optional(Unit(*value)) : std::nullopt;
}

power::IntervalPower power_part(const Reader& in) {
    power::IntervalPower p;
    p.interval = {in["begin_ns"].time(), in["end_ns"].time()};
    p.samples = in["samples"].integer<std::uint64_t>();
    p.coverage = in["coverage"].number_or_zero();
    p.energy = quantity<Joules>(in["energy_joules"]);
    p.energy_at_least = quantity<Joules>(in["energy_at_least_joules"]);
    p.mean = quantity<Watts>(in["mean_watts"]);
    p.u = budget(in["budget_watts"]);
    p.minimum = quantity<Watts>(in["minimum_watts"]);
    p.maximum = quantity<Watts>(in["maximum_watts"]);
    p.mean_voltage = quantity<Volts>(in["mean_volts"]);
    p.minimum_voltage = quantity<Volts>(in["minimum_volts"]);
    p.mean_current = quantity<Amperes>(in["mean_amperes"]);
    p.pcm1 = quantity<Watts>(in["pcm1_watts"]);
    p.pcm1_coverage = in["pcm1_coverage"].number_or_zero();
    p.pcm2 = quantity<Watts>(in["pcm2_watts"]);
    p.pcm2_coverage = in["pcm2_coverage"].number_or_zero();
    in["batch_watts"].each([&](const Reader& item) { p.batch_means.push_back(item.number_or_zero()); });
    p.batch_length = Nanoseconds(in["batch_length_ns"].integer<std::int64_t>());
    p.flags = in["flags"].texts();
    p.simulated = in["simulated"].flag();
    return p;
}

template <std::size_t N>
std::size_t index_of(const Reader& in, const std::array<const char*, N>& names) {
    const std::string text = in.text();
    for (std::size_t k = 0; k < N; ++k)
        if (text == names[k]) return k;
    in.refuse("one of the names in result.schema.json");
}

void io_part(const Reader& in, io::PhaseOutcome& o) {
    o.measured_begin = in["measured_begin_ns"].time();
    o.measured_end = in["measured_end_ns"].time();
    o.stop = static_cast<io::StopReason>(index_of(in["stop"], stop_names));
    const Reader kinds = in["kinds"];
    for (std::size_t k = 0; k < io::operation_kinds; ++k) {
        if (!kinds.has(kind_names[k])) continue;
        const Reader kind = kinds[kind_names[k]];
        o.kinds[k].operations = kind["operations"].integer<std::uint64_t>();
        o.kinds[k].bytes = kind["bytes"].integer<std::uint64_t>();
        o.kinds[k].errors = kind["errors"].integer<std::uint64_t>();
    }
    in["errors"].each([&](const Reader& e) {
        o.errors.push_back({static_cast<io::OperationKind>(index_of(e["kind"], kind_names)), e["errno"].integer<int>(),
                            e["count"].integer<std::uint64_t>(), e["first_offset"].integer<std::uint64_t>()});
    });
    o.mean_depth = in["mean_depth"].number_or_zero();
    o.device_mean_depth = in["device_mean_depth"].number().value_or(-1);
    o.verify_failures = in["verify_failures"].integer<std::uint64_t>();
    o.log_dropped = in["log_dropped"].integer<std::uint64_t>();
    o.rate_error = in["rate_error"].number_or_zero();
    o.cpu_seconds = in["cpu_seconds"].number_or_zero();
    o.engine = in["engine"].text();
}

SpeedFigures speed_part(const Reader& in) {
    SpeedFigures s;
    s.verdict = in["verdict"].text();
    in["regions"].each([&](const Reader& item) {
        s.regions.push_back({item["begin_bytes"].number_or_zero(), item["end_bytes"].number_or_zero(),
                             item["seconds"].number_or_zero(), item["megabytes_per_second"].number_or_zero(),
                             item["low"].number(), item["high"].number(), item["mean_megabytes_per_second"].number_or_zero(),
                             figure(item["watts"])});
    });
    in["changes"].each([&](const Reader& item) {
        s.changes.push_back({item["bytes"].number_or_zero(), item["low_bytes"].number_or_zero(),
                             item["high_bytes"].number_or_zero(), item["ratio"].number_or_zero()});
    });
    return s;
}

PhaseResult phase(const Reader& in) {
    PhaseResult p;
    p.phase.number = in["number"].integer<std::uint32_t>();
    p.phase.step = in["step"].text();
    p.phase.label = in["label"].text();
    p.phase.kind = in["kind"].text();
    in["parameters"].each(
        [&](const Reader& item) { p.phase.parameters.emplace_back(item["name"].text(), item["value"].text()); });
    p.phase.scored = in["scored"].flag();
    p.phase.complete = in["complete"].flag();
    p.phase.outcome.begin = in["begin_ns"].time();
    p.phase.outcome.end = in["end_ns"].time();
    p.phase.has_io = !in["io"].null();
    if (p.phase.has_io) io_part(in["io"], p.phase.outcome);
    p.latency = latency(in["latency_us"]);
    p.read_latency = latency(in["read_latency_us"]);
    p.write_latency = latency(in["write_latency_us"]);
    p.power = power_part(in["power"]);
    p.budget = budget(in["budget_watts"]);
    // Results of earlier versions have no such part.
    if (in.has("speed") && !in["speed"].null()) p.speed = speed_part(in["speed"]);
    p.warnings = in["warnings"].texts();
    for (const auto& [name, member] : phase_number_names) p.*member = in[name].number();
    for (const auto& [name, member] : phase_figure_names) p.*member = figure(in[name]);
    return p;
}

Score score(const Reader& in) {
    Score s;
    s.name = in["name"].text();
    in["phases"].each([&](const Reader& item) { s.phases.push_back(item.integer<std::uint32_t>()); });
    in["weights"].each([&](const Reader& item) { s.weights.push_back(item.number_or_zero()); });
    s.megabytes_per_second = in["megabytes_per_second"].number();
    s.watts = in["watts"].number();
    s.mean_of_ratios = figure(in["mean_of_ratios"]);
    s.ratio_of_means = figure(in["ratio_of_means"]);
    s.total_bytes_per_joule = figure(in["total_bytes_per_joule"]);
    return s;
}

RunResult run_result(const Reader& in) {
    RunResult r;
    if (in["schema"].text() != result_schema) in["schema"].refuse("\"wattrig.result/1\"");
    r.suite = in["suite"].text();
    r.run_directory = in["run_directory"].text();
    r.target = in["target"].text();
    r.drive = in["drive"].text();
    r.rig = in["rig"].text();
    r.power_measured = in["power_measured"].flag();
    r.power_simulated = in["power_simulated"].flag();
    r.drive_simulated = in["drive_simulated"].flag();
    r.fidelity = in["fidelity"].text();
    r.scale = in["scale"].number();
    r.complete = in["complete"].flag();
    r.interrupted = in["interrupted"].flag();
    const Reader clock = in["clock"];
    r.clock = {clock["map"].text(), clock["bound_us"].number(), clock["drift_ppm"].number(),
               clock["exchanges"].integer<std::uint64_t>()};
    r.samples = in["samples"].integer<std::uint64_t>();
    r.lost_samples = in["lost_samples"].integer<std::uint64_t>();
    r.lost_blocks = in["lost_blocks"].integer<std::uint64_t>();
    r.idle_watts = figure(in["idle_watts"]);
    r.idle_source = in["idle_source"].text();
    in["phases"].each([&](const Reader& item) { r.phases.push_back(phase(item)); });
    in["scores"].each([&](const Reader& item) { r.scores.push_back(score(item)); });
    r.warnings = in["warnings"].texts();
    if (!in["run"].null()) r.run_json = in["run"].json().dump(2, ' ', false, Json::error_handler_t::replace);
    return r;
}

}  // namespace

Result<RunResult> result_from_json(const Json& json, const std::string& where) {
    try {
        return run_result(Reader(json, where));
    } catch (const Refusal& refusal) {
        return bad_input(refusal.message);
    }
}

}  // namespace wattrig::analysis
