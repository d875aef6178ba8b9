#include "firmware/core/slow_path.hpp"

#include <gtest/gtest.h>

#include <random>
#include <vector>

#include "tests/firmware/meter_fixture.hpp"

namespace {

using namespace wattrig;
using namespace wattrig::firmware;
using firmware::test::MeterTest;

class SlowPathTest : public MeterTest {
  protected:
    void SetUp() override { start(); }
    void sample(std::int32_t current) {
        currents_.push_back(current);
        feed(currents_.size() - 1, 5'000'000, current);
    }
    // By the definition: samples whose middle lies within the 4.12 ms before `end_ticks`.
    [[nodiscard]] std::pair<std::int64_t, std::uint32_t> inside(std::uint64_t end_ticks) const {
        std::int64_t sum = 0;
        std::uint32_t count = 0;
        for (std::size_t n = 0; n < currents_.size(); ++n) {
            const std::uint64_t middle = origin_us * 125 + n * 3840 - 5715;
            if (middle + 515'000 > end_ticks && middle <= end_ticks) {
                sum += currents_[n];
                ++count;
            }
        }
        return {sum, count};
    }
    protocol::SlowSums last() {
        stop();
        return drain().back().slow;
    }
    std::vector<std::int32_t> currents_;
    std::mt19937 random_{5};
};

TEST_F(SlowPathTest, SumsTheVerySameConversions) {
    std::int64_t fast = 0;
    std::int64_t slow = 0;
    std::uint32_t count = 0;
    std::vector<std::uint64_t> ends;
    bool code_due = false;
    for (std::uint32_t n = 0; n < 20'000; ++n) {
        sample(static_cast<std::int32_t>(random_() % 8'000'000) - 1'000'000);
        if (n % 75 == 74) drain();
        if (code_due && n % 200 == 163) {  // I2C brings the code some samples after ALERT
            meter_->on_slow_conversion(static_cast<std::int32_t>(n) - 5'000, 2500);
            slow += static_cast<std::int32_t>(n) - 5'000;
            ++count;
        }
        if (n % 200 == 150) {
            const std::uint64_t end_us = drdy_us(n) + random_() % 28;
            meter_->on_slow_alert(end_us);
            ends.push_back(end_us * 125);
            code_due = true;
        }
    }
    std::int64_t counted = 0;
    for (const std::uint64_t end : ends) {
        const auto [sum, samples] = inside(end);
        // 134.1 periods: for one phase in ten the definition has 135, the device always takes the newest 134.
        fast += sum;
        counted += samples;
        if (samples == 135) {
            for (std::size_t n = 0; n < currents_.size(); ++n) {
                if (origin_us * 125 + n * 3840 - 5715 + 515'000 > end) {
                    fast -= currents_[n];
                    --counted;
                    break;
                }
            }
        }
    }
    const protocol::SlowSums sums = last();
    EXPECT_EQ(sums.count, count);
    EXPECT_EQ(sums.sum, slow);
    EXPECT_EQ(sums.fast_count, counted);
    EXPECT_EQ(sums.fast_sum, fast);
    EXPECT_EQ(counted, 134 * static_cast<std::int64_t>(count));
}

TEST_F(SlowPathTest, WithoutAlertTheCallItselfIsTheEnd) {
    for (std::uint32_t n = 0; n < 140; ++n) sample(static_cast<std::int32_t>(n));
    meter_->on_slow_conversion(-77, 3100);
    sample(140);
    sample(1'000'000);  // this one comes too late to be inside
    const protocol::SlowSums sums = last();
    EXPECT_EQ(sums.sum, -77);
    EXPECT_EQ(sums.fast_count, 134u);
    EXPECT_EQ(sums.fast_sum, 134 * (140 + 7) / 2);
}

TEST_F(SlowPathTest, AConversionWithALossEntersNeitherSum) {
    feed_range(0, 100);
    feed_range(101, 100);  // one lost
    meter_->on_slow_conversion(5, 2500);
    feed_range(201, 40);
    drain();
    EXPECT_EQ(counters().lost_samples, 1u);
    meter_->on_slow_conversion(6, 2500);
    feed_range(241, 40);
    const protocol::SlowSums sums = last();
    EXPECT_EQ(sums.count, 1u);
    EXPECT_EQ(sums.sum, 6);
    EXPECT_EQ(sums.fast_count, 134u);
}

TEST_F(SlowPathTest, StaleIsFlaggedAfter100msAndErrorsAreCounted) {
    feed_range(0, 75 * 40);
    for (const auto& block : drain()) EXPECT_FALSE(block.has(protocol::block_slow_stale));
    meter_->on_slow_error();
    feed_range(75 * 40, 75 * 10);
    auto blocks = drain();
    EXPECT_TRUE(blocks.back().has(protocol::block_slow_stale));
    EXPECT_EQ(blocks.back().header.slow_errors, 1u);
    meter_->on_slow_conversion(1, 2500);
    feed_range(75 * 50, 75);
    blocks = drain();
    EXPECT_FALSE(blocks.back().has(protocol::block_slow_stale));
    EXPECT_EQ(blocks.back().header.shunt_temperature, 2500);
}

}  // namespace
