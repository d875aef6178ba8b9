#pragma once
// I2C at 400 kHz, by interrupts. Two parties queue up: the slow path, which goes first, and the main loop. Nobody waits inside
// an interrupt; a bus that hangs is noticed and freed by the main loop.
//
// Thread rule: as noted beside each.

#include <atomic>
#include <cstdint>

namespace wattrig::rp2040::i2c_bus {

enum class State : std::uint32_t { idle, queued, running, done, failed };

// Writes, then, after a repeated start, reads; one of the two may be empty, not both. The owner fills it in while `state` is
// neither queued nor running.
struct Transfer {
    std::uint8_t address = 0;
    std::uint8_t write_bytes = 0;
    std::uint8_t read_bytes = 0;
    const std::uint8_t* write = nullptr;
    std::uint8_t* read = nullptr;
    std::atomic<State> state{State::idle};
};

enum class Party : std::uint8_t { slow = 0, main = 1 };

// `on_slow_end`: called at the I2C interrupt's level when a transfer of the slow path has ended; it may submit the next.
void start(void (*on_slow_end)());
// Each party at most one at a time. The slow path from the I2C level, the main loop from itself.
void submit(Party party, Transfer& transfer);
// Main loop, at least each millisecond: true when a transfer hung for 20 ms, was failed and the bus freed.
bool poll();

}  // namespace wattrig::rp2040::i2c_bus
