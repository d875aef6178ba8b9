#pragma once
// Finished frames on their way from the interrupt that builds them to the main loop that sends them. Whole frames in slots of
// equal size: the producer builds in place, nothing is copied, and a full ring drops whole blocks only.
//
// Thread rule: one producer (interrupt level), one consumer (main loop). Only loads and stores of 32 bit: a Cortex-M0+ has no
// atomic read-modify-write.

#include <array>
#include <atomic>
#include <cstddef>
#include <cstdint>
#include <span>

#include "firmware/protocol/frame.hpp"

namespace wattrig::firmware {

template <std::uint32_t slots>
class FrameRing {
    static_assert((slots & (slots - 1)) == 0, "counters wrap at 2^32 and are masked");

  public:
    static constexpr std::uint32_t capacity = slots - 1;  // one slot is always the one under construction

    // Producer: where the payload under construction goes, maximum_payload_bytes long, aligned to 8.
    [[nodiscard]] std::uint8_t* payload() {
        return slot(head_.load(std::memory_order_relaxed)).frame + sizeof(protocol::FrameHeader);
    }

    // Producer: hands the payload over and returns true; when the ring is full the frame is forgotten and the slot used again.
    bool commit(protocol::FrameType type, std::size_t payload_bytes) {
        const std::uint32_t head = head_.load(std::memory_order_relaxed);
        const std::uint32_t used = head - tail_.load(std::memory_order_acquire);
        if (used >= capacity) return false;
        Slot& here = slot(head);
        here.payload_bytes = static_cast<std::uint16_t>(payload_bytes);
        here.type = type;
        here.sealed = false;
        here.sequence = sequence_++;
        head_.store(head + 1, std::memory_order_release);
        if (used + 1 > high_water_) high_water_ = used + 1;
        return true;
    }
    [[nodiscard]] std::uint32_t high_water() const { return high_water_; }
    void clear_high_water() { high_water_ = 0; }

    // Consumer: the oldest frame, empty when there is none. Header and CRC are written here and not by the producer: 750 bytes
    // of CRC take a Cortex-M0+ longer than three samples, too long for an interrupt. Logically const: a frame is sealed once.
    [[nodiscard]] std::span<const std::uint8_t> front() const {
        const std::uint32_t tail = tail_.load(std::memory_order_relaxed);
        if (head_.load(std::memory_order_acquire) == tail) return {};
        Slot& oldest = slots_[tail & (slots - 1)];
        if (!oldest.sealed) {
            protocol::seal_frame(oldest.frame, oldest.type, oldest.payload_bytes, oldest.sequence);
            oldest.sealed = true;
        }
        return {oldest.frame, protocol::frame_bytes(oldest.payload_bytes)};
    }
    void pop() {
        const std::uint32_t tail = tail_.load(std::memory_order_relaxed);
        if (head_.load(std::memory_order_acquire) != tail) tail_.store(tail + 1, std::memory_order_release);
    }
    void drop_all() { tail_.store(head_.load(std::memory_order_acquire), std::memory_order_release); }

  private:
    struct Slot {
        alignas(8) std::uint8_t frame[(protocol::maximum_frame_bytes + 7) / 8 * 8];
        std::uint32_t sequence;
        std::uint16_t payload_bytes;
        protocol::FrameType type;
        bool sealed;
    };
    [[nodiscard]] Slot& slot(std::uint32_t count) { return slots_[count & (slots - 1)]; }

    mutable std::array<Slot, slots> slots_;
    std::atomic<std::uint32_t> head_{0};  // written by the producer
    std::atomic<std::uint32_t> tail_{0};  // written by the consumer
    std::uint32_t sequence_ = 0;
    std::uint32_t high_water_ = 0;
};

}  // namespace wattrig::firmware
