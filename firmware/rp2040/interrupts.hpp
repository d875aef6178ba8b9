#pragma once
// Who interrupts whom. The Cortex-M0+ has four levels:
//
//     0  DRDY and the end of its SPI transfer: 2 us of code, stamps and starts, never waits for anybody
//     1  meter: takes the captured frames through the core (CRC, sums, blocks, peaks)
//     2  USB
//     3  I2C, SysTick
//        main loop: CRC of frames, commands, storage, watchdog
//
// Levels talk downwards through mailboxes and by pending one of the interrupts that no peripheral is wired to (26..31).
//
// Thread rule: any.

#include <atomic>
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
    (scb + 0x20).write(3u << 30);  // SHPR3: SysTick
}

// Set by whoever has news for the main loop, cleared by it.
inline std::atomic<std::uint32_t> main_wanted{0};
inline void wake_main() { main_wanted.store(1, std::memory_order_relaxed); }
// Sleeps until then. Three interrupts a sample wake the processor and do not concern the main loop, so this is short. News that
// come between the look and the sleep wait for the next interrupt, the tick at the latest: 200 us.
inline void sleep_until_wanted() {
    while (main_wanted.load(std::memory_order_relaxed) == 0) asm volatile("wfi" ::: "memory");
}
inline void sleep_once() { asm volatile("wfi" ::: "memory"); }

// One core: what an interrupt must see before a flag needs to be kept in order by the compiler alone, a barrier of the
// processor would cost and do nothing.
template <class T>
[[nodiscard]] T read_flag(const std::atomic<T>& flag) {
    const T value = flag.load(std::memory_order_relaxed);
    std::atomic_signal_fence(std::memory_order_acquire);
    return value;
}
template <class T>
void write_flag(std::atomic<T>& flag, T value) {
    std::atomic_signal_fence(std::memory_order_release);
    flag.store(value, std::memory_order_relaxed);
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
