#pragma once
// A received block or summary, checked and ready to use. Views into the frame's bytes: valid as long as those are.

#include <array>
#include <cstddef>
#include <cstdint>
#include <span>

#include "firmware/protocol/protocol.hpp"
#include "host/base/clock.hpp"
#include "host/base/result.hpp"

namespace wattrig::rig {

struct BlockView {
    protocol::BlockHeader header;
    std::array<protocol::RailPart, protocol::maximum_rails> rails;
    protocol::SlowSums slow;
    protocol::PeakSummary peak;
    // Codes, 3 bytes each, header.count of them per rail; empty in a summary.
    std::array<const std::uint8_t*, protocol::maximum_rails> v_codes{}, i_codes{};
    const std::uint8_t* sideband = nullptr;

    [[nodiscard]] bool has_codes() const { return header.detail == 0 && header.count > 0; }
    [[nodiscard]] std::int32_t v_code(std::size_t rail, std::size_t k) const { return code(v_codes[rail] + 3 * k); }
    [[nodiscard]] std::int32_t i_code(std::size_t rail, std::size_t k) const { return code(i_codes[rail] + 3 * k); }
    // Cell of sample k on the device clock: [time(k) - 15.36 us, time(k) + 15.36 us).
    [[nodiscard]] DeviceTime begin() const {
        return DeviceTime(Ticks(static_cast<std::int64_t>(header.first_time) - protocol::ticks_per_sample / 2));
    }
    [[nodiscard]] DeviceTime end() const {
        return begin() + Ticks(static_cast<std::int64_t>(header.span) * protocol::ticks_per_sample);
    }

  private:
    static std::int32_t code(const std::uint8_t* p) {
        return static_cast<std::int32_t>((std::uint32_t{p[0]} | std::uint32_t{p[1]} << 8 | std::uint32_t{p[2]} << 16) << 8) >>
               8;
    }
};

// Payload of a block or summary frame whose CRC has been checked. bad_input when lengths and counts contradict each other.
Result<BlockView> parse_block(std::span<const std::uint8_t> payload);

}  // namespace wattrig::rig
