#include "host/base/random.hpp"

#include <gtest/gtest.h>

#include <algorithm>
#include <cmath>
#include <unordered_set>
#include <vector>

using namespace wattrig;

namespace {

// Chi-square against its normal approximation (Wilson-Hilferty); |z| < 4.5 fails by luck once in 150,000 seeds, and the seeds
// here are fixed.
double chi_square_z(const std::vector<std::uint64_t>& counts, double expected) {
    double chi = 0;
    for (const std::uint64_t count : counts) chi += std::pow(static_cast<double>(count) - expected, 2) / expected;
    const double k = static_cast<double>(counts.size() - 1);
    return (std::cbrt(chi / k) - (1 - 2 / (9 * k))) / std::sqrt(2 / (9 * k));
}

TEST(Random, MatchesTheReferenceSequence) {
    // The generator is defined by its recurrence; here it is written out once more, plainly, from SplitMix64 seeding on.
    std::uint64_t x = 42, s[4];
    for (auto& w : s) {
        x += 0x9E3779B97F4A7C15u;
        std::uint64_t z = x;
        z = (z ^ (z >> 30)) * 0xBF58476D1CE4E5B9u;
        z = (z ^ (z >> 27)) * 0x94D049BB133111EBu;
        w = z ^ (z >> 31);
    }
    const auto rotate = [](std::uint64_t v, int k) { return (v << k) | (v >> (64 - k)); };
    Random random(42);
    for (int i = 0; i < 1000; ++i) {
        const std::uint64_t expected = rotate(s[0] + s[3], 23) + s[0], t = s[1] << 17;
        s[2] ^= s[0], s[3] ^= s[1], s[1] ^= s[2], s[0] ^= s[3], s[2] ^= t;
        s[3] = rotate(s[3], 45);
        ASSERT_EQ(random(), expected);
    }
}

TEST(Random, BelowIsUniformInItsLowAndHighBits) {
    constexpr std::uint64_t n = 1'000'000'007;
    Random random(3);
    std::vector<std::uint64_t> low(64), high(64);
    constexpr int draws = 1 << 20;
    for (int i = 0; i < draws; ++i) {
        const std::uint64_t v = random.below(n);
        ASSERT_LT(v, n);
        ++low[v % 64];
        ++high[v * 64 / n];
    }
    EXPECT_LT(std::abs(chi_square_z(low, draws / 64.0)), 4.5);
    EXPECT_LT(std::abs(chi_square_z(high, draws / 64.0)), 4.5);
}

TEST(Random, BelowReachesFarBeyond32Bits) {
    Random random(5);
    constexpr std::uint64_t n = std::uint64_t{1} << 45;
    std::uint64_t largest = 0, bits = 0;
    for (int i = 0; i < 10'000; ++i) {
        const std::uint64_t v = random.below(n);
        largest = std::max(largest, v);
        bits |= v;
    }
    EXPECT_GT(largest, n / 10 * 9);
    EXPECT_EQ(bits, n - 1);
}

TEST(Random, UnitIsNeverZeroAndHasMeanOneHalf) {
    Random random(9);
    double sum = 0;
    for (int i = 0; i < 1'000'000; ++i) {
        const double u = random.unit();
        ASSERT_GT(u, 0);
        ASSERT_LE(u, 1);
        sum += u;
    }
    EXPECT_NEAR(sum / 1e6, 0.5, 5 * 0.2887 / 1000);  // five standard errors
}

TEST(Permutation, VisitsEveryNumberOnce) {
    for (const std::uint64_t n : {1ull, 2ull, 3ull, 4ull, 5ull, 7ull, 16ull, 17ull, 1000ull, 65'536ull, 65'537ull, 300'001ull})
        for (const std::uint64_t seed : {0ull, 1ull, 99ull}) {
            const Permutation order(n, seed);
            std::vector<bool> seen(n, false);
            for (std::uint64_t i = 0; i < n; ++i) {
                const std::uint64_t v = order(i);
                ASSERT_LT(v, n);
                ASSERT_FALSE(seen[v]) << n << " " << seed;
                seen[v] = true;
            }
        }
}

TEST(Permutation, NoBlockTwiceInASpanBeyond32Bits) {
    constexpr std::uint64_t n = (std::uint64_t{1} << 40) + 12'345;
    const Permutation order(n, 11);
    std::unordered_set<std::uint64_t> seen;
    std::uint64_t beyond = 0;
    std::vector<std::uint64_t> low(64), high(64);
    constexpr std::uint64_t draws = 200'000;
    for (std::uint64_t i = 0; i < draws; ++i) {
        const std::uint64_t v = order(n - 1 - i);
        ASSERT_LT(v, n);
        ASSERT_TRUE(seen.insert(v).second);
        beyond += v >> 32 != 0 ? 1 : 0;
        ++low[v % 64];
        ++high[static_cast<std::size_t>(v / (n / 64 + 1))];
    }
    EXPECT_GT(beyond, draws / 100 * 99);
    EXPECT_LT(std::abs(chi_square_z(low, draws / 64.0)), 4.5);
    EXPECT_LT(std::abs(chi_square_z(high, draws / 64.0)), 4.5);
}

TEST(Permutation, LowBitsOfAPrefixAreUniformAndNeighboursUnrelated) {
    constexpr std::uint64_t n = 5'000'000;
    const Permutation order(n, 2);
    std::vector<std::uint64_t> low(64), step(64);
    constexpr std::uint64_t draws = 200'000;
    std::uint64_t last = order(draws);
    for (std::uint64_t i = 0; i < draws; ++i) {
        const std::uint64_t v = order(i);
        ++low[v % 64];
        ++step[(v - last) % 64];
        last = v;
    }
    EXPECT_LT(std::abs(chi_square_z(low, draws / 64.0)), 4.5);
    EXPECT_LT(std::abs(chi_square_z(step, draws / 64.0)), 4.5);
}

TEST(Permutation, SeedsGiveDifferentOrders) {
    const Permutation a(1'000'000, 1), b(1'000'000, 2);
    int same = 0;
    for (std::uint64_t i = 0; i < 1000; ++i) same += a(i) == b(i) ? 1 : 0;
    EXPECT_LT(same, 5);
}

}  // namespace
