#pragma once
// How rig and host find each other on USB, and which endpoint carries which pipe (PROTOCOL.md, section 1).

#include <cstdint>

namespace wattrig::protocol::usb {

// pid.codes' number for tests: not for distribution. A product needs a number of its own. host/rig/70-wattrig.rules has it,
// too.
inline constexpr std::uint16_t vendor_id = 0x1209;
inline constexpr std::uint16_t product_id = 0x0001;

inline constexpr std::uint8_t endpoint_samples_in = 0x81;
inline constexpr std::uint8_t endpoint_commands_out = 0x02;
inline constexpr std::uint8_t endpoint_replies_in = 0x82;
inline constexpr std::uint32_t packet_bytes = 64;

}  // namespace wattrig::protocol::usb
