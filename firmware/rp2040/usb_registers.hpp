#pragma once
// Registers and memory of the USB controller in device mode (datasheet 4.1.3, 4.1.2.5).
//
// Thread rule: constants; usb_device alone includes them.

#include <cstdint>

#include "firmware/rp2040/registers.hpp"

namespace wattrig::rp2040::usb_device {

inline constexpr Register usb_address = usb_registers + 0x00;
inline constexpr Register usb_main_control = usb_registers + 0x40;
inline constexpr Register usb_frame_number = usb_registers + 0x48;
inline constexpr Register usb_sie_control = usb_registers + 0x4c;
inline constexpr Register usb_sie_status = usb_registers + 0x50;
inline constexpr Register usb_buffer_status = usb_registers + 0x58;
inline constexpr Register usb_stall_arm = usb_registers + 0x68;
inline constexpr Register usb_muxing = usb_registers + 0x74;
inline constexpr Register usb_power = usb_registers + 0x78;
inline constexpr Register usb_interrupt_enable = usb_registers + 0x90;
inline constexpr Register usb_interrupt_status = usb_registers + 0x98;

inline constexpr std::uint32_t sie_endpoint0_interrupt = 1u << 29;
inline constexpr std::uint32_t sie_pull_up = 1u << 16;
// SIE_STATUS, write 1 to clear.
inline constexpr std::uint32_t sie_suspended = 1u << 4;
inline constexpr std::uint32_t sie_resume = 1u << 11;
inline constexpr std::uint32_t sie_setup = 1u << 17;
inline constexpr std::uint32_t sie_bus_reset = 1u << 19;
inline constexpr std::uint32_t sie_sequence_error = 1u << 31;

inline constexpr std::uint32_t interrupt_buffer = 1u << 4;
inline constexpr std::uint32_t interrupt_sequence_error = 1u << 5;
inline constexpr std::uint32_t interrupt_bus_reset = 1u << 12;
inline constexpr std::uint32_t interrupt_suspend = 1u << 14;
inline constexpr std::uint32_t interrupt_resume = 1u << 15;
inline constexpr std::uint32_t interrupt_setup = 1u << 16;
inline constexpr std::uint32_t interrupt_frame = 1u << 17;

// Endpoint control, buffer control.
constexpr Register endpoint_in(std::uint32_t endpoint) { return usb_memory + (0x08 + 8 * (endpoint - 1)); }
constexpr Register endpoint_out(std::uint32_t endpoint) { return usb_memory + (0x0c + 8 * (endpoint - 1)); }
constexpr Register buffer_in(std::uint32_t endpoint) { return usb_memory + (0x80 + 8 * endpoint); }
constexpr Register buffer_out(std::uint32_t endpoint) { return usb_memory + (0x84 + 8 * endpoint); }
inline constexpr std::uint32_t endpoint_enable = 1u << 31;
inline constexpr std::uint32_t endpoint_interrupt = 1u << 29;
inline constexpr std::uint32_t endpoint_bulk = 2u << 26;
inline constexpr std::uint32_t buffer_length = 0x3ff;
inline constexpr std::uint32_t buffer_available = 1u << 10;
inline constexpr std::uint32_t buffer_stall = 1u << 11;
inline constexpr std::uint32_t buffer_data1 = 1u << 13;
inline constexpr std::uint32_t buffer_full = 1u << 15;

// The controller's 4 KiB, by offset: control words up to 0x100, then a packet for each endpoint. One buffer an endpoint: a
// block is 13 packets in 2304 us, so there are 177 us to copy the next one.
inline constexpr std::uint32_t memory_zero = 0x100;
inline constexpr std::uint32_t memory_samples = 0x180;
inline constexpr std::uint32_t memory_commands = 0x1c0;
inline constexpr std::uint32_t memory_replies = 0x200;

}  // namespace wattrig::rp2040::usb_device
