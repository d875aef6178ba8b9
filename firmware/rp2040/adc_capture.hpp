#pragma once
// From DRDY to a frame in memory. At each falling edge the time, the side-band pins and the peak ring's position are noted and
// the 18 bytes are fetched by DMA; when they are in, the meter's interrupt is pended. Nothing is decoded here.
//
// The ADC's FIFO holds two conversions. After a missed one it would for ever answer one late, so after any gap two frames are
// fetched back to back and thrown away, and the capture that follows from it says so.
//
// Thread rule: level 0 writes, the meter's level reads (single producer, single consumer); start, stop and transfer belong to
// the main loop.

#include <array>
#include <cstdint>

#include "firmware/drivers/ads131m04.hpp"

namespace wattrig::rp2040::adc_capture {

struct Capture {
    std::uint64_t timer_us;              // at DRDY
    std::array<std::uint8_t, 20> frame;  // 18 bytes, and 2 to keep what follows aligned
    std::uint16_t peak_position;         // at DRDY
    std::uint8_t sideband;               // at DRDY
    bool discarded;                      // both frames of a resynchronisation, or a sample that had not settled yet
};

void set_up();  // pins, SPI, DMA; nothing runs yet
// From now on edges are served. The first `discard` samples are marked so.
void start(std::uint32_t discard);
void stop();  // returns when no transfer is under way
// One frame by hand, while stopped.
void transfer(const firmware::ads131m04::Frame& out, firmware::ads131m04::Frame& in);

// Meter's level: the oldest capture, null when there is none; valid until pop.
[[nodiscard]] const Capture* front();
void pop();
// Meter's level: what came cannot be right (stale data); fetch two frames at the next edge.
void request_resynchronisation();

// Any level.
[[nodiscard]] std::uint32_t last_edge_us();     // TIMER's low word
[[nodiscard]] std::uint32_t longest_read_us();  // DRDY to read complete, since boot, without resynchronisations
[[nodiscard]] std::uint32_t missed_edges();     // since boot: edges that came while a frame was still being read

void on_edge();  // level 0, from gpio_handler

}  // namespace wattrig::rp2040::adc_capture
