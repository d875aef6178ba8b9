#pragma once
// DMA channels: who has which, and the fields of their control word (datasheet 2.5.7).
//
// Thread rule: each channel belongs to one peripheral's code.

#include <cstdint>

#include "firmware/rp2040/registers.hpp"

namespace wattrig::rp2040::dma_channel {

inline constexpr std::uint32_t peak_first = 0;  // the MCU's ADC: two that take turns
inline constexpr std::uint32_t peak_second = 1;
inline constexpr std::uint32_t spi_receive = 2;
inline constexpr std::uint32_t spi_send = 3;

constexpr Register read_address(std::uint32_t channel) { return dma + channel * 0x40; }
constexpr Register write_address(std::uint32_t channel) { return dma + (channel * 0x40 + 0x04); }
constexpr Register count(std::uint32_t channel) { return dma + (channel * 0x40 + 0x08); }
constexpr Register control_and_start(std::uint32_t channel) { return dma + (channel * 0x40 + 0x0c); }
constexpr Register control(std::uint32_t channel) { return dma + (channel * 0x40 + 0x10); }
inline constexpr Register interrupt_enable0 = dma + 0x404;
inline constexpr Register interrupt_status0 = dma + 0x40c;
inline constexpr Register start_many = dma + 0x430;

inline constexpr std::uint32_t enable = 1u << 0;
inline constexpr std::uint32_t high_priority = 1u << 1;
inline constexpr std::uint32_t size_byte = 0u << 2;
inline constexpr std::uint32_t size_half = 1u << 2;
inline constexpr std::uint32_t increment_read = 1u << 4;
inline constexpr std::uint32_t increment_write = 1u << 5;
constexpr std::uint32_t write_ring(std::uint32_t address_bits) { return address_bits << 6 | 1u << 10; }
constexpr std::uint32_t chain_to(std::uint32_t channel) { return channel << 11; }  // itself: no chain
constexpr std::uint32_t request(std::uint32_t number) { return number << 15; }
inline constexpr std::uint32_t quiet = 1u << 21;
inline constexpr std::uint32_t busy = 1u << 24;

inline constexpr std::uint32_t request_spi0_send = 16;
inline constexpr std::uint32_t request_spi0_receive = 17;
inline constexpr std::uint32_t request_adc = 36;

// Channels by the pointer that DMA hardware sees.
inline std::uint32_t bus_address(const void* pointer) { return reinterpret_cast<std::uint32_t>(pointer); }

}  // namespace wattrig::rp2040::dma_channel
