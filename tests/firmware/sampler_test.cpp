#include "firmware/core/sampler.hpp"

#include <gtest/gtest.h>

#include <random>

namespace {

using namespace wattrig;
using firmware::Sampler;
using firmware::whole_samples;

// Stamps as TIMER would show them: truth in ticks, cut to whole microseconds.
std::uint64_t stamp(std::uint64_t ticks) { return ticks / protocol::ticks_per_microsecond; }

// Feeds one sample; true when it followed directly.
bool take(Sampler& sampler, std::uint64_t timer_us) {
    if (sampler.follows(timer_us)) return true;
    sampler.take(timer_us, sampler.next_step(timer_us));
    return false;
}

TEST(Sampler, DividesLikeTheMachineDoes) {
    std::mt19937_64 random(1);
    for (int n = 0; n < 100'000; ++n) {
        const std::uint64_t ticks = random() >> (random() % 64);
        ASSERT_EQ(whole_samples(ticks), ticks / 3840) << ticks;
    }
    for (const std::uint64_t ticks : {0ull, 3839ull, 3840ull, 3841ull, ~0ull}) EXPECT_EQ(whole_samples(ticks), ticks / 3840);
}

TEST(Sampler, AnchorsWithin40nsOfTheTruth) {
    for (std::uint64_t phase = 0; phase < 125; ++phase) {  // every phase of the microsecond, in ticks
        const std::uint64_t truth = 1'000'000'000 + phase;
        Sampler sampler;
        sampler.start(0);
        for (std::uint64_t n = 0; n < 75; ++n) take(sampler, stamp(truth + n * 3840));
        sampler.freeze();
        const auto error = static_cast<std::int64_t>(sampler.ticks() - (truth + 74 * 3840));
        EXPECT_GE(error, -5);
        EXPECT_LE(error, 5);
        EXPECT_EQ(sampler.index(), 74u);
    }
}

TEST(Sampler, LateStampsDoNotMoveTheGrid) {
    std::mt19937_64 random(2);
    for (int run = 0; run < 200; ++run) {
        const std::uint64_t truth = 5'000'000'000 + random() % 3840;
        Sampler sampler;
        sampler.start(0);
        std::uint64_t lost = 0;
        for (std::uint64_t n = 0; n < 10'000; ++n) {
            // Usually on time; every eighth up to 12 us late, the very first one, too.
            const std::uint64_t late = n == 0 ? 12 * 125 : random() % 8 == 0 ? random() % (12 * 125) : 0;
            const std::uint64_t timer = stamp(truth + n * 3840 + late);
            if (!sampler.follows(timer)) {
                const auto step = sampler.next_step(timer);
                lost += step.lost;
                sampler.take(timer, step);
            }
            if (n == 74) sampler.freeze();
        }
        EXPECT_EQ(lost, 0u);
        EXPECT_EQ(sampler.index(), 9'999u);
        EXPECT_EQ(sampler.segment(), 1u);
        EXPECT_NEAR(static_cast<double>(sampler.ticks()), static_cast<double>(truth + 9'999 * 3840), 130.0)
            << "within a microsecond";
    }
}

TEST(Sampler, TheAnchorStaysOnceItIsPublished) {
    Sampler sampler;
    sampler.start(0);
    take(sampler, 1'010);  // 10 us late
    sampler.freeze();
    const std::uint64_t anchor = sampler.ticks();
    take(sampler, 1'030);  // on time
    EXPECT_EQ(sampler.ticks(), anchor + 3840);
    EXPECT_EQ(sampler.index(), 1u);
}

TEST(Sampler, CountsLossesOfAnyLength) {
    std::vector<std::uint64_t> lengths = {1, 2, 3, 254, 255, 256, 257, 511, 512, 1023, 65'535, 65'536, 1'000'000};
    for (const std::uint64_t power : {8, 16, 32}) {
        for (std::uint64_t multiple = 1; multiple < 5; ++multiple) {
            for (const int off : {-1, 0, 1}) lengths.push_back((multiple << power) + static_cast<std::uint64_t>(off) - 1);
        }
    }
    for (const std::uint64_t lost : lengths) {
        const std::uint64_t truth = 777'777'777;
        Sampler sampler;
        sampler.start(0);
        for (std::uint64_t n = 0; n < 75; ++n) take(sampler, stamp(truth + n * 3840));
        sampler.freeze();
        const std::uint64_t timer = stamp(truth + (75 + lost) * 3840);
        EXPECT_EQ(sampler.follows(timer), lost == 0) << lost;
        const auto step = sampler.next_step(timer);
        EXPECT_EQ(step.lost, lost);
        EXPECT_FALSE(step.anchored);
        sampler.take(timer, step);
        EXPECT_EQ(sampler.index(), 75 + lost);
        EXPECT_NEAR(static_cast<double>(sampler.ticks() - truth) / 3840, static_cast<double>(75 + lost), 0.01);
    }
}

TEST(Sampler, CrossesTheRolloverOf32BitMicroseconds) {
    const std::uint64_t truth = ((std::uint64_t{1} << 32) - 500) * 125;
    Sampler sampler;
    sampler.start(0);
    for (std::uint64_t n = 0; n < 100; ++n) EXPECT_EQ(take(sampler, stamp(truth + n * 3840)), n != 0) << n;
    EXPECT_EQ(sampler.index(), 99u);
    EXPECT_EQ(sampler.segment(), 1u);
}

TEST(Sampler, ARepeatedOrBackwardStampAnchorsAnew) {
    for (const std::uint64_t timer : {2'000u, 1'990u, 1'500u, 0u}) {
        Sampler sampler;
        sampler.start(0);
        take(sampler, 2'000);
        EXPECT_FALSE(sampler.follows(timer));
        const auto step = sampler.next_step(timer);
        EXPECT_TRUE(step.resynchronised);
        EXPECT_EQ(step.lost, 0u);
        sampler.take(timer, step);
        EXPECT_EQ(sampler.index(), 1u) << "the index only goes up";
        EXPECT_EQ(sampler.segment(), 2u);
        EXPECT_TRUE(take(sampler, timer + 31));
    }
}

TEST(Sampler, ARestartedAdcKeepsTheIndexNearTime) {
    Sampler sampler;
    sampler.start(0);
    take(sampler, 1'000);
    sampler.anchor_at_next();
    const std::uint64_t timer = 1'000 + 307 + 11;  // 10.36 periods later
    EXPECT_FALSE(sampler.follows(timer));
    const auto step = sampler.next_step(timer);
    EXPECT_EQ(step.lost, 9u);
    EXPECT_TRUE(step.anchored);
    sampler.take(timer, step);
    EXPECT_EQ(sampler.index(), 10u);
    EXPECT_NEAR(static_cast<double>(sampler.ticks()), static_cast<double>(timer * 125), 125.0)
        << "the new phase, not the old grid";
}

TEST(Sampler, PatienceEndsAfterABlock) {
    Sampler sampler;
    sampler.start(0);
    take(sampler, 1'000);
    EXPECT_EQ(sampler.overdue(1'000), 0u);
    EXPECT_EQ(sampler.overdue(900), 0u);
    EXPECT_EQ(sampler.overdue(1'000 + 75 * 31), 0u);
    EXPECT_EQ(sampler.overdue(1'000 + 2'336), 75u);    // 76.04 periods: the 76th may be on its way
    EXPECT_EQ(sampler.overdue(1'000 + 30'720), 998u);  // a tick or two short of 1000 periods, as the stamp may mean 1000.96
}

}  // namespace
