#include "host/io/data_pool.hpp"

#include <gtest/gtest.h>

#include <algorithm>
#include <cmath>
#include <vector>

using namespace wattrig;
using namespace wattrig::io;

namespace {

std::span<std::byte> bytes(std::vector<std::byte>& v) { return v; }

TEST(DataPool, RandomDataHasNoPattern) {
    std::vector<std::byte> pool(1 << 20);
    fill_pool(pool, 0, 1);
    std::vector<double> counts(256);
    for (const std::byte b : pool) counts[static_cast<std::size_t>(b)] += 1;
    double entropy = 0;
    for (const double c : counts)
        entropy -= c / static_cast<double>(pool.size()) * std::log2(c / static_cast<double>(pool.size()));
    EXPECT_GT(entropy, 7.999);
    // No two sectors alike: nothing for a drive that deduplicates.
    std::vector<std::vector<std::byte>> sectors;
    for (std::size_t at = 0; at < pool.size(); at += 512)
        sectors.emplace_back(pool.begin() + static_cast<long>(at), pool.begin() + static_cast<long>(at) + 512);
    std::sort(sectors.begin(), sectors.end());
    EXPECT_EQ(std::adjacent_find(sectors.begin(), sectors.end()), sectors.end());
}

TEST(DataPool, CompressibilityIsTheShareOfZeroesInEverySector) {
    for (const double share : {0.0, 0.25, 0.5, 1.0}) {
        std::vector<std::byte> pool(64 * 512);
        fill_pool(pool, share, 3);
        for (std::size_t at = 0; at < pool.size(); at += 512) {
            const auto zeroes =
                std::count(pool.begin() + static_cast<long>(at), pool.begin() + static_cast<long>(at) + 512, std::byte{0});
            EXPECT_NEAR(static_cast<double>(zeroes) / 512, share, 0.03);  // 1 in 256 random bytes is zero
        }
    }
}

TEST(DataPool, VerifyTakesItsOwnStamps) {
    std::vector<std::byte> block(4096);
    fill_pool(block, 0, 1);
    stamp(block, 65536, 9, 77);
    EXPECT_TRUE(verify(block, 65536, 77));
    EXPECT_FALSE(verify(block, 65536 + 512, 77)) << "data of another place";
    EXPECT_FALSE(verify(block, 65536, 78)) << "data of another run";
    // A larger block read in parts, and sectors swapped inside it.
    EXPECT_TRUE(verify(bytes(block).subspan(512, 1024), 65536 + 512, 77));
    std::swap_ranges(block.begin(), block.begin() + 512, block.begin() + 512);
    EXPECT_FALSE(verify(block, 65536, 77));
}

TEST(DataPool, EveryFlippedBitIsFound) {
    std::vector<std::byte> block(512);
    fill_pool(block, 0.5, 1);
    stamp(block, 0, 1, 5);
    for (std::size_t bit = 0; bit < 512 * 8; ++bit) {
        block[bit / 8] ^= std::byte{1} << (bit % 8);
        ASSERT_FALSE(verify(block, 0, 5)) << bit;
        block[bit / 8] ^= std::byte{1} << (bit % 8);
    }
    EXPECT_TRUE(verify(block, 0, 5));
}

TEST(DataPool, UnwrittenSectorsFail) {
    const std::vector<std::byte> zeroes(512);
    EXPECT_FALSE(verify(zeroes, 0, 0));
}

}  // namespace
