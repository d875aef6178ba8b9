#include "host/live/feed.hpp"

#include <algorithm>

namespace wattrig::live {

ColumnMaker::ColumnMaker(const power::Calibration& calibration, std::function<void(const Column&)> sink)
    : calibration_(calibration), sink_(std::move(sink)) {}

void ColumnMaker::start(const rig::BlockView& block, HostTime arrival) {
    // One straight line through the first block's arrival: drift of 50 ppm is 30 ms in ten minutes, which is all that is shown.
    const rig::ClockMap line({{block.end(), arrival, Nanoseconds(0), 0.0}}, 0, "arrival");
    pass_ = std::make_unique<power::EnergyPass>(calibration_, line, std::vector<io::Interval>{});
    pass_->follow([this](const power::TracePiece& piece) { take(piece); }, false);
    boot_id_ = block.header.boot_id;
    open_ = false;
    known_ = watts_ = volts_ = 0;
}

void ColumnMaker::add(const rig::BlockView& block, HostTime arrival) {
    // Anew after a restart of the rig, and when the line has drifted from what arrives.
    constexpr Nanoseconds too_far{250'000'000};
    if (pass_ == nullptr || block.header.boot_id != boot_id_ || (open_ && arrival - column_.begin > too_far))
        start(block, arrival);
    last_arrival_ = arrival;
    pass_->add(block);
}

void ColumnMaker::take(const power::TracePiece& piece) {
    if (!piece.mean) {  // lost: a hole between two columns
        open_ = false;
        known_ = watts_ = volts_ = 0;
        return;
    }
    const auto weight = static_cast<double>((piece.end - piece.begin).count());
    const auto lowest = static_cast<float>(piece.lowest_watts.value_or(piece.mean->watts));
    const auto highest = static_cast<float>(piece.highest_watts.value_or(piece.mean->watts));
    if (!open_) {
        column_ = {.begin = piece.begin, .end = piece.end, .mean = 0, .lowest = lowest, .highest = highest, .volts = 0};
        open_ = true;
    }
    column_.end = piece.end;
    column_.lowest = std::min(column_.lowest, lowest);
    column_.highest = std::max(column_.highest, highest);
    watts_ += piece.mean->watts * weight;
    volts_ += piece.mean->volts[0] * weight;
    known_ += weight;
    if (column_.end - column_.begin < length || known_ <= 0) return;
    column_.mean = static_cast<float>(watts_ / known_);
    column_.volts = static_cast<float>(volts_ / known_);
    sink_(column_);
    open_ = false;
    known_ = watts_ = volts_ = 0;
}

}  // namespace wattrig::live
