#pragma once
// A stretch of the stream between two places at which the running sums are known, turned from codes into means: one block with
// its codes, one summary, or a gap whose blocks were lost. Internal to host/power.
//
// Thread rule: plain data and free functions, any thread.

#include <array>
#include <cstdint>

#include "host/power/calibration.hpp"
#include "host/rig/block.hpp"

namespace wattrig::power {

__extension__ using Int128 = __int128;

inline Int128 wide(const protocol::Int128& value) {
    return static_cast<Int128>(static_cast<unsigned __int128>(static_cast<std::uint64_t>(value.high)) << 64 | value.low);
}

// Sums come from the wire: what a faulty rig sends may wrap, and must not be undefined.
inline std::int64_t wrapping_difference(std::int64_t a, std::int64_t b) {
    return static_cast<std::int64_t>(static_cast<std::uint64_t>(a) - static_cast<std::uint64_t>(b));
}
inline Int128 wrapping_difference(Int128 a, Int128 b) {
    return static_cast<Int128>(static_cast<unsigned __int128>(a) - static_cast<unsigned __int128>(b));
}

// Exact differences of running sums, in codes.
struct CodeSums {
    std::int64_t count = 0;
    std::int64_t v = 0, i = 0;
    Int128 vi = 0, ii = 0;
    CodeSums& operator-=(const CodeSums& other);
};
// later - earlier, modulo the width of each counter: exact while less than 2^63 lies between.
CodeSums difference(const protocol::RailSums& later, const protocol::RailSums& earlier);
// Of the samples [first, last) of a block with codes.
CodeSums sum_codes(const rig::BlockView& block, std::size_t rail, std::size_t first, std::size_t last);

// Calibration of one rail at one temperature, with the idle path's correction in i_offset.
struct Affine {
    double v_offset = 0, v_gain = 0, i_offset = 0, i_gain = 0, shunt_ohm = 0;
};
// Temperatures in 0.01 degC: voltage gain follows the board, current gain the shunt. `fusion` is in amperes.
Affine affine(const RailCalibration& rail, double shunt_temperature, double board_temperature, double fusion);

// Means over samples. power = vi - shunt_ohm * ii, at the drive's side of the shunt.
struct RailMeans {
    double v = 0, i = 0, vi = 0, ii = 0, power = 0;
    RailMeans& operator+=(const RailMeans& other);
    RailMeans& operator*=(double factor);
};
struct Means {
    std::array<RailMeans, protocol::maximum_rails> rail{};
    [[nodiscard]] double power() const { return rail[0].power + rail[1].power; }
    Means& add(const Means& other, double weight);
};
// `sums.count` must be positive.
RailMeans means(const CodeSums& sums, const Affine& affine);

struct PowerRange {
    double lowest = 0, highest = 0;
    bool known = false;
    void add(double power);
    void add(const PowerRange& other);
};

enum class SegmentKind : std::uint8_t { samples, summary, gap };

struct Segment {
    SegmentKind kind = SegmentKind::samples;
    std::int64_t begin = 0, end = 0;        // ticks, edges of cells
    std::int64_t span = 0;                  // cells between them, lost ones included
    std::int64_t count = 0;                 // samples in the sums; 0: nothing is known but the time
    Means means;                            // over `count`
    PowerRange range;                       // bounds from the extremes of V and I; not known in a gap
    PowerRange exact;                       // of single samples, found when first asked for
    double lowest_v = 0;                    // volt at the drive's side, bound; only where range is known
    double temperature_offset = 0;          // kelvin from the reference temperature
    double temperature_change = 0;          // kelvin, half of the change across a gap
    double u_offset = 0;                    // ampere, standard uncertainty of rail 0's offset now
    std::uint32_t flags = 0;                // of the block, and block_overrun for a gap
    const rig::BlockView* block = nullptr;  // with codes; null in summaries and gaps
    std::size_t rails = 1;
    std::array<Affine, protocol::maximum_rails> affine{};
};

// Power of one sample over all rails; segment.block must not be null.
double sample_power(const Segment& segment, std::size_t k);
// Bounds of V, I corners for the extremes in the block's header.
PowerRange corner_range(const rig::BlockView& block, const std::array<Affine, protocol::maximum_rails>& affine);
double corner_lowest_v(const rig::BlockView& block, const Affine& affine);
// Power of single samples, over [first, last) of segment.block.
PowerRange sample_range(const Segment& segment, std::size_t first, std::size_t last);
// Means over [from, to) in ticks, inside the segment, split by overlap of cells. segment.block must not be null.
Means partial_means(const Segment& segment, std::int64_t from, std::int64_t to);

}  // namespace wattrig::power
