#pragma once
// Pins: who drives them, and their levels through SIO.
//
// Thread rule: set-up in the main loop; levels anywhere, each store changes only its own bits.

#include <cstdint>

#include "firmware/rp2040/registers.hpp"

namespace wattrig::rp2040::gpio {

enum class Function : std::uint32_t { spi = 1, i2c = 3, sio = 5, clock = 8, none = 31 };
enum class Pull : std::uint32_t { none = 0, down = 1u << 2, up = 1u << 3 };

// Input buffer on, 4 mA, Schmitt trigger.
inline void use(std::uint32_t pin, Function function, Pull pull = Pull::none) {
    (pads_bank0 + (4 + pin * 4)).write(1u << 6 | 1u << 4 | 1u << 1 | static_cast<std::uint32_t>(pull));
    (io_bank0 + (pin * 8 + 4)).write(static_cast<std::uint32_t>(function));
}
// For the ADC: no buffer, no pull, nothing drives it.
inline void use_analog(std::uint32_t pin) {
    (pads_bank0 + (4 + pin * 4)).write(1u << 7);
    (io_bank0 + (pin * 8 + 4)).write(static_cast<std::uint32_t>(Function::none));
}

[[nodiscard]] inline std::uint32_t inputs() { return (sio + 0x04).read(); }
[[nodiscard]] inline std::uint32_t outputs() { return (sio + 0x10).read(); }
inline void set(std::uint32_t pin) { (sio + 0x14).write(1u << pin); }
inline void clear(std::uint32_t pin) { (sio + 0x18).write(1u << pin); }
inline void put(std::uint32_t pin, bool level) { level ? set(pin) : clear(pin); }
inline void drive(std::uint32_t pin) { (sio + 0x24).write(1u << pin); }
inline void release(std::uint32_t pin) { (sio + 0x28).write(1u << pin); }

// The level is set before the pin is driven, so it never shows the wrong one.
inline void use_output(std::uint32_t pin, bool level) {
    put(pin, level);
    drive(pin);
    use(pin, Function::sio);
}
inline void use_input(std::uint32_t pin, Pull pull = Pull::none) {
    release(pin);
    use(pin, Function::sio, pull);
}

// Falling-edge interrupts of processor 0: four bits a pin, eight pins a register; bit 2 is the falling edge.
inline constexpr std::uint32_t edge_bit(std::uint32_t pin) { return 4u << (pin % 8 * 4); }
inline void acknowledge_edge(std::uint32_t pin) { (io_bank0 + (0xf0 + pin / 8 * 4)).write(edge_bit(pin)); }
[[nodiscard]] inline bool edge_seen(std::uint32_t pin) {
    return ((io_bank0 + (0x120 + pin / 8 * 4)).read() & edge_bit(pin)) != 0;
}
inline void enable_edge(std::uint32_t pin) {
    acknowledge_edge(pin);
    (io_bank0 + (0x100 + pin / 8 * 4)).set(edge_bit(pin));
}
inline void disable_edge(std::uint32_t pin) { (io_bank0 + (0x100 + pin / 8 * 4)).clear(edge_bit(pin)); }

}  // namespace wattrig::rp2040::gpio
