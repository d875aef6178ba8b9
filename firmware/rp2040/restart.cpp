#include "firmware/rp2040/restart.hpp"

#include "firmware/rp2040/registers.hpp"

namespace wattrig::rp2040::restart {
namespace {

constexpr Register watchdog_control = watchdog;
constexpr Register watchdog_load = watchdog + 0x04;
constexpr Register watchdog_reason = watchdog + 0x08;
// Scratch 0..3 are ours, the mask ROM uses 4..7.
constexpr Register scratch(std::uint32_t number) { return watchdog + (0x0c + 4 * number); }
constexpr std::uint32_t record_magic = 0x57465200;  // "WFR" and the cause in the lowest byte
constexpr std::uint32_t record_magic_mask = 0xffffff00;

// The counter steps by two each microsecond (RP2040-E1). The main loop feeds it each millisecond; the longest thing it waits
// for is an I2C transfer that hangs, 20 ms.
constexpr std::uint32_t watchdog_us = 500'000;
constexpr std::uint32_t watchdog_count = 2 * watchdog_us;

constexpr std::uint32_t kept_magic = 0x4b455054;
struct Kept {
    std::uint32_t magic;
    std::uint32_t drive_power;
    std::uint32_t drive_power_inverted;
    std::uint32_t starts;
};
[[gnu::section(".kept")]] Kept kept;

bool kept_valid() {
    return kept.magic == kept_magic && kept.drive_power <= 1 && kept.drive_power_inverted == ~kept.drive_power;
}

void reset_chip() {
    psm_watchdog_select.write(0x1fffc);  // everything but the oscillators
    watchdog_control.set(1u << 31);      // TRIGGER
    for (;;) {
    }
}

}  // namespace

firmware::usb::FaultRecord take_record() {
    firmware::usb::FaultRecord record{};
    const std::uint32_t mark = scratch(0).read();
    if ((mark & record_magic_mask) == record_magic) {
        record = {mark & ~record_magic_mask, scratch(1).read(), scratch(2).read(), scratch(3).read()};
    } else {
        record.cause = static_cast<std::uint32_t>((watchdog_reason.read() & 3) != 0 ? Cause::watchdog : Cause::power_on);
    }
    for (std::uint32_t number = 0; number < 4; ++number) scratch(number).write(0);
    return record;
}

void start_watchdog() {
    psm_watchdog_select.write(0x1fffc);
    watchdog_load.write(watchdog_count);
    watchdog_control.set(1u << 30);
}
void feed_watchdog() { watchdog_load.write(watchdog_count); }

void restart(Cause cause) {
    asm volatile("cpsid i" ::: "memory");
    scratch(0).write(record_magic | static_cast<std::uint32_t>(cause));
    for (std::uint32_t number = 1; number < 4; ++number) scratch(number).write(0);
    reset_chip();
    for (;;) {
    }
}

// A fault, or an interrupt that nothing of ours asked for: where it was is what the processor stacked.
extern "C" [[gnu::used]] void restart_after_fault(const std::uint32_t* stacked) {
    std::uint32_t status;
    asm volatile("mrs %0, ipsr" : "=r"(status));
    scratch(0).write(record_magic | static_cast<std::uint32_t>(Cause::fault));
    // A stack pointer that points nowhere would fault again, and lock up until the watchdog bites.
    const auto address = reinterpret_cast<std::uint32_t>(stacked);
    const bool readable = address >= 0x20000000 && address <= 0x20042000 - 32 && address % 4 == 0;
    scratch(1).write(readable ? stacked[6] : 0);
    scratch(2).write(readable ? stacked[5] : 0);
    scratch(3).write(status);
    reset_chip();
}
extern "C" [[gnu::naked]] void fault_handler() {
    asm volatile(
        "cpsid i\n"
        "mrs r0, msp\n"
        "ldr r1, =restart_after_fault\n"
        "bx r1\n"
        ".ltorg\n");
}
extern "C" [[gnu::naked]] void unexpected_handler() {
    asm volatile(
        "cpsid i\n"
        "mrs r0, msp\n"
        "ldr r1, =restart_after_fault\n"
        "bx r1\n"
        ".ltorg\n");
}

void enter_boot_loader() {
    asm volatile("cpsid i" ::: "memory");
    (systick + 0).write(0);
    (nvic + 0x80).write(0xffffffff);
    watchdog_control.clear(1u << 30);
    // Datasheet 2.8.3: half-word pointers at 14h (table of functions) and 18h (the look-up); a code is two letters.
    const auto at = [](std::uint32_t address) {
        asm("" : "+r"(address));  // the compiler takes addresses near 0 for null pointers
        return Register{address}.read() & 0xffff;
    };
    using LookUp = void* (*)(std::uint16_t* table, std::uint32_t code);
    using Boot = void (*)(std::uint32_t activity_pins, std::uint32_t disabled_interfaces);
    const auto look_up = reinterpret_cast<LookUp>(at(0x18));
    const auto table = reinterpret_cast<std::uint16_t*>(at(0x14));
    const auto boot = reinterpret_cast<Boot>(look_up(table, 'U' | 'B' << 8));
    boot(1u << 25, 0);
    for (;;) {
    }
}

bool drive_power() { return !kept_valid() || kept.drive_power == 1; }
void keep_drive_power(bool on) {
    kept.magic = kept_magic;
    kept.drive_power = on ? 1 : 0;
    kept.drive_power_inverted = ~kept.drive_power;
}
std::uint32_t next_start_number() { return ++kept.starts; }

}  // namespace wattrig::rp2040::restart
