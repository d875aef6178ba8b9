#pragma once
// Power of the drive over time, in bins of 3.84 us of device time (8 to an ADC sample, 16 periods of its modulator), before any
// electronics. Operations come as rectangles that may lie in the future; bins are taken out in order. A rectangle costs four
// additions to an array of differences, kept in whole units of 2^-22 W so that nothing drifts however long the run.
//
// The time axis of the trace is its own: bins since its begin, without the stretches that were leapt over.
// Thread rule: one thread.

#include <cstdint>
#include <span>
#include <vector>

#include "host/base/clock.hpp"

namespace wattrig::sim {

inline constexpr std::int64_t ticks_per_bin = 480;

class PowerTrace {
  public:
    // `active_watt` rises and falls with the time constant (in nanoseconds) around stretches of activity.
    PowerTrace(double idle_watt, double active_watt, double time_constant_ns);

    // Which bin (with fraction) host time `t` is, and how many bins a host nanosecond is from there on.
    void anchor(HostTime t, double bin, double bins_per_nanosecond);

    // `watt` more in [begin, end); what lies before the next bin to be taken is cut off.
    void add(std::int64_t begin_ns, std::int64_t end_ns, double watt) {
        const double x0 = at(begin_ns), x1 = at(end_ns);
        if (x0 < first_ || x1 >= horizon_) return add_slowly(begin_ns, end_ns, watt);
        step(pulses_, x0, units(watt));
        step(pulses_, x1, -units(watt));
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
    [[nodiscard]] bool constant_after(HostTime t) const { return last_change_ <= bin_at(t) + 2 && activity_level_ == 0; }

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
    static std::int32_t units(double watt) {
        return static_cast<std::int32_t>(watt * (1.0 / watt_unit) + (watt < 0 ? -0.5 : 0.5));
    }
    // The level changes by `amount` at x: the bin that holds x gets its share, the next one the rest. Exact in sum.
    static void step(std::vector<std::int32_t>& ring, double x, std::int32_t amount) {
        const auto bin = static_cast<std::int64_t>(x);
        const auto rest = static_cast<std::int32_t>(amount * (x - static_cast<double>(bin)));
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
    double first_ = 0, horizon_ = 0, last_change_ = 0;
    std::int64_t anchor_ns_ = 0;
    double anchor_bin_ = 0, bins_per_nanosecond_ = 0.125 / ticks_per_bin;
    std::vector<Later> later_;  // beyond the horizon, a heap by begin
};

}  // namespace wattrig::sim
