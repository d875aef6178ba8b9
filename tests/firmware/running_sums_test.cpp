#include "firmware/core/running_sums.hpp"

#include <gtest/gtest.h>

#include <random>

#include "tests/firmware/meter_fixture.hpp"

namespace {

using namespace wattrig;
using firmware::add_to;
using firmware::RunningSums;
using firmware::widen;
using firmware::test::from_wire;
using firmware::test::to_wire;

// Truth: the compiler's own __int128, which the code under test does without.
TEST(RunningSums, AddsLikeA128BitMachine) {
    std::mt19937_64 random(3);
    const auto any = [&random] {
        const auto high = static_cast<unsigned __int128>(random()) << 64;
        return static_cast<__int128>(high | random()) >> (random() % 128);
    };
    for (int n = 0; n < 100'000; ++n) {
        const __int128 a = any();
        const __int128 b = any();
        protocol::Int128 sum = to_wire(a);
        add_to(sum, to_wire(b));
        const auto expected = static_cast<__int128>(static_cast<unsigned __int128>(a) + static_cast<unsigned __int128>(b));
        ASSERT_TRUE(from_wire(sum) == expected);
    }
    for (const std::int64_t value : {std::int64_t{0}, std::int64_t{-1}, std::int64_t{1}, INT64_MIN, INT64_MAX}) {
        EXPECT_TRUE(from_wire(widen(value)) == static_cast<__int128>(value));
    }
}

TEST(RunningSums, MatchesBruteForceOverTheWrapAt64Bits) {
    // Full scale everywhere: 2^46 a sample passes 2^63 after 131072 samples, so the low word wraps several times. Both signs.
    for (const int sign : {1, -1}) {
        RunningSums rail;
        __int128 vi = 0;
        __int128 ii = 0;
        std::int64_t v_sum = 0;
        std::int64_t i_sum = 0;
        std::mt19937 random(4);
        std::uint32_t unfolded = 0;
        for (std::uint32_t n = 0; n < 1'000'000; ++n) {
            const std::int32_t v = sign * static_cast<std::int32_t>(8'388'607 - random() % 3);
            const std::int32_t i = static_cast<std::int32_t>(8'388'607 - random() % 1000);
            rail.add(v, i);
            v_sum += v;
            i_sum += i;
            vi += static_cast<__int128>(v) * i;
            ii += static_cast<__int128>(i) * i;
            if (++unfolded == protocol::samples_per_block) {
                rail.fold(unfolded);
                unfolded = 0;
            }
        }
        rail.fold(unfolded);
        EXPECT_EQ(rail.sums.count, 1'000'000u);
        EXPECT_EQ(rail.sums.sum_v, v_sum);
        EXPECT_EQ(rail.sums.sum_i, i_sum);
        EXPECT_TRUE(from_wire(rail.sums.sum_vi) == vi);
        EXPECT_TRUE(from_wire(rail.sums.sum_ii) == ii);
        EXPECT_NE(rail.sums.sum_ii.high, 0) << "the test must reach beyond 64 bits";
    }
}

TEST(RunningSums, ABlockOfExtremeCodesFitsItsPartialSums) {
    RunningSums rail;
    for (std::uint32_t n = 0; n < protocol::samples_per_block; ++n) rail.add(protocol::code_minimum, protocol::code_minimum);
    rail.fold(protocol::samples_per_block);
    EXPECT_EQ(rail.sums.sum_v, 75 * std::int64_t{protocol::code_minimum});
    EXPECT_TRUE(from_wire(rail.sums.sum_ii) == static_cast<__int128>(75) * protocol::code_minimum * protocol::code_minimum);
}

TEST(RunningSums, GoesOnFromCountersNearTheirEnd) {
    RunningSums rail;
    rail.sums.count = ~std::uint64_t{0};
    rail.sums.sum_v = INT64_MAX;
    rail.sums.sum_i = INT64_MIN;
    rail.sums.sum_vi = {~std::uint64_t{0}, INT64_MAX};
    rail.sums.sum_ii = {~std::uint64_t{0}, -1};
    rail.add(1, -1);
    rail.fold(1);
    EXPECT_EQ(rail.sums.count, 0u);
    EXPECT_EQ(rail.sums.sum_v, INT64_MIN) << "wraps; differences modulo 2^64 stay exact";
    EXPECT_EQ(rail.sums.sum_i, INT64_MAX);
    EXPECT_EQ(rail.sums.sum_vi.low, ~std::uint64_t{0} - 1);
    EXPECT_EQ(rail.sums.sum_vi.high, INT64_MAX);
    EXPECT_EQ(rail.sums.sum_ii.low, 0u);
    EXPECT_EQ(rail.sums.sum_ii.high, 0);
}

TEST(RunningSums, ExtremesAreOfTheBlockOnly) {
    RunningSums rail;
    EXPECT_EQ(rail.extremes().v_minimum, 0);
    rail.add(5, -7);
    rail.add(3, 9);
    EXPECT_EQ(rail.extremes().v_minimum, 3);
    EXPECT_EQ(rail.extremes().v_maximum, 5);
    EXPECT_EQ(rail.extremes().i_minimum, -7);
    EXPECT_EQ(rail.extremes().i_maximum, 9);
    rail.clear_extremes();
    EXPECT_EQ(rail.extremes().i_maximum, 0);
}

}  // namespace
