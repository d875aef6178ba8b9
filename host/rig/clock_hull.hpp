#pragma once
// The geometry of host/rig/clock_sync: points that bind the difference of two clocks from below and from above. Everything in
// nanoseconds since an origin, as doubles (exact up to 104 days); rates as pure numbers, curvature A in 1/ns.
//
// Thread rule: plain values, one thread.

#include <cstddef>
#include <optional>
#include <vector>

namespace wattrig::rig {

struct HullPoint {
    double d;  // device time
    double y;  // bound of x there
};

// What one side says about x at a time, for a given rate there: the tightest bound, and how old the point is that gives it.
struct HullBound {
    double value;
    double tau;  // time - point.d; also d(value)/d(rate)
};

class Hull {
  public:
    enum class Side { lower, upper };
    Hull(Side side, double curvature) : sign_(side == Side::lower ? -1 : 1), curvature_(curvature) {}
    // Later than all before. Points that can never bind again, whatever time and rate are asked for, are dropped.
    void add(HullPoint point);
    void drop_before(double d);
    void keep_newest(std::size_t points);
    void clear() { points_.clear(); }
    // Lower: maximum over the points of y - A tau^2/2 + rate tau. Upper: minimum of y + A tau^2/2 + rate tau. Not when empty.
    [[nodiscard]] HullBound at(double d, double rate) const;
    [[nodiscard]] bool empty() const { return points_.empty(); }
    [[nodiscard]] std::size_t size() const { return points_.size(); }

  private:
    double sign_;
    double curvature_;
    std::vector<HullPoint> points_;
};

struct Range {
    double low, high;
};

// Both sides with one curvature.
struct HullPair {
    explicit HullPair(double curvature) : lower(Hull::Side::lower, curvature), upper(Hull::Side::upper, curvature) {}
    Hull lower, upper;

    // Rates at time d within [-limit, limit] for which a difference fits between the sides; rounded outwards. Nothing when none
    // does.
    [[nodiscard]] std::optional<Range> rates(double d, double limit) const;
    // Extremes of x(d) over those rates, rounded outwards.
    [[nodiscard]] Range extremes(double d, Range rates) const;
    struct Centroid {
        double x, rate;
    };
    [[nodiscard]] Centroid centroid(double d, Range rates) const;
};

}  // namespace wattrig::rig
