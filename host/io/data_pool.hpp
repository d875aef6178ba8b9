#pragma once
// What is written. A drive that compresses or deduplicates must not be helped by accident, and making data must not cost the
// issuing thread: writes point into a pool made once, at a different place each time. With verification each write is copied
// and stamped instead.
//
// Thread rule: io thread.

#include <cstddef>
#include <cstdint>
#include <span>

#include "host/base/random.hpp"

namespace wattrig::io {

inline constexpr std::size_t stamped_sector = 512;  // bytes

// Fills `memory` with random data of which `compressibility` (0 .. 1) of every 512 bytes is zero.
void fill_pool(std::span<std::byte> memory, double compressibility, std::uint64_t seed);

// Marks every 512 bytes of `block`, which is to be written at byte `offset`: own offset, generation, seed, and a checksum of
// the other bytes of the sector. block.size() is a multiple of 512.
void stamp(std::span<std::byte> block, std::uint64_t offset, std::uint64_t generation, std::uint64_t seed);

// Whether every 512 bytes of `block`, read from byte `offset`, carry the stamp of that place and seed, and are whole. The
// generation is for a human who looks at a bad block: which write is newest, only the writer knew.
[[nodiscard]] bool verify(std::span<const std::byte> block, std::uint64_t offset, std::uint64_t seed);

}  // namespace wattrig::io
