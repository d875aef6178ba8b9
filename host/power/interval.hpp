#pragma once
// What is gathered for one interval while its segments go by. Internal to host/power.
//
// Thread rule: one thread. Memory: fixed once made (its batches), whatever the interval's length.

#include <cstdint>
#include <optional>
#include <vector>

#include "host/power/energy.hpp"
#include "host/power/peak.hpp"
#include "host/power/segment.hpp"
#include "host/power/uncertainty.hpp"

namespace wattrig::power {

class IntervalAccumulator {
  public:
    // Edges in device ticks, on the clock of the boot that is streaming. `batches`: at most so many.
    IntervalAccumulator(std::size_t number, const io::Interval& interval, std::int64_t begin, std::int64_t end,
                        double begin_half_width, std::size_t batches);
    // Segments in order; `previous` is the mean power of the segment before it, if one is known right before it. False when
    // the interval is over: the segment began at or after its end.
    bool add(Segment& segment, std::optional<double> previous);
    // A window of one second, [from, to) in ticks.
    void add_second(std::int64_t from, std::int64_t to, double mean_power);
    // Highest peak window of [from, to); `at` is where it ended, if known.
    void add_peak(std::int64_t from, std::int64_t to, std::optional<std::int64_t> at, double watts, double noise,
                  std::uint32_t windows, bool lower_bound, bool crosses_step);
    // The rig restarted: sums from zero, a new device clock.
    void restart(std::int64_t begin, std::int64_t end);
    void set_end_half_width(double seconds) { end_half_width_ = seconds; }

    [[nodiscard]] std::size_t number() const { return number_; }
    [[nodiscard]] std::int64_t begin() const { return begin_; }
    [[nodiscard]] std::int64_t end() const { return end_; }
    [[nodiscard]] const io::Interval& interval() const { return interval_; }
    [[nodiscard]] IntervalPower finish(const Calibration& calibration, bool simulated) const;

  private:
    struct SharedEdge {          // an edge inside a stretch without detail: energy shared by time
        double inside, outside;  // ticks of the stretch
        double mean;             // watt, over all of it
        PowerRange range;        // of the stretch itself, when its extremes are known
        bool gap;
    };
    struct Edge {
        std::optional<double> before, after;  // watt
    };

    void add_batches(const Segment& segment, std::int64_t from, std::int64_t to, double power);
    void look_at_edges(const Segment& segment, std::optional<double> previous);
    [[nodiscard]] double coverage_doubt(double mean, double missing_share) const;
    void finish_batches(IntervalPower& result) const;
    void finish_flags(IntervalPower& result, bool ends_missing) const;

    std::size_t number_;
    io::Interval interval_;
    std::int64_t begin_, end_;
    double begin_half_width_, end_half_width_ = 0;

    long double energy_ = 0;  // watt ticks, of the known time
    Means sums_;              // means x ticks
    double known_ = 0;        // ticks
    double valid_ = 0;        // ticks of samples that are in sums
    double samples_ = 0;
    double u_offset_ = 0, temperature_ = 0, temperature_change_ = 0;  // x ticks
    std::int64_t first_known_ = INT64_MAX, last_known_ = INT64_MIN;
    std::size_t rails_ = 1;
    PowerRange range_;       // of single samples, or of extremes
    PowerRange neighbours_;  // means around the interval, for edges inside gaps
    std::optional<double> lowest_v_;
    std::vector<SharedEdge> shared_;
    Edge at_begin_, at_end_;
    bool begin_seen_ = false, end_seen_ = false, unknown_ = false, bounds_only_ = false;
    std::uint32_t flags_ = 0;
    bool samples_lost_ = false;

    std::optional<double> pcm1_;
    std::int64_t seconds_end_ = INT64_MIN, seconds_covered_ = 0;
    PeakMaximum peak_;
    double peak_covered_ = 0;
    bool peak_lower_bound_ = false, peak_step_ = false;

    std::vector<double> batch_energy_, batch_time_;
    std::int64_t longest_summary_ = 0;
};

}  // namespace wattrig::power
