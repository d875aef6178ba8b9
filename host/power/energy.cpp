#include "host/power/energy.hpp"

#include <algorithm>
#include <cassert>
#include <cmath>
#include <numeric>

#include "host/power/fusion.hpp"
#include "host/power/interval.hpp"
#include "host/power/peak.hpp"
#include "host/power/segment.hpp"

namespace wattrig::power {
namespace {

constexpr std::int64_t cell = protocol::ticks_per_sample;
constexpr auto one_second = static_cast<std::int64_t>(protocol::ticks_per_second);
// Index and time of a stream move together; a larger disagreement means that the stream was started again.
constexpr std::int64_t largest_disagreement = one_second / 10;
// A block beyond is damaged in spite of its CRC; 290 years and 270 years of streaming.
constexpr std::uint64_t last_possible_time = std::uint64_t{1} << 60;
constexpr std::uint64_t last_possible_index = std::uint64_t{1} << 48;
// Windows of a second do not begin inside stretches that are longer than this and have no detail.
constexpr std::int64_t longest_blind_stretch = one_second / 100;

// Energy since stream start at segment edges, over a little more than the last second: for the highest 1 s mean.
class SecondWindow {
  public:
    void clear() { count_ = 0; }
    struct Mean {
        std::int64_t from, to;
        double power;
    };
    std::optional<Mean> add(const Segment& segment) {
        if (segment.count == 0) {
            clear();
            return std::nullopt;
        }
        if (count_ == 0) {
            tail_ = 0;
            push({segment.begin, 0, false});
        }
        const auto ticks = static_cast<double>(segment.end - segment.begin);
        const bool blind = segment.kind == SegmentKind::gap && segment.end - segment.begin > longest_blind_stretch;
        push({segment.end, at(count_ - 1).energy + static_cast<long double>(segment.means.power()) * ticks, blind});
        const std::int64_t from = segment.end - one_second;
        if (at(tail_).time > from) return std::nullopt;
        while (at(tail_ + 1).time <= from) ++tail_;
        const Node& a = at(tail_);
        const Node& b = at(tail_ + 1);
        if (b.blind && a.time != from) return std::nullopt;
        const auto share = static_cast<double>(from - a.time) / static_cast<double>(b.time - a.time);
        const long double before = a.energy + (b.energy - a.energy) * share;
        return Mean{from, segment.end, static_cast<double>((at(count_ - 1).energy - before) / one_second)};
    }

  private:
    struct Node {
        std::int64_t time;
        long double energy;  // watt ticks
        bool blind;          // the stretch that ends here
    };
    static constexpr std::size_t capacity = 512;  // 1 s is 434 blocks
    Node& at(std::size_t k) { return nodes_[k % capacity]; }
    void push(const Node& node) {
        at(count_++) = node;
        // Only a stream of blocks much shorter than ours could overtake the tail.
        if (count_ - tail_ > capacity) tail_ = count_ - capacity;
    }
    std::array<Node, capacity> nodes_;
    std::size_t count_ = 0, tail_ = 0;
};

}  // namespace

struct EnergyPass::State {
    State(const Calibration& c, std::vector<rig::ClockMap> maps, std::vector<io::Interval> list)
        : calibration(c),
          clocks(std::move(maps)),
          intervals(std::move(list)),
          order(intervals.size()),
          fusion(c.rails[0], c.front_end),
          peak_path(c.rails[0], c.front_end) {
        std::iota(order.begin(), order.end(), std::size_t{0});
        std::sort(order.begin(), order.end(), [&](std::size_t a, std::size_t b) {
            return std::pair(intervals[a].begin, a) < std::pair(intervals[b].begin, b);
        });
        result.resize(intervals.size());
        for (std::size_t k = 0; k < intervals.size(); ++k) result[k].interval = intervals[k];
        // Many intervals are bursts; nobody looks at hundreds of batches of each.
        batches = intervals.size() > 1000 ? 16 : 256;
    }

    Calibration calibration;
    std::vector<rig::ClockMap> clocks;
    std::vector<io::Interval> intervals;
    std::vector<std::size_t> order;  // by begin
    std::size_t next = 0;            // in `order`: first that has not begun
    std::int64_t next_begin = 0;     // its begin in ticks
    std::vector<IntervalAccumulator> active;
    std::vector<IntervalPower> result;
    std::size_t batches;
    bool simulated = false;

