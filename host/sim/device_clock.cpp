#include "host/sim/device_clock.hpp"

#include <algorithm>
#include <cassert>
#include <cmath>

namespace wattrig::sim {

ClockModel::ClockModel(std::uint64_t seed, HostTime origin) : origin_(origin) {
    Random random(seed, 0xc10c);
    rate_ppm_ = random.uniform(-100, 100);
    // Steepest slope of the wave in ppm per second; 1 ppm a minute at most.
    const double slope = random.uniform(0.1, 1.0) / 60.0;
    wave_ppm_ = random.uniform(0.3, 3.0);
    wave_per_second_ = slope / wave_ppm_;
    wave_phase_ = random.uniform(0, 2 * std::numbers::pi);
    // The rig has been up for 1 s to 100 s when the run begins.
    positions_.push_back(static_cast<std::int64_t>(random.uniform(1.0, 100.0) * 125e6) << fraction_bits);
}

double ClockModel::rate_of_piece(std::int64_t piece) const {
    const double middle = (static_cast<double>(piece) + 0.5) * 1e-9 * piece_ns;
    return rate_ppm_ + wave_ppm_ * std::sin(wave_per_second_ * middle + wave_phase_);
}

double ClockModel::rate_ppm(HostTime t) const {
    return rate_of_piece(std::max<std::int64_t>((t - origin_).count() / piece_ns, 0));
}

std::int64_t ClockModel::position(std::int64_t piece) {
    while (static_cast<std::int64_t>(positions_.size()) <= piece) {
        const auto made = static_cast<std::int64_t>(positions_.size());
        const double step = 0.125 * piece_ns * (1.0 + 1e-6 * rate_of_piece(made - 1)) * 65536.0;
        positions_.push_back(positions_.back() + static_cast<std::int64_t>(std::llround(step)));
    }
    return positions_[static_cast<std::size_t>(piece)];
}

DeviceTime ClockModel::to_device(HostTime t) {
    const std::int64_t since = (t - origin_).count();
    assert(since >= 0);
    const std::int64_t piece = since / piece_ns;
    const std::int64_t begin = position(piece);
    const std::int64_t length = position(piece + 1) - begin;
    const auto at = begin + static_cast<std::int64_t>(static_cast<__int128>(since - piece * piece_ns) * length / piece_ns);
    return DeviceTime(Ticks(at >> fraction_bits));
}

double ClockModel::to_device_ticks(HostTime t) {
    const std::int64_t since = (t - origin_).count();
    const std::int64_t piece = std::max<std::int64_t>(since, 0) / piece_ns;
    const std::int64_t begin = position(piece);
    const double length = static_cast<double>(position(piece + 1) - begin) * 0x1p-16;
    return static_cast<double>(begin) * 0x1p-16 + static_cast<double>(since - piece * piece_ns) * length / piece_ns;
}

HostTime ClockModel::to_host(DeviceTime t) {
    const std::int64_t wanted = t.time_since_epoch().count() << fraction_bits;
    if (wanted <= positions_.front()) return origin_;
    while (positions_.back() <= wanted) (void)position(static_cast<std::int64_t>(positions_.size()));
    const auto next = std::upper_bound(positions_.begin(), positions_.end(), wanted);
    const std::int64_t piece = next - positions_.begin() - 1;
    const std::int64_t begin = positions_[static_cast<std::size_t>(piece)];
    const std::int64_t length = *next - begin;
    const auto ns = (static_cast<__int128>(wanted - begin) * piece_ns + length - 1) / length;
    return origin_ + Nanoseconds(piece * piece_ns + static_cast<std::int64_t>(ns));
}

}  // namespace wattrig::sim
