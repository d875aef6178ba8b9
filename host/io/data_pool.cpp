#include "host/io/data_pool.hpp"

#include <algorithm>
#include <array>
#include <cassert>
#include <cmath>
#include <cstring>

namespace wattrig::io {

namespace {

struct Stamp {
    std::uint64_t offset;
    std::uint64_t generation;
    std::uint64_t seed;
    std::uint64_t checksum;  // of the rest of the sector and the three above
};
static_assert(sizeof(Stamp) == 32);

// Each step is a bijection of the state for a given word and of the word for a given state: a change of one word is always
// seen. Four lanes hide the latency of the multiplication.
std::uint64_t checksum(const std::byte* sector, const Stamp& stamp) {
    constexpr std::uint64_t prime = 0x9fb21c651e98df25u;  // odd
    std::array<std::uint64_t, 4> lanes{stamp.offset * prime, stamp.generation + prime, stamp.seed ^ prime, 1};
    for (std::size_t at = sizeof(Stamp); at < stamped_sector; at += sizeof lanes) {
        std::array<std::uint64_t, 4> words;
        std::memcpy(words.data(), sector + at, sizeof words);
        for (std::size_t i = 0; i < 4; ++i) {
            lanes[i] = (lanes[i] ^ words[i]) * prime;
            lanes[i] ^= lanes[i] >> 32;
        }
    }
    std::uint64_t sum = 0;
    for (const std::uint64_t lane : lanes) sum = mix(sum ^ lane) * prime;
    return sum;
}

}  // namespace

void fill_pool(std::span<std::byte> memory, double compressibility, std::uint64_t seed) {
    assert(compressibility >= 0 && compressibility <= 1);
    Random random(seed);
    const auto random_bytes =
        static_cast<std::size_t>(std::llround(static_cast<double>(stamped_sector) * (1 - compressibility)));
    for (std::size_t at = 0; at < memory.size(); at += stamped_sector) {
        const std::span<std::byte> sector = memory.subspan(at, std::min(stamped_sector, memory.size() - at));
        const std::size_t fill = std::min(random_bytes, sector.size());
        for (std::size_t i = 0; i < fill; i += sizeof(std::uint64_t)) {
            const std::uint64_t word = random();
            std::memcpy(sector.data() + i, &word, std::min(sizeof word, fill - i));
        }
        std::memset(sector.data() + fill, 0, sector.size() - fill);
    }
}

void stamp(std::span<std::byte> block, std::uint64_t offset, std::uint64_t generation, std::uint64_t seed) {
    assert(block.size() % stamped_sector == 0);
    for (std::size_t at = 0; at < block.size(); at += stamped_sector) {
        Stamp s{offset + at, generation, seed, 0};
        s.checksum = checksum(block.data() + at, s);
        std::memcpy(block.data() + at, &s, sizeof s);
    }
}

bool verify(std::span<const std::byte> block, std::uint64_t offset, std::uint64_t seed) {
    assert(block.size() % stamped_sector == 0);
    for (std::size_t at = 0; at < block.size(); at += stamped_sector) {
        Stamp s;
        std::memcpy(&s, block.data() + at, sizeof s);
        if (s.offset != offset + at || s.seed != seed || s.checksum != checksum(block.data() + at, s)) return false;
    }
    return true;
}

}  // namespace wattrig::io
