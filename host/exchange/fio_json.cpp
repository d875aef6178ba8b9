#include <algorithm>
#include <array>
#include <cmath>
#include <cstring>
#include <ctime>
#include <nlohmann/json.hpp>
#include <span>
#include <string>
#include <vector>

#include "host/exchange/export.hpp"

namespace wattrig::exchange {
namespace {

using Json = nlohmann::ordered_json;
using analysis::PhaseResult;

constexpr std::array percentiles = {1.0,  5.0,  10.0, 20.0, 30.0, 40.0, 50.0,  60.0, 70.0,
                                    80.0, 90.0, 95.0, 99.0, 99.5, 99.9, 99.95, 99.99};

// Mean and standard deviation; the second from the middles of the buckets, good to the width of a bucket (1.6 %).
double deviation(const io::KindOutcome& kind) {
    if (kind.latency.total() < 2) return 0;
    const double mean = static_cast<double>(kind.latency_sum) / static_cast<double>(kind.operations);
    double sum = 0;
    for (std::size_t k = 0; k < Histogram::buckets; ++k) {
        if (kind.latency.count(k) == 0) continue;
        const double difference = static_cast<double>(Histogram::bucket_middle(k)) - mean;
        sum += difference * difference * static_cast<double>(kind.latency.count(k));
    }
    return std::sqrt(sum / static_cast<double>(kind.latency.total() - 1));
}

Json nothing_timed() { return {{"min", 0}, {"max", 0}, {"mean", 0.0}, {"stddev", 0.0}, {"N", 0}}; }

Json latency(const io::KindOutcome& kind, bool with_percentiles) {
    if (kind.operations == 0) return nothing_timed();
    Json json = {{"min", kind.latency_minimum},
                 {"max", kind.latency_maximum},
                 {"mean", static_cast<double>(kind.latency_sum) / static_cast<double>(kind.operations)},
                 {"stddev", deviation(kind)},
                 {"N", kind.operations}};
    if (!with_percentiles) return json;
    Json& table = json["percentile"] = Json::object();
    for (const double percent : percentiles) {
        char name[16];
        std::snprintf(name, sizeof name, "%.6f", percent);
        // The middle of a bucket may lie outside of what was seen.
        table[name] = std::clamp(kind.latency.percentile(percent), kind.latency_minimum, kind.latency_maximum);
    }
    return json;
}

// Rates of the windows: minimum, maximum, mean, deviation. Windows of 1 ms say little; fio's default is 500 ms.
struct Rates {
    std::vector<double> bytes, operations;
};
Rates rates(const io::PhaseOutcome& outcome, bool reads) {
    constexpr double length = 0.5;
    Rates result;
    double bytes = 0, operations = 0, time = 0;
    const Nanoseconds begin = outcome.measured_begin - outcome.begin, end = outcome.measured_end - outcome.begin;
    for (const io::Window& window : outcome.windows) {
        if (window.begin < begin || window.begin + window.length > end) continue;
        bytes += static_cast<double>(reads ? window.read_bytes : window.write_bytes);
        operations += static_cast<double>(reads ? window.reads : window.writes);
        time += to_seconds(window.length);
        if (time < length - 1e-9) continue;
        result.bytes.push_back(bytes / time);
        result.operations.push_back(operations / time);
        bytes = operations = time = 0;
    }
    return result;
}

struct Spread {
    double minimum = 0, maximum = 0, mean = 0, deviation = 0;
};
Spread spread_of(const std::vector<double>& values) {
    if (values.empty()) return {};
    Spread spread{values[0], values[0], 0, 0};
    for (const double value : values) {
        spread.minimum = std::min(spread.minimum, value);
        spread.maximum = std::max(spread.maximum, value);
        spread.mean += value / static_cast<double>(values.size());
    }
    for (const double value : values) spread.deviation += (value - spread.mean) * (value - spread.mean);
    spread.deviation = values.size() > 1 ? std::sqrt(spread.deviation / static_cast<double>(values.size() - 1)) : 0;
    return spread;
}

Json direction(const io::PhaseOutcome& outcome, io::OperationKind which, double seconds) {
    const io::KindOutcome& kind = outcome.kinds[static_cast<std::size_t>(which)];
    const bool timed = which == io::OperationKind::read || which == io::OperationKind::write;
    const Rates windows = timed ? rates(outcome, which == io::OperationKind::read) : Rates{};
    const Spread bytes = spread_of(windows.bytes), operations = spread_of(windows.operations);
    const double rate = seconds > 0 ? static_cast<double>(kind.bytes) / seconds : 0;
    const bool any = kind.operations > 0;
    Json json;
    json["io_bytes"] = kind.bytes;
    json["io_kbytes"] = kind.bytes / 1024;
    json["bw_bytes"] = std::llround(rate);
    json["bw"] = std::llround(rate / 1024);
    json["iops"] = seconds > 0 ? static_cast<double>(kind.operations) / seconds : 0.0;
    json["runtime"] = any ? std::llround(seconds * 1e3) : 0;
    json["total_ios"] = kind.operations;
    json["short_ios"] = 0;
    json["drop_ios"] = 0;
    // One stamp before submission and one after completion: what fio splits in two is one time here.
    json["slat_ns"] = nothing_timed();
    json["clat_ns"] = latency(kind, true);
    json["lat_ns"] = latency(kind, false);
    json["bw_min"] = std::llround(bytes.minimum / 1024);
    json["bw_max"] = std::llround(bytes.maximum / 1024);
    json["bw_agg"] = any ? 100.0 : 0.0;
    json["bw_mean"] = bytes.mean / 1024;
    json["bw_dev"] = bytes.deviation / 1024;
    json["bw_samples"] = windows.bytes.size();
    json["iops_min"] = std::llround(operations.minimum);
    json["iops_max"] = std::llround(operations.maximum);
    json["iops_mean"] = operations.mean;
    json["iops_stddev"] = operations.deviation;
    json["iops_samples"] = windows.operations.size();
    return json;
}

// Shares of operations by latency, in percent, under fio's names: a key holds what lies below it and above the one before. The
// edges are no edges of buckets, so a bucket counts where its middle lies.
Json latency_shares(const io::PhaseOutcome& outcome, std::uint64_t unit, std::span<const std::uint64_t> edges, bool open_end) {
    std::vector<std::uint64_t> counts(edges.size() + 1, 0);
    std::uint64_t total = 0;
    const std::uint64_t lowest = unit == 1 ? 0 : unit;
    for (const io::OperationKind which : {io::OperationKind::read, io::OperationKind::write, io::OperationKind::discard}) {
        const Histogram& histogram = outcome.kinds[static_cast<std::size_t>(which)].latency;
        total += histogram.total();
        counts.back() += open_end ? histogram.overflow() : 0;
        for (std::size_t k = 0; k < Histogram::buckets; ++k) {
            const std::uint64_t middle = Histogram::bucket_middle(k);
            if (histogram.count(k) == 0 || middle < lowest) continue;
            const auto edge = std::upper_bound(edges.begin(), edges.end(), middle / unit);
            counts[static_cast<std::size_t>(edge - edges.begin())] += histogram.count(k);
        }
    }
    Json json = Json::object();
    const auto share = [&](std::uint64_t count) {
        return total > 0 ? 100 * static_cast<double>(count) / static_cast<double>(total) : 0.0;
    };
    for (std::size_t k = 0; k < edges.size(); ++k) json[std::to_string(edges[k])] = share(counts[k]);
    if (open_end) json[">=" + std::to_string(edges.back())] = share(counts.back());
    return json;
}
constexpr std::array<std::uint64_t, 10> thousand_edges = {2, 4, 10, 20, 50, 100, 250, 500, 750, 1000};
constexpr std::array<std::uint64_t, 11> millisecond_edges = {2, 4, 10, 20, 50, 100, 250, 500, 750, 1000, 2000};

// "4 KiB" as fio writes it: "4k".
std::string fio_size(std::string text) {
    constexpr std::pair<const char*, const char*> units[] = {{" KiB", "k"}, {" MiB", "m"}, {" GiB", "g"}, {" B", ""}};
    for (const auto& [ours, theirs] : units)
        if (const std::size_t at = text.find(ours); at != std::string::npos && at + std::strlen(ours) == text.size())
            return text.replace(at, std::string::npos, theirs);
    return text;
}

Json optional(const std::optional<double>& value) { return value && std::isfinite(*value) ? Json(*value) : Json(nullptr); }
Json figure(const analysis::Figure& value) {
    return {{"value", optional(value.value)}, {"U_k2", optional(value.u)}, {"spread_95", optional(value.spread)}};
}

// When the run began, as run.json has it: "2026-01-31T12:00:00+0000". Empty when it does not say.
std::string started_of(const analysis::RunResult& result) {
    const nlohmann::json run = nlohmann::json::parse(result.run_json, nullptr, false);
    return run.is_object() && run.contains("started") && run["started"].is_string() ? run["started"].get<std::string>() : "";
}
// Since 1970-01-01 UTC.
std::optional<std::int64_t> seconds_of(const std::string& started) {
    std::tm time{};
    const char* end = strptime(started.c_str(), "%Y-%m-%dT%H:%M:%S%z", &time);
    if (started.empty() || end == nullptr || *end != '\0') return std::nullopt;
    const std::int64_t offset = time.tm_gmtoff;
    return std::int64_t{timegm(&time)} - offset;
}

Json job_of(const PhaseResult& phase, const analysis::RunResult& result, int number) {
    const io::PhaseOutcome& outcome = phase.phase.outcome;
    double seconds = to_seconds(outcome.measured());
    if (!outcome.bursts.empty()) {
        seconds = 0;
        for (const io::Interval& burst : outcome.bursts) seconds += to_seconds(burst.end - burst.begin);
    }
    std::uint64_t errors = 0;
    for (const io::KindOutcome& kind : outcome.kinds) errors += kind.errors;
    Json job;
    job["jobname"] = phase.phase.label;
    job["groupid"] = number;
    job["error"] = errors > 0 && !outcome.errors.empty() ? outcome.errors.front().os_error : 0;
    job["eta"] = 0;
    job["elapsed"] = std::llround(std::ceil(to_seconds(outcome.end - outcome.begin)));
    Json& options = job["job options"] = Json::object();
    for (const auto& [key, value] : phase.phase.parameters) {
        // fio's words for the axes that it has.
        const std::string name = key == "pattern"      ? "rw"
                                 : key == "block_size" ? "bs"
                                 : key == "depth"      ? "iodepth"
                                 : key == "workers"    ? "numjobs"
                                                       : key;
        options[name] = name == "bs" ? fio_size(value) : value;
    }
    job["read"] = direction(outcome, io::OperationKind::read, seconds);
    job["write"] = direction(outcome, io::OperationKind::write, seconds);
    job["trim"] = direction(outcome, io::OperationKind::discard, seconds);
    const io::KindOutcome& flushes = outcome.kinds[static_cast<std::size_t>(io::OperationKind::flush)];
    job["sync"] = {{"total_ios", flushes.operations}, {"lat_ns", latency(flushes, true)}};
    job["job_runtime"] = std::llround(to_seconds(outcome.measured()) * 1e3);
    const double wall = to_seconds(outcome.measured());
    job["usr_cpu"] = wall > 0 ? 100 * outcome.cpu_seconds / wall : 0.0;  // user and system time together
    job["sys_cpu"] = 0.0;
    job["latency_ns"] = latency_shares(outcome, 1, thousand_edges, false);
    job["latency_us"] = latency_shares(outcome, 1000, thousand_edges, false);
    job["latency_ms"] = latency_shares(outcome, 1'000'000, millisecond_edges, true);
    job["latency_depth"] = std::llround(outcome.mean_depth);
    job["latency_target"] = 0;
    job["latency_percentile"] = 100.0;
    job["latency_window"] = 0;
    const power::IntervalPower& power = phase.power;
    if (result.power_measured)
        job["power"] = {{"simulated", result.power_simulated},
                        {"watts", figure(phase.watts)},
                        {"joules", power.energy ? Json(power.energy->value()) : Json(nullptr)},
                        {"coverage", power.coverage},
                        {"idle_watts", figure(phase.idle_watts)},
                        {"iops_per_watt", figure(phase.iops_per_watt)},
                        {"megabytes_per_second_per_watt", figure(phase.megabytes_per_second_per_watt)},
                        {"microjoules_per_operation", figure(phase.microjoules_per_operation)},
                        {"pcm1_watts", power.pcm1 ? Json(power.pcm1->value()) : Json(nullptr)},
                        {"pcm2_watts", power.pcm2 ? Json(power.pcm2->value()) : Json(nullptr)}};
    return job;
}

}  // namespace

std::string fio_json(const analysis::RunResult& result, const std::string& version) {
    Json json;
    json["fio version"] = "wattrig-" + version;
    const std::string started = started_of(result);
    const std::optional<std::int64_t> seconds = seconds_of(started);
    json["timestamp"] = seconds ? Json(*seconds) : Json(nullptr);
    json["timestamp_ms"] = seconds ? Json(*seconds * 1000) : Json(nullptr);
    json["time"] = started;
    json["global options"] = {{"filename", result.target}, {"ioengine", result.drive_simulated ? "simulated" : "io_uring"}};
    json["wattrig"] = {{"suite", result.suite},
                       {"drive", result.drive},
                       {"drive_simulated", result.drive_simulated},
                       {"fidelity", result.fidelity},
                       {"scaled", result.scale.value_or(1) != 1},
                       {"complete", result.complete}};
    Json& jobs = json["jobs"] = Json::array();
    for (const PhaseResult& phase : result.phases)
        if (phase.phase.has_io && phase.phase.complete) jobs.push_back(job_of(phase, result, static_cast<int>(jobs.size())));
    json["disk_util"] = Json::array();
    return json.dump(2, ' ', true, Json::error_handler_t::replace) + "\n";
}

}  // namespace wattrig::exchange
