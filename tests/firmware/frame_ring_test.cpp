#include "firmware/core/frame_ring.hpp"

#include <gtest/gtest.h>

#include <memory>
#include <thread>

namespace {

using namespace wattrig;
using firmware::FrameRing;

TEST(FrameRing, HandsFramesOverInOrderAndRefusesWhenFull) {
    auto ring = std::make_unique<FrameRing<4>>();
    EXPECT_TRUE(ring->front().empty());
    ring->pop();  // of nothing: nothing happens
    for (std::uint32_t n = 0; n < 3; ++n) {
        protocol::store(ring->payload(), n);
        EXPECT_TRUE(ring->commit(protocol::FrameType::block, 4));
    }
    protocol::store(ring->payload(), std::uint32_t{99});
    EXPECT_FALSE(ring->commit(protocol::FrameType::block, 4));
    EXPECT_EQ(ring->high_water(), 3u);
    for (std::uint32_t n = 0; n < 3; ++n) {
        const auto frame = ring->front();
        ASSERT_EQ(protocol::check_frame(frame), protocol::FrameCheck::ok);
        EXPECT_EQ(frame.data(), ring->front().data()) << "the same until pop";
        EXPECT_EQ(protocol::load<protocol::FrameHeader>(frame.data()).sequence, n);
        EXPECT_EQ(protocol::load<std::uint32_t>(frame.data() + sizeof(protocol::FrameHeader)), n);
        ring->pop();
    }
    EXPECT_TRUE(ring->front().empty());
    EXPECT_TRUE(ring->commit(protocol::FrameType::block, 4));
    EXPECT_EQ(protocol::load<protocol::FrameHeader>(ring->front().data()).sequence, 3u) << "a refused frame takes no number";
}

TEST(FrameRing, PayloadsAreAlignedForWords) {
    auto ring = std::make_unique<FrameRing<4>>();
    for (int n = 0; n < 8; ++n) {
        EXPECT_EQ(reinterpret_cast<std::uintptr_t>(ring->payload()) % 8, 0u);
        ring->commit(protocol::FrameType::block, 4);
        ring->pop();
    }
}

// Two threads stand for interrupt and main loop; run under TSan, too.
TEST(FrameRing, TwoThreadsSeeEveryCommittedFrameWhole) {
    auto ring = std::make_unique<FrameRing<8>>();
    constexpr std::uint32_t frames = 5'000;
    std::atomic<bool> done{false};
    std::uint32_t refused = 0;
    std::thread producer([&] {
        for (std::uint32_t n = 0; n < frames; ++n) {
            for (std::uint32_t word = 0; word < 64; ++word) protocol::store(ring->payload() + 4 * word, n);
            if (!ring->commit(protocol::FrameType::block, 256)) {
                ++refused;
                std::this_thread::yield();
            }
        }
        done = true;
    });
    std::uint32_t seen = 0;
    std::uint32_t previous = 0;
    for (bool last = false; !last;) {
        last = done;
        for (auto frame = ring->front(); !frame.empty(); frame = ring->front()) {
            ASSERT_EQ(protocol::check_frame(frame), protocol::FrameCheck::ok);
            ASSERT_EQ(protocol::load<protocol::FrameHeader>(frame.data()).sequence, seen++);
            const auto first = protocol::load<std::uint32_t>(frame.data() + 16);
            ASSERT_TRUE(seen == 1 || first > previous);
            previous = first;
            for (std::uint32_t word = 1; word < 64; ++word) {
                ASSERT_EQ(protocol::load<std::uint32_t>(frame.data() + 16 + 4 * word), first);
            }
            ring->pop();
        }
        std::this_thread::yield();
    }
    producer.join();
    EXPECT_EQ(seen + refused, frames);
}

}  // namespace
