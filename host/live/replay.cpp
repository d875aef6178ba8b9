#include "host/live/replay.hpp"

#include <algorithm>
#include <cmath>
#include <nlohmann/json.hpp>

#include "host/analysis/power_source.hpp"
#include "host/report/escape.hpp"

namespace wattrig::live {
namespace {

using nlohmann::json;

constexpr std::size_t most_bins = 65'536;
constexpr double sample_seconds = 30.72e-6;
// Single samples are handed out as they are up to so many; more become columns.
constexpr double most_samples = 4000;

struct Sums {
    double watts = 0, volts = 0, known = 0;
    double lowest = 0, highest = 0;
    void add(double w, double v, double low, double high, double weight) {
        lowest = known > 0 ? std::min(lowest, low) : low;
        highest = known > 0 ? std::max(highest, high) : high;
        watts += w * weight;
        volts += v * weight;
        known += weight;
    }
};

json columns_json(const std::vector<Sums>& sums, double begin, double step) {
    json list = json::array();
    for (std::size_t k = 0; k < sums.size(); ++k)
        if (sums[k].known > 0)
            list.push_back({begin + (static_cast<double>(k) + 0.5) * step, sums[k].lowest, sums[k].watts / sums[k].known,
                            sums[k].highest, sums[k].volts / sums[k].known});
    return list;
}

}  // namespace

Result<Replay> Replay::open(const std::string& path) {
    auto directory = recording::RunDirectory::open(path);
    if (!directory) return directory.error();
    const auto run = directory->read_json("run.json");
    if (!run) return run.error();
    auto phases = directory->read_phases();
    const auto source = analysis::open_power_source(*directory, *run, analysis::ClockChoice::quick);
    if (!source) return source.error();
    if (!*source) return bad_input(path + ": expected a run with power, this one has no power.wrt");
    auto index = analysis::PowerIndex::build(**source, most_bins);
    if (!index) return index.error();
    Replay replay(std::move(*index), phases ? std::move(*phases) : std::vector<recording::PhaseRecord>{});
    replay.origin_ = replay.phases_.empty() ? replay.index_.begin() : replay.phases_.front().outcome.begin;
    replay.title_ = path;
    replay.simulated_ = (*source)->simulated;
    return replay;
}

json Replay::summary() const {
    json phases = json::array(), marks = json::array();
    constexpr std::size_t most_phases = 2000;
    for (const recording::PhaseRecord& phase : phases_) {
        if (phases.size() == most_phases) break;
        phases.push_back({{"label", report::clean_utf8(phase.label)},
                          {"begin", seconds(phase.outcome.begin)},
                          {"end", seconds(phase.complete ? phase.outcome.end : index_.end())}});
    }
    for (const analysis::PowerMarker& marker : index_.markers())
        marks.push_back({{"at", seconds(marker.when)}, {"text", report::clean_utf8(marker.text)}});
    return {{"title", report::clean_utf8(title_)}, {"simulated", simulated_}, {"begin", seconds(index_.begin())},
            {"end", seconds(index_.end())},        {"phases", phases},        {"marks", marks}};
}

json Replay::from_bins(HostTime from, HostTime to, std::size_t columns) const {
    const Nanoseconds length = index_.bin_length();
    const auto at = [&](HostTime t) {
        return static_cast<std::size_t>(
            std::clamp<std::int64_t>((t - index_.begin()) / length, 0, static_cast<std::int64_t>(index_.bins().size())));
    };
    const std::size_t first = at(from), last = std::min(index_.bins().size(), at(to) + 1);
    const std::size_t step = std::max<std::size_t>(1, (last - first + columns - 1) / columns);
    std::vector<Sums> sums((last - first + step - 1) / step);
    for (std::size_t k = first; k < last; ++k) {
        const analysis::PowerBin& bin = index_.bins()[k];
        if (bin.known > 0) sums[(k - first) / step].add(bin.watts, bin.volts, bin.lowest, bin.highest, bin.known);
    }
    return columns_json(sums, seconds(index_.begin() + length * static_cast<std::int64_t>(first)),
                        to_seconds(length) * static_cast<double>(step));
}

json Replay::from_file(HostTime from, HostTime to, std::size_t columns, bool& samples) const {
    samples = to_seconds(to - from) / sample_seconds <= most_samples;
    const double step = to_seconds(to - from) / static_cast<double>(columns);
    std::vector<Sums> sums(samples ? 0 : columns);
    json list = json::array();
    bool all_samples = true;
    const auto add = [&](double t, double length, const power::TraceSample& values, double lowest, double highest) {
        const double place = (t - seconds(from)) / step;
        if (place < 0 || place >= static_cast<double>(columns)) return;
        sums[static_cast<std::size_t>(place)].add(values.watts, values.volts[0], lowest, highest, length);
    };
    const auto read = index_.read(from, to, [&](const power::TracePiece& piece) {
        if (!piece.mean) return;
        const auto count = static_cast<double>(piece.samples.size());
        const double begin = seconds(piece.begin), whole = to_seconds(piece.end - piece.begin);
        for (std::size_t k = 0; k < piece.samples.size(); ++k) {
            const power::TraceSample& sample = piece.samples[k];
            const double t = begin + whole * (static_cast<double>(k) + 0.5) / count;
            if (t < seconds(from) || t >= seconds(to)) continue;
            if (samples)
                list.push_back({t, sample.watts, sample.watts, sample.watts, sample.volts[0]});
            else
                add(t, whole / count, sample, sample.watts, sample.watts);
        }
        if (!piece.samples.empty()) return;
        all_samples = false;
        const double lowest = piece.lowest_watts.value_or(piece.mean->watts),
                     highest = piece.highest_watts.value_or(piece.mean->watts);
        if (samples)
            list.push_back({begin + whole / 2, lowest, piece.mean->watts, highest, piece.mean->volts[0]});
        else
            add(begin + whole / 2, whole, *piece.mean, lowest, highest);
    });
    if (!read) return json::array();
    if (!samples) return columns_json(sums, seconds(from), step);
    samples = all_samples;
    return list;
}

json Replay::view(const ViewRequest& request) const {
    const auto time = [&](double s) {
        const double clamped = std::clamp(s, seconds(index_.begin()), seconds(index_.end()));
        return origin_ + Nanoseconds(std::llround(clamped * 1e9));
    };
    const HostTime from = time(request.from), to = time(request.to);
    json reply = {{"from", request.from}, {"to", request.to}, {"samples", false}, {"columns", json::array()}};
    if (to <= from) return reply;
    // Bins as long as they are fine enough for the picture; below, the file.
    if (static_cast<std::size_t>((to - from) / index_.bin_length()) >= request.columns) {
        reply["columns"] = from_bins(from, to, request.columns);
        return reply;
    }
    bool samples = false;
    reply["columns"] = from_file(from, to, request.columns, samples);
    reply["samples"] = samples;
    return reply;
}

}  // namespace wattrig::live
