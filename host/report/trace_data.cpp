#include "host/report/trace_data.hpp"

#include <algorithm>
#include <cmath>
#include <nlohmann/json.hpp>

#include "host/report/escape.hpp"

namespace wattrig::report {
namespace {

using nlohmann::json;

constexpr std::size_t most_position_points = 800;

json units(float value, double scale) {
    return std::isfinite(value) ? json(std::llround(static_cast<double>(value) * scale)) : json();
}
double milliseconds(HostTime t, HostTime origin) { return std::round(static_cast<double>((t - origin).count()) / 1e3) / 1e3; }

// Mean power of [from, to) from the bins; nothing where none is known.
std::optional<double> mean_watts(const analysis::RunTrace& trace, HostTime from, HostTime to) {
    if (trace.bin <= Nanoseconds(0) || to <= from) return std::nullopt;
    const auto at = [&](HostTime t) {
        return std::clamp<std::int64_t>((t - trace.begin) / trace.bin, 0, static_cast<std::int64_t>(trace.bins.size()) - 1);
    };
    double sum = 0;
    std::size_t count = 0;
    for (std::int64_t k = at(from); k <= at(to - Nanoseconds(1)); ++k) {
        const float watts = trace.bins[static_cast<std::size_t>(k)].mean;
        if (!std::isfinite(watts)) continue;
        sum += static_cast<double>(watts);
        ++count;
    }
    return count == 0 ? std::nullopt : std::optional(sum / static_cast<double>(count));
}

}  // namespace

json trace_data(const analysis::RunResult& result) {
    if (!result.trace || result.trace->bins.empty()) return {};
    const analysis::RunTrace& trace = *result.trace;
    json data = {{"bin", static_cast<double>(trace.bin.count()) / 1e6}, {"left_out", trace.windows_left_out}};
    json low = json::array(), mean = json::array(), high = json::array(), volts = json::array(), lines = json::array();
    for (const analysis::TraceBin& bin : trace.bins) {
        low.push_back(units(bin.lowest, 1e4));
        mean.push_back(units(bin.mean, 1e4));
        high.push_back(units(bin.highest, 1e4));
        volts.push_back(units(bin.volts, 1e3));
        lines.push_back(bin.side_band);
    }
    const bool change = std::adjacent_find(trace.bins.begin(), trace.bins.end(), [](const auto& a, const auto& b) {
                            return a.side_band != b.side_band;
                        }) != trace.bins.end();
    data["low"] = std::move(low);
    data["mean"] = std::move(mean);
    data["high"] = std::move(high);
    data["volts"] = std::move(volts);
    if (change) data["lines"] = std::move(lines);
    data["phases"] = json::array();
    for (const analysis::PhaseResult& phase : result.phases) {
        const io::PhaseOutcome& outcome = phase.phase.outcome;
        if (!phase.phase.complete) continue;
        data["phases"].push_back({{"label", clean_utf8(phase.phase.label)},
                                  {"kind", clean_utf8(phase.phase.kind)},
                                  {"from", milliseconds(outcome.begin, trace.begin)},
                                  {"to", milliseconds(outcome.end, trace.begin)},
                                  {"watts", phase.power.mean ? json(phase.power.mean->value()) : json()}});
    }
    data["windows"] = json::array();
    for (const analysis::TraceWindow& window : trace.windows) {
        json samples = json::array();
        for (const float watts : window.watts) samples.push_back(units(watts, 1e4));
        data["windows"].push_back({{"from", milliseconds(window.begin, trace.begin)},
                                   {"to", milliseconds(window.begin + window.length, trace.begin)},
                                   {"why", clean_utf8(window.why)},
                                   {"watts", std::move(samples)}});
    }
    return data;
}

json position_data(const analysis::RunResult& result) {
    json all = json::array();
    for (const analysis::PhaseResult& phase : result.phases) {
        if (!phase.speed || phase.phase.outcome.windows.empty()) continue;
        const std::vector<io::Window>& windows = phase.phase.outcome.windows;
        const HostTime begin = phase.phase.outcome.begin;
        const Nanoseconds span = windows.back().begin + windows.back().length - windows.front().begin;
        const Nanoseconds step =
            std::max(Nanoseconds(span.count() / static_cast<std::int64_t>(most_position_points)), Nanoseconds(1));
        json points = json::array();
        double total = 0;
        for (std::size_t k = 0; k < windows.size();) {
            const Nanoseconds from = windows[k].begin;
            double bytes = 0;
            Nanoseconds to = from;
            for (; k < windows.size() && to - from < step; ++k) {
                bytes += static_cast<double>(windows[k].read_bytes + windows[k].write_bytes);
                to = windows[k].begin + windows[k].length;
            }
            const auto watts = result.trace ? mean_watts(*result.trace, begin + from, begin + to) : std::nullopt;
            points.push_back({(total + bytes / 2) / 1e9, bytes / 1e6 / to_seconds(to - from), watts ? json(*watts) : json()});
            total += bytes;
        }
        json changes = json::array(), regions = json::array();
        for (const auto& change : phase.speed->changes) changes.push_back(change.bytes / 1e9);
        for (const auto& region : phase.speed->regions)
            regions.push_back({{"from", region.begin_bytes / 1e9},
                               {"to", region.end_bytes / 1e9},
                               {"mbs", region.megabytes_per_second},
                               {"watts", region.watts.value ? json(*region.watts.value) : json()}});
        all.push_back({{"label", clean_utf8(phase.phase.label)},
                       {"verdict", clean_utf8(phase.speed->verdict)},
                       {"points", std::move(points)},
                       {"changes", std::move(changes)},
                       {"regions", std::move(regions)}});
    }
    return all;
}

}  // namespace wattrig::report
