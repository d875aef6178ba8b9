#pragma once
// CRC32C (Castagnoli), reflected, start and end inverted: the check of iSCSI, NVMe metadata and of every frame here. The
// instruction that any x86-64 with NVMe has does 8 bytes a step; a table of 1 KiB serves the Cortex-M0+ and every other
// machine.
//
// Thread rule: pure functions, any thread, any interrupt.

#include <array>
#include <bit>
#include <cstddef>
#include <cstdint>
#include <cstring>
#include <span>

namespace wattrig::protocol {

inline constexpr std::uint32_t crc32c_polynomial = 0x82f63b78;  // 0x1edc6f41 with its bits reversed

inline constexpr std::array<std::uint32_t, 256> crc32c_table = [] {
    std::array<std::uint32_t, 256> table{};
    for (std::uint32_t byte = 0; byte < 256; ++byte) {
        std::uint32_t value = byte;
        for (int bit = 0; bit < 8; ++bit) value = (value >> 1) ^ ((value & 1) != 0 ? crc32c_polynomial : 0);
        table[byte] = value;
    }
    return table;
}();

// The portable way, also usable at compile time. `previous` is the result for the bytes before these, 0 at the start.
constexpr std::uint32_t crc32c_by_table(std::span<const std::uint8_t> bytes, std::uint32_t previous = 0) {
    std::uint32_t value = ~previous;
    for (const std::uint8_t byte : bytes) value = crc32c_table[(value ^ byte) & 0xff] ^ (value >> 8);
    return ~value;
}

#if defined(__SSE4_2__) && defined(__x86_64__)
// 8 bytes a step: 3 cycles of latency each, some 8 GB/s, so interleaving would gain nothing at the length of a frame.
inline std::uint32_t crc32c(std::span<const std::uint8_t> bytes, std::uint32_t previous = 0) {
    std::uint64_t value = static_cast<std::uint32_t>(~previous);
    const std::uint8_t* at = bytes.data();
    std::size_t left = bytes.size();
    for (; left >= 8; left -= 8, at += 8) {
        std::uint64_t word;
        std::memcpy(&word, at, sizeof word);
        value = __builtin_ia32_crc32di(value, word);
    }
    auto rest = static_cast<std::uint32_t>(value);
    for (; left > 0; --left, ++at) rest = __builtin_ia32_crc32qi(rest, *at);
    return ~rest;
}
#else
inline std::uint32_t crc32c(std::span<const std::uint8_t> bytes, std::uint32_t previous = 0) {
    return crc32c_by_table(bytes, previous);
}
#endif

}  // namespace wattrig::protocol
