// Garbage collection: write amplification against what is known in closed form, and the life of a drive from fresh to steady.

#include <gtest/gtest.h>

#include <cmath>

#include "host/sim/drive_backend.hpp"
#include "host/sim/flash_space.hpp"
#include "host/sim/noise.hpp"

namespace wattrig::sim {
namespace {

constexpr std::uint64_t capacity = 64'000'000'000;

SpaceParameters spare(double fraction, const char* victim) {
    SpaceParameters p;
    p.spare_fraction = fraction;
    p.reserve_fraction = 0;  // three segments
    p.victim = victim;
    return p;
}

void fill_in_order(FlashSpace& space, std::uint64_t block = 1 << 20) {
    for (std::uint64_t at = 0; at < capacity; at += block) space.write(at, std::min(block, capacity - at));
}

// Mean copies a byte over the last of many drives' worth of random writes.
double steady_copies(FlashSpace& space, double drives) {
    double copies = 0;
    constexpr int looks = 400;
    space.write_random(0, capacity, drives * capacity);
    for (int k = 0; k < looks; ++k) {
        space.write_random(0, capacity, capacity / 200.0);
        copies += space.copies_per_byte();
    }
    return copies / looks;
}

// A ring under uniform random writes: what is valid in the oldest segment has survived the writes of one turn, so the valid
// share v solves v = exp(-(1 - v) x flash / capacity), and v / (1 - v) bytes are copied for each byte written.
// (Robinson 1996; Desnoyers, "Analytic Modeling of SSD Write Performance", SYSTOR 2012.)
class OldestVictim : public testing::TestWithParam<double> {};
TEST_P(OldestVictim, AmplificationIsThatOfARing) {
    FlashSpace space(capacity, spare(GetParam(), "oldest"));
    fill_in_order(space);
    const double flash = (1 + GetParam()) * (1 - 3.0 / FlashSpace::segments);
    double v = 0.5;
    for (int k = 0; k < 1000; ++k) v = std::exp(-(1 - v) * flash);
    EXPECT_NEAR(steady_copies(space, 8), v / (1 - v), 0.02 * v / (1 - v));
}
INSTANTIATE_TEST_SUITE_P(Spares, OldestVictim, testing::Values(0.1, 0.28, 0.6, 1.0));

TEST(FlashSpace, GreedyCopiesNoMoreThanARing) {
    for (const double fraction : {0.2, 0.6}) {
        FlashSpace greedy(capacity, spare(fraction, "greedy")), oldest(capacity, spare(fraction, "oldest"));
        fill_in_order(greedy);
        fill_in_order(oldest);
        const double a = steady_copies(greedy, 4), b = steady_copies(oldest, 4);
        EXPECT_LT(a, 1.01 * b);
        EXPECT_GT(a, 0.8 * b);
    }
}

TEST(FlashSpace, WritingInOrderCopiesNothingHoweverOften) {
    FlashSpace space(capacity, spare(0.1, "greedy"));
    for (int round = 0; round < 4; ++round) {
        fill_in_order(space, 128 << 10);
        EXPECT_NEAR(space.mapped_bytes(), capacity, 1e6);
        EXPECT_LT(space.copies_per_byte(), 0.02) << "round " << round;
    }
}

TEST(FlashSpace, SingleRandomWritesAndManyAtOnceAgree) {
    FlashSpace single(capacity, spare(0.28, "greedy")), many(capacity, spare(0.28, "greedy"));
    fill_in_order(single);
    fill_in_order(many);
    Random random(4);
    constexpr std::uint32_t block = 256 << 10;
    for (std::uint64_t n = 0; n < 3 * capacity / block; ++n)
        single.write(std::uint64_t{random.below(static_cast<std::uint32_t>(capacity / block))} * block, block);
    many.write_random(0, capacity, 3.0 * capacity);
    EXPECT_NEAR(single.mapped_bytes(), many.mapped_bytes(), 1e-3 * capacity);
    double a = 0, b = 0;
    for (int k = 0; k < 200; ++k) {
        for (int n = 0; n < 1000; ++n)
            single.write(std::uint64_t{random.below(static_cast<std::uint32_t>(capacity / block))} * block, block);
        many.write_random(0, capacity, 1000.0 * block);
        a += single.copies_per_byte();
        b += many.copies_per_byte();
    }
    EXPECT_NEAR(a, b, 0.01 * b);
}

TEST(FlashSpace, FreshThenTransitionThenSteadyAndAFillInOrderResets) {
    FlashSpace space(capacity, spare(0.28, "greedy"));
    // Fresh: until the spare flash is used, nothing is copied.
    const double to_collection = space.bytes_to_collection();
    EXPECT_NEAR(to_collection, 1.28 * capacity * (1 - 3.0 / 512), 0.01 * capacity);
    space.write_random(0, capacity, 0.99 * to_collection);
    EXPECT_EQ(space.copies_per_byte(), 0);
    EXPECT_NEAR(space.mapped_bytes(), capacity * -std::expm1(-0.99 * to_collection / capacity), 0.01 * capacity);
    space.write_random(0, capacity, 0.3 * capacity);
    const double early = space.copies_per_byte();
    EXPECT_GT(early, 0.05);
    const double steady = steady_copies(space, 6);
    EXPECT_GT(steady, 1.2 * early);
    fill_in_order(space, 128 << 10);
    fill_in_order(space, 128 << 10);
    EXPECT_LT(space.copies_per_byte(), 0.02);
    space.format();
    EXPECT_EQ(space.mapped_bytes(), 0);
    EXPECT_NEAR(space.bytes_to_collection(), to_collection, 1);
}

TEST(FlashSpace, DiscardGivesFlashBack) {
    FlashSpace space(capacity, spare(0.1, "greedy"));
    fill_in_order(space);
    const double full = steady_copies(space, 6);
    space.discard(0, capacity / 2);
    EXPECT_NEAR(space.mapped_bytes(), capacity / 2.0, 0.005 * capacity);
    space.write_random(capacity / 2, capacity, 4.0 * capacity);
    EXPECT_LT(space.copies_per_byte(), 0.3 * full);
}

// Random writes in a part of the drive make garbage of that part's data alone.
TEST(FlashSpace, ASmallSpanLeavesTheRestValid) {
    FlashSpace space(capacity, spare(0.28, "greedy"));
    fill_in_order(space);
    space.write_random(0, capacity / 8, 3.0 * capacity);
    // The spare flash is all for an eighth of the data.
    EXPECT_LT(space.copies_per_byte(), 0.2);
    EXPECT_NEAR(space.mapped_bytes(), capacity, 0.005 * capacity);
}

}  // namespace
}  // namespace wattrig::sim
