#pragma once
// The 1 MHz TIMER: the rig's clock.
//
// Thread rule: any.

#include <cstdint>

#include "firmware/rp2040/registers.hpp"

namespace wattrig::rp2040 {

// Since boot. Through the raw registers, as the latching pair is shared by all who read it; twice, for the carry.
[[nodiscard]] inline std::uint64_t timer_us() {
    std::uint32_t high = (timer + 0x24).read();
    for (;;) {
        const std::uint32_t low = (timer + 0x28).read();
        const std::uint32_t again = (timer + 0x24).read();
        if (again == high) return std::uint64_t{high} << 32 | low;
        high = again;
    }
}
// For short differences.
[[nodiscard]] inline std::uint32_t timer_low_us() { return (timer + 0x28).read(); }

// Since a stamp that an interrupt may renew at any moment: 0 when it is newer than now, not 71 minutes.
[[nodiscard]] inline std::uint32_t elapsed_us(std::uint32_t now, std::uint32_t stamp) {
    const auto difference = static_cast<std::int32_t>(now - stamp);
    return difference < 0 ? 0 : static_cast<std::uint32_t>(difference);
}

inline void wait_us(std::uint32_t duration) {
    const std::uint32_t begin = timer_low_us();
    while (timer_low_us() - begin <= duration) {
    }
}

}  // namespace wattrig::rp2040
