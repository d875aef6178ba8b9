#include "firmware/rp2040/clocks.hpp"

#include "firmware/rp2040/board.hpp"
#include "firmware/rp2040/gpio.hpp"
#include "firmware/rp2040/registers.hpp"

namespace wattrig::rp2040 {
namespace {

// Datasheet 2.18.2: power up the oscillator, wait for lock, then the post dividers.
void start_pll(Register pll, std::uint32_t multiplier, std::uint32_t divider1, std::uint32_t divider2) {
    pll.write(1);  // CS: reference divider 1
    (pll + 8).write(multiplier);
    (pll + 4).clear(1u << 0 | 1u << 5);  // PWR: PD, VCOPD
    while ((pll.read() >> 31) == 0) {
    }
    (pll + 12).write(divider1 << 16 | divider2 << 12);
    (pll + 4).clear(1u << 3);  // PWR: POSTDIVPD
}

// Registers of a clock generator: CTRL, DIV, SELECTED.
constexpr Register clk_gpout0 = clocks + 0x00;
constexpr Register clk_ref = clocks + 0x30;
constexpr Register clk_sys = clocks + 0x3c;
constexpr Register clk_peri = clocks + 0x48;
constexpr Register clk_usb = clocks + 0x54;
constexpr Register clk_adc = clocks + 0x60;
constexpr std::uint32_t enable = 1u << 11;

}  // namespace

void start_clocks() {
    (xosc + 0x0c).write(47);  // start-up delay: 47 x 256 cycles of 12 MHz = 1 ms
    xosc.write(0xaa0);        // 1..15 MHz
    xosc.set(0xfab << 12);
    while (((xosc + 4).read() >> 31) == 0) {
    }

    // Off the PLLs while they change: a watchdog reset finds them running.
    clk_sys.clear(1);
    while ((clk_sys + 8).read() != 1) {
    }
    clk_ref.clear(3);
    while ((clk_ref + 8).read() != 1) {
    }
    cycle_reset(reset_pll_sys | reset_pll_usb);
    start_pll(pll_sys, 125, 6, 2);  // 12 x 125 = 1500 MHz / 12 = 125 MHz
    start_pll(pll_usb, 100, 5, 5);  // 1200 MHz / 25 = 48 MHz
    clk_ref.write(2);               // crystal
    while ((clk_ref + 8).read() != 4) {
    }
    clk_sys.write(0);  // auxiliary source: PLL of the system; then switch to it without a glitch
    clk_sys.write(1);
    while ((clk_sys + 8).read() != 2) {
    }
    clk_peri.write(enable);                 // from clk_sys
    clk_usb.write(enable);                  // from the USB PLL
    clk_adc.write(enable);                  // likewise
    (watchdog + 0x2c).write(12 | 1u << 9);  // TICK: 1 MHz from 12 MHz

    cycle_reset(reset_io_bank0 | reset_pads_bank0 | reset_timer | reset_dma | reset_spi0 | reset_i2c0 | reset_adc);

    // 15 is odd, so the duty cycle corrector makes high and low equal: 60 ns each, the ADC needs 49.
    (clk_gpout0 + 4).write(15u << 8);
    clk_gpout0.write(enable | 1u << 12 | 6u << 5);  // DC50, from clk_sys
    gpio::use(pin::adc_clock, gpio::Function::clock);
}

}  // namespace wattrig::rp2040
