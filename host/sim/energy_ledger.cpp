#include "host/sim/energy_ledger.hpp"

namespace wattrig::sim {

void EnergyLedger::add_spread(std::int64_t b, std::int64_t e, double joule) {
    const double watt = joule / static_cast<double>(e - b);
    for (std::int64_t cell = b / cell_ns; b < e; ++cell) {
        if (cell >= next_cell_ + ring) {
            later_.push_back({b, e, watt});
            return;
        }
        const std::int64_t until = std::min(e, (cell + 1) * cell_ns);
        cells_[static_cast<std::size_t>(cell & (ring - 1))] += watt * static_cast<double>(until - b);
        b = until;
    }
}

// Integral of idle + active_watt x level over [now, t): with d level / dt = (target - level) / constant it is
// target x time + constant x (level before - level after).
void EnergyLedger::floor_to(std::int64_t t, bool active) {
    const auto time = static_cast<double>(t - now_);
    const double target = active ? 1.0 : 0.0;
    const double before = level_;
    if (std::abs(before - target) > 1e-12) level_ = target + (before - target) * std::exp(-time / time_constant_ns_);
    floor_sum_ += 1e-9 * (idle_watt_ * time + active_watt_ * (target * time + time_constant_ns_ * (before - level_)));
    now_ = t;
}

void EnergyLedger::close_cell() {
    double& cell = cells_[static_cast<std::size_t>(next_cell_ & (ring - 1))];
    knots_.push_back({now_, knots_.back().joule + cell + floor_sum_});
    cell = 0;
    floor_sum_ = 0;
    ++next_cell_;
    if (!later_.empty() && next_cell_ % (ring / 2) == 0) {
        const std::vector<Later> waiting = std::move(later_);
        later_.clear();
        for (const Later& entry : waiting)
            add_spread(entry.begin, entry.end, entry.watt * static_cast<double>(entry.end - entry.begin));
    }
}

void EnergyLedger::advance(std::int64_t t, bool active) {
    while (true) {
        const std::int64_t end = origin_ + (next_cell_ + 1) * cell_ns;
        if (t < end) break;
        floor_to(end, active);
        close_cell();
    }
    if (t > now_) floor_to(t, active);
}

void EnergyLedger::leap(std::int64_t by, double joule) {
    // The cell is closed here; what it still holds from now on stays for after the leap.
    const double done = static_cast<double>(now_ - (origin_ + next_cell_ * cell_ns)) / static_cast<double>(cell_ns);
    double& cell = cells_[static_cast<std::size_t>(next_cell_ & (ring - 1))];
    knots_.push_back({now_, knots_.back().joule + cell * done + floor_sum_});
    cell *= 1.0 - done;
    floor_sum_ = 0;
    now_ += by;
    origin_ += by;
    knots_.push_back({now_, knots_.back().joule + joule});
}

double EnergyLedger::energy(std::int64_t t) const {
    const auto after =
        std::upper_bound(knots_.begin(), knots_.end(), t, [](std::int64_t x, const Knot& k) { return x < k.ns; });
    if (after == knots_.begin()) return 0;
    const Knot& a = *(after - 1);
    if (after == knots_.end()) {
        // The cell under construction: its operations are taken as spread over all of it.
        const double part = static_cast<double>(std::min(t, now_) - a.ns) / static_cast<double>(cell_ns);
        const double passed =
            now_ > a.ns ? static_cast<double>(std::min(t, now_) - a.ns) / static_cast<double>(now_ - a.ns) : 0;
        return a.joule + cells_[static_cast<std::size_t>(next_cell_ & (ring - 1))] * part + floor_sum_ * passed;
    }
    if (after->ns == a.ns) return after->joule;
    const double part = static_cast<double>(t - a.ns) / static_cast<double>(after->ns - a.ns);
    return a.joule + (after->joule - a.joule) * part;
}

}  // namespace wattrig::sim
