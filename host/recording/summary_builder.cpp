#include <algorithm>
#include <cmath>
#include <cstring>
#include <limits>

#include "firmware/protocol/frame.hpp"
#include "host/recording/summary.hpp"
#include "host/recording/summary_format.hpp"

namespace wattrig::recording {
namespace {

__extension__ typedef __int128 Wide;
__extension__ typedef unsigned __int128 UnsignedWide;

// Differences of running sums, modulo their width: a file from elsewhere may hold anything.
double difference(std::int64_t now, std::int64_t before) {
    return static_cast<double>(static_cast<std::int64_t>(static_cast<std::uint64_t>(now) - static_cast<std::uint64_t>(before)));
}
UnsignedWide wide(const protocol::Int128& value) {
    return static_cast<UnsignedWide>(static_cast<std::uint64_t>(value.high)) << 64 | value.low;
}
double difference(const protocol::Int128& now, const protocol::Int128& before) {
    return static_cast<double>(static_cast<Wide>(wide(now) - wide(before)));
}

// Samples of one bucket or a part of it. Means as sums: weights come out by themselves.
struct RailSum {
    std::int32_t v_minimum = std::numeric_limits<std::int32_t>::max();
    std::int32_t v_maximum = std::numeric_limits<std::int32_t>::min();
    std::int32_t i_minimum = std::numeric_limits<std::int32_t>::max();
    std::int32_t i_maximum = std::numeric_limits<std::int32_t>::min();
    std::int64_t p_minimum = std::numeric_limits<std::int64_t>::max();
    std::int64_t p_maximum = std::numeric_limits<std::int64_t>::min();
    double v = 0, i = 0, p = 0;

    void merge(const RailSum& other) {
        v_minimum = std::min(v_minimum, other.v_minimum);
        v_maximum = std::max(v_maximum, other.v_maximum);
        i_minimum = std::min(i_minimum, other.i_minimum);
        i_maximum = std::max(i_maximum, other.i_maximum);
        p_minimum = std::min(p_minimum, other.p_minimum);
        p_maximum = std::max(p_maximum, other.p_maximum);
        v += other.v;
        i += other.i;
        p += other.p;
    }
    [[nodiscard]] RailSum scaled(double share) const {
        RailSum part = *this;
        part.v *= share;
        part.i *= share;
        part.p *= share;
        return part;
    }
};

using Rails = std::array<RailSum, protocol::maximum_rails>;

struct Accumulator {
    std::uint64_t bucket = 0;
    std::uint64_t count = 0;
    std::int64_t begin_ticks = 0;
    std::uint64_t file_offset = 0;
    bool coarse = false;
    Rails rails;
};

// Where a piece of a block stands.
struct Place {
    std::int64_t block_begin_ticks;
    std::uint64_t block_first;
    std::uint64_t file_offset;

    [[nodiscard]] std::int64_t ticks_at(std::uint64_t index) const {
        return block_begin_ticks + (static_cast<std::int64_t>(index) - static_cast<std::int64_t>(block_first)) *
                                       static_cast<std::int64_t>(protocol::ticks_per_sample);
    }
};

// Samples [from, to) of a block with codes.
RailSum sum_codes(const rig::BlockView& block, std::size_t rail, std::size_t from, std::size_t to) {
    RailSum sum;
    std::int64_t v_sum = 0;
    std::int64_t i_sum = 0;
    std::int64_t p_sum = 0;  // 75 products of 2^46 fit
    for (std::size_t k = from; k < to; ++k) {
        const std::int32_t v = block.v_code(rail, k);
        const std::int32_t i = block.i_code(rail, k);
        const std::int64_t p = std::int64_t{v} * i;
        v_sum += v;
        i_sum += i;
        p_sum += p;
        sum.v_minimum = std::min(sum.v_minimum, v);
        sum.v_maximum = std::max(sum.v_maximum, v);
        sum.i_minimum = std::min(sum.i_minimum, i);
        sum.i_maximum = std::max(sum.i_maximum, i);
        sum.p_minimum = std::min(sum.p_minimum, p);
        sum.p_maximum = std::max(sum.p_maximum, p);
    }
    sum.v = static_cast<double>(v_sum);
    sum.i = static_cast<double>(i_sum);
    sum.p = static_cast<double>(p_sum);
    return sum;
}

// A block without codes: means from the difference of the running sums, products bounded by the corners.
RailSum sum_difference(const protocol::RailPart& before, const protocol::RailPart& now) {
    RailSum sum;
    sum.v = difference(now.sums.sum_v, before.sums.sum_v);
    sum.i = difference(now.sums.sum_i, before.sums.sum_i);
    sum.p = difference(now.sums.sum_vi, before.sums.sum_vi);
    const protocol::RailExtremes& e = now.extremes;
    sum.v_minimum = e.v_minimum;
    sum.v_maximum = e.v_maximum;
    sum.i_minimum = e.i_minimum;
    sum.i_maximum = e.i_maximum;
    for (const std::int64_t v : {e.v_minimum, e.v_maximum}) {
        for (const std::int64_t i : {e.i_minimum, e.i_maximum}) {
            sum.p_minimum = std::min(sum.p_minimum, v * i);
            sum.p_maximum = std::max(sum.p_maximum, v * i);
        }
    }
    return sum;
}

constexpr std::uint64_t longest_coarse_span = std::uint64_t{1} << 20;  // samples: 32 s, a summary covers 1 s

}  // namespace

struct SummaryBuilder::State {
    std::vector<std::uint8_t> frames;
    std::vector<std::uint8_t> batch;  // entries of the frame being made
    std::uint32_t sequence = 0;
    std::uint64_t entries = 0;
    std::uint32_t epochs = 0;
    std::uint32_t boot_id = 0;
    std::uint8_t rails = 0;
    std::uint64_t next_index = 0;
    std::array<protocol::RailPart, protocol::maximum_rails> last{};
    std::array<Accumulator, summary_levels> open;

