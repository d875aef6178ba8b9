#pragma once
// Power of the drive over time, in bins of 3.84 us of device time (8 to an ADC sample, 16 periods of its modulator), before any
// electronics. Operations come as rectangles that may lie in the future; bins are taken out in order. A rectangle costs four
// additions to an array of differences, kept in whole units of 2^-22 W so that nothing drifts however long the run.
//
// The time axis of the trace is its own: bins since its begin, without the stretches that were leapt over.
// Thread rule: one thread.

#include <cmath>
#include <cstdint>
#include <span>
#include <vector>

#include "host/base/clock.hpp"

namespace wattrig::sim {

inline constexpr std::int64_t ticks_per_bin = 480;

// End of a rectangle that begins at `begin` and was to end at `end` (ns): late enough that `joule` takes no more than 200 W,
// which is far beyond any drive and within what the trace can count.
inline std::int64_t end_within_reason(std::int64_t begin, std::int64_t end, double joule) {
    const std::int64_t earliest = begin + 1 + static_cast<std::int64_t>(joule * (1e9 / 200));
    return end < earliest ? earliest : end;
}

class PowerTrace {
  public:
    // `active_watt` rises and falls with the time constant (in nanoseconds) around stretches of activity.
    PowerTrace(double idle_watt, double active_watt, double time_constant_ns);

    // Which bin (with fraction) host time `t` is, and how many bins a host nanosecond is from there on.
    void anchor(HostTime t, double bin, double bins_per_nanosecond);

    // `watt` (below 500) more in [begin, end); what lies before the next bin to be taken is cut off.
    void add(std::int64_t begin_ns, std::int64_t end_ns, double watt) {
        if (begin_ns < quick_from_ns_ || end_ns >= quick_until_ns_) return add_slowly(begin_ns, end_ns, watt);
        const std::int64_t x0 = place(begin_ns), x1 = place(end_ns);
        const std::int32_t amount = units(watt);
        step(pulses_, x0, amount);
        step(pulses_, x1, -amount);
        if (x1 > last_change_) last_change_ = x1;
    }
    // Activity begins or ends at `t`; calls alternate and go forward.
    void activity(std::int64_t t, bool begins);

    // The next `watts.size()` bins, which must lie wholly before everything that add() may still bring.
    void take(std::span<float> watts);
    [[nodiscard]] std::int64_t next_bin() const { return next_; }
    [[nodiscard]] double bin_at(HostTime t) const { return at(t.time_since_epoch().count()); }

    // All that is to come happens `by` later; bins do not move. Follow with anchor().
    void shift(Nanoseconds by);
    [[nodiscard]] double active_level() const { return level_; }  // 0 .. 1, of active_watt
    void set_active_level(double level) { level_ = level; }
    // Nothing changes any more after `t` by what has been added so far.
    [[nodiscard]] bool constant_after(HostTime t) const {
        return to_bins(last_change_) <= bin_at(t) + 2 && activity_level_ == 0;
    }

  private:
    static constexpr std::int64_t ring_bins = 32768;  // 126 ms
    static constexpr std::int64_t mask = ring_bins - 1;
    static constexpr double watt_unit = 0x1p-22;
    static constexpr std::int32_t full_activity = 1 << 24;
    struct Later {
        std::int64_t begin_ns, end_ns;
        double watt;
    };

    [[nodiscard]] double at(std::int64_t ns) const {
        return static_cast<double>(ns - anchor_ns_) * bins_per_nanosecond_ + anchor_bin_;
    }
    // A place on the trace in units of 2^-22 bin: integers all the way, since this is done twice for every operation. Only for
    // times within a ring of the anchor; the rest goes by at().
    static constexpr int place_bits = 22, scale_bits = 44;
    [[nodiscard]] std::int64_t place(std::int64_t ns) const {
        return anchor_place_ + ((ns - anchor_ns_) * scale_ >> (scale_bits - place_bits));
    }
    [[nodiscard]] static std::int64_t to_place(double bins) { return std::llround(std::ldexp(bins, place_bits)); }
    [[nodiscard]] static double to_bins(std::int64_t place) { return std::ldexp(static_cast<double>(place), -place_bits); }
    static std::int32_t units(double watt) {
        return static_cast<std::int32_t>(watt * (1.0 / watt_unit) + (watt < 0 ? -0.5 : 0.5));
    }
    // The level changes by `amount` at x: the bin that holds x gets its share, the next one the rest. Exact in sum.
    static void step(std::vector<std::int32_t>& ring, std::int64_t x, std::int32_t amount) {
        const std::int64_t bin = x >> place_bits;
        const auto rest = static_cast<std::int32_t>(amount * (x & ((std::int64_t{1} << place_bits) - 1)) >> place_bits);
        ring[static_cast<std::size_t>(bin & mask)] += amount - rest;
        ring[static_cast<std::size_t>((bin + 1) & mask)] += rest;
    }
    void add_slowly(std::int64_t begin_ns, std::int64_t end_ns, double watt);
    void set_horizon();
    void bring_later();
    void take_contiguous(std::span<float> watts);

    double idle_watt_, active_watt_, time_constant_ns_;
    std::vector<std::int32_t> pulses_, activity_;
    std::int32_t pulse_level_ = 0, activity_level_ = 0;
    double level_ = 0;  // of the active floor, at the begin of the next bin
    std::int64_t next_ = 0;
    double first_ = 0, horizon_ = 0;
    std::int64_t last_change_ = 0;                         // a place
    std::int64_t quick_from_ns_ = 0, quick_until_ns_ = 0;  // wholly between first_ and horizon_, and near the anchor
    std::int64_t anchor_ns_ = 0, anchor_place_ = 0, scale_ = 0;
    double anchor_bin_ = 0, bins_per_nanosecond_ = 0.125 / ticks_per_bin;
    std::vector<Later> later_;  // beyond the horizon, a heap by begin
};

}  // namespace wattrig::sim
