#pragma once
// The MCU's own ADC on the shunt amplifier, one reading each 4 us, by DMA into a ring that nobody has to attend to.
//
// Thread rule: as noted beside each.

#include <array>
#include <cstdint>
#include <span>

namespace wattrig::rp2040::peak_adc {

// 4.096 ms: whoever looks each 30.72 us has 130 times that to come late.
inline constexpr std::uint32_t ring_readings = 1024;
inline constexpr std::uint32_t reading_us = 4;

void start();  // main loop; also after stop
void stop();   // main loop

// Level 0: where the next reading will go, an index into the ring.
[[nodiscard]] std::uint32_t position();
// Any: the ring itself.
[[nodiscard]] std::span<const std::uint16_t, ring_readings> readings();
// Main loop: true once after readings were lost because the DMA did not keep up.
[[nodiscard]] bool overflowed();
// Main loop, while stopped: the sensor on the chip, in 0.01 degC. Some 100 us.
[[nodiscard]] std::int16_t chip_temperature();

}  // namespace wattrig::rp2040::peak_adc