    void put_frame(SummaryFrame type, std::span<const std::uint8_t> payload) {
        const std::size_t at = frames.size();
        frames.resize(at + protocol::frame_bytes(payload.size()));
        std::memcpy(frames.data() + at + sizeof(protocol::FrameHeader), payload.data(), payload.size());
        protocol::seal_frame(frames.data() + at, static_cast<protocol::FrameType>(type), payload.size(), sequence++);
    }
    template <class T>
    void put(SummaryFrame type, const T& record) {
        std::array<std::uint8_t, sizeof(T)> bytes{};
        protocol::store(bytes.data(), record);
        put_frame(type, bytes);
    }
    void flush_batch() {
        if (!batch.empty()) put_frame(SummaryFrame::entries, batch);
        batch.clear();
    }

    void put_entry(std::size_t level, const Accumulator& from, std::uint64_t run) {
        if (from.count == 0) return;
        const std::size_t size = sizeof(SummaryEntry) + rails * sizeof(SummaryRail);
        if (batch.size() + size > protocol::maximum_payload_bytes) flush_batch();
        const std::size_t at = batch.size();
        batch.resize(at + size);
        protocol::store(batch.data() + at,
                        SummaryEntry{from.bucket, from.begin_ticks, from.file_offset, static_cast<std::uint32_t>(run),
                                     static_cast<std::uint32_t>(from.count), epochs - 1,
                                     static_cast<std::uint16_t>(from.coarse ? summary_coarse : 0),
                                     static_cast<std::uint8_t>(level), rails});
        const auto count = static_cast<double>(from.count);
        for (std::size_t rail = 0; rail < rails; ++rail) {
            const RailSum& sum = from.rails[rail];
            protocol::store(batch.data() + at + sizeof(SummaryEntry) + rail * sizeof(SummaryRail),
                            SummaryRail{sum.v_minimum, sum.v_maximum, sum.i_minimum, sum.i_maximum, sum.p_minimum,
                                        sum.p_maximum, sum.v / count, sum.i / count, sum.p / count});
        }
        ++entries;
    }

    void close(std::size_t level) {
        put_entry(level, open[level], 1);
        open[level] = Accumulator{};
    }

    // `count` samples somewhere in [first, last), which lies inside one bucket of the level.
    void add_piece(std::size_t level, std::uint64_t first, std::uint64_t count, const Rails& sums, const Place& place,
                   bool coarse) {
        if (count == 0) return;
        Accumulator& to = open[level];
        const std::uint64_t bucket = first / samples_of_level(level);
        if (to.count > 0 && to.bucket != bucket) close(level);
        if (to.count == 0) {
            to.bucket = bucket;
            to.begin_ticks = place.ticks_at(bucket * samples_of_level(level));
            to.file_offset = place.file_offset;
        }
        to.count += count;
        to.coarse = to.coarse || coarse;
        for (std::size_t rail = 0; rail < rails; ++rail) to.rails[rail].merge(sums[rail]);
    }

