#pragma once
// Making and checking frames, for both sides. Buffers belong to the caller; nothing allocates, nothing throws.
//
// Thread rule: pure functions on the caller's buffers, any thread, any interrupt.

#include <cstddef>
#include <cstdint>
#include <cstring>
#include <span>
#include <type_traits>

#include "firmware/protocol/crc32c.hpp"
#include "firmware/protocol/protocol.hpp"

namespace wattrig::protocol {

// Structs travel as they lie in memory; memcpy because a byte buffer need not be aligned (a Cortex-M0+ faults on such a word).
template <class T>
void store(std::uint8_t* at, const T& value) {
    static_assert(std::is_trivially_copyable_v<T>);
    std::memcpy(at, &value, sizeof value);
}
template <class T>
[[nodiscard]] T load(const std::uint8_t* at) {
    static_assert(std::is_trivially_copyable_v<T>);
    T value;
    std::memcpy(&value, at, sizeof value);
    return value;
}

// A 24-bit two's complement code in 3 bytes, least significant first.
constexpr void store_code(std::uint8_t* at, std::int32_t code) {
    const auto bits = static_cast<std::uint32_t>(code);
    at[0] = static_cast<std::uint8_t>(bits);
    at[1] = static_cast<std::uint8_t>(bits >> 8);
    at[2] = static_cast<std::uint8_t>(bits >> 16);
}
[[nodiscard]] constexpr std::int32_t load_code(const std::uint8_t* at) {
    const std::uint32_t bits = std::uint32_t{at[0]} << 8 | std::uint32_t{at[1]} << 16 | std::uint32_t{at[2]} << 24;
    return static_cast<std::int32_t>(bits) >> 8;  // shifted down from the top, so that the sign comes along
}

// header_check as it must stand in a header whose first 14 bytes begin at `header`.
[[nodiscard]] inline std::uint16_t header_check_of(const std::uint8_t* header) {
    return static_cast<std::uint16_t>(crc32c({header, header_checked_bytes}));
}

// `payload_bytes`: a multiple of 4, at most maximum_payload_bytes.
[[nodiscard]] inline FrameHeader make_header(FrameType type, std::size_t payload_bytes, std::uint32_t sequence) {
    FrameHeader header{};
    header.magic = frame_magic;
    header.version = protocol_version;
    header.type = static_cast<std::uint8_t>(type);
    header.payload_bytes = static_cast<std::uint16_t>(payload_bytes);
    header.sequence = sequence;
    std::uint8_t bytes[sizeof header];
    store(bytes, header);
    header.header_check = header_check_of(bytes);
    return header;
}

// Writes header and CRC around a payload that already stands at frame + sizeof(FrameHeader). Returns the size of the whole
// frame.
inline std::size_t seal_frame(std::uint8_t* frame, FrameType type, std::size_t payload_bytes, std::uint32_t sequence) {
    store(frame, make_header(type, payload_bytes, sequence));
    const std::size_t checked = sizeof(FrameHeader) + payload_bytes;
    store(frame + checked, crc32c({frame, checked}));
    return checked + crc_bytes;
}

enum class FrameCheck : std::uint8_t {
    ok,
    incomplete,  // more bytes are needed before anything can be said
    bad_magic,   // no frame starts here
    bad_header,  // header_check or the length is wrong: search on from the next byte
    bad_crc,     // the header holds, the payload does not: search on after the header
};

// Whether the 16 bytes at `header` begin a frame whose length can be trusted. Says nothing of version or type: a reader skips
// types that it does not know, and refuses versions that it does not.
[[nodiscard]] inline FrameCheck check_header(const std::uint8_t* header) {
    const auto fields = load<FrameHeader>(header);
    if (fields.magic != frame_magic) return FrameCheck::bad_magic;
    if (fields.header_check != header_check_of(header)) return FrameCheck::bad_header;
    if (fields.payload_bytes % 4 != 0 || fields.payload_bytes > maximum_payload_bytes) return FrameCheck::bad_header;
    return FrameCheck::ok;
}

// Checks the frame at the start of `bytes`, which may be longer than it.
[[nodiscard]] inline FrameCheck check_frame(std::span<const std::uint8_t> bytes) {
    if (bytes.size() < sizeof(FrameHeader)) return FrameCheck::incomplete;
    if (const FrameCheck header = check_header(bytes.data()); header != FrameCheck::ok) return header;
    const std::size_t checked = sizeof(FrameHeader) + load<FrameHeader>(bytes.data()).payload_bytes;
    if (bytes.size() < checked + crc_bytes) return FrameCheck::incomplete;
    return crc32c(bytes.first(checked)) == load<std::uint32_t>(bytes.data() + checked) ? FrameCheck::ok : FrameCheck::bad_crc;
}

}  // namespace wattrig::protocol
