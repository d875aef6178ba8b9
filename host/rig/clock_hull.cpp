#include "host/rig/clock_hull.hpp"

#include <algorithm>
#include <cassert>
#include <cmath>

namespace wattrig::rig {

void Hull::add(HullPoint b) {
    assert(points_.empty() || b.d > points_.back().d);
    // Lifting by A d^2 / 2 turns the parabolas into straight lines; taken relative to the new point, the numbers stay small.
    const auto lifted = [&](const HullPoint& point) {
        const double away = point.d - b.d;
        return point.y - b.y + sign_ * curvature_ / 2 * away * away;
    };
    while (points_.size() >= 2) {
        const HullPoint& a = points_[points_.size() - 1];
        const HullPoint& p = points_[points_.size() - 2];
        const double turn = (a.d - b.d) * lifted(p) - (p.d - b.d) * lifted(a);
        if (-sign_ * turn > 0) break;
        points_.pop_back();
    }
    points_.push_back(b);
}

void Hull::drop_before(double d) {
    const auto kept = std::find_if(points_.begin(), points_.end(), [d](const HullPoint& point) { return point.d >= d; });
    points_.erase(points_.begin(), kept);
}

void Hull::keep_newest(std::size_t points) {
    if (points_.size() > points) points_.erase(points_.begin(), points_.end() - static_cast<std::ptrdiff_t>(points));
}

HullBound Hull::at(double d, double rate) const {
    assert(!points_.empty());
    const auto bound = [&](std::size_t k) {
        const double tau = d - points_[k].d;
        return HullBound{points_[k].y + sign_ * curvature_ / 2 * tau * tau + rate * tau, tau};
    };
    // Along a hull the bounds rise (lower side) or fall (upper side) to one peak.
    std::size_t first = 0;
    std::size_t last = points_.size() - 1;
    while (first < last) {
        const std::size_t middle = first + (last - first) / 2;
        const bool rising = -sign_ * (bound(middle + 1).value - bound(middle).value) > 0;
        if (rising) {
            first = middle + 1;
        } else {
            last = middle;
        }
    }
    return bound(first);
}

std::optional<Range> HullPair::rates(double d, double limit) const {
    // The width between the sides is a concave function of the rate, made of straight pieces: Newton's steps from outside never
    // pass the zero, so stopping early only widens the answer.
    constexpr int most_steps = 100;
    constexpr double close_enough = 1e-3;  // ns
    const auto width = [&](double rate) {
        const HullBound low = lower.at(d, rate);
        const HullBound high = upper.at(d, rate);
        return HullBound{high.value - low.value, high.tau - low.tau};
    };
    Range range{-limit, limit};
    for (int step = 0; step < most_steps; ++step) {
        const HullBound at = width(range.low);
        if (at.value >= -close_enough) break;
        if (at.tau <= 0) return std::nullopt;
        range.low -= at.value / at.tau;
        if (range.low > limit) return std::nullopt;
    }
    for (int step = 0; step < most_steps; ++step) {
        const HullBound at = width(range.high);
        if (at.value >= -close_enough) break;
        if (at.tau >= 0) return std::nullopt;
        range.high -= at.value / at.tau;
        if (range.high < range.low) return std::nullopt;
    }
    return range;
}

namespace {

// Minimum of a convex function made of straight pieces, from below. `side(rate)` gives value and slope.
template <class F>
double convex_minimum(Range rates, F&& side) {
    HullBound left = side(rates.low);
    if (left.tau >= 0) return left.value;
    HullBound right = side(rates.high);
    if (right.tau <= 0) return right.value;
    constexpr int most_steps = 60;
    double least = 0;
    for (int step = 0; step < most_steps; ++step) {
        // Where the two tangents meet lies below the function, so every step is an answer on the safe side.
        const double rate =
            rates.low + (right.value - left.value - right.tau * (rates.high - rates.low)) / (left.tau - right.tau);
        least = left.value + left.tau * (rate - rates.low);
        const HullBound at = side(rate);
        if (at.value - least < 1e-3) break;  // ns
        if (at.tau < 0) {
            left = at;
            rates.low = rate;
        } else {
            right = at;
            rates.high = rate;
        }
    }
    return least;
}

}  // namespace

Range HullPair::extremes(double d, Range rates) const {
    const double low = convex_minimum(rates, [&](double rate) { return lower.at(d, rate); });
    const double high = -convex_minimum(rates, [&](double rate) {
        const HullBound at = upper.at(d, rate);
        return HullBound{-at.value, -at.tau};
    });
    return {low, high};
}

HullPair::Centroid HullPair::centroid(double d, Range rates) const {
    constexpr int slices = 48;
    double weights = 0;
    double x = 0;
    double rate = 0;
    for (int k = 0; k < slices; ++k) {
        const double r = rates.low + (rates.high - rates.low) * (k + 0.5) / slices;
        const double low = lower.at(d, r).value;
        const double high = upper.at(d, r).value;
        const double width = std::max(high - low, 0.0);
        weights += width;
        x += width * (low + high) / 2;
        rate += width * r;
    }
    if (weights > 0) return {x / weights, rate / weights};
    const double r = (rates.low + rates.high) / 2;  // a set without area: a line
    return {(lower.at(d, r).value + upper.at(d, r).value) / 2, r};
}

}  // namespace wattrig::rig