    void add_codes(const rig::BlockView& block, const Place& place) {
        const std::uint64_t first = block.header.first_index;
        for (std::size_t from = 0; from < block.header.count;) {
            const std::uint64_t left_in_bucket = summary_base_samples - (first + from) % summary_base_samples;
            const std::size_t to = std::min<std::size_t>(block.header.count, from + left_in_bucket);
            Rails sums;
            for (std::size_t rail = 0; rail < rails; ++rail) sums[rail] = sum_codes(block, rail, from, to);
            for (std::size_t level = 0; level < summary_levels; ++level) {
                add_piece(level, first + from, to - from, sums, place, false);
            }
            from = to;
        }
    }

    void add_coarse(const rig::BlockView& block, const Place& place) {
        const std::uint64_t first = block.header.first_index;
        const std::uint64_t span = block.header.span;
        const std::uint64_t count = block.header.count;
        if (span > longest_coarse_span) return;
        Rails sums;
        for (std::size_t rail = 0; rail < rails; ++rail) {
            // With a block lost before it, the difference speaks of another time than the extremes: nothing is made of it.
            if (block.rails[rail].sums.count - last[rail].sums.count != count) return;
            sums[rail] = sum_difference(last[rail], block.rails[rail]);
        }
        const auto share = [&](std::uint64_t from, std::uint64_t to) {  // samples; adds up to `count`
            return count * (to - first) / span - count * (from - first) / span;
        };
        const auto part = [&](std::uint64_t samples) {
            Rails scaled;
            for (std::size_t rail = 0; rail < rails; ++rail) {
                scaled[rail] = sums[rail].scaled(static_cast<double>(samples) / static_cast<double>(count));
            }
            return scaled;
        };
        for (std::size_t level = 0; level < summary_levels; ++level) {
            const std::uint64_t size = samples_of_level(level);
            const std::uint64_t end = first + span;
            std::uint64_t at = first;
            while (at < end) {
                const std::uint64_t buckets = at % size == 0 ? (end - at) / size : 0;
                if (buckets >= 2) {
                    const std::uint64_t samples = share(at, at + buckets * size);
                    close(level);
                    Accumulator run{at / size, samples, place.ticks_at(at), place.file_offset, true, part(samples)};
                    put_entry(level, run, buckets);
                    at += buckets * size;
                } else {
                    const std::uint64_t to = std::min(end, (at / size + 1) * size);
                    const std::uint64_t samples = share(at, to);
                    add_piece(level, at, samples, part(samples), place, true);
                    at = to;
                }
            }
        }
    }

    void end_epoch() {
        for (std::size_t level = 0; level < summary_levels; ++level) close(level);
        flush_batch();
        if (epochs > 0) put(SummaryFrame::epoch_end, SummaryEpochEnd{next_index});
    }
    void begin_epoch(const protocol::BlockHeader& header) {
        end_epoch();
        boot_id = header.boot_id;
        rails = header.rails;
        next_index = 0;
        last = {};
        put(SummaryFrame::epoch, SummaryEpochRecord{epochs++, boot_id, rails, 0});
    }
};

SummaryBuilder::SummaryBuilder() : s_(std::make_unique<State>()) {
    s_->put(SummaryFrame::start,
            SummaryStart{summary_version, static_cast<std::uint32_t>(summary_base_samples),
                         static_cast<std::uint32_t>(summary_step), static_cast<std::uint32_t>(summary_levels)});
}
SummaryBuilder::~SummaryBuilder() = default;

void SummaryBuilder::add(const rig::BlockView& block, std::uint64_t file_offset) {
    State& s = *s_;
    const protocol::BlockHeader& header = block.header;
    if (s.epochs == 0 || header.boot_id != s.boot_id || header.rails != s.rails || header.first_index < s.next_index) {
        s.begin_epoch(header);
    }
    const Place place{block.begin().time_since_epoch().count(), header.first_index, file_offset};
    if (block.has_codes()) {
        s.add_codes(block, place);
    } else if (header.count > 0) {
        s.add_coarse(block, place);
    }
    s.next_index = header.first_index + header.span;
    s.last = block.rails;
}

void SummaryBuilder::finish(std::uint64_t file_bytes) {
    s_->end_epoch();
    s_->put(SummaryFrame::end, SummaryEnd{file_bytes, s_->entries});
}

std::vector<std::uint8_t>& SummaryBuilder::frames() { return s_->frames; }

}  // namespace wattrig::recording
