#pragma once
// The one place where memory is volatile: a register of the RP2040. Every peripheral register has aliases that set or clear
// bits in one store (datasheet 2.1.2), so no read-modify-write needs a lock.
//
// Thread rule: any.

#include <cstdint>

namespace wattrig::rp2040 {

class Register {
  public:
    constexpr explicit Register(std::uint32_t address) : address_(address) {}
    [[nodiscard]] std::uint32_t read() const { return *at(address_); }
    void write(std::uint32_t value) const { *at(address_) = value; }
    void set(std::uint32_t bits) const { *at(address_ + 0x2000) = bits; }    // not for SIO and the processor's own registers
    void clear(std::uint32_t bits) const { *at(address_ + 0x3000) = bits; }  // likewise
    [[nodiscard]] constexpr Register operator+(std::uint32_t offset) const { return Register{address_ + offset}; }
    [[nodiscard]] constexpr std::uint32_t address() const { return address_; }

  private:
    static volatile std::uint32_t* at(std::uint32_t address) { return reinterpret_cast<volatile std::uint32_t*>(address); }
    std::uint32_t address_;
};

inline constexpr Register ssi{0x18000000};
inline constexpr Register sysinfo_chip_id{0x40000000};
inline constexpr Register clocks{0x40008000};
inline constexpr Register resets{0x4000c000};
inline constexpr Register psm_watchdog_select{0x40010008};
inline constexpr Register io_bank0{0x40014000};
inline constexpr Register pads_bank0{0x4001c000};
inline constexpr Register xosc{0x40024000};
inline constexpr Register pll_sys{0x40028000};
inline constexpr Register pll_usb{0x4002c000};
inline constexpr Register spi0{0x4003c000};
inline constexpr Register i2c0{0x40044000};
inline constexpr Register adc{0x4004c000};
inline constexpr Register timer{0x40054000};
inline constexpr Register watchdog{0x40058000};
inline constexpr Register dma{0x50000000};
inline constexpr Register usb_memory{0x50100000};
inline constexpr Register usb_registers{0x50110000};
inline constexpr Register sio{0xd0000000};
inline constexpr Register systick{0xe000e010};
inline constexpr Register nvic{0xe000e100};
inline constexpr Register scb{0xe000ed00};

// Bits of RESETS, datasheet 2.14.3.
enum ResetBit : std::uint32_t {
    reset_adc = 1u << 0,
    reset_dma = 1u << 2,
    reset_i2c0 = 1u << 3,
    reset_io_bank0 = 1u << 5,
    reset_pads_bank0 = 1u << 8,
    reset_pll_sys = 1u << 12,
    reset_pll_usb = 1u << 13,
    reset_spi0 = 1u << 16,
    reset_timer = 1u << 21,
    reset_usb = 1u << 24,
};
// Puts blocks into reset and takes them out again.
inline void cycle_reset(std::uint32_t bits) {
    resets.set(bits);
    resets.clear(bits);
    while (((resets + 8).read() & bits) != bits) {
    }
}

}  // namespace wattrig::rp2040
