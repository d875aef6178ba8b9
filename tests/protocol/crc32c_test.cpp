#include "firmware/protocol/crc32c.hpp"

#include <gtest/gtest.h>

#include <cstdint>
#include <random>
#include <string_view>
#include <vector>

namespace {

using namespace wattrig::protocol;

std::vector<std::uint8_t> bytes_of(std::string_view text) { return {text.begin(), text.end()}; }

// The definition, bit by bit: a polynomial division with nothing in common with table or instruction.
std::uint32_t by_definition(const std::vector<std::uint8_t>& bytes) {
    std::uint32_t remainder = 0xffffffff;
    for (const std::uint8_t byte : bytes) {
        for (int bit = 0; bit < 8; ++bit) {
            const bool top = ((remainder >> 31) ^ ((byte >> bit) & 1u)) != 0;
            remainder = (remainder << 1) ^ (top ? 0x1edc6f41u : 0u);
        }
    }
    std::uint32_t reflected = 0;
    for (int bit = 0; bit < 32; ++bit) reflected |= ((remainder >> bit) & 1u) << (31 - bit);
    return ~reflected;
}

// RFC 3720 B.4 and the usual check value.
TEST(Crc32c, KnownValues) {
    EXPECT_EQ(crc32c(bytes_of("123456789")), 0xe3069283u);
    EXPECT_EQ(crc32c(std::vector<std::uint8_t>(32, 0x00)), 0x8a9136aau);
    EXPECT_EQ(crc32c(std::vector<std::uint8_t>(32, 0xff)), 0x62a8ab43u);
    EXPECT_EQ(crc32c({}), 0u);
    static_assert(crc32c_table[1] == 0xf26b8303u);
}

TEST(Crc32c, BothWaysAgreeWithTheDefinition) {
    std::mt19937 random(20250117);
    for (std::size_t size = 0; size < 200; ++size) {
        std::vector<std::uint8_t> bytes(size);
        for (auto& byte : bytes) byte = static_cast<std::uint8_t>(random());
        const std::uint32_t expected = by_definition(bytes);
        EXPECT_EQ(crc32c(bytes), expected) << size;
        EXPECT_EQ(crc32c_by_table(bytes), expected) << size;
    }
}

TEST(Crc32c, GoesOnWhereItStopped) {
    const auto bytes = bytes_of("the quick brown fox jumps over the lazy dog");
    for (std::size_t cut = 0; cut <= bytes.size(); ++cut) {
        const std::span all(bytes);
        EXPECT_EQ(crc32c(all.subspan(cut), crc32c(all.first(cut))), crc32c(bytes)) << cut;
        EXPECT_EQ(crc32c_by_table(all.subspan(cut), crc32c_by_table(all.first(cut))), crc32c(bytes)) << cut;
    }
}

}  // namespace
