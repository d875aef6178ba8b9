#pragma once
// ADS131M04: frames, their CRC, and how it is brought up. Datasheet SBAS890D; nothing of the MCU is in here.
//
// Thread rule: decode anywhere; bring-up in the main loop, while nobody else talks to the ADC.

#include <array>
#include <cstddef>
#include <cstdint>
#include <span>

#include "firmware/core/block_builder.hpp"

namespace wattrig::firmware::ads131m04 {

// Six words of 24 bit: answer to the command of the frame before, four channels, CRC. 16-bit values stand in the upper bytes.
inline constexpr std::size_t word_bytes = 3;
inline constexpr std::size_t channels = 4;
inline constexpr std::size_t frame_bytes = (1 + channels + 1) * word_bytes;
inline constexpr std::size_t checked_bytes = frame_bytes - word_bytes;
using Frame = std::array<std::uint8_t, frame_bytes>;

// CCITT, start ffff, not reflected, over all words before it (section 8.5.1.9).
[[nodiscard]] std::uint16_t crc16(std::span<const std::uint8_t> bytes);
[[nodiscard]] bool crc_fits(const std::uint8_t* frame);  // aligned to 2

[[nodiscard]] inline std::uint16_t answer(const std::uint8_t* frame) {
    return static_cast<std::uint16_t>(frame[0] << 8 | frame[1]);
}
[[nodiscard]] inline std::int32_t code(const std::uint8_t* word) {
    const std::uint32_t bits = std::uint32_t{word[0]} << 24 | std::uint32_t{word[1]} << 16 | std::uint32_t{word[2]} << 8;
    return static_cast<std::int32_t>(bits) >> 8;
}
// Channels 0 and 2 are voltages, 1 and 3 the currents of the same rails. What the rig has no rail for is left 0.
template <std::uint32_t rails>
[[nodiscard]] AdcSample decode(const std::uint8_t* frame, std::uint8_t sideband) {
    AdcSample sample;
    static_assert(rails == 1 || rails == protocol::maximum_rails);
    if constexpr (rails == 1) sample.v[1] = sample.i[1] = 0;
    for (std::uint32_t rail = 0; rail < rails; ++rail) {
        sample.v[rail] = code(frame + (1 + 2 * rail) * word_bytes);
        sample.i[rail] = code(frame + (2 + 2 * rail) * word_bytes);
    }
    sample.sideband = sideband;
    return sample;
}

// STATUS, the answer to NULL: what a frame of a running stream must show, and what may differ.
inline constexpr std::uint16_t status_reset = 1u << 10;
inline constexpr std::uint16_t status_word_length = 3u << 8;
inline constexpr std::uint16_t status_all_ready = 0x000f;
inline constexpr std::uint16_t status_24_bit = 1u << 8;
// False after a reset of the ADC: its registers are those of power-up, so its rate and word length may be wrong.
[[nodiscard]] constexpr bool configured(std::uint16_t status) {
    return (status & (status_reset | status_word_length)) == status_24_bit;
}
// False when a channel was read before already: this frame repeats an old conversion.
[[nodiscard]] constexpr bool fresh(std::uint16_t status) { return (status & status_all_ready) == status_all_ready; }

enum class Input : std::uint8_t { pins = 0, shorted = 1, test_positive = 2, test_negative = 3 };

// What bring-up needs of the board. A transfer is one frame with CS low for all of it.
struct Bus {
    void* context;
    void (*transfer)(void* context, const Frame& out, Frame& in);
    void (*set_sync)(void* context, bool level);
    void (*wait_us)(void* context, std::uint32_t duration);
};

enum class BringUp : std::uint8_t {
    ok,
    no_reset_answer,  // nothing there, or no clock
    wrong_id,
    bad_crc,
    not_read_back,  // a register does not hold what was written
};

// Reset, registers, read-back, synchronisation: from any state to 32 552 S/s of all four channels. Takes some 700 us. The first
// samples after it must be thrown away (samples_to_settle).
[[nodiscard]] BringUp bring_up(const Bus& bus, Input input);
// After a synchronisation: three periods of the sinc3 filter, and one more as the first read drains the FIFO.
inline constexpr std::uint32_t samples_to_settle = 4;

}  // namespace wattrig::firmware::ads131m04