    // The stream so far.
    bool streaming = false;
    std::uint32_t boot_id = 0;
    const rig::ClockMap* clock = nullptr;
    std::array<protocol::RailSums, protocol::maximum_rails> sums{};
    std::uint64_t end_index = 0;
    std::int64_t end_time = 0;
    double shunt_temperature = 0, board_temperature = 0;
    std::optional<double> previous;  // mean power of the segment right before
    Fusion fusion;
    PeakPath peak_path;
    SecondWindow seconds;
    TraceSink sink;
    bool trace_samples = false;
    std::optional<double> held_idle_offset;
    std::vector<TraceSample> traced;
    std::uint32_t peak_blocks = 0;  // received since the last gap, at most 64: their peaks need no groups

    [[nodiscard]] const rig::ClockMap* map_of(std::uint32_t boot) const {
        const rig::ClockMap* any = nullptr;
        for (const rig::ClockMap& map : clocks) {
            if (map.empty()) continue;
            if (map.boot_id() == boot) return &map;
            if (map.boot_id() == 0) any = &map;
        }
        return any;
    }
    [[nodiscard]] std::int64_t ticks(HostTime t) const { return clock->to_device(t).time_since_epoch().count(); }
    [[nodiscard]] double idle_offset() const { return held_idle_offset.value_or(fusion.offset()); }
    void look_ahead() {
        if (next < order.size()) next_begin = ticks(intervals[order[next]].begin);
    }

