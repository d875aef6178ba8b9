#pragma once
// The truth that tests compare with: energy at the drive since time 0, booked from the model's own events in closed form, in
// host time, without bins of power, codes or samples. Kept at knots of 0.5 ms; a leap is one knot.
// Thread rule: one thread.

#include <algorithm>
#include <cmath>
#include <cstdint>
#include <vector>

namespace wattrig::sim {

class EnergyLedger {
  public:
    EnergyLedger(double idle_watt, double active_watt, double time_constant_ns, std::int64_t begin = 0)
        : idle_watt_(idle_watt),
          active_watt_(active_watt),
          time_constant_ns_(time_constant_ns),
          cells_(ring),
          origin_(begin),
          now_(begin) {
        knots_.push_back({begin, 0.0});
    }
    // An energy spread evenly over [begin, end), which begins no earlier than the time advanced to.
    void add(std::int64_t begin, std::int64_t end, double joule) {
        const std::int64_t b = begin - origin_, e = end - origin_;
        const std::int64_t first = b / cell_ns;
        const std::int64_t after = e - (first + 1) * cell_ns;  // beyond the first cell
        if (after > cell_ns || first + 1 >= next_cell_ + ring) return add_spread(b, e, joule);
        const double rest = after > 0 ? joule * static_cast<double>(after) / static_cast<double>(e - b) : 0.0;
        cells_[static_cast<std::size_t>(first & (ring - 1))] += joule - rest;
        if (after > 0) cells_[static_cast<std::size_t>((first + 1) & (ring - 1))] += rest;
    }
    // Books time up to `t`: all of [now, t) is active, or all of it is not.
    void advance(std::int64_t t, bool active);
    // A leap: `by` nanoseconds pass with `joule` in all; what is to come happens so much later.
    void leap(std::int64_t by, double joule);

    [[nodiscard]] std::int64_t now() const { return now_; }
    [[nodiscard]] double energy(std::int64_t t) const;
    [[nodiscard]] double active_level() const { return level_; }
    void set_active_level(double level) { level_ = level; }

  private:
    static constexpr std::int64_t cell_ns = 500'000;
    static constexpr std::int64_t ring = 4096;
    struct Knot {
        std::int64_t ns;
        double joule;
    };
    struct Later {
        std::int64_t begin, end;
        double watt;  // joules per nanosecond
    };
    void add_spread(std::int64_t b, std::int64_t e, double joule);
    void close_cell();
    void floor_to(std::int64_t t, bool active);

    double idle_watt_, active_watt_, time_constant_ns_;
    std::vector<double> cells_;
    std::vector<Later> later_;
    std::vector<Knot> knots_;
    std::int64_t origin_;         // of the cells: moves with leaps
    std::int64_t next_cell_ = 0;  // the one that holds now_
    std::int64_t now_;
    double level_ = 0;      // of the active floor, 0 .. 1
    double floor_sum_ = 0;  // joules of idle and floor since the last knot
};

}  // namespace wattrig::sim
