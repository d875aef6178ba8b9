#include "host/analysis/run_trace.hpp"

#include <algorithm>
#include <cmath>
#include <limits>

#include "host/power/energy.hpp"
#include "host/recording/mapped_file.hpp"
#include "host/recording/summary.hpp"
#include "host/rig/frame_decoder.hpp"

namespace wattrig::analysis {
namespace {

constexpr std::size_t most_peaks = 10;
constexpr std::size_t most_changes = 60;
constexpr float unknown = std::numeric_limits<float>::quiet_NaN();

// Where in the recording a time is: points of power.sum, on the host's clock.
struct Place {
    HostTime when;
    std::uint64_t offset;
};

Result<std::vector<Place>> places_of(const PowerSource& source) {
    constexpr std::uint64_t finest = recording::samples_of_level(1);  // 0.13 s
    constexpr std::uint64_t most = 60'000;
    const auto summary = recording::PowerSummary::open(source.path);
    if (!summary) return summary.error();
    std::vector<Place> places;
    for (std::size_t epoch = 0; epoch < summary->epochs().size(); ++epoch) {
        const recording::SummaryEpoch& stream = summary->epochs()[epoch];
        const auto clock = std::find_if(source.clocks.begin(), source.clocks.end(), [&](const rig::ClockMap& map) {
            return map.boot_id() == stream.boot_id || map.boot_id() == 0;
        });
        if (clock == source.clocks.end()) continue;
        const std::uint64_t step = std::max(finest, stream.end_index / most);
        for (const recording::SummaryPoint& point : summary->read(epoch, 0, stream.end_index, step))
            if (point.begin) places.push_back({clock->to_host(*point.begin), point.file_offset});
    }
    std::sort(places.begin(), places.end(), [](const Place& a, const Place& b) { return a.offset < b.offset; });
    return places;
}

// Overlapping windows become one.
std::vector<TraceWindow> windows_of(std::vector<TraceCollector::Event> events) {
    std::sort(events.begin(), events.end(), [](const auto& a, const auto& b) { return a.when < b.when; });
    std::vector<TraceWindow> windows;
    for (TraceCollector::Event& event : events) {
        const HostTime begin = event.when - trace_window / 2;
        if (!windows.empty() && begin <= windows.back().begin + windows.back().length) {
            windows.back().length = event.when + trace_window / 2 - windows.back().begin;
            windows.back().why += ", " + event.why;
        } else {
            windows.push_back({begin, trace_window, {}, std::move(event.why)});
        }
    }
    return windows;
}

void fill(TraceWindow& window, const power::TracePiece& piece) {
    if (piece.samples.empty()) return;
    const auto whole = static_cast<double>((piece.end - piece.begin).count());
    const double period = whole / static_cast<double>(piece.samples.size());
    for (std::size_t k = 0; k < piece.samples.size(); ++k) {
        const double middle =
            static_cast<double>((piece.begin - window.begin).count()) + (static_cast<double>(k) + 0.5) * period;
        const double place = middle / static_cast<double>(window.length.count()) * static_cast<double>(window.watts.size());
        if (place < 0 || place >= static_cast<double>(window.watts.size())) continue;
        window.watts[static_cast<std::size_t>(place)] = static_cast<float>(piece.samples[k].watts);
    }
}

}  // namespace

void TraceCollector::halve() {
    const std::size_t count = (bins_.size() + 1) / 2;
    for (std::size_t k = 0; k < count; ++k) {
        Bin joined = bins_[2 * k];
        if (2 * k + 1 < bins_.size()) {
            const Bin& other = bins_[2 * k + 1];
            if (other.known > 0) {
                joined.lowest = joined.known > 0 ? std::min(joined.lowest, other.lowest) : other.lowest;
                joined.highest = joined.known > 0 ? std::max(joined.highest, other.highest) : other.highest;
            }
            joined.watts += other.watts;
            joined.volts += other.volts;
            joined.known += other.known;
            joined.side_band |= other.side_band;
        }
        bins_[k] = joined;
    }
    bins_.resize(count);
    bin_ *= 2;
}

void TraceCollector::spread(HostTime from, HostTime to, const power::TracePiece& piece) {
    const double lowest = piece.lowest_watts.value_or(piece.mean->watts);
    const double highest = piece.highest_watts.value_or(piece.mean->watts);
    while (from < to) {
        auto index = static_cast<std::size_t>((from - begin_) / bin_);
        while (index >= most_trace_bins) {
            halve();
            index = static_cast<std::size_t>((from - begin_) / bin_);
        }
        if (index >= bins_.size()) bins_.resize(index + 1);
        const HostTime until = std::min(to, begin_ + static_cast<std::int64_t>(index + 1) * bin_);
        const auto weight = static_cast<double>((until - from).count());
        Bin& bin = bins_[index];
        bin.lowest = bin.known > 0 ? std::min(bin.lowest, lowest) : lowest;
        bin.highest = bin.known > 0 ? std::max(bin.highest, highest) : highest;
        bin.watts += piece.mean->watts * weight;
        bin.volts += piece.mean->volts[0] * weight;
        bin.known += weight;
        bin.side_band |= piece.mean->side_band;
        from = until;
    }
}

void TraceCollector::note_peak(const power::TracePiece& piece) {
    if (!piece.highest_watts) return;
    const double watts = *piece.highest_watts;
    if (peaks_.size() == most_peaks && watts <= peaks_.back().watts) return;
    const HostTime when = piece.begin + (piece.end - piece.begin) / 2;
    const auto near = std::find_if(peaks_.begin(), peaks_.end(),
                                   [&](const Peak& peak) { return std::chrono::abs(peak.when - when) < trace_window; });
    if (near != peaks_.end()) {
        if (watts > near->watts) *near = {when, watts};
    } else {
        if (peaks_.size() == most_peaks) peaks_.pop_back();
        peaks_.push_back({when, watts});
    }
    std::sort(peaks_.begin(), peaks_.end(), [](const Peak& a, const Peak& b) { return a.watts > b.watts; });
}

void TraceCollector::add(const power::TracePiece& piece) {
    if (!piece.mean || piece.end <= piece.begin) return;
    if (bins_.empty()) begin_ = piece.begin;
    if (piece.begin < begin_) return;  // a clock map that begins anew: the axis has one direction
    spread(piece.begin, piece.end, piece);
    note_peak(piece);
    if (piece.lowest_watts && piece.span <= protocol::samples_per_block) {  // from codes: with side-band lines
        if (side_band_ != 256 && side_band_ != piece.mean->side_band && changes_.size() < most_changes)
            changes_.push_back({piece.begin, "side-band"});
        side_band_ = piece.mean->side_band;
    }
}

std::vector<TraceCollector::Event> TraceCollector::events() const {
    std::vector<Event> events = changes_;
    for (const Peak& peak : peaks_) events.push_back({peak.when, "peak"});
    return events;
}

RunTrace TraceCollector::finish() {
    RunTrace trace;
    if (bins_.empty()) return trace;
    trace.begin = begin_;
    trace.bin = bin_;
    trace.bins.reserve(bins_.size());
    for (const Bin& bin : bins_) {
        if (bin.known <= 0) {
            trace.bins.push_back({unknown, unknown, unknown, unknown, 0});
            continue;
        }
        trace.bins.push_back({static_cast<float>(bin.watts / bin.known), static_cast<float>(bin.lowest),
                              static_cast<float>(bin.highest), static_cast<float>(bin.volts / bin.known), bin.side_band});
    }
    return trace;
}

Result<std::vector<TraceWindow>> read_trace_windows(const PowerSource& source, std::vector<TraceCollector::Event> events) {
    std::vector<TraceWindow> windows = windows_of(std::move(events));
    if (windows.empty()) return windows;
    const auto places = places_of(source);
    if (!places) return places.error();
    if (places->empty()) return std::vector<TraceWindow>{};
    auto file = recording::MappedFile::open(source.path);
    if (!file) return file.error();
    const std::span<const std::uint8_t> bytes = file->bytes();
    constexpr double sample_ns = 30'720;
    for (TraceWindow& window : windows) {
        const auto count = std::llround(static_cast<double>(window.length.count()) / sample_ns);
        window.watts.assign(static_cast<std::size_t>(count), unknown);
        // From the last point before it to the first behind it, and one more: a point's offset is of its first block.
        const auto behind = [](HostTime t, const Place& place) { return t < place.when; };
        auto first = std::upper_bound(places->begin(), places->end(), window.begin, behind);
        auto last = std::upper_bound(places->begin(), places->end(), window.begin + window.length, behind);
        if (first != places->begin()) --first;
        if (first != places->begin()) --first;
        if (last != places->end()) ++last;
        const std::uint64_t from = std::min<std::uint64_t>(first->offset, bytes.size());
        const std::uint64_t to = last == places->end() ? bytes.size() : std::min<std::uint64_t>(last->offset, bytes.size());
        if (to <= from) continue;
        power::EnergyPass pass(source.calibration, source.clocks, {});
        pass.follow([&](const power::TracePiece& piece) { fill(window, piece); }, true);
        rig::FrameDecoder decoder;
        decoder.feed(bytes.subspan(from, to - from), [&](const rig::Frame& frame) {
            const auto type = static_cast<protocol::FrameType>(frame.header.type);
            if (type != protocol::FrameType::block && type != protocol::FrameType::summary) return;
            if (const auto block = rig::parse_block(frame.payload)) pass.add(*block);
        });
    }
    // A window of a recording without codes holds nothing.
    std::erase_if(windows, [](const TraceWindow& window) {
        return std::all_of(window.watts.begin(), window.watts.end(), [](float w) { return std::isnan(w); });
    });
    return windows;
}

}  // namespace wattrig::analysis
