#pragma once
// The 64-bit number that every serial flash of this kind is made with: tells rigs apart whose EEPROM holds no serial number
// yet.
//
// Thread rule: main loop, once at start. The image runs from SRAM, so nobody misses the flash meanwhile, or after.

#include <array>

namespace wattrig::rp2040 {

// As 16 hexadecimal digits; false when the flash gives none (all bytes the same).
[[nodiscard]] bool flash_id(std::array<char, 16>& digits);

}  // namespace wattrig::rp2040
