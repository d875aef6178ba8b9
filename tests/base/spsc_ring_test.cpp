#include "host/base/spsc_ring.hpp"

#include <gtest/gtest.h>

#include <thread>

using namespace wattrig;

namespace {

TEST(SpscRing, DropsAndCountsWhenFull) {
    SpscRing<int> ring(3);  // rounded up to 4
    for (int i = 0; i < 6; ++i) EXPECT_EQ(ring.push(i), i < 4);
    EXPECT_EQ(ring.dropped(), 2u);
    int value = -1;
    for (int i = 0; i < 4; ++i) {
        ASSERT_TRUE(ring.pop(value));
        EXPECT_EQ(value, i);
    }
    EXPECT_FALSE(ring.pop(value));
    EXPECT_TRUE(ring.push(9));
}

TEST(SpscRing, KeepsOrderBetweenTwoThreads) {
    SpscRing<std::uint64_t> ring(64);
    constexpr std::uint64_t count = 100'000;
    std::uint64_t pushed = 0;
    std::thread producer([&] {
        for (std::uint64_t i = 0; i < count; ++i) {
            while (!ring.push(i)) std::this_thread::yield();
            ++pushed;
        }
    });
    for (std::uint64_t expected = 0; expected < count;) {
        std::uint64_t value = 0;
        if (!ring.pop(value)) continue;
        ASSERT_EQ(value, expected++);
    }
    producer.join();
    EXPECT_EQ(pushed, count);
}

}  // namespace
