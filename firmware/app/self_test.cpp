#include "firmware/app/self_test.hpp"

#include <array>

#include "firmware/app/acquisition.hpp"
#include "firmware/app/eeprom.hpp"
#include "firmware/rp2040/board.hpp"
#include "firmware/rp2040/peak_adc.hpp"
#include "firmware/rp2040/time.hpp"

namespace wattrig::firmware {
namespace {

using ads131m04::BringUp;
using ads131m04::Input;

// 1024 samples are 31 ms: means to 1/32 of the noise of 150 codes.
constexpr std::uint32_t samples = 1024;
constexpr std::uint32_t patience_us = 100'000;

// Codes of the ADS131M04 at gain 1: 1.2 V are 2^23.
constexpr std::int32_t codes_of_microvolt(std::int64_t microvolt) {
    return static_cast<std::int32_t>(microvolt * 8'388'608 / 1'200'000);
}
// Offset: 175 uV typical, no maximum is given; five times that. Noise: 21 uV rms typical, four times that.
constexpr std::int32_t offset_limit = codes_of_microvolt(875);
constexpr std::uint32_t noise_limit_256 = static_cast<std::uint32_t>(codes_of_microvolt(85)) * 256;
// Test signal: 2/15 of full scale, 160 mV; 1 % and the offset.
constexpr std::int32_t signal = codes_of_microvolt(160'000);
constexpr std::int32_t signal_tolerance = signal / 100 + offset_limit;

bool within(std::int64_t value, std::int64_t expected, std::int64_t tolerance) {
    return value >= expected - tolerance && value <= expected + tolerance;
}

// Bit by bit: the processor has no root, and this runs once a test.
std::uint32_t square_root(std::uint64_t value) {
    std::uint64_t root = 0;
    for (std::uint64_t bit = std::uint64_t{1} << 31; bit != 0; bit >>= 1) {
        if ((root + bit) * (root + bit) <= value) root += bit;
    }
    return static_cast<std::uint32_t>(root);
}

bool measure(Input input, acquisition::Statistics& statistics, void (*while_waiting)()) {
    if (acquisition::select_input(input) != BringUp::ok) return false;
    rp2040::wait_us(500);  // what is still in flight belongs to the input before
    acquisition::collect(samples);
    const std::uint32_t begin = rp2040::timer_low_us();
    while (!acquisition::collected()) {
        if (rp2040::timer_low_us() - begin > patience_us) return false;
        while_waiting();
    }
    statistics = acquisition::statistics();
    return true;
}

std::int32_t mean(std::int64_t sum) {
    static_assert(samples == 1u << 10);
    return static_cast<std::int32_t>(sum >> 10);
}

}  // namespace

protocol::Status run_self_test(protocol::SelfTestReport& report, void (*while_waiting)()) {
    const auto tell = [&report](std::uint32_t bit, bool passed) {
        report.done |= bit;
        if (!passed) report.failed |= bit;
    };
    acquisition::Statistics shorted{};
    acquisition::Statistics test{};
    acquisition::Statistics pins{};
    const bool measured = measure(Input::shorted, shorted, while_waiting) && measure(Input::test_positive, test, while_waiting);
    const bool back = measure(Input::pins, pins, while_waiting);  // always, so that the next stream measures the drive
    tell(protocol::self_test_adc_id, measured && back);
    if (measured) {
        report.shorted_v_mean = mean(shorted.sum_v);
        report.shorted_i_mean = mean(shorted.sum_i);
        const std::int64_t offset = report.shorted_i_mean - shorted.first_i;
        const auto variance_256_256 = static_cast<std::uint64_t>(((shorted.sum_i_squared >> 10) - offset * offset) << 16);
        report.shorted_i_rms = square_root(variance_256_256);
        report.test_v_mean = mean(test.sum_v);
        report.test_i_mean = mean(test.sum_i);
        report.adc_crc_errors = shorted.crc_errors + test.crc_errors + pins.crc_errors;
        tell(protocol::self_test_adc_short, within(report.shorted_v_mean, 0, offset_limit) &&
                                                within(report.shorted_i_mean, 0, offset_limit) &&
                                                report.shorted_i_rms <= noise_limit_256 && report.adc_crc_errors == 0);
        tell(protocol::self_test_adc_signal,
             within(report.test_v_mean, signal, signal_tolerance) && within(report.test_i_mean, signal, signal_tolerance));
    }
    tell(protocol::self_test_slow_path, acquisition::slow_path_running());
    if (back) {
        // Both see the shunt amplifier: 20 x 10 mOhm. Reading = zero + 0.2 V/A / 3.3 V x 4096 x I, code = 0.2 V/A / 1.2 V x
        // 2^23 x I, so a reading is 5632 codes. Within 20 readings at no load, and 3 % of the load.
        const std::uint32_t count = pins.peak_count == 0 ? 1 : pins.peak_count;
        const auto reading_256 = static_cast<std::int32_t>(pins.peak_sum / count * 256 + pins.peak_sum % count * 256 / count);
        const std::int32_t load_256 = mean(pins.sum_i) / (5632 / 256);
        constexpr std::int32_t tolerance_256 = 20 * 256;  // offsets of amplifier and ADC at no load
        // 1024 samples are 7864 readings.
        tell(protocol::self_test_peak_path, pins.peak_count > 7700 && pins.peak_count < 8000 &&
                                                within(reading_256 - rp2040::peak_zero_reading, load_256,
                                                       tolerance_256 + (load_256 < 0 ? -load_256 : load_256) / 33));
        tell(protocol::self_test_voltage, mean(pins.sum_v) >= rp2040::low_voltage_code);
    }
    std::array<std::uint8_t, 1> byte;
    tell(protocol::self_test_storage, eeprom::read(0, byte));
    rp2040::peak_adc::stop();
    const std::int16_t chip = rp2040::peak_adc::chip_temperature();
    rp2040::peak_adc::start();
    const auto plausible = [](std::int16_t centi_celsius) { return centi_celsius > -2000 && centi_celsius < 10000; };
    tell(protocol::self_test_temperature,
         plausible(chip) && (!acquisition::slow_path_running() || plausible(acquisition::shunt_temperature())));
    return measured && back ? protocol::Status::ok : protocol::Status::adc_failed;
}

}  // namespace wattrig::firmware
