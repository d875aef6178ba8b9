#pragma once
// Peak path: 12-bit readings each 4 us, made trustworthy by fitting their gain and offset against the precise channel. Internal
// to host/power.
//
// Thread rule: one thread.

#include <cstdint>
#include <optional>

#include "host/power/calibration.hpp"
#include "host/power/segment.hpp"
#include "host/rig/block.hpp"

namespace wattrig::power {

class PeakPath {
  public:
    PeakPath(const RailCalibration& rail, const FrontEnd& front_end);
    // A block or summary with all of its readings, beside the mean current of the precise channel over the same time.
    void learn(const protocol::PeakSummary& peak, double mean_current);
    // Watts of a window value of the protocol, not yet corrected for noise. `volt`, `volt_per_code`: of the precise channel.
    [[nodiscard]] double window_watts(std::int32_t value, double volt, double volt_per_code) const;
    [[nodiscard]] double noise_watts(double volt) const;     // rms of one window
    [[nodiscard]] double gain() const { return gain_; }      // ampere per reading
    [[nodiscard]] double offset() const { return offset_; }  // ampere at reading 0
    // RP2040-E11: a step of the MCU's ADC lies between these readings.
    [[nodiscard]] static bool crosses_step(std::uint16_t lowest, std::uint16_t highest);

  private:
    double shunt_ohm_, zero_, noise_;
    double gain_, offset_;
    double weight_ = 0, x_ = 0, y_ = 0, xx_ = 0, xy_ = 0, yy_ = 0;  // forgetting means, centred
};

// Highest window of an interval, with the bias that noise gives a maximum taken off.
class PeakMaximum {
  public:
    void add(double watts, double noise, std::uint32_t windows);
    [[nodiscard]] std::optional<double> corrected() const;

  private:
    bool any_ = false;
    double highest_ = 0, noise_ = 0, near_ = 0;  // windows whose block came near the maximum
};

}  // namespace wattrig::power
