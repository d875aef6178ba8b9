#pragma once
// INA228: the slow, accurate reading of the shunt. Datasheet SLYS021A. Register numbers, settings and conversions; the I2C
// transfers are the board's.
//
// Thread rule: pure data and functions, any.

#include <array>
#include <cstdint>

namespace wattrig::firmware::ina228 {

inline constexpr std::uint8_t i2c_address = 0x40;
enum Register : std::uint8_t {
    config = 0x00,
    adc_config = 0x01,
    shunt_voltage = 0x04,    // 24 bit: 20-bit code in the upper ones
    die_temperature = 0x06,  // 16 bit, 7.8125 mdegC
    diagnostics = 0x0b,      // reading it releases ALERT
    manufacturer = 0x3e,
    device = 0x3f,
};
inline constexpr std::uint16_t manufacturer_id = 0x5449;  // "TI"
inline constexpr std::uint16_t device_id = 0x228;         // in the upper 12 bits

// A register write as it goes over the wire.
using Write = std::array<std::uint8_t, 3>;
inline constexpr std::array<Write, 3> settings = {{
    {config, 0x00, 0x10},       // ADCRANGE: +-40.96 mV, 78.125 nV a code
    {adc_config, 0xe1, 0xc0},   // shunt and temperature, continuous; shunt 4.12 ms, temperature 50 us, no averaging
    {diagnostics, 0x40, 0x00},  // CNVR: ALERT when a conversion has ended, low
}};

[[nodiscard]] constexpr std::int32_t shunt_code(const std::uint8_t* bytes) {
    const std::uint32_t bits = std::uint32_t{bytes[0]} << 24 | std::uint32_t{bytes[1]} << 16 | std::uint32_t{bytes[2]} << 8;
    return static_cast<std::int32_t>(bits) >> 12;
}
// 0.01 degC.
[[nodiscard]] constexpr std::int16_t temperature(const std::uint8_t* bytes) {
    const auto raw = static_cast<std::int16_t>(bytes[0] << 8 | bytes[1]);
    return static_cast<std::int16_t>(raw * 25 / 32);
}
static_assert(shunt_code(std::array<std::uint8_t, 3>{0xff, 0xff, 0xf0}.data()) == -1);
static_assert(temperature(std::array<std::uint8_t, 2>{0x0c, 0x80}.data()) == 2500);

}  // namespace wattrig::firmware::ina228
