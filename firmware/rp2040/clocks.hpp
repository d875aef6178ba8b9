#pragma once
// Everything from the 12 MHz crystal: 125 MHz for processor and SPI, 48 MHz for USB and ADC, 125/15 MHz for the ADS131M04 on
// GP21, and the 1 MHz tick of TIMER and watchdog.
//
// Thread rule: once, from main, before anything else.

namespace wattrig::rp2040 {

void start_clocks();

}  // namespace wattrig::rp2040