    void start_stream(const rig::BlockView& block);
    void add(const rig::BlockView& block);
    Segment segment_of(SegmentKind kind, std::int64_t begin, std::int64_t end, double shunt, double board) const;
    void fill(Segment& segment, const std::array<CodeSums, protocol::maximum_rails>& own) const;
    void emit(Segment& segment);
    void trace(const Segment& segment);
    void close(IntervalAccumulator& interval);
    void add_peaks(const rig::BlockView& block, const Segment& segment, std::int64_t lost_blocks);
};

void EnergyPass::State::close(IntervalAccumulator& interval) {
    if (clock != nullptr) interval.set_end_half_width(to_seconds(clock->half_width(interval.interval().end)));
    result[interval.number()] = interval.finish(calibration, simulated || calibration.simulated);
}

// First block of a stream: of the whole recording, after a restart of the rig, or after a new start_stream.
void EnergyPass::State::start_stream(const rig::BlockView& block) {
    const bool again = streaming;
    if (again) {
        // Intervals that the old stream ended inside of have a hole nobody knows the energy of.
        std::erase_if(active, [&](IntervalAccumulator& interval) {
            if (interval.end() > end_time) return false;
            close(interval);
            return true;
        });
    }
    boot_id = block.header.boot_id;
    clock = map_of(boot_id);
    streaming = true;
    previous.reset();
    seconds.clear();
    peak_blocks = 0;
    fusion.restart();
    if (clock != nullptr) {
        for (IntervalAccumulator& interval : active)
            interval.restart(ticks(interval.interval().begin), ticks(interval.interval().end));
        look_ahead();
    }
    end_time = block.begin().time_since_epoch().count();
    end_index = block.header.first_index;
    shunt_temperature = block.header.shunt_temperature;
    board_temperature = block.header.board_temperature;
    for (std::size_t r = 0; r < block.header.rails; ++r) {
        sums[r] = {};
        // The sums at its begin: zero if it is the first of its stream; with codes they can be worked out; else the first
        // summary is only a starting point.
        if (!block.has_codes() && end_index == 0) continue;
        sums[r] = block.rails[r].sums;
        if (!block.has_codes()) continue;
        const CodeSums own = sum_codes(block, r, 0, block.header.count);
        const auto take = [](protocol::Int128& value, Int128 less) {
            const auto rest = static_cast<unsigned __int128>(wide(value)) - static_cast<unsigned __int128>(less);
            value = {static_cast<std::uint64_t>(rest), static_cast<std::int64_t>(rest >> 64)};
        };
        sums[r].count -= static_cast<std::uint64_t>(own.count);
        sums[r].sum_v = wrapping_difference(sums[r].sum_v, own.v);
        sums[r].sum_i = wrapping_difference(sums[r].sum_i, own.i);
        take(sums[r].sum_vi, own.vi);
        take(sums[r].sum_ii, own.ii);
    }
    if (!block.has_codes() && end_index != 0) {
        end_time = block.end().time_since_epoch().count();
        end_index += block.header.span;
    }
}

Segment EnergyPass::State::segment_of(SegmentKind kind, std::int64_t begin, std::int64_t end, double shunt,
                                      double board) const {
    Segment segment;
    segment.kind = kind;
    segment.begin = begin;
    segment.end = end;
    segment.span = std::max<std::int64_t>(1, (end - begin + cell / 2) / cell);
    segment.temperature_offset = shunt - calibration.rails[0].reference_temperature;
    segment.u_offset = fusion.standard_uncertainty();
    for (std::size_t r = 0; r < segment.affine.size(); ++r)
        segment.affine[r] = affine(calibration.rails[r], shunt, board, r == 0 ? idle_offset() : 0);
    return segment;
}

void EnergyPass::State::fill(Segment& segment, const std::array<CodeSums, protocol::maximum_rails>& own) const {
    segment.count = std::max<std::int64_t>(0, own[0].count);
    if (segment.count == 0) return;
    for (std::size_t r = 0; r < segment.rails; ++r)
        if (own[r].count > 0) segment.means.rail[r] = means(own[r], segment.affine[r]);
}

void EnergyPass::State::emit(Segment& segment) {
    if (segment.end <= segment.begin) return;
    if (sink) trace(segment);
    while (next < order.size() && next_begin < segment.end) {
        const io::Interval& interval = intervals[order[next]];
        const std::int64_t begin = ticks(interval.begin), end = ticks(interval.end);
        if (end > begin)
            active.emplace_back(order[next], interval, begin, end, to_seconds(clock->half_width(interval.begin)), batches);
        ++next;
        look_ahead();
    }
    std::erase_if(active, [&](IntervalAccumulator& interval) {
        if (interval.add(segment, previous)) return false;
        close(interval);
        return true;
    });
    if (const auto window = seconds.add(segment))
        for (IntervalAccumulator& interval : active) interval.add_second(window->from, window->to, window->power);
    previous = segment.count > 0 ? std::optional(segment.means.power()) : std::nullopt;
}

void EnergyPass::State::trace(const Segment& segment) {
    TracePiece piece;
    piece.begin = clock->to_host(DeviceTime(Ticks(segment.begin)));
    piece.end = clock->to_host(DeviceTime(Ticks(segment.end)));
    piece.span = segment.span;
    piece.count = segment.count;
    piece.rails = segment.rails;
    piece.idle_offset = idle_offset();
    if (segment.count > 0) {
        TraceSample& mean = piece.mean.emplace();
        for (std::size_t r = 0; r < segment.rails; ++r) {
            mean.volts[r] = segment.means.rail[r].v;
            mean.amperes[r] = segment.means.rail[r].i;
        }
        mean.watts = segment.means.power();
        if (segment.block != nullptr) mean.side_band = segment.block->sideband != nullptr ? segment.block->sideband[0] : 0;
    }
    if (trace_samples && segment.block != nullptr && segment.count == segment.block->header.count &&
        segment.count == segment.span) {
        const auto count = static_cast<std::size_t>(segment.count);
        traced.assign(count, {});
        for (std::size_t k = 0; k < count; ++k) {
            TraceSample& sample = traced[k];
            for (std::size_t r = 0; r < segment.rails; ++r) {
                const Affine& a = segment.affine[r];
                sample.volts[r] = a.v_offset + a.v_gain * segment.block->v_code(r, k);
                sample.amperes[r] = a.i_offset + a.i_gain * segment.block->i_code(r, k);
            }
            sample.watts = sample_power(segment, k);
            piece.lowest_watts = std::min(piece.lowest_watts.value_or(sample.watts), sample.watts);
            piece.highest_watts = std::max(piece.highest_watts.value_or(sample.watts), sample.watts);
            if (segment.block->sideband != nullptr) sample.side_band = segment.block->sideband[k];
        }
        piece.samples = traced;
    } else if (segment.range.known) {
        piece.lowest_watts = segment.range.lowest;
        piece.highest_watts = segment.range.highest;
    }
    sink(piece);
}

void EnergyPass::State::add_peaks(const rig::BlockView& block, const Segment& segment, std::int64_t lost_blocks) {
    const protocol::BlockHeader& header = block.header;
    const protocol::PeakSummary& peak = block.peak;
    const double gain = segment.affine[0].v_gain, volt = segment.count > 0 ? segment.means.rail[0].v : 0;
    const bool damaged = (header.flags & protocol::block_peak_unavailable) != 0;
    // A block that lost samples or clipped says nothing about the coarse path's gain.
    if (!damaged && segment.count == segment.span && (header.flags & protocol::block_clipped) == 0)
        peak_path.learn(peak, segment.means.rail[0].i);
    if (peak.readings == 0 || volt <= 0 || active.empty()) return;
    const double noise = peak_path.noise_watts(volt);
    constexpr std::int32_t none = INT32_MIN;
    const bool step = PeakPath::crosses_step(peak.minimum_reading, peak.maximum_reading);
    if (peak.maximum != none) {
        std::optional<std::int64_t> at;
        if (header.detail == 0)
            at = segment.begin + std::int64_t{peak.maximum_at} * protocol::ticks_per_peak_reading - protocol::peak_delay_ticks;
        const double watts = peak_path.window_watts(peak.maximum, volt, gain);
        for (IntervalAccumulator& interval : active)
            interval.add_peak(segment.begin, segment.end, at, watts, noise, peak.readings, damaged, step);
    }
    // Lost blocks: the groups hold their maxima. Group g reaches back at most 8 (g + 1) blocks; where it is alone in its group
    // a received block only repeats what it said.
    if (lost_blocks > 0 && header.detail == 0) {
        constexpr std::int64_t block_ticks = cell * protocol::samples_per_block;
        std::int64_t covered = 1;  // blocks back from the end of this one
        for (std::size_t g = 0; g < protocol::peak_groups && covered < 1 + lost_blocks; ++g) {
            const std::int64_t oldest = 8 * (static_cast<std::int64_t>(g) + 1);
            const std::int64_t back = std::min(oldest, 1 + lost_blocks);
            if (peak.group_maximum[g] == none) continue;
            const double watts = peak_path.window_watts(peak.group_maximum[g], volt, gain);
            const std::int64_t from = segment.end - back * block_ticks, to = segment.end - covered * block_ticks;
            // A group may hold up to 7 received blocks from before the gap: it counts only where those lie inside as well.
            const std::int64_t reach = segment.end - oldest * block_ticks;
            for (IntervalAccumulator& interval : active)
                if (reach >= interval.begin())
                    interval.add_peak(from, to, std::nullopt, watts, noise, 8 * peak.readings, false, false);
            covered = back;
        }
    }
}

void EnergyPass::State::add(const rig::BlockView& block) {
    const protocol::BlockHeader& header = block.header;
    if (header.first_time > last_possible_time || header.first_index > last_possible_index) return;
    assert(header.rails >= 1 && header.rails <= protocol::maximum_rails);  // parse_block saw to it
    simulated = simulated || (header.flags & protocol::block_simulated) != 0;
    const std::int64_t block_begin = block.begin().time_since_epoch().count();
    const std::int64_t block_end = block.end().time_since_epoch().count();
    bool fresh = !streaming || header.boot_id != boot_id;
    if (!fresh) {
        const auto index_step = static_cast<std::int64_t>(header.first_index - end_index);
        const std::int64_t disagreement = (block_begin - end_time) - index_step * cell;
        fresh = std::abs(disagreement) > largest_disagreement || block.rails[0].sums.count < sums[0].count;
        if (!fresh && index_step < 0) return;  // seen before
    }
    if (fresh) start_stream(block);
    if (clock == nullptr) return;                    // cannot be placed on the host's clock
    if (fresh && header.first_index != end_index) {  // a summary in mid-stream: only a starting point
        fusion.add(block, false);
        return;
    }
    const auto lost_indices = static_cast<std::int64_t>(header.first_index - end_index);
    const bool gap_before = lost_indices > 0;
    fusion.add(block, gap_before);
    const double shunt = 0.01 * header.shunt_temperature, board = 0.01 * header.board_temperature;

    std::array<CodeSums, protocol::maximum_rails> own{}, between{};
    const std::size_t rails = std::min<std::size_t>(header.rails, protocol::maximum_rails);
    bool merged = false;  // a gap and the summary after it: only their sum is known
    for (std::size_t r = 0; r < rails; ++r) {
        own[r] = difference(block.rails[r].sums, sums[r]);
        if (own[r].count == header.count) continue;
        if (!gap_before) {
            // A rig whose sums and indices contradict each other: what came with its codes is certain.
            if (block.has_codes()) own[r] = sum_codes(block, r, 0, header.count);
        } else if (block.has_codes()) {
            between[r] = own[r];
            own[r] = sum_codes(block, r, 0, header.count);
            between[r] -= own[r];
        } else {
            merged = true;
        }
    }
    const std::int64_t begin = std::max(block_begin, end_time);
    std::int64_t own_begin = begin;
    if (merged) {
        own_begin = end_time;
    } else if (gap_before && begin > end_time) {
        Segment gap = segment_of(SegmentKind::gap, end_time, begin, (shunt + 0.01 * shunt_temperature) / 2,
                                 (board + 0.01 * board_temperature) / 2);
        gap.temperature_change = std::fabs(shunt - 0.01 * shunt_temperature) / 2;
        gap.span = lost_indices;
        gap.rails = rails;
        fill(gap, between);
        if (gap.count > 0) gap.flags |= protocol::block_overrun;
        emit(gap);
    }
    Segment segment = segment_of(merged              ? SegmentKind::gap
                                 : block.has_codes() ? SegmentKind::samples
                                                     : SegmentKind::summary,
                                 own_begin, block_end, shunt, board);
    segment.rails = rails;
    segment.span = std::int64_t{header.span} + (merged ? lost_indices : 0);
    fill(segment, own);
    segment.flags = header.flags & ~static_cast<std::uint32_t>(protocol::block_overrun | protocol::block_samples_lost);
    if (merged) segment.flags |= protocol::block_overrun;
    if (!merged && header.count > 0) {
        if (block.has_codes()) segment.block = &block;
        segment.range = corner_range(block, segment.affine);
        segment.lowest_v = corner_lowest_v(block, segment.affine[0]);
    }
    emit(segment);
    add_peaks(block, segment, gap_before ? (begin - end_time) / (cell * protocol::samples_per_block) : 0);

    for (std::size_t r = 0; r < rails; ++r) sums[r] = block.rails[r].sums;
    end_index = header.first_index + header.span;
    end_time = std::max(end_time, block_end);
    shunt_temperature = header.shunt_temperature;
    board_temperature = header.board_temperature;
}

EnergyPass::EnergyPass(const Calibration& calibration, const rig::ClockMap& clock, std::vector<io::Interval> intervals)
    : EnergyPass(calibration, std::vector<rig::ClockMap>{clock}, std::move(intervals)) {}
EnergyPass::EnergyPass(const Calibration& calibration, std::vector<rig::ClockMap> clocks, std::vector<io::Interval> intervals)
    : state_(std::make_unique<State>(calibration, std::move(clocks), std::move(intervals))) {}
EnergyPass::~EnergyPass() = default;
EnergyPass::EnergyPass(EnergyPass&&) noexcept = default;

void EnergyPass::follow(TraceSink sink, bool samples) {
    state_->sink = std::move(sink);
    state_->trace_samples = samples;
}
void EnergyPass::hold_idle_offset(double amperes) { state_->held_idle_offset = amperes; }
void EnergyPass::add(const rig::BlockView& block) { state_->add(block); }

std::vector<IntervalPower> EnergyPass::finish() {
    for (IntervalAccumulator& interval : state_->active) state_->close(interval);
    state_->active.clear();
    for (IntervalPower& power : state_->result) {
        power.simulated = power.simulated || state_->simulated || state_->calibration.simulated;
        if (!power.energy && power.flags.empty()) power.flags.emplace_back("no power recorded");
    }
    return std::move(state_->result);
}

std::optional<Watts> block_power(const rig::BlockView& previous, const rig::BlockView& block, const Calibration& calibration) {
    if (previous.header.boot_id != block.header.boot_id) return std::nullopt;
    double power = 0;
    for (std::size_t r = 0; r < block.header.rails; ++r) {
        const CodeSums sums = difference(block.rails[r].sums, previous.rails[r].sums);
        if (sums.count <= 0) return std::nullopt;
        power += means(sums, affine(calibration.rails[r], 0.01 * block.header.shunt_temperature,
                                    0.01 * block.header.board_temperature, 0))
                     .power;
    }
    return Watts(power);
}

}  // namespace wattrig::power
