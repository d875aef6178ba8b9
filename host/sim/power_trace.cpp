#include "host/sim/power_trace.hpp"

#include <algorithm>
#include <cassert>
#include <cmath>

namespace wattrig::sim {

PowerTrace::PowerTrace(double idle_watt, double active_watt, double time_constant_ns)
    : idle_watt_(idle_watt),
      active_watt_(active_watt),
      time_constant_ns_(time_constant_ns),
      pulses_(ring_bins),
      activity_(ring_bins) {
    anchor(HostTime{}, 0, bins_per_nanosecond_);
}

void PowerTrace::set_horizon() {
    first_ = static_cast<double>(next_);
    horizon_ = static_cast<double>(next_ + ring_bins - 2);
    // A nanosecond is a quarter of a thousandth of a bin: one more on either side covers the rounding.
    constexpr double quick = 200e6;  // ns from the anchor: times the scale it stays within 64 bits
    const double from = std::ceil((first_ - anchor_bin_) / bins_per_nanosecond_) + 1;
    const double until = std::floor((horizon_ - anchor_bin_) / bins_per_nanosecond_) - 1;
    quick_from_ns_ = anchor_ns_ + static_cast<std::int64_t>(std::clamp(from, -quick, quick));
    quick_until_ns_ = anchor_ns_ + static_cast<std::int64_t>(std::clamp(until, -quick, quick));
}

void PowerTrace::anchor(HostTime t, double bin, double bins_per_nanosecond) {
    anchor_ns_ = t.time_since_epoch().count();
    anchor_bin_ = bin;
    bins_per_nanosecond_ = bins_per_nanosecond;
    anchor_place_ = to_place(bin);
    scale_ = std::llround(std::ldexp(bins_per_nanosecond, scale_bits));
    set_horizon();
    bring_later();
}

void PowerTrace::bring_later() {
    const auto by_begin = [](const Later& a, const Later& b) { return a.begin_ns > b.begin_ns; };
    while (!later_.empty() && at(later_.front().begin_ns) < horizon_ - 0.25 * ring_bins) {
        std::pop_heap(later_.begin(), later_.end(), by_begin);
        const Later entry = later_.back();
        later_.pop_back();
        add_slowly(entry.begin_ns, entry.end_ns, entry.watt);
    }
}

void PowerTrace::add_slowly(std::int64_t begin_ns, std::int64_t end_ns, double watt) {
    // A rectangle that ends beyond the horizon is cut there; the rest waits.
    last_change_ = std::max(last_change_, to_place(at(end_ns)));
    if (at(end_ns) >= horizon_) {
        const std::int64_t cut =
            std::max(begin_ns, anchor_ns_ + static_cast<std::int64_t>((horizon_ - 4 - anchor_bin_) / bins_per_nanosecond_));
        later_.push_back({cut, end_ns, watt});
        std::push_heap(later_.begin(), later_.end(), [](const Later& a, const Later& b) { return a.begin_ns > b.begin_ns; });
        end_ns = cut;
    }
    if (end_ns <= begin_ns) return;
    const double x0 = std::max(at(begin_ns), first_), x1 = std::max(at(end_ns), first_);
    step(pulses_, to_place(x0), units(watt));
    step(pulses_, to_place(x1), -units(watt));
    last_change_ = std::max(last_change_, to_place(x1));
}

void PowerTrace::activity(std::int64_t t, bool begins) {
    const std::int64_t x = to_place(std::clamp(at(t), first_, horizon_ - 2));
    step(activity_, x, begins ? full_activity : -full_activity);
    last_change_ = std::max(last_change_, x);
}

void PowerTrace::take(std::span<float> watts) {
    const auto to_wrap = static_cast<std::size_t>(ring_bins - (next_ & mask));
    const std::size_t part = std::min(watts.size(), to_wrap);
    take_contiguous(watts.first(part));
    if (part < watts.size()) take_contiguous(watts.subspan(part));
    set_horizon();
    if (!later_.empty()) bring_later();
}

void PowerTrace::take_contiguous(std::span<float> watts) {
    const auto at = static_cast<std::size_t>(next_ & mask);
    std::int32_t* const pulses = pulses_.data() + at;
    std::int32_t* const activity = activity_.data() + at;
    std::int32_t level = pulse_level_;
    constexpr float scale = static_cast<float>(watt_unit);
    const auto idle = static_cast<float>(idle_watt_);
    std::int32_t moved = 0;
    for (std::size_t k = 0; k < watts.size(); ++k) {
        level += pulses[k];
        watts[k] = static_cast<float>(level) * scale + idle;
    }
    std::fill_n(pulses, watts.size(), 0);
    for (std::size_t k = 0; k < watts.size(); ++k) moved |= activity[k];
    pulse_level_ = level;
    next_ += static_cast<std::int64_t>(watts.size());

    // The active floor: first order towards the activity of each bin. The mean over a bin is exact for a constant target, and
    // summed over time it gives active_watt x (active time - time constant x change of level), whatever the edges.
    const double bin_over_constant = 1.0 / (bins_per_nanosecond_ * time_constant_ns_);
    const double share = -std::expm1(-bin_over_constant);
    const double target = static_cast<double>(activity_level_) / full_activity;
    if (moved == 0 && std::abs(level_ - target) < 1e-9) {
        level_ = target;
        const auto floor = static_cast<float>(active_watt_ * target);
        if (floor != 0.0F)
            for (float& watt : watts) watt += floor;
        return;
    }
    const double start_weight = share / bin_over_constant;
    double floor = level_;
    for (std::size_t k = 0; k < watts.size(); ++k) {
        activity_level_ += activity[k];
        activity[k] = 0;
        const double goal = static_cast<double>(activity_level_) * (1.0 / full_activity);
        watts[k] += static_cast<float>(active_watt_ * (goal + (floor - goal) * start_weight));
        floor += (goal - floor) * share;
    }
    level_ = floor;
}

void PowerTrace::shift(Nanoseconds by) {
    for (Later& entry : later_) {
        entry.begin_ns += by.count();
        entry.end_ns += by.count();
    }
}

}  // namespace wattrig::sim
