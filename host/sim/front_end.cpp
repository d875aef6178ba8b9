#include "host/sim/front_end.hpp"

#include <algorithm>
#include <cmath>

#include "host/sim/power_trace.hpp"

namespace wattrig::sim {
namespace {

using Lanes = float __attribute__((vector_size(16)));  // GCC and clang: SSE on x86, NEON on Arm

constexpr double chunk_seconds = static_cast<double>(samples_per_chunk) * 30.72e-6;
constexpr std::uint32_t chunks_per_update = 16;  // of what drifts: 12 ms

// RP2040-E11: one code at each of 512, 1536, 2560, 3584 takes the place of its eight neighbours.
constexpr std::uint16_t with_wide_codes(std::int32_t code) {
    const std::int32_t past = (code + 512 + 4) & 1023;
    return static_cast<std::uint16_t>(past < 9 ? code - past + 4 : code);
}
static_assert(with_wide_codes(508) == 512 && with_wide_codes(516) == 512 && with_wide_codes(507) == 507 &&
              with_wide_codes(3588) == 3584);

}  // namespace

// sinc3 at OSR 128: three boxcars of 128 periods of the modulator (30 ticks each), 16 periods to a bin. 382 taps, centred, so
// one period at both ends of the 24 bins stays empty.
std::array<float, 24> sinc3_by_bin() {
    std::array<double, 382> taps{};
    taps[0] = 1;
    for (int boxcar = 0; boxcar < 3; ++boxcar) {
        const std::array<double, 382> before = taps;
        double sum = 0;
        for (std::size_t k = 0; k < taps.size(); ++k) {
            sum += before[k] - (k >= 128 ? before[k - 128] : 0);
            taps[k] = sum / 128;
        }
    }
    std::array<double, 24> sums{};
    for (std::size_t k = 0; k < taps.size(); ++k) sums[(k + 1) / 16] += taps[k];
    std::array<float, 24> filter{};
    for (std::size_t k = 0; k < filter.size(); ++k) filter[k] = static_cast<float>(sums[k]);
    return filter;
}

FrontEnd::FrontEnd(std::uint64_t seed) : random_(seed, 0xf407), noise_(seed) {
    Random random(seed, 0x9a475);
    shunt_ohm_ = parts_.shunt_ohm * (1 + 2e-3 * random.gaussian());
    source_ohm_ = random.uniform(0.015, 0.03);  // host, connector
    supply_volt_ = random.uniform(3.28, 3.36);
    ripple_volt_ = random.uniform(0.2e-3, 1e-3);
    ripple_hertz_ = random.uniform(95, 125);
    ripple_phase_ = random.uniform(0, 2 * std::numbers::pi);
    v_gain_ = parts_.volt_per_v_code() * (1 + 1e-3 * random.gaussian());
    v_offset_ = 0.3e-3 * random.gaussian();
    i_gain_ = parts_.ampere_per_i_code() * (1 + 3e-3 * random.gaussian());
    i_offset_ = 1.5e-3 * random.gaussian();
    v_per_kelvin_ = parts_.gain_temperature_coefficient * random.uniform(-1, 1);
    i_per_kelvin_ = v_per_kelvin_ + parts_.shunt_temperature_coefficient * random.uniform(-0.6, 0.6);
    i_nonlinearity_ = 6e-6 * 8388608.0 * random.uniform(-1, 1);
    slow_gain_ = parts_.slow_lsb_volt / shunt_ohm_ * (1 + 2e-4 * random.gaussian());
    slow_offset_ = 0.5e-6 / shunt_ohm_ * random.gaussian();
    amplifier_drift_per_kelvin_ = parts_.amplifier_offset_drift_volt_per_kelvin * random.uniform(-0.3, 0.3) / shunt_ohm_;
    slow_drift_per_kelvin_ = parts_.slow_offset_drift_volt_per_kelvin * random.uniform(-1, 1) / shunt_ohm_;
    peak_gain_ = shunt_ohm_ * parts_.amplifier_gain / parts_.peak_lsb_volt * (1 + 2e-3 * random.gaussian());
    peak_zero_ = parts_.peak_zero_volt / parts_.peak_lsb_volt + 3 * random.gaussian();
    start_temperature_ = random.uniform(23, 27);
    warming_kelvin_ = random.uniform(0.5, 3);
    sensor_share_ = random.uniform(0.6, 0.9);
    emf_ampere_ = parts_.thermal_emf_volt / shunt_ohm_ * random.uniform(-0.7, 0.7);
    slow_end_ticks_ = random.below(protocol::slow_conversion_ticks);
    filter_ = sinc3_by_bin();
    // The readings of a chunk end with its last sample's DRDY, 204 bins and 5715 - 5760 ticks into the window of 216.
    for (std::size_t k = 0; k < readings_per_chunk; ++k) {
        const double ticks = 204.0 * ticks_per_bin + protocol::group_delay_ticks - 96000.0 +
                             protocol::ticks_per_peak_reading * (static_cast<double>(k) + 1) - protocol::peak_delay_ticks;
        const double place = ticks / ticks_per_bin - 0.5;  // values stand for the middle of their bin
        reading_bin_[k] = static_cast<std::uint16_t>(place);
        reading_weight_[k] = static_cast<float>(place - std::floor(place));
    }
    draw_calibration(Random(seed, 0xca1b));
    current_.fill(0);
    update_slowly(0, 0);
}

void FrontEnd::draw_calibration(Random random) {
    calibration_.serial = "SIM";
    calibration_.date = "2026-01-01T00:00:00Z";
    calibration_.reference = "drawn by the simulator: truth plus errors from the uncertainties stated here";
    calibration_.simulated = true;
    calibration_.front_end = parts_;
    power::RailCalibration& rail = calibration_.rails[0];
    rail.u_reference = 1.15e-4;  // 0.02 % rectangular
    rail.u_v_gain = 5e-5;
    rail.u_i_gain = 8e-5;
    rail.u_v_offset = 50e-6;
    rail.u_i_offset = 30e-6;
    rail.u_slow_offset = 11e-6;
    rail.u_gain_per_kelvin = 3e-6;
    const double reference = 1 + rail.u_reference * random.gaussian();
    rail.v_gain = v_gain_ * reference * (1 + rail.u_v_gain * random.gaussian());
    rail.i_gain = i_gain_ * reference * (1 + rail.u_i_gain * random.gaussian());
    rail.v_offset = v_offset_ + rail.u_v_offset * random.gaussian();
    rail.i_offset = i_offset_ + rail.u_i_offset * random.gaussian();
    rail.shunt_ohm = shunt_ohm_ * (1 + 3e-4 * random.gaussian());
    rail.slow_gain = slow_gain_ * reference * (1 + rail.u_i_gain * random.gaussian());
    rail.slow_offset = slow_offset_ + rail.u_slow_offset * random.gaussian();
    rail.v_gain_per_kelvin = v_per_kelvin_ + rail.u_gain_per_kelvin * random.gaussian();
    rail.i_gain_per_kelvin = i_per_kelvin_ + rail.u_gain_per_kelvin * random.gaussian();
    rail.reference_temperature = 25;
    calibration_.rails[1] = rail;
}

std::int32_t FrontEnd::low_voltage_code() const { return static_cast<std::int32_t>(3.135 / parts_.volt_per_v_code()); }
std::int32_t FrontEnd::peak_zero_reading() const { return static_cast<std::int32_t>(std::lround(peak_zero_ * 256)); }
std::int16_t FrontEnd::board_temperature() const {
    return static_cast<std::int16_t>(
        std::lround(100 * (start_temperature_ + warming_kelvin_ * (1 - std::exp(-seconds_ / 900)))));
}
std::int16_t FrontEnd::shunt_temperature() const {
    return static_cast<std::int16_t>(board_temperature() + std::lround(100 * sensor_share_ * self_heating_));
}

double FrontEnd::current_of(double watt) const {
    const double r = source_ohm_ + shunt_ohm_;
    return 2 * watt / (supply_volt_ + std::sqrt(supply_volt_ * supply_volt_ - 4 * r * watt));
}

// Temperatures, drifts, and from them the lines from value to code. `square_current` is the mean of I^2 over the time.
void FrontEnd::update_slowly(double seconds, double square_current) {
    seconds_ += seconds;
    const double heating = parts_.shunt_thermal_resistance * square_current * shunt_ohm_;
    self_heating_ = heating + (self_heating_ - heating) * std::exp(-seconds / 8);
    const double board = start_temperature_ + warming_kelvin_ * (1 - std::exp(-seconds_ / 900));
    const double shunt = board + self_heating_;
    const auto wander = [&](double& x, double sigma, double constant) {
        const double stay = std::exp(-seconds / constant);
        x = x * stay + sigma * std::sqrt(1 - stay * stay) * random_.gaussian();
    };
    wander(emf_ampere_, parts_.thermal_emf_volt / shunt_ohm_ / std::numbers::sqrt3, 600);
    wander(flicker_ampere_, 8e-6, 1);
    const double offset = i_offset_ - emf_ampere_ - flicker_ampere_ - amplifier_drift_per_kelvin_ * (board - 25);
    i_scale_ = 1 / (i_gain_ * (1 + i_per_kelvin_ * (shunt - 25)));
    i_bias_ = -offset * i_scale_;
    v_scale_ = 1 / (v_gain_ * (1 + v_per_kelvin_ * (board - 25)));
    v_bias_ = -v_offset_ * v_scale_;
}

void FrontEnd::run(std::span<const float, bins_per_chunk> watts, CodeChunk& out) {
    std::copy(current_.end() - history, current_.end(), current_.begin());
    convert_current(watts);
    if (chunks_to_update_-- == 0) {
        chunks_to_update_ = chunks_per_update - 1;
        update_slowly(chunk_seconds * chunks_per_update, static_cast<double>(current_[history]) * current_[history]);
        out.shunt_temperature = shunt_temperature();
        out.board_temperature = board_temperature();
    }
    make_samples(out);
    make_readings(out);
    make_conversion(out);
    bins_ += bins_per_chunk;
}

void FrontEnd::convert_current(std::span<const float, bins_per_chunk> watts) {
    const double t = static_cast<double>(bins_) * (ticks_per_bin * 8e-9);
    const double turn = 2 * std::numbers::pi * ripple_hertz_;
    const double begin = supply_volt_ + ripple_volt_ * std::sin(turn * t + ripple_phase_);
    const double end = supply_volt_ + ripple_volt_ * std::sin(turn * (t + chunk_seconds) + ripple_phase_);
    supply_line_ = {static_cast<float>(begin), static_cast<float>((end - begin) / bins_per_chunk)};
    const auto four_r = static_cast<float>(4 * (source_ohm_ + shunt_ohm_));
    float* const current = current_.data() + history;
    const float per_bin = supply_line_[1];
    for (std::size_t k = 0; k < bins_per_chunk; ++k) {
        const float supply = supply_line_[0] + per_bin * static_cast<float>(static_cast<int>(k));
        // V I = P with V = supply - R I; this root of the quadratic, in the form that does not cancel.
        const float under = supply * supply - four_r * watts[k];
        current[k] = 2 * watts[k] / (supply + std::sqrt(under > 0 ? under : 0.0F));
    }
}

void FrontEnd::make_samples(CodeChunk& out) {
    std::array<float, samples_per_chunk> seen;
    Lanes weights[6];
    for (std::size_t j = 0; j < 6; ++j) weights[j] = *reinterpret_cast<const Lanes*>(filter_.data() + 4 * j);
    for (std::size_t k = 0; k < samples_per_chunk; ++k) {
        const auto* bins = reinterpret_cast<const Lanes*>(current_.data() + bins_per_sample * k);
        const Lanes sum = (bins[0] * weights[0] + bins[1] * weights[1]) + (bins[2] * weights[2] + bins[3] * weights[3]) +
                          (bins[4] * weights[4] + bins[5] * weights[5]);
        seen[k] = (sum[0] + sum[1]) + (sum[2] + sum[3]);
    }
    const float* const v_noise = noise_.stretch(random_);
    const float* const i_noise = noise_.stretch(random_);
    const auto v_sigma = static_cast<float>(parts_.v_noise_volt * v_scale_);
    const auto i_sigma = static_cast<float>(parts_.i_noise_ampere * i_scale_);
    // The middle of sample k is bin 8 k - 4 of the chunk's own.
    const auto v_scale = static_cast<float>(v_scale_);
    const auto v_bias = static_cast<float>((supply_line_[0] - 4.0 * supply_line_[1]) * v_scale_ + v_bias_);
    const auto v_slope = static_cast<float>(8.0 * supply_line_[1] * v_scale_);
    const auto source = static_cast<float>(source_ohm_);
    const auto i_scale = static_cast<float>(i_scale_), i_bias = static_cast<float>(i_bias_);
    const auto bend = static_cast<float>(i_nonlinearity_ * 2.598);  // x - x^3 is 0.385 at most
    constexpr float highest = protocol::code_maximum, lowest = protocol::code_minimum;
    for (std::size_t k = 0; k < samples_per_chunk; ++k) {
        float v =
            v_bias + v_slope * static_cast<float>(static_cast<int>(k)) - source * seen[k] * v_scale + v_sigma * v_noise[k];
        v += v < 0 ? -0.5F : 0.5F;
        out.v[k] = static_cast<std::int32_t>(std::min(std::max(v, lowest), highest));
    }
    for (std::size_t k = 0; k < samples_per_chunk; ++k) {
        float i = seen[k] * i_scale + i_bias;
        const float x = i * 0x1p-23F;
        i += bend * x * (1 - x * x) + i_sigma * i_noise[k];
        i += i < 0 ? -0.5F : 0.5F;
        out.i[k] = static_cast<std::int32_t>(std::min(std::max(i, lowest), highest));
    }
}

void FrontEnd::make_readings(CodeChunk& out) {
    std::array<float, readings_per_chunk> seen;
    // The bin of a reading steps by one, and once in 24 readings by two: copy in runs, so that the loops stay simple.
    for (std::size_t k = 0; k < readings_per_chunk;) {
        std::size_t end = k + 1;
        while (end < readings_per_chunk && reading_bin_[end] - reading_bin_[k] == static_cast<int>(end - k)) ++end;
        const float* const bins = current_.data() + reading_bin_[k];
        for (std::size_t j = 0; j < end - k; ++j) seen[k + j] = bins[j] + (bins[j + 1] - bins[j]) * reading_weight_[k + j];
        k = end;
    }
    const float* const noise = noise_.stretch(random_);
    const auto gain = static_cast<float>(peak_gain_), zero = static_cast<float>(peak_zero_ + 0.5);
    const auto sigma = static_cast<float>(parts_.peak_noise_lsb);
    for (std::size_t k = 0; k < readings_per_chunk; ++k) {
        const float reading = zero + gain * seen[k] + sigma * noise[k];
        out.readings[k] = with_wide_codes(static_cast<std::int32_t>(std::min(std::max(reading, 0.0F), 4095.0F)));
    }
}

std::int32_t FrontEnd::slow_code(double mean_current) {
    const double kelvin = start_temperature_ + warming_kelvin_ * (1 - std::exp(-seconds_ / 900)) - 25;
    const double shunt_change = 1 + i_per_kelvin_ * (self_heating_ + kelvin);
    const double code =
        (mean_current + emf_ampere_ + slow_drift_per_kelvin_ * kelvin - slow_offset_) * shunt_change / slow_gain_ +
        parts_.slow_noise_volt / parts_.slow_lsb_volt * random_.gaussian();
    return static_cast<std::int32_t>(std::clamp<long>(std::lround(code), -524288, 524287));
}

void FrontEnd::make_conversion(CodeChunk& out) {
    const float* const current = current_.data() + history;
    const double end =
        static_cast<double>(slow_end_ticks_) / ticks_per_bin - static_cast<double>(bins_);  // in this chunk's bins
    out.slow_after = -2;
    std::array<float, 8> lanes{};
    for (std::size_t k = 0; k < bins_per_chunk; k += 8)
        for (std::size_t j = 0; j < 8; ++j) lanes[j] += current[k + j];
    double sum = 0;
    for (const float lane : lanes) sum += static_cast<double>(lane);
    if (end >= static_cast<double>(bins_per_chunk)) {
        slow_sum_ += sum;
        slow_bins_ += bins_per_chunk;
        return;
    }
    const auto whole = static_cast<std::size_t>(std::max(end, 0.0));
    double part = 0;
    for (std::size_t k = 0; k < whole; ++k) part += static_cast<double>(current[k]);
    const double rest = std::max(end, 0.0) - static_cast<double>(whole);
    part += rest * static_cast<double>(current[whole]);
    slow_sum_ += part;
    slow_bins_ += static_cast<double>(whole) + rest;
    constexpr double bins_per_conversion = static_cast<double>(protocol::slow_conversion_ticks) / ticks_per_bin;
    if (slow_bins_ > bins_per_conversion - 1) {  // the first one after a start is not whole
        out.slow_code = slow_code(slow_sum_ / slow_bins_);
        out.slow_ticks = slow_end_ticks_;
        const std::int64_t first_ready =
            (bins_ - bins_ahead) * ticks_per_bin + static_cast<std::int64_t>(protocol::group_delay_ticks);
        out.slow_after =
            static_cast<int>((slow_end_ticks_ - first_ready + protocol::ticks_per_sample) / protocol::ticks_per_sample) - 1;
    }
    slow_sum_ = sum - part;
    slow_bins_ = static_cast<double>(bins_per_chunk - whole) - rest;
    slow_end_ticks_ += protocol::slow_conversion_ticks;
}

}  // namespace wattrig::sim
