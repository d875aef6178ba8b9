#include "host/power/segment.hpp"

#include <algorithm>
#include <cassert>
#include <cstring>

namespace wattrig::power {
namespace {

constexpr std::int64_t cell = protocol::ticks_per_sample;

// Power at one V, I of one rail.
double power_at(double v, double i, double shunt_ohm) { return (v - i * shunt_ohm) * i; }

struct Codes {
    std::int32_t v, i;
};
Codes codes(const rig::BlockView& block, std::size_t rail, std::size_t k) {
    return {block.v_code(rail, k), block.i_code(rail, k)};
}

double rail_power(const Affine& a, Codes c) {
    const double v = a.v_offset + a.v_gain * c.v;
    const double i = a.i_offset + a.i_gain * c.i;
    return power_at(v, i, a.shunt_ohm);
}

// All codes of a channel at once: four bytes are read for three, so the last one goes the slow way.
void unpack(const std::uint8_t* bytes, std::size_t count, std::int32_t* out) {
    const std::size_t whole = count > 0 ? count - 1 : 0;
    for (std::size_t k = 0; k < whole; ++k) {
        std::int32_t word;
        std::memcpy(&word, bytes + 3 * k, 4);
        out[k] = static_cast<std::int32_t>(static_cast<std::uint32_t>(word) << 8) >> 8;
    }
    if (count > 0) {
        const std::uint8_t* last = bytes + 3 * whole;
        out[whole] = static_cast<std::int32_t>(
                         (std::uint32_t{last[0]} | std::uint32_t{last[1]} << 8 | std::uint32_t{last[2]} << 16) << 8) >>
                     8;
    }
}

}  // namespace

CodeSums& CodeSums::operator-=(const CodeSums& other) {
    count = wrapping_difference(count, other.count);
    v = wrapping_difference(v, other.v);
    i = wrapping_difference(i, other.i);
    vi = wrapping_difference(vi, other.vi);
    ii = wrapping_difference(ii, other.ii);
    return *this;
}

CodeSums difference(const protocol::RailSums& later, const protocol::RailSums& earlier) {
    return {static_cast<std::int64_t>(later.count - earlier.count), wrapping_difference(later.sum_v, earlier.sum_v),
            wrapping_difference(later.sum_i, earlier.sum_i), wrapping_difference(wide(later.sum_vi), wide(earlier.sum_vi)),
            wrapping_difference(wide(later.sum_ii), wide(earlier.sum_ii))};
}

CodeSums sum_codes(const rig::BlockView& block, std::size_t rail, std::size_t first, std::size_t last) {
    // A product is below 2^46 and a block has 75 samples, so 64 bit hold the sums of one block.
    std::int64_t v = 0, i = 0, vi = 0, ii = 0;
    for (std::size_t k = first; k < last; ++k) {
        const Codes c = codes(block, rail, k);
        v += c.v;
        i += c.i;
        vi += std::int64_t{c.v} * c.i;
        ii += std::int64_t{c.i} * c.i;
    }
    return {static_cast<std::int64_t>(last - first), v, i, vi, ii};
}

Affine affine(const RailCalibration& rail, double shunt_temperature, double board_temperature, double fusion) {
    return {rail.v_offset, rail.v_gain * (1 + rail.v_gain_per_kelvin * (board_temperature - rail.reference_temperature)),
            rail.i_offset + fusion,
            rail.i_gain * (1 + rail.i_gain_per_kelvin * (shunt_temperature - rail.reference_temperature)), rail.shunt_ohm};
}

RailMeans& RailMeans::operator+=(const RailMeans& other) {
    v += other.v;
    i += other.i;
    vi += other.vi;
    ii += other.ii;
    power += other.power;
    return *this;
}
RailMeans& RailMeans::operator*=(double factor) {
    v *= factor;
    i *= factor;
    vi *= factor;
    ii *= factor;
    power *= factor;
    return *this;
}
Means& Means::add(const Means& other, double weight) {
    for (std::size_t r = 0; r < rail.size(); ++r) {
        RailMeans part = other.rail[r];
        rail[r] += (part *= weight);
    }
    return *this;
}

RailMeans means(const CodeSums& sums, const Affine& a) {
    assert(sums.count > 0);
    const double n = static_cast<double>(sums.count);
    const double v = static_cast<double>(sums.v) / n;
    const double i = static_cast<double>(sums.i) / n;
    const double vi = static_cast<double>(sums.vi) / n;
    const double ii = static_cast<double>(sums.ii) / n;
    RailMeans m;
    m.v = a.v_offset + a.v_gain * v;
    m.i = a.i_offset + a.i_gain * i;
    m.vi = a.v_offset * m.i + a.v_gain * (a.i_offset * v + a.i_gain * vi);
    m.ii = a.i_offset * (2 * m.i - a.i_offset) + a.i_gain * a.i_gain * ii;
    m.power = m.vi - a.shunt_ohm * m.ii;
    return m;
}

void PowerRange::add(double power) {
    lowest = known ? std::min(lowest, power) : power;
    highest = known ? std::max(highest, power) : power;
    known = true;
}
void PowerRange::add(const PowerRange& other) {
    if (!other.known) return;
    add(other.lowest);
    add(other.highest);
}

double sample_power(const Segment& segment, std::size_t k) {
    double power = 0;
    for (std::size_t r = 0; r < segment.rails; ++r) power += rail_power(segment.affine[r], codes(*segment.block, r, k));
    return power;
}

PowerRange corner_range(const rig::BlockView& block, const std::array<Affine, protocol::maximum_rails>& affine) {
    double lowest = 0, highest = 0;
    for (std::size_t r = 0; r < block.header.rails; ++r) {
        const protocol::RailExtremes& e = block.rails[r].extremes;
        const Affine& a = affine[r];
        // (V - I R) I is monotonic in V, and in I as long as I < V / 2R (hundreds of amperes): the corners bound it.
        const double corners[] = {rail_power(a, {e.v_minimum, e.i_minimum}), rail_power(a, {e.v_minimum, e.i_maximum}),
                                  rail_power(a, {e.v_maximum, e.i_minimum}), rail_power(a, {e.v_maximum, e.i_maximum})};
        lowest += *std::min_element(std::begin(corners), std::end(corners));
        highest += *std::max_element(std::begin(corners), std::end(corners));
    }
    return {lowest, highest, true};
}

double corner_lowest_v(const rig::BlockView& block, const Affine& a) {
    const protocol::RailExtremes& e = block.rails[0].extremes;
    const std::int32_t largest_i = a.i_gain > 0 ? e.i_maximum : e.i_minimum;
    return a.v_offset + a.v_gain * e.v_minimum - a.shunt_ohm * (a.i_offset + a.i_gain * largest_i);
}

PowerRange sample_range(const Segment& segment, std::size_t first, std::size_t last) {
    assert(segment.block != nullptr && last <= segment.block->header.count);
    PowerRange range;
    constexpr std::size_t most = protocol::samples_per_block;
    for (std::size_t begin = first; begin < last; begin += most) {
        const std::size_t count = std::min(most, last - begin);
        std::array<double, most> power{};
        std::array<std::int32_t, most> v, i;
        for (std::size_t r = 0; r < segment.rails; ++r) {
            unpack(segment.block->v_codes[r] + 3 * begin, count, v.data());
            unpack(segment.block->i_codes[r] + 3 * begin, count, i.data());
            const Affine a = segment.affine[r];
            for (std::size_t k = 0; k < count; ++k) power[k] += rail_power(a, {v[k], i[k]});
        }
        const auto [lowest, highest] = std::minmax_element(power.begin(), power.begin() + static_cast<std::ptrdiff_t>(count));
        range.add(*lowest);
        range.add(*highest);
    }
    return range;
}

Means partial_means(const Segment& segment, std::int64_t from, std::int64_t to) {
    assert(segment.block != nullptr && from >= segment.begin && to <= segment.end && from < to);
    // Cells that lie whole inside go through the integer sums; the one or two at the edges by their share.
    const std::int64_t origin = segment.block->begin().time_since_epoch().count();
    const auto cells = static_cast<std::int64_t>(segment.block->header.count);
    const std::int64_t first = std::clamp<std::int64_t>((from - origin + cell - 1) / cell, 0, cells);
    const std::int64_t last = std::clamp<std::int64_t>((to - origin) / cell, 0, cells);
    Means result;
    for (std::size_t r = 0; r < segment.rails; ++r) {
        RailMeans total;
        double weight = 0;
        const auto add_cell = [&](std::int64_t k, std::int64_t overlap) {
            if (overlap <= 0) return;
            const auto index = static_cast<std::size_t>(std::clamp<std::int64_t>(k, 0, cells - 1));
            RailMeans one = means(sum_codes(*segment.block, r, index, index + 1), segment.affine[r]);
            total += (one *= static_cast<double>(overlap));
            weight += static_cast<double>(overlap);
        };
        if (last > first) {
            RailMeans whole =
                means(sum_codes(*segment.block, r, static_cast<std::size_t>(first), static_cast<std::size_t>(last)),
                      segment.affine[r]);
            const auto time = static_cast<double>((last - first) * cell);
            total += (whole *= time);
            weight += time;
        }
        if (first > last) {  // both edges in one cell
            add_cell(last, to - from);
        } else {
            add_cell(first - 1, origin + first * cell - from);
            add_cell(last, to - (origin + last * cell));
        }
        result.rail[r] = (total *= 1 / weight);
    }
    return result;
}

}  // namespace wattrig::power
