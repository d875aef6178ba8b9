#pragma once
// Idle path: the slow, drift-free INA228 corrects the fast path's offset. I = I_fast + offset(), where offset() is the slowly
// averaged difference of the two over the very same conversions. Internal to host/power.
//
// Thread rule: one thread.

#include <cstdint>

#include "host/power/calibration.hpp"
#include "host/rig/block.hpp"

namespace wattrig::power {

class Fusion {
  public:
    Fusion(const RailCalibration& rail, const FrontEnd& front_end);
    // Each block in order. `after_gap`: blocks before it were lost, so conversions may have spanned what nobody saw: their
    // sums count only if both sides of the gap are quiet.
    void add(const rig::BlockView& block, bool after_gap);
    // The stream's sums start from zero. What was learned stays, its doubt grows as while held.
    void restart();
    [[nodiscard]] double offset() const { return offset_; }            // ampere, to be added to the fast path's current
    [[nodiscard]] double standard_uncertainty() const;                 // ampere, of the corrected offset
    [[nodiscard]] std::uint64_t conversions() const { return used_; }  // that were taken in

  private:
    RailCalibration rail_;
    double conversion_noise_;  // ampere, rms of one difference
    double quiet_spread_;      // ampere, largest spread of the fast path at which a conversion is used
    double drift_per_kelvin_;  // ampere
    double offset_ = 0;
    double random_;          // variance of the average
    double systematic_ = 0;  // variance of what the slow path itself does not know
    double learned_at_ = 0;  // degC
    double held_ = 0;        // ampere, drift that may have come since the last conversion taken in
    std::uint64_t used_ = 0;
    bool started_ = false;
    protocol::SlowSums last_{};
    std::int64_t last_time_ = 0;
    double spread_[3] = {};  // of the latest blocks: a conversion of 4.12 ms reaches over three
};

}  // namespace wattrig::power
