#include "host/report/run_detail.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <cmath>
#include <limits>
#include <map>
#include <nlohmann/json.hpp>
#include <tuple>

#include "host/report/escape.hpp"
#include "host/report/markup.hpp"

namespace wattrig::report {
namespace {

using nlohmann::json;

constexpr float unknown = std::numeric_limits<float>::quiet_NaN();
constexpr Nanoseconds around{10'000'000};  // single samples on each side of what is worth a look

constexpr std::array<std::pair<std::uint8_t, const char*>, 8> side_lines = {{{protocol::sideband_clkreq, "CLKREQ#"},
                                                                             {protocol::sideband_perst, "PERST#"},
                                                                             {protocol::sideband_activity_led, "activity LED"},
                                                                             {protocol::sideband_pewake, "PEWAKE#"},
                                                                             {protocol::sideband_devslp, "DEVSLP"},
                                                                             {protocol::sideband_trigger_in, "trigger"},
                                                                             {protocol::sideband_sync_out, "sync"},
                                                                             {protocol::sideband_power_on, "power on"}}};
std::string names_of(std::uint8_t bits) {
    std::string names;
    for (const auto& [bit, name] : side_lines)
        if ((bits & bit) != 0) names += (names.empty() ? "" : ", ") + std::string(name);
    return names;
}

HostTime origin_of(const RunDetail& detail) {
    return detail.phases.empty() ? detail.power->begin() : detail.phases.front().outcome.begin;
}
HostTime end_of(const recording::PhaseRecord& phase, const RunDetail& detail) {
    if (phase.complete) return phase.outcome.end;
    return detail.power ? detail.power->end() : phase.outcome.begin;
}

// What the runner marks itself says nothing that the phases do not.
bool of_a_phase(const analysis::PowerMarker& marker, const RunDetail& detail) {
    return std::any_of(detail.phases.begin(), detail.phases.end(), [&](const recording::PhaseRecord& phase) {
        return marker.text == "begin " + phase.label || marker.text == "end " + phase.label;
    });
}

// Moments worth every sample, the most telling first.
struct Moment {
    HostTime when;
    std::string why;
};
std::vector<Moment> moments_of(const RunDetail& detail) {
    const analysis::PowerIndex& power = *detail.power;
    std::vector<Moment> moments;
    moments.reserve(power.peaks().size() + power.changes().size() + power.markers().size() + 2 * detail.phases.size());
    for (std::size_t k = 0; k < power.peaks().size(); ++k)
        moments.push_back({power.peaks()[k].when, fmt::format("peak {}", k + 1)});
    for (const analysis::SideBandChange& change : power.changes()) moments.push_back({change.when, names_of(change.bits)});
    for (const analysis::PowerMarker& marker : power.markers())
        if (!of_a_phase(marker, detail)) moments.push_back({marker.when, "mark: " + marker.text});
    for (const recording::PhaseRecord& phase : detail.phases)
        moments.push_back({phase.outcome.begin, "begin of " + phase.label});
    for (const recording::PhaseRecord& phase : detail.phases)
        if (phase.complete) moments.push_back({phase.outcome.end, "end of " + phase.label});
    return moments;
}

struct SampleWindow {
    HostTime begin, end;
    std::vector<std::string> why;
};
// Overlapping ones are one. Stops at what a page can hold.
std::vector<SampleWindow> windows_of(const RunDetail& detail, std::size_t& moments_left_out) {
    constexpr double sample_ns = 30'720;
    std::vector<SampleWindow> windows;
    double samples = 0;
    moments_left_out = 0;
    for (Moment& moment : moments_of(detail)) {
        const HostTime from = moment.when - around, to = moment.when + around;
        if (to <= detail.power->begin() || from >= detail.power->end()) continue;
        const auto near = std::find_if(windows.begin(), windows.end(),
                                       [&](const SampleWindow& window) { return from <= window.end && to >= window.begin; });
        const double more =
            near == windows.end()
                ? static_cast<double>((to - from).count())
                : static_cast<double>(
                      (std::max(near->end, to) - std::min(near->begin, from) - (near->end - near->begin)).count());
        if (samples + more / sample_ns > static_cast<double>(most_trace_samples)) {
            ++moments_left_out;
            continue;
        }
        samples += more / sample_ns;
        if (near == windows.end()) {
            windows.push_back({from, to, {std::move(moment.why)}});
        } else {
            near->begin = std::min(near->begin, from);
            near->end = std::max(near->end, to);
            near->why.push_back(std::move(moment.why));
        }
    }
    std::sort(windows.begin(), windows.end(), [](const auto& a, const auto& b) { return a.begin < b.begin; });
    return windows;
}

// One entry for each stretch without a hole in it.
void read_window(const analysis::PowerIndex& power, const SampleWindow& window, HostTime origin, json& list) {
    std::vector<float> watts, volts;
    std::vector<std::uint8_t> side;
    HostTime begin, end;
    const auto close = [&] {
        if (watts.empty()) return;
        std::string why;
        for (const std::string& one : window.why) why += (why.empty() ? "" : "; ") + clean_utf8(one);
        list.push_back({{"begin", to_seconds(begin - origin)},
                        {"step", to_seconds(end - begin) / static_cast<double>(watts.size())},
                        {"why", why},
                        {"watts", base64_floats(watts)},
                        {"volts", base64_floats(volts)},
                        {"side", base64_bytes(side)}});
        watts.clear();
        volts.clear();
        side.clear();
    };
    const auto read = power.read(window.begin, window.end, [&](const power::TracePiece& piece) {
        if (piece.samples.empty()) return close();
        const auto count = static_cast<std::int64_t>(piece.samples.size());
        const Nanoseconds whole = piece.end - piece.begin;
        if (!watts.empty() && piece.begin - end > whole / (2 * count)) close();
        for (std::int64_t k = 0; k < count; ++k) {
            const HostTime from = piece.begin + whole * k / count, to = piece.begin + whole * (k + 1) / count;
            if (to <= window.begin || from >= window.end) continue;
            if (watts.empty()) begin = from;
            end = to;
            const power::TraceSample& sample = piece.samples[static_cast<std::size_t>(k)];
            watts.push_back(static_cast<float>(sample.watts));
            volts.push_back(static_cast<float>(sample.volts[0]));
            side.push_back(sample.side_band);
        }
    });
    close();
    if (!read) list.push_back({{"why", read.error().message}, {"begin", nullptr}});
}

// Bytes and operations of all phases, shared out over bins by overlap in time.
struct Work {
    std::vector<float> megabytes_per_second, iops;
};
Work work_of(const RunDetail& detail, HostTime begin, Nanoseconds length, std::size_t count) {
    std::vector<double> bytes(count, 0), operations(count, 0), covered(count, 0);
    const auto step = static_cast<double>(length.count());
    const auto share = [&](HostTime from, HostTime to, double amount_bytes, double amount_operations) {
        const double a = static_cast<double>((from - begin).count()) / step,
                     b = static_cast<double>((to - begin).count()) / step;
        if (!(b > a)) return;
        for (auto k = static_cast<std::size_t>(std::max(0.0, std::floor(a))); k < count && static_cast<double>(k) < b; ++k) {
            const double part = std::min(b, static_cast<double>(k) + 1) - std::max(a, static_cast<double>(k));
            if (part <= 0) continue;
            bytes[k] += amount_bytes * part / (b - a);
            operations[k] += amount_operations * part / (b - a);
            covered[k] += part;
        }
    };
    for (const recording::PhaseRecord& phase : detail.phases)
        for (const io::Window& window : phase.outcome.windows) {
            const HostTime from = phase.outcome.begin + window.begin;
            share(from, from + window.length, static_cast<double>(window.read_bytes + window.write_bytes),
                  static_cast<double>(window.reads) + window.writes);
        }
    Work work;
    for (std::size_t k = 0; k < count; ++k) {
        // A bin half outside what was counted says the rate of the counted part.
        const bool any = covered[k] > 1e-6;
        const double seconds = std::min(1.0, covered[k]) * step / 1e9;
        work.megabytes_per_second.push_back(any ? static_cast<float>(bytes[k] / seconds / 1e6) : unknown);
        work.iops.push_back(any ? static_cast<float>(operations[k] / seconds) : unknown);
    }
    return work;
}

// A peak's place and height by its samples, where the recording has them; else the bound of its block.
analysis::PowerPeak refined(const analysis::PowerIndex& power, const analysis::PowerPeak& peak) {
    analysis::PowerPeak best{peak.when, 0};
    const auto read = power.read(peak.when, peak.when + Nanoseconds(1), [&](const power::TracePiece& piece) {
        const auto count = static_cast<std::int64_t>(piece.samples.size());
        for (std::int64_t k = 0; k < count; ++k) {
            const double watts = piece.samples[static_cast<std::size_t>(k)].watts;
            if (watts <= best.watts) continue;
            best.watts = watts;
            best.when = piece.begin + (piece.end - piece.begin) * (2 * k + 1) / (2 * count);
        }
    });
    return read && best.watts > 0 ? best : peak;
}

json phases_json(const analysis::RunResult& result, const RunDetail& detail, HostTime origin) {
    std::map<std::uint32_t, const analysis::PhaseResult*> figures;
    for (const analysis::PhaseResult& phase : result.phases) figures[phase.phase.number] = &phase;
    json list = json::array();
    for (const recording::PhaseRecord& phase : detail.phases) {
        json one = {{"begin", to_seconds(phase.outcome.begin - origin)},
                    {"end", to_seconds(end_of(phase, detail) - origin)},
                    {"measured_begin", to_seconds(phase.outcome.measured_begin - origin)},
                    {"measured_end", to_seconds(phase.outcome.measured_end - origin)},
                    {"label", clean_utf8(phase.label)},
                    {"kind", phase.kind},
                    {"watts", nullptr}};
        if (const auto found = figures.find(phase.number); found != figures.end() && found->second->watts.value)
            one["watts"] = *found->second->watts.value;
        list.push_back(std::move(one));
    }
    return list;
}

}  // namespace

RunDetail read_run_detail(const recording::RunDirectory& directory) {
    RunDetail detail;
    if (auto phases = directory.read_phases(); phases)
        detail.phases = std::move(*phases);
    else
        detail.problem = phases.error().message;
    const auto run = directory.read_json("run.json");
    if (!run) {
        detail.problem = run.error().message;
        return detail;
    }
    const auto source = analysis::open_power_source(directory, *run, analysis::ClockChoice::quick);
    if (!source) {
        detail.problem = source.error().message;
        return detail;
    }
    if (!*source) return detail;
    auto power = analysis::PowerIndex::build(**source, most_trace_bins);
    if (power)
        detail.power = std::move(*power);
    else
        detail.problem = power.error().message;
    return detail;
}

json trace_json(const analysis::RunResult& result, const RunDetail& detail) {
    if (!detail.power) return {};
    const analysis::PowerIndex& power = *detail.power;
    const HostTime origin = origin_of(detail);
    std::vector<float> mean, low, high, volts;
    std::vector<std::uint8_t> side_low, side_high;
    std::uint8_t ever_low = 0, ever_high = 0;
    for (const analysis::PowerBin& bin : power.bins()) {
        const bool known = bin.known > 0;
        mean.push_back(known ? static_cast<float>(bin.watts) : unknown);
        volts.push_back(known ? static_cast<float>(bin.volts) : unknown);
        low.push_back(known && bin.extremes_known ? static_cast<float>(bin.lowest) : unknown);
        high.push_back(known && bin.extremes_known ? static_cast<float>(bin.highest) : unknown);
        side_low.push_back(bin.side_low);
        side_high.push_back(bin.side_high);
        ever_low |= bin.side_low;
        ever_high |= bin.side_high;
    }
    const Work work = work_of(detail, power.begin(), power.bin_length(), power.bins().size());
    json lines = json::array();
    std::string still;
    for (const auto& [bit, name] : side_lines) {
        if ((ever_low & ever_high & bit) != 0)
            lines.push_back({{"bit", bit}, {"name", name}});
        else if (((ever_low | ever_high) & bit) != 0)
            still += fmt::format("{}{} {}", still.empty() ? "" : ", ", name, (ever_high & bit) != 0 ? "high" : "low");
    }
    json trace = {{"begin", to_seconds(power.begin() - origin)},
                  {"end", to_seconds(power.end() - origin)},
                  {"bin", to_seconds(power.bin_length())},
                  {"rails", power.rails()},
                  {"mean", base64_floats(mean)},
                  {"low", base64_floats(low)},
                  {"high", base64_floats(high)},
                  {"volts", base64_floats(volts)},
                  {"megabytes_per_second", base64_floats(work.megabytes_per_second)},
                  {"iops", base64_floats(work.iops)},
                  {"lines", std::move(lines)},
                  {"still", still},
                  {"side_low", base64_bytes(side_low)},
                  {"side_high", base64_bytes(side_high)},
                  {"phases", phases_json(result, detail, origin)},
                  {"windows", json::array()},
                  {"peaks", json::array()},
                  {"markers", json::array()},
                  {"gaps", json::array()},
                  {"gap_count", power.gap_count()},
                  {"change_count", power.change_count()}};
    for (const analysis::PowerPeak& found : power.peaks()) {
        const analysis::PowerPeak peak = refined(power, found);
        trace["peaks"].push_back({to_seconds(peak.when - origin), peak.watts});
    }
    for (const analysis::PowerMarker& marker : power.markers())
        if (!of_a_phase(marker, detail))
            trace["markers"].push_back({{"at", to_seconds(marker.when - origin)}, {"text", clean_utf8(marker.text)}});
    for (const analysis::PowerGap& gap : power.gaps())
        trace["gaps"].push_back({{"begin", to_seconds(gap.begin - origin)},
                                 {"end", to_seconds(gap.end - origin)},
                                 {"energy_known", gap.energy_known}});
    std::size_t left_out = 0;
    for (const SampleWindow& window : windows_of(detail, left_out)) read_window(power, window, origin, trace["windows"]);
    trace["moments_left_out"] = left_out;
    return trace;
}

namespace {

// Mean power over a stretch, from bins; nothing when less than half of it is known.
std::optional<double> mean_watts(const analysis::PowerIndex& power, HostTime from, HostTime to) {
    double energy = 0, known = 0;
    const Nanoseconds length = power.bin_length();
    if (to <= power.begin() || from >= power.end() || from >= to) return std::nullopt;
    auto k = from <= power.begin() ? std::size_t{0} : static_cast<std::size_t>((from - power.begin()) / length);
    for (; k < power.bins().size(); ++k) {
        const HostTime begin = power.begin() + length * static_cast<std::int64_t>(k);
        if (begin >= to) break;
        const auto part = static_cast<double>((std::min(begin + length, to) - std::max(begin, from)).count());
        const analysis::PowerBin& bin = power.bins()[k];
        if (bin.known < 0.5 * static_cast<double>(length.count())) continue;
        energy += bin.watts * part;
        known += part;
    }
    if (known < 0.5 * static_cast<double>((to - from).count())) return std::nullopt;
    return energy / known;
}

json points_of(const recording::PhaseRecord& phase, const RunDetail& detail) {
    constexpr double most_points = 600;
    double total = 0;
    for (const io::Window& window : phase.outcome.windows) total += static_cast<double>(window.read_bytes + window.write_bytes);
    json points = json::array();
    double done = 0, bytes = 0, seconds = 0;
    HostTime begin = phase.outcome.begin;
    for (std::size_t k = 0; k < phase.outcome.windows.size(); ++k) {
        const io::Window& window = phase.outcome.windows[k];
        if (bytes == 0 && seconds == 0) begin = phase.outcome.begin + window.begin;
        bytes += static_cast<double>(window.read_bytes + window.write_bytes);
        seconds += to_seconds(window.length);
        const HostTime end = phase.outcome.begin + window.begin + window.length;
        if (bytes < total / most_points && k + 1 < phase.outcome.windows.size()) continue;
        if (seconds > 0) {
            json watts;
            if (detail.power)
                if (const auto mean = mean_watts(*detail.power, begin, end)) watts = *mean;
            points.push_back({(done + bytes / 2) / 1e9, bytes / seconds / 1e6, watts});
        }
        done += bytes;
        bytes = seconds = 0;
    }
    return points;
}

json optional_json(const std::optional<double>& value) { return value ? json(*value) : json(); }

}  // namespace

json fills_json(const analysis::RunResult& result, const RunDetail& detail, std::size_t most) {
    // Those that changed speed first, then by bytes.
    std::vector<const analysis::PhaseResult*> chosen;
    const auto bytes_of = [](const analysis::PhaseResult& phase) {
        return phase.speed && !phase.speed->regions.empty() ? phase.speed->regions.back().end_bytes : 0.0;
    };
    for (const analysis::PhaseResult& phase : result.phases)
        if (bytes_of(phase) > 0) chosen.push_back(&phase);
    const auto order = [&](const analysis::PhaseResult* phase) {
        return std::tuple(phase->speed->changes.empty(), -bytes_of(*phase), phase->phase.number);
    };
    std::sort(chosen.begin(), chosen.end(), [&](const auto* a, const auto* b) { return order(a) < order(b); });
    if (chosen.size() > most) chosen.resize(most);
    json list = json::array();
    for (const analysis::PhaseResult* phase : chosen) {
        const auto record = std::find_if(detail.phases.begin(), detail.phases.end(),
                                         [&](const recording::PhaseRecord& one) { return one.number == phase->phase.number; });
        if (record == detail.phases.end()) continue;
        json points = points_of(*record, detail);
        if (points.size() < 3) continue;
        json one = {{"label", clean_utf8(phase->phase.label)},
                    {"verdict", clean_utf8(phase->speed->verdict)},
                    {"points", std::move(points)},
                    {"regions", json::array()},
                    {"changes", json::array()}};
        for (const auto& region : phase->speed->regions)
            one["regions"].push_back({{"begin", region.begin_bytes / 1e9},
                                      {"end", region.end_bytes / 1e9},
                                      {"megabytes_per_second", region.megabytes_per_second},
                                      {"watts", optional_json(region.watts.value)},
                                      {"watts_u", optional_json(region.watts.u)}});
        for (const auto& change : phase->speed->changes)
            one["changes"].push_back({{"at", change.bytes / 1e9},
                                      {"low", change.low_bytes / 1e9},
                                      {"high", change.high_bytes / 1e9},
                                      {"ratio", change.ratio}});
        list.push_back(std::move(one));
    }
    return list;
}

json latency_json(const recording::PhaseRecord& phase) {
    const Histogram histogram = phase.outcome.total().latency;
    json list = json::array();
    if (histogram.total() == 0) return list;
    std::map<int, std::uint64_t> counts;  // step: twenty a decade
    for (std::size_t k = 0; k < Histogram::buckets; ++k)
        if (histogram.count(k) > 0)
            counts[static_cast<int>(
                std::floor(20 * std::log10(static_cast<double>(std::max<std::uint64_t>(1, Histogram::bucket_middle(k))))))] +=
                histogram.count(k);
    if (counts.empty()) return list;
    for (int step = counts.begin()->first; step <= counts.rbegin()->first; ++step) {
        const auto found = counts.find(step);
        const double share =
            found == counts.end() ? 0 : static_cast<double>(found->second) / static_cast<double>(histogram.total());
        list.push_back({std::pow(10, step / 20.0) / 1e3, share});
    }
    return list;
}

}  // namespace wattrig::report
