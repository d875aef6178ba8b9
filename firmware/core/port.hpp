#pragma once
// What the core asks of the board around it. Plain function pointers: no virtual table in RAM, and a board or a test that lacks
// a part leaves its pointer null; the command then answers `not_available`.
//
// Thread rule: all are called from the main loop, mask_interrupts also from nowhere else.

#include <cstdint>
#include <span>

#include "firmware/protocol/protocol.hpp"

namespace wattrig::firmware {

struct Port {
    void* context = nullptr;  // handed to every function

    // Keeps the interrupt side of the meter out and returns what restore_interrupts needs. Null where all runs in one thread.
    std::uint32_t (*mask_interrupts)(void* context) = nullptr;
    void (*restore_interrupts)(void* context, std::uint32_t state) = nullptr;
    std::uint32_t (*longest_masked_ticks)(void* context) = nullptr;  // since boot

    protocol::Status (*self_test)(void* context, protocol::SelfTestReport& report) = nullptr;  // not while streaming
    protocol::Status (*set_drive_power)(void* context, bool on) = nullptr;
    protocol::Status (*set_sync_out)(void* context, bool level) = nullptr;
    // Leaves the bus once the replies that are pending have been sent.
    protocol::Status (*enter_bootloader)(void* context) = nullptr;

    // The EEPROM, by byte address. A write stays within one page of storage_page_bytes and returns when the bus transfer is
    // done; storage_ready tells when the part answers again (a page takes up to 5 ms; polled, so that nothing ever waits for
    // it).
    bool (*storage_read)(void* context, std::uint32_t address, std::span<std::uint8_t> bytes) = nullptr;
    protocol::Status (*storage_write)(void* context, std::uint32_t address, std::span<const std::uint8_t> bytes) = nullptr;
    bool (*storage_ready)(void* context) = nullptr;
};

inline constexpr std::uint32_t storage_page_bytes = 32;  // the smallest page among parts of 8 KiB and more

// Keeps interrupts masked for its lifetime. Short pieces only: what it covers is what `longest_masked_ticks` reports.
class InterruptGuard {
  public:
    explicit InterruptGuard(const Port& port) : port_(port) {
        if (port_.mask_interrupts != nullptr) state_ = port_.mask_interrupts(port_.context);
    }
    ~InterruptGuard() {
        if (port_.restore_interrupts != nullptr) port_.restore_interrupts(port_.context, state_);
    }
    InterruptGuard(const InterruptGuard&) = delete;
    InterruptGuard& operator=(const InterruptGuard&) = delete;

  private:
    const Port& port_;
    std::uint32_t state_ = 0;
};

}  // namespace wattrig::firmware
