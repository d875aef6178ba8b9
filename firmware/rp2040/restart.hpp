#pragma once
// Why did the rig start, what must survive that, and how it is started again: watchdog, fault record, the latch of the drive's
// power, the jump into the boot loader.
//
// Thread rule: main loop, except restart_after_fault.

#include <cstdint>

#include "firmware/drivers/usb_control.hpp"

namespace wattrig::rp2040::restart {

enum class Cause : std::uint32_t { power_on = 0, watchdog = 1, fault = 2, command = 3 };

// Once, first thing: reads and clears what the run before left. `program_counter` and so on are 0 unless it was a fault.
[[nodiscard]] firmware::usb::FaultRecord take_record();

void start_watchdog();
void feed_watchdog();
[[noreturn]] void restart(Cause cause);
// Never returns: USB mass storage boot loader of the mask ROM. All interrupts off, all peripherals idle.
[[noreturn]] void enter_boot_loader();

// The drive's power as last commanded. On after power-up; otherwise as it was, whatever stopped the MCU in between.
[[nodiscard]] bool drive_power();
void keep_drive_power(bool on);

// For a rig without EEPROM: a number that is another one after each start, and likely another one after each power-up.
[[nodiscard]] std::uint32_t next_start_number();

}  // namespace wattrig::rp2040::restart
