#pragma once
// Between the captured frames and the meter: CRC and status of each frame, the peak readings that belong before it, the slow
// path's conversions, and bringing the ADC back when it was reset or fell silent.
//
// Thread rule: main loop, except feed (the meter's level) and on_alert (level 0).

#include <cstdint>

#include "firmware/core/meter.hpp"
#include "firmware/drivers/ads131m04.hpp"

namespace wattrig::firmware::acquisition {

void start_bus();  // I2C, first, as the EEPROM is on it, too
// `meter` lives as long as the rig. Returns what the ADC said; the rig starts without it, too, and tries again.
// `while_waiting` is called again and again while the main loop waits for I2C.
ads131m04::BringUp start(Meter& meter, void (*while_waiting)());
void poll(std::uint64_t timer_us);  // at least each millisecond

void feed();
void on_alert();

[[nodiscard]] bool adc_running();
[[nodiscard]] bool slow_path_running();  // a conversion came within the last 100 ms
[[nodiscard]] std::int16_t shunt_temperature();
[[nodiscard]] std::int32_t slow_code();

// For the self-test, while not streaming: the ADC with another input, and statistics over what it then gives.
struct Statistics {
    std::uint32_t count;
    std::int64_t sum_v, sum_i;
    std::int64_t sum_i_squared;  // of i - first_i, which is small
    std::int32_t first_i;
    std::uint32_t crc_errors;
    std::uint32_t peak_count;
    std::uint32_t peak_sum;
};
ads131m04::BringUp select_input(ads131m04::Input input);
// Clears them and counts from the next sample on; `limit` samples are taken.
void collect(std::uint32_t limit);
[[nodiscard]] bool collected();
[[nodiscard]] Statistics statistics();

}  // namespace wattrig::firmware::acquisition
