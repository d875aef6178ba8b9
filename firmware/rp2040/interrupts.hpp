#pragma once
// Who interrupts whom. The Cortex-M0+ has four levels:
//
//     0  DRDY and the end of its SPI transfer: 2 us of code, stamps and starts, never waits for anybody
//     1  meter: takes the captured frames through the core (CRC, sums, blocks, peaks)
//     2  USB
//     3  I2C
//        main loop: CRC of frames, commands, storage, watchdog
//
// Levels talk downwards through mailboxes and by pending one of the interrupts that no peripheral is wired to (26..31).
//
// Thread rule: any.

#include <cstdint>

#include "firmware/rp2040/registers.hpp"

namespace wattrig::rp2040 {

enum class Interrupt : std::uint32_t {
    usb = 5,
    dma0 = 11,
    gpio = 13,
    i2c = 23,
    meter = 26,  // pended by software, as are the next two
    i2c_kick = 27,
    usb_kick = 28,
};

namespace interrupts {

inline void pend(Interrupt interrupt) { (nvic + 0x100).write(1u << static_cast<std::uint32_t>(interrupt)); }
inline void enable(Interrupt interrupt) { (nvic + 0x00).write(1u << static_cast<std::uint32_t>(interrupt)); }
inline void disable(Interrupt interrupt) {
    (nvic + 0x80).write(1u << static_cast<std::uint32_t>(interrupt));
    asm volatile("dsb\n isb" ::: "memory");  // so that it cannot begin after this line
}
inline void set_priority(Interrupt interrupt, std::uint32_t level) {
    const auto number = static_cast<std::uint32_t>(interrupt);
    const Register priority = nvic + (0x300 + number / 4 * 4);  // word access only
    const std::uint32_t shift = number % 4 * 8;
    priority.write((priority.read() & ~(0xffu << shift)) | level << 6 << shift);
}
// Levels as above; every interrupt is still disabled.
inline void set_priorities() {
    set_priority(Interrupt::gpio, 0);
    set_priority(Interrupt::dma0, 0);
    set_priority(Interrupt::meter, 1);
    set_priority(Interrupt::usb, 2);
    set_priority(Interrupt::usb_kick, 2);
    set_priority(Interrupt::i2c, 3);
    set_priority(Interrupt::i2c_kick, 3);
}

// Sleeps until an interrupt is pending, unless `ready` is true; returns which of the two. What makes it true cannot slip in
// between. Interrupts are off for some 20 cycles; those that come run on return.
template <class Ready>
[[nodiscard]] bool sleep_unless(Ready ready) {
    asm volatile("cpsid i" ::: "memory");
    const bool is_ready = ready();
    if (!is_ready) asm volatile("wfi" ::: "memory");
    asm volatile("cpsie i" ::: "memory");
    return is_ready;
}

}  // namespace interrupts

// What the vector table names; each is defined beside its peripheral or in firmware/app.
extern "C" {
void reset_handler();
void fault_handler();
void unexpected_handler();
void systick_handler();
void usb_handler();
void usb_kick_handler();
void dma0_handler();
void gpio_handler();
void i2c_handler();
void i2c_kick_handler();
void meter_handler();
}

}  // namespace wattrig::rp2040
