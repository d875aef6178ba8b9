#pragma once
// What the rig tells a USB host about itself. Vendor class, one interface, three bulk endpoints; Windows binds WinUSB by itself
// through the Microsoft OS 2.0 descriptors, Linux needs the udev rule for permission alone.
//
// Thread rule: constants.

#include <array>
#include <cstddef>
#include <cstdint>
#include <span>

#include "firmware/protocol/usb.hpp"

namespace wattrig::firmware::usb {

using namespace protocol::usb;
inline constexpr std::uint16_t device_version = 0x0100;  // BCD, of the firmware

// Vendor requests, device to host.
inline constexpr std::uint8_t request_microsoft = 0x20;     // wIndex 7: the OS 2.0 descriptor set
inline constexpr std::uint8_t request_fault_record = 0x21;  // FaultRecord of the reset before this run

enum StringIndex : std::uint8_t { string_languages = 0, string_manufacturer = 1, string_product = 2, string_serial = 3 };

[[nodiscard]] std::span<const std::uint8_t> device_descriptor();
[[nodiscard]] std::span<const std::uint8_t> configuration_descriptor();
[[nodiscard]] std::span<const std::uint8_t> bos_descriptor();
[[nodiscard]] std::span<const std::uint8_t> microsoft_descriptor_set();

// A string descriptor of ASCII text; `out` is 2 bytes + 2 a character, at most 126 characters. Returns its size.
std::size_t make_string_descriptor(std::span<const char> text, std::span<std::uint8_t> out);

}  // namespace wattrig::firmware::usb
