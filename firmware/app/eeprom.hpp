#pragma once
// The EEPROM (24LC256 or its kin: two address bytes, pages of 32 bytes or more, silent for 5 ms after a write) behind the
// core's storage port, and what the rig itself keeps there.
//
//     0x0000  storage slot 0      protocol::storage_slot_bytes each
//     0x1000  storage slot 1
//     0x2000  boot counter, copy A: count, ~count; in a page of its own
//     0x2040  boot counter, copy B
//
// Waiting for a transfer, the main loop goes on with what must not wait: `while_waiting` is called again and again.
//
// Thread rule: main loop only.

#include <array>
#include <cstdint>
#include <span>

#include "firmware/protocol/protocol.hpp"

namespace wattrig::firmware::eeprom {

void start(void (*while_waiting)());

[[nodiscard]] bool read(std::uint32_t address, std::span<std::uint8_t> bytes);
[[nodiscard]] protocol::Status write(std::uint32_t address, std::span<const std::uint8_t> bytes);  // within one page of 32
[[nodiscard]] bool ready();

// Of the newest slot header; false when there is none.
[[nodiscard]] bool stored_serial(std::array<char, 16>& serial);
// Counts this start; false without a working EEPROM.
[[nodiscard]] bool count_boot(std::uint32_t& boot_id);

}  // namespace wattrig::firmware::eeprom
