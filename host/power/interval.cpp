#include "host/power/interval.hpp"

#include <algorithm>
#include <cassert>
#include <cmath>
#include <numbers>

namespace wattrig::power {
namespace {

constexpr std::int64_t cell = protocol::ticks_per_sample;
constexpr std::int64_t block_ticks = cell * protocol::samples_per_block;
// A block is shared between two batches by time; with at least so many blocks in a batch that correlates them by less than 1/8.
constexpr std::int64_t blocks_per_batch = 4;
// Around an edge: enough samples that noise does not look like a step, few enough to be local.
constexpr std::int64_t fewest_edge_cells = 8, most_edge_cells = 16;
// Time missing at the ends of a recording that is still called covered (and widens the interval); more gives no figure.
constexpr double tolerated_end_share = 0.01;

double square(double x) { return x * x; }

}  // namespace

IntervalAccumulator::IntervalAccumulator(std::size_t number, const io::Interval& interval, std::int64_t begin, std::int64_t end,
                                         double begin_half_width, std::size_t batches)
    : number_(number), interval_(interval), begin_(begin), end_(end), begin_half_width_(begin_half_width) {
    const std::int64_t most = std::max<std::int64_t>(1, (end - begin) / (blocks_per_batch * block_ticks));
    const auto count = static_cast<std::size_t>(std::min<std::int64_t>(most, static_cast<std::int64_t>(batches)));
    batch_energy_.assign(count, 0);
    batch_time_.assign(count, 0);
}

void IntervalAccumulator::restart(std::int64_t begin, std::int64_t end) {
    unknown_ = true;
    begin_ = begin;
    end_ = end;
}

bool IntervalAccumulator::add(Segment& segment, std::optional<double> previous) {
    look_at_edges(segment, previous);
    if (segment.begin >= end_) return false;
    const std::int64_t from = std::max(segment.begin, begin_);
    const std::int64_t to = std::min(segment.end, end_);
    if (to <= from) return true;
    flags_ |= segment.flags;
    if (segment.count < segment.span) samples_lost_ = true;
    if (segment.count == 0) return true;
    const bool whole = from == segment.begin && to == segment.end;
    const auto ticks = static_cast<double>(to - from);
    Means m = segment.means;
    if (segment.block != nullptr) {
        if (!whole) m = partial_means(segment, from, to);
        const bool screened = range_.known && segment.range.lowest >= range_.lowest && segment.range.highest <= range_.highest;
        if (!screened) {
            if (whole) {
                if (!segment.exact.known) segment.exact = sample_range(segment, 0, static_cast<std::size_t>(segment.count));
                range_.add(segment.exact);
            } else {
                // Samples whose middle lies inside.
                const std::int64_t origin = segment.block->begin().time_since_epoch().count();
                const auto index = [&](std::int64_t t) {
                    return static_cast<std::size_t>(std::clamp<std::int64_t>((t - origin + cell / 2) / cell, 0, segment.count));
                };
                if (index(from) < index(to)) range_.add(sample_range(segment, index(from), index(to)));
            }
        }
    } else {
        if (segment.range.known) {
            range_.add(segment.range);
            bounds_only_ = true;
        }
        if (!whole) {
            shared_.push_back({ticks, static_cast<double>(segment.end - segment.begin) - ticks, m.power(), segment.range,
                               segment.kind == SegmentKind::gap});
            if (previous) neighbours_.add(*previous);
        }
    }
    if (segment.range.known) lowest_v_ = std::min(lowest_v_.value_or(segment.lowest_v), segment.lowest_v);
    energy_ += static_cast<long double>(m.power()) * ticks;
    sums_.add(m, ticks);
    known_ += ticks;
    const double valid_share = std::min(1.0, static_cast<double>(segment.count) / static_cast<double>(segment.span));
    valid_ += ticks * valid_share;
    samples_ += ticks / static_cast<double>(segment.end - segment.begin) * static_cast<double>(segment.count);
    u_offset_ += ticks * segment.u_offset;
    temperature_ += ticks * segment.temperature_offset;
    temperature_change_ += ticks * segment.temperature_change;
    rails_ = std::max(rails_, segment.rails);
    first_known_ = std::min(first_known_, from);
    last_known_ = std::max(last_known_, to);
    add_batches(segment, from, to, m.power());
    return true;
}

void IntervalAccumulator::look_at_edges(const Segment& segment, std::optional<double> previous) {
    const auto near = [&](std::int64_t from, std::int64_t to) -> std::optional<double> {
        if (segment.count == 0) return std::nullopt;
        if (segment.block != nullptr && to - from >= fewest_edge_cells * cell) return partial_means(segment, from, to).power();
        return std::nullopt;
    };
    const std::optional<double> whole = segment.count > 0 ? std::optional(segment.means.power()) : std::nullopt;
    const auto look = [&](Edge& edge, std::int64_t at, bool& seen) {
        if (seen) {  // the segment after the one with the edge
            if (!edge.after) edge.after = whole;
            return;
        }
        if (at >= segment.end) return;
        seen = true;
        if (at <= segment.begin) {
            edge.before = previous;
            edge.after = whole;
            if (at < segment.begin) edge.before.reset();  // not in the stream at all
            return;
        }
        edge.before = near(std::max(segment.begin, at - most_edge_cells * cell), at);
        edge.after = near(at, std::min(segment.end, at + most_edge_cells * cell));
        if (!edge.before) edge.before = previous ? previous : whole;
        if (!edge.after && segment.block == nullptr) edge.after = whole;
    };
    const bool begin_was_seen = begin_seen_, end_was_seen = end_seen_;
    look(at_begin_, begin_, begin_seen_);
    look(at_end_, end_, end_seen_);
    // What the power did right around a stretch without detail belongs to the range it may have had inside.
    if (!shared_.empty() && whole && (begin_was_seen || end_was_seen)) neighbours_.add(*whole);
}

void IntervalAccumulator::add_batches(const Segment& segment, std::int64_t from, std::int64_t to, double power) {
    if (segment.kind == SegmentKind::gap) return;  // its energy is exact, but it has no detail that could vary
    if (segment.kind == SegmentKind::summary) longest_summary_ = std::max(longest_summary_, segment.end - segment.begin);
    const auto count = static_cast<std::int64_t>(batch_energy_.size());
    const double length = static_cast<double>(end_ - begin_) / static_cast<double>(count);
    auto k = static_cast<std::int64_t>(static_cast<double>(from - begin_) / length);
    double at = static_cast<double>(from - begin_);
    const auto last = static_cast<double>(to - begin_);
    for (k = std::clamp<std::int64_t>(k, 0, count - 1); at < last; ++k) {
        const double until = k + 1 >= count ? last : std::min(last, static_cast<double>(k + 1) * length);
        if (until > at) {
            const auto index = static_cast<std::size_t>(std::min(k, count - 1));
            batch_energy_[index] += power * (until - at);
            batch_time_[index] += until - at;
            at = until;
        }
    }
}

void IntervalAccumulator::add_second(std::int64_t from, std::int64_t to, double mean_power) {
    if (from < begin_ || to > end_) return;
    pcm1_ = std::max(pcm1_.value_or(mean_power), mean_power);
    // Union of the windows, which come in order.
    seconds_covered_ += to - std::max(from, seconds_end_ == INT64_MIN ? from : seconds_end_);
    seconds_end_ = to;
}

void IntervalAccumulator::add_peak(std::int64_t from, std::int64_t to, std::optional<std::int64_t> at, double watts,
                                   double noise, std::uint32_t windows, bool lower_bound, bool crosses_step) {
    if (to <= begin_ || from >= end_) return;
    const bool whole = from >= begin_ && to <= end_;
    const bool inside = whole || (at && *at > begin_ && *at <= end_);
    if (!inside) return;
    peak_.add(watts, noise, windows);
    // At an edge the block's own maximum lies inside, so nothing higher was missed there either.
    peak_covered_ += static_cast<double>(std::min(to, end_) - std::max(from, begin_));
    peak_lower_bound_ = peak_lower_bound_ || lower_bound;
    peak_step_ = peak_step_ || crosses_step;
}

double IntervalAccumulator::coverage_doubt(double mean, double missing_share) const {
    PowerRange seen = range_;
    seen.add(neighbours_);
    const auto time = static_cast<double>(end_ - begin_);
    double variance = 0;
    for (const SharedEdge& edge : shared_) {
        PowerRange range = edge.range;
        if (!range.known) {
            range = seen;
            if (range.known) range.add(edge.mean);
        }
        const double energy = edge.mean * (edge.inside + edge.outside);
        const double shared = edge.mean * edge.inside;
        // Without any extremes all that is known is that a drive does not give power back.
        double least = 0, most = energy;
        if (range.known) {
            least = std::max(edge.inside * range.lowest, energy - edge.outside * range.highest);
            most = std::min(edge.inside * range.highest, energy - edge.outside * range.lowest);
        }
        const double half = std::max({most - shared, shared - least, 0.0});
        // Edges of phases lie where the load steps: idle up to the edge and load after it is the very extreme, and the likely
        // case. So the error is taken as U-shaped (half / sqrt 2), not as rectangular.
        variance += square(half / time) / 2;
    }
    if (missing_share > 0) {
        const double half = seen.known ? std::max(seen.highest - mean, mean - seen.lowest) : std::fabs(mean);
        variance += square(missing_share * std::max(half, 0.0)) / 3;
    }
    return std::sqrt(variance);
}

void IntervalAccumulator::finish_batches(IntervalPower& result) const {
    std::vector<double> energy = batch_energy_, time = batch_time_;
    double length = static_cast<double>(end_ - begin_) / static_cast<double>(energy.size());
    while (energy.size() > 1 && length < static_cast<double>(blocks_per_batch * longest_summary_)) {
        const std::size_t pairs = energy.size() / 2;  // an odd one at the end has no equal and goes
        for (std::size_t k = 0; k < pairs; ++k) {
            energy[k] = energy[2 * k] + energy[2 * k + 1];
            time[k] = time[2 * k] + time[2 * k + 1];
        }
        energy.resize(pairs);
        time.resize(pairs);
        length *= 2;
    }
    result.batch_length = Nanoseconds(static_cast<std::int64_t>(
        length / static_cast<double>(end_ - begin_) * static_cast<double>((interval_.end - interval_.begin).count())));
    for (std::size_t k = 0; k < energy.size(); ++k)
        if (time[k] > 0.5 * length) result.batch_means.push_back(energy[k] / time[k]);
}

void IntervalAccumulator::finish_flags(IntervalPower& result, bool ends_missing) const {
    const auto flag = [&](bool set, const char* text) {
        if (set) result.flags.emplace_back(text);
    };
    flag(unknown_, "rig restarted inside: energy of the gap unknown");
    flag(ends_missing, "recording does not cover the whole interval");
    const auto is_gap = [](const SharedEdge& e) { return e.gap; };
    flag(std::any_of(shared_.begin(), shared_.end(), is_gap), "gap at the edge: energy shared by time");
    flag(!std::all_of(shared_.begin(), shared_.end(), is_gap), "edge inside a summary: energy shared by time");
    flag((flags_ & protocol::block_overrun) != 0, "blocks lost: energy exact, detail missing");
    flag(samples_lost_ || (flags_ & protocol::block_adc_crc_error) != 0, "samples lost inside the rig");
    flag((flags_ & protocol::block_clipped) != 0, "clipped");
    flag((flags_ & protocol::block_low_voltage) != 0, "low voltage");
    flag((flags_ & protocol::block_power_off) != 0, "drive power off");
    flag((flags_ & protocol::block_adc_silent) != 0, "ADC silent");
    flag((flags_ & protocol::block_resynchronised) != 0, "time base anchored anew");
    flag((flags_ & protocol::block_slow_stale) != 0, "idle path missing");
    flag(peak_lower_bound_, "peak is a lower bound");
    flag(peak_step_, "peak readings cross a step of the MCU's ADC");
    flag(bounds_only_, "minimum and maximum are bounds from summaries");
}

IntervalPower IntervalAccumulator::finish(const Calibration& calibration, bool simulated) const {
    IntervalPower result;
    result.interval = interval_;
    result.simulated = simulated;
    const auto time = static_cast<double>(end_ - begin_);
    if (time <= 0) return result;
    result.samples = static_cast<std::uint64_t>(std::llround(samples_));
    result.coverage = std::min(1.0, valid_ / time);
    const double ends = known_ > 0 ? static_cast<double>((first_known_ - begin_) + (end_ - last_known_)) : time;
    finish_flags(result, ends > cell);
    if (known_ <= 0) return result;

    const auto mean = static_cast<double>(energy_ / known_);
    BudgetInput input;
    input.means.add(sums_, 1 / known_);
    input.rails = rails_;
    input.samples = result.samples;
    input.u_offset = u_offset_ / known_;
    input.temperature_offset = temperature_ / known_;
    input.temperature_change = temperature_change_ / known_;
    input.seconds = to_seconds(interval_.end - interval_.begin);
    // An edge that is e too early or too late takes in power of the other side. Over the edge's two signs the mean square is
    // half of each side's.
    const Edge* edges[] = {&at_begin_, &at_end_};
    for (std::size_t e = 0; e < 2; ++e) {
        const double before = edges[e]->before ? *edges[e]->before - mean : 0;
        const double after = edges[e]->after ? *edges[e]->after - mean : 0;
        input.edge_step[e] = std::sqrt((square(before) + square(after)) / 2);
    }
    input.edge_half_width = {begin_half_width_, end_half_width_};
    if (unknown_ || ends > tolerated_end_share * time) {
        // A drive gives no power back: what the sums know of is a bound from below, less what they may be wrong by.
        input.seconds *= known_ / time;
        result.energy_at_least = Joules(std::max(0.0, (mean - budget(input, calibration).expanded()) * input.seconds));
        return result;
    }
    result.mean = Watts(mean);
    result.energy = *result.mean * (interval_.end - interval_.begin);
    double missing = (time - valid_) / time;
    if (missing < 1e-9) missing = 0;  // rounding of ticks
    input.coverage = coverage_doubt(mean, missing);
    result.u = budget(input, calibration);

    const RailMeans& m = input.means.rail[0];
    result.mean_current = Amperes(m.i);
    result.mean_voltage = Volts(m.v - calibration.rails[0].shunt_ohm * m.i);
    if (lowest_v_) result.minimum_voltage = Volts(*lowest_v_);
    if (range_.known) {
        result.minimum = Watts(range_.lowest);
        result.maximum = Watts(range_.highest);
    }
    if (pcm1_) {
        result.pcm1 = Watts(*pcm1_);
        result.pcm1_coverage = std::min(1.0, static_cast<double>(seconds_covered_) / time);
    } else if (input.seconds >= 1 && input.seconds <= 1.005) {
        // Windows end at block edges, so none fits; the interval itself is one.
        result.pcm1 = result.mean;
        result.pcm1_coverage = result.coverage;
    }
    if (const auto peak = peak_.corrected()) {
        result.pcm2 = Watts(*peak);
        result.pcm2_coverage = std::min(1.0, peak_covered_ / time);
    }
    finish_batches(result);
    return result;
}

}  // namespace wattrig::power
