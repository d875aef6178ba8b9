#pragma once
// Bounded ring between exactly one producing and one consuming thread. A full ring drops and counts; it never waits.

#include <atomic>
#include <bit>
#include <cstddef>
#include <cstdint>
#include <vector>

namespace wattrig {

template <class T>
class SpscRing {
  public:
    explicit SpscRing(std::size_t capacity) : slots_(std::bit_ceil(capacity)), mask_(slots_.size() - 1) {}

    // Producer. False, and one more dropped, when the ring is full.
    bool push(const T& value) {
        const std::uint64_t tail = tail_.load(std::memory_order_relaxed);
        if (tail - cached_head_ > mask_) {
            cached_head_ = head_.load(std::memory_order_acquire);
            if (tail - cached_head_ > mask_) {
                dropped_.store(dropped_.load(std::memory_order_relaxed) + 1, std::memory_order_relaxed);
                return false;
            }
        }
        slots_[tail & mask_] = value;
        tail_.store(tail + 1, std::memory_order_release);
        return true;
    }
    // Consumer. False when there is nothing.
    bool pop(T& value) {
        const std::uint64_t head = head_.load(std::memory_order_relaxed);
        if (head == cached_tail_) {
            cached_tail_ = tail_.load(std::memory_order_acquire);
            if (head == cached_tail_) return false;
        }
        value = slots_[head & mask_];
        head_.store(head + 1, std::memory_order_release);
        return true;
    }
    [[nodiscard]] std::uint64_t dropped() const { return dropped_.load(std::memory_order_relaxed); }  // any thread

  private:
    std::vector<T> slots_;
    std::size_t mask_;
    alignas(64) std::atomic<std::uint64_t> head_{0};
    std::uint64_t cached_tail_ = 0;
    alignas(64) std::atomic<std::uint64_t> tail_{0};
    std::uint64_t cached_head_ = 0;
    std::atomic<std::uint64_t> dropped_{0};
};

}  // namespace wattrig
