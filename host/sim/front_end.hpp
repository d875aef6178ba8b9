#pragma once
// Everything between the drive's power and the codes that the firmware gets: supply, shunt, amplifier, ADC with its sinc3
// filter, the MCU's own ADC, the INA228, temperatures and drifts. The parts are drawn for each seed, and so is the calibration:
// the truth plus errors from its stated standard uncertainties.
//
// It also holds what the estimator does not model one to one: supply ripple, thermal EMF and 1/f drift, self-heating that the
// sensor sees only in part, integral nonlinearity, clipping.
// Thread rule: one thread.

#include <array>
#include <cstdint>
#include <span>

#include "firmware/core/meter.hpp"
#include "host/power/calibration.hpp"
#include "host/sim/noise.hpp"

namespace wattrig::sim {

// Work is done in chunks of 25 samples = 200 bins = 192 peak readings (768 us), the smallest that holds whole numbers of all.
inline constexpr std::size_t samples_per_chunk = 25;
inline constexpr std::size_t bins_per_sample = 8;
inline constexpr std::size_t bins_per_chunk = samples_per_chunk * bins_per_sample;
inline constexpr std::size_t readings_per_chunk = 192;
// Sample n is centred on the begin of bin 8 n; its filter reaches 12 bins to both sides. So chunk c needs the bins up to
// 200 c + 204 (exclusive).
inline constexpr std::int64_t bins_ahead = 4;

struct CodeChunk {
    std::array<std::int32_t, samples_per_chunk> v, i;
    std::array<std::uint16_t, readings_per_chunk> readings;
    // At most one INA228 conversion ends in a chunk: after sample `slow_after` (-1: before the first; -2: none does).
    int slow_after = -2;
    std::int64_t slow_ticks = 0;  // its end, in device ticks since the begin of the run
    std::int32_t slow_code = 0;
    std::int16_t shunt_temperature = 0, board_temperature = 0;  // 0.01 degC
};

// Figures of the current over a stretch of constant load, from the model; for `aggregate`.
struct CurrentStatistics {
    double mean = 0;                  // ampere
    double sample_variance = 0;       // of what a sample sees, ampere^2
    double minimum = 0, maximum = 0;  // of what a sample sees
    double window_maximum = 0;        // highest mean over 100 us, watt
    double watt = 0;                  // mean power
};

// Weights of the 24 bins around a sample's middle.
std::array<float, 24> sinc3_by_bin();

class FrontEnd {
  public:
    explicit FrontEnd(std::uint64_t seed);

    // The next chunk from its 200 bins of power in watts (bins 200 c + 4 .. 200 c + 204).
    void run(std::span<const float, bins_per_chunk> watts, CodeChunk& out);
    // `samples` (a multiple of 25) at once.
    firmware::BulkSamples bulk(std::uint32_t samples, const CurrentStatistics& current);

    [[nodiscard]] const power::Calibration& calibration() const { return calibration_; }
    [[nodiscard]] std::int32_t low_voltage_code() const;
    [[nodiscard]] std::int32_t peak_zero_reading() const;
    [[nodiscard]] double source_ohm() const { return source_ohm_; }
    [[nodiscard]] double supply_volt() const { return supply_volt_; }
    [[nodiscard]] double current_of(double watt) const;  // at the mean supply voltage
    [[nodiscard]] std::int16_t shunt_temperature() const;
    [[nodiscard]] std::int16_t board_temperature() const;

  private:
    static constexpr std::size_t history = 16;  // bins of the chunk before that the first samples still see
    void draw_calibration(Random random);
    void update_slowly(double seconds, double square_current);
    void convert_current(std::span<const float, bins_per_chunk> watts);
    void make_samples(CodeChunk& out);
    void make_readings(CodeChunk& out);
    void make_conversion(CodeChunk& out);
    [[nodiscard]] std::int32_t slow_code(double mean_current);

    power::FrontEnd parts_;
    power::Calibration calibration_;
    Random random_;
    NoiseTable noise_;

    // The truth of this rig.
    double shunt_ohm_, source_ohm_, supply_volt_;
    double ripple_volt_, ripple_hertz_, ripple_phase_;
    double v_gain_, v_offset_, i_gain_, i_offset_;  // volt or ampere per code
    double v_per_kelvin_, i_per_kelvin_;
    double i_nonlinearity_;  // codes at the worst place
    double slow_gain_, slow_offset_;
    double amplifier_drift_per_kelvin_, slow_drift_per_kelvin_;  // ampere
    double peak_gain_, peak_zero_;                               // readings per ampere, readings at 0 A
    double start_temperature_, warming_kelvin_, sensor_share_;

    // What moves.
    double seconds_ = 0;
    double self_heating_ = 0, square_current_ = 0;
    double emf_ampere_ = 0, flicker_ampere_ = 0;
    std::uint32_t chunks_to_update_ = 0;
    double v_scale_ = 0, v_bias_ = 0, i_scale_ = 0, i_bias_ = 0;  // codes = scale x value + bias

    alignas(32) std::array<float, history + bins_per_chunk> current_{};
    alignas(32) std::array<float, 24> filter_{};
    std::array<float, readings_per_chunk> reading_weight_{};
    std::array<std::uint16_t, readings_per_chunk> reading_bin_{};
    std::array<float, 2> supply_line_{};  // volt at the chunk's begin, and per bin

    std::int64_t bins_ = bins_ahead;  // begin of the next chunk's bins
    std::int64_t slow_end_ticks_;
    double slow_sum_ = 0, slow_bins_ = 0;
};

}  // namespace wattrig::sim
