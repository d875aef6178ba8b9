#pragma once
// The pins of the rig on a Raspberry Pi Pico. The schematic in hardware/ is checked against this table.

#include <cstdint>

namespace wattrig::rp2040::pin {

inline constexpr std::uint32_t i2c_sda = 4;  // INA228 and EEPROM
inline constexpr std::uint32_t i2c_scl = 5;
// GP6..GP13 are protocol::SidebandBit 0..7 in their order: one read of the port gives the side-band byte.
inline constexpr std::uint32_t clkreq = 6;
inline constexpr std::uint32_t perst = 7;
inline constexpr std::uint32_t activity_led = 8;
inline constexpr std::uint32_t pewake = 9;
inline constexpr std::uint32_t devslp = 10;
inline constexpr std::uint32_t trigger_in = 11;
inline constexpr std::uint32_t sync_out = 12;
inline constexpr std::uint32_t drive_power = 13;  // high: the load switch is on; pulled up on the board
inline constexpr std::uint32_t slow_alert = 14;   // INA228 ALERT, low when a conversion ended
inline constexpr std::uint32_t adc_miso = 16;     // SPI0 RX <- DOUT
inline constexpr std::uint32_t adc_cs = 17;
inline constexpr std::uint32_t adc_sck = 18;
inline constexpr std::uint32_t adc_mosi = 19;  // SPI0 TX -> DIN
inline constexpr std::uint32_t adc_drdy = 20;
inline constexpr std::uint32_t adc_clock = 21;  // GPOUT0 -> CLKIN
inline constexpr std::uint32_t adc_sync = 22;   // SYNC/RESET
inline constexpr std::uint32_t led = 25;
inline constexpr std::uint32_t peak_input = 26;  // ADC0: the shunt amplifier

}  // namespace wattrig::rp2040::pin

namespace wattrig::rp2040 {

inline constexpr std::uint32_t board_id = 1;                               // m2-interposer A
inline constexpr std::uint32_t firmware_version = 0u << 16 | 1u << 8 | 0;  // major, minor, patch
inline constexpr std::uint32_t rails = 1;
inline constexpr std::uint32_t shunt_micro_ohm = 10'000;
// Voltage channel: 4.02k over 2.00k, so 3.135 V at the drive is 1.0415 V at the ADC, whose full scale is 1.2 V = 2^23 codes.
inline constexpr std::int32_t low_voltage_code = static_cast<std::int32_t>(3.135 * 2000 / 6020 / 1.2 * 8'388'608);
// Shunt amplifier: 1.25 V at 0 A; 4096 readings of the MCU's ADC are 3.0 V behind a divider of 2/5, so 7.5 V at the amplifier:
// 0 A to full scale then lies between two of the steps of RP2040-E11. Times 256.
inline constexpr std::int32_t peak_zero_reading = static_cast<std::int32_t>(1.25 / 7.5 * 4096 * 256);

}  // namespace wattrig::rp2040
