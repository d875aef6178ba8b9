#include "firmware/core/stream.hpp"

#include <gtest/gtest.h>

#include <algorithm>
#include <limits>
#include <random>
#include <vector>

#include "tests/firmware/meter_fixture.hpp"

namespace {

using namespace wattrig;
using namespace wattrig::firmware;
using namespace wattrig::firmware::test;
using protocol::Detail;

class StreamTest : public MeterTest {};

TEST_F(StreamTest, IgnoresEverythingWhileNotStreaming) {
    feed_range(0, 300);
    meter_->on_adc_crc_error(1);
    meter_->on_peak_lost(3);
    meter_->on_slow_error();
    meter_->poll(1'000'000);
    EXPECT_TRUE(meter_->front_frame().empty());
    EXPECT_EQ(counters().adc_crc_errors, 0u);
}

TEST_F(StreamTest, BlocksCarryCodesSumsExtremesAndTime) {
    start(2);
    std::mt19937 random(6);
    __int128 vi[2] = {};
    __int128 ii[2] = {};
    std::int64_t v_sum[2] = {};
    std::int64_t i_sum[2] = {};
    for (std::uint32_t n = 0; n < 75 * 40; ++n) {
        AdcSample sample{};
        const auto code = [&random] { return static_cast<std::int32_t>(random() % 16'777'000) - 8'388'500; };
        for (int rail = 0; rail < 2; ++rail) {
            sample.v[rail] = code();
            sample.i[rail] = code();
            v_sum[rail] += sample.v[rail];
            i_sum[rail] += sample.i[rail];
            vi[rail] += static_cast<__int128>(sample.v[rail]) * sample.i[rail];
            ii[rail] += static_cast<__int128>(sample.i[rail]) * sample.i[rail];
        }
        sample.sideband = static_cast<std::uint8_t>(random());
        meter_->on_adc_sample(drdy_us(n, random() % 6), sample);
        if (n % 75 != 74) continue;
        const auto blocks = drain();
        ASSERT_EQ(blocks.size(), 1u);
        const Block& block = blocks[0];
        EXPECT_EQ(block.frame.sequence, n / 75);
        EXPECT_EQ(block.header.first_index, n - 74);
        EXPECT_EQ(block.header.count, 75u);
        EXPECT_EQ(block.header.span, 75u);
        EXPECT_EQ(block.header.segment, 1u);
        EXPECT_EQ(block.header.boot_id, 7u);
        EXPECT_EQ(block.header.rails, 2);
        EXPECT_NEAR(static_cast<double>(block.header.first_time),
                    static_cast<double>(origin_us * 125 + (n - 74ull) * 3840 - 5715), 130);
        EXPECT_EQ(block.has(protocol::block_resynchronised), n == 74);
        for (std::size_t rail = 0; rail < 2; ++rail) {
            const auto& part = block.rails[rail];
            ASSERT_EQ(part.sums.count, n + 1);
            ASSERT_EQ(part.sums.sum_v, v_sum[rail]);
            ASSERT_EQ(part.sums.sum_i, i_sum[rail]);
            ASSERT_TRUE(from_wire(part.sums.sum_vi) == vi[rail]);
            ASSERT_TRUE(from_wire(part.sums.sum_ii) == ii[rail]);
            ASSERT_EQ(part.extremes.v_minimum, *std::ranges::min_element(block.v[rail]));
            ASSERT_EQ(part.extremes.v_maximum, *std::ranges::max_element(block.v[rail]));
            ASSERT_EQ(part.extremes.i_minimum, *std::ranges::min_element(block.i[rail]));
            ASSERT_EQ(part.extremes.i_maximum, *std::ranges::max_element(block.i[rail]));
        }
        ASSERT_EQ(block.v[1].back(), sample.v[1]);
        ASSERT_EQ(block.i[0].back(), sample.i[0]);
        std::uint8_t ones = 0;
        std::uint8_t zeros = 0;
        for (const auto bits : block.sideband) {
            ones |= bits;
            zeros |= static_cast<std::uint8_t>(~bits);
        }
        ASSERT_EQ(block.sideband.back(), sample.sideband);
        ASSERT_EQ(block.header.sideband_high, ones);
        ASSERT_EQ(block.header.sideband_low, zeros);
    }
}

TEST_F(StreamTest, TimesWithinASegmentLieExactlyOnTheGrid) {
    start();
    feed_range(0, 50);
    feed_range(60, 100);
    feed_range(400, 75);
    stop();
    const auto blocks = drain();
    ASSERT_EQ(blocks.size(), 4u);
    for (const Block& block : blocks) {
        EXPECT_EQ(block.header.first_time - blocks[0].header.first_time,
                  (block.header.first_index - blocks[0].header.first_index) * 3840);
    }
}

TEST_F(StreamTest, ALossEndsTheBlockAndIsCountedExactly) {
    start();
    feed_range(0, 100);   // a full block and 25
    feed_range(103, 75);  // 3 lost
    feed_range(1'000'178, 75);
    const auto blocks = drain();
    ASSERT_EQ(blocks.size(), 4u);
    EXPECT_EQ(blocks[1].header.count, 25u);
    EXPECT_EQ(blocks[1].header.lost_samples, 0u);
    EXPECT_FALSE(blocks[1].has(protocol::block_samples_lost));
    EXPECT_EQ(blocks[2].header.first_index, 103u);
    EXPECT_EQ(blocks[2].header.lost_samples, 3u);
    EXPECT_TRUE(blocks[2].has(protocol::block_samples_lost));
    EXPECT_EQ(blocks[3].header.first_index, 1'000'178u);
    EXPECT_EQ(blocks[3].header.lost_samples, 1'000'003u);
    EXPECT_EQ(blocks[3].rails[0].sums.count, 250u);
    EXPECT_EQ(blocks[3].header.segment, 1u);
    EXPECT_EQ(counters().samples, 250u);
    EXPECT_EQ(counters().lost_samples, 1'000'003u);
}

TEST_F(StreamTest, ABadCrcIsALossInNoSum) {
    start();
    feed_range(0, 10);
    meter_->on_adc_crc_error(drdy_us(10));
    feed_range(11, 75);
    const auto blocks = drain();
    ASSERT_EQ(blocks.size(), 2u);
    EXPECT_TRUE(blocks[0].has(protocol::block_adc_crc_error));
    EXPECT_EQ(blocks[1].header.adc_crc_errors, 1u);
    EXPECT_EQ(blocks[1].header.lost_samples, 1u);
    EXPECT_EQ(blocks[1].rails[0].sums.count, 85u);
}

TEST_F(StreamTest, AResynchronisationBeginsASegment) {
    start();
    feed_range(0, 80);
    meter_->on_adc_resynchronised();
    meter_->on_adc_sample(drdy_us(90) + 9, {{1, 1}, {1, 1}, 0xff});
    stop();
    const auto blocks = drain();
    ASSERT_EQ(blocks.size(), 3u);
    EXPECT_EQ(blocks[1].header.count, 5u);
    EXPECT_EQ(blocks[2].header.segment, 2u);
    EXPECT_EQ(blocks[2].header.first_index, 90u);
    EXPECT_EQ(blocks[2].header.lost_samples, 10u);
    EXPECT_TRUE(blocks[2].has(protocol::block_resynchronised));
    EXPECT_EQ(counters().resynchronisations, 1u);
}

TEST_F(StreamTest, FlagsOfClippingVoltageAndPower) {
    start();
    feed_range(0, 75);
    feed(75, protocol::code_maximum);
    feed_range(76, 74);
    feed(150, 999);
    feed_range(151, 74);
    feed(225, 5'000'000, 1, 0);
    feed_range(226, 74);
    const auto blocks = drain();
    ASSERT_EQ(blocks.size(), 4u);
    const std::uint32_t mask = protocol::block_clipped | protocol::block_low_voltage | protocol::block_power_off;
    EXPECT_EQ(blocks[0].header.flags & mask, 0u);
    EXPECT_EQ(blocks[1].header.flags & mask, std::uint32_t{protocol::block_clipped});
    EXPECT_EQ(blocks[2].header.flags & mask, std::uint32_t{protocol::block_low_voltage});
    EXPECT_EQ(blocks[3].header.flags & mask, std::uint32_t{protocol::block_power_off});
}

TEST_F(StreamTest, AFullRingCostsDetailNeverEnergy) {
    start();
    std::uint64_t n = 0;
    const auto block_of = [&](std::int32_t current) {
        for (int k = 0; k < 75; ++k) feed(n++, 1'000'000, current);
    };
    block_of(1);
    EXPECT_GE(FrameRing<Stream::ring_slots>::capacity * 2.304, 100.0) << "ms of host stall";
    for (std::uint32_t k = 1; k < FrameRing<Stream::ring_slots>::capacity; ++k) block_of(2);
    for (int k = 0; k < 10; ++k) block_of(1000);  // all dropped
    EXPECT_EQ(counters().lost_blocks, 10u);
    EXPECT_EQ(counters().ring_high_water, FrameRing<Stream::ring_slots>::capacity);
    const auto waiting = drain();
    EXPECT_EQ(waiting.size(), FrameRing<Stream::ring_slots>::capacity);
    EXPECT_FALSE(waiting.back().has(protocol::block_overrun));
    block_of(3);
    block_of(3);
    const auto after = drain();
    ASSERT_EQ(after.size(), 2u);
    EXPECT_TRUE(after[0].has(protocol::block_overrun));
    EXPECT_FALSE(after[0].has(protocol::block_samples_lost)) << "the samples were counted";
    EXPECT_FALSE(after[1].has(protocol::block_overrun));
    EXPECT_EQ(after[0].header.lost_blocks, 10u);
    EXPECT_EQ(after[0].frame.sequence, waiting.back().frame.sequence + 1);
    EXPECT_EQ(after[0].header.first_index, waiting.back().header.first_index + 11 * 75);
    EXPECT_EQ(after[0].rails[0].sums.sum_i - waiting.back().rails[0].sums.sum_i, 75 * (10 * 1000 + 3))
        << "the gap, closed exactly";
}

TEST_F(StreamTest, SummariesHoldWhatBlocksWould) {
    for (const auto& [detail, samples] : {std::pair{Detail::summary_10ms, protocol::samples_per_summary_10ms},
                                          std::pair{Detail::summary_1s, protocol::samples_per_summary_1s}}) {
        make(usual_config());
        start(1, detail);
        std::int64_t sum = 0;
        std::uint32_t readings = 0;
        std::int32_t largest = 0;
        for (std::uint32_t n = 0; n < 3 * samples; ++n) {
            const auto current = static_cast<std::int32_t>(n % 977);
            sum += current;
            largest = std::max(largest, current);
            const std::vector<std::uint16_t> part(7 + n % 2, 4000);
            readings += static_cast<std::uint32_t>(part.size());
            meter_->on_peak_readings(part);
            feed(n, 5'000'000, current);
            if ((n + 1) % samples != 0) continue;
            const auto blocks = drain();
            ASSERT_EQ(blocks.size(), 1u);
            EXPECT_EQ(blocks[0].frame.type, static_cast<std::uint8_t>(protocol::FrameType::summary));
            EXPECT_EQ(blocks[0].header.detail, static_cast<std::uint8_t>(detail));
            EXPECT_EQ(blocks[0].header.count, samples);
            EXPECT_EQ(blocks[0].rails[0].sums.sum_i, sum);
            EXPECT_EQ(blocks[0].rails[0].sums.sum_v, 5'000'000ll * (n + 1));
            EXPECT_EQ(blocks[0].rails[0].extremes.i_maximum, largest);
            largest = 0;
            EXPECT_EQ(blocks[0].peak.readings, readings);
            EXPECT_EQ(blocks[0].peak.sum_low, readings * 4000);
            readings = 0;
        }
    }
}

TEST_F(StreamTest, ASummaryBridgesLossesUpToItsEnd) {
    start(1, Detail::summary_10ms);
    feed_range(0, 100);
    feed_range(150, 150);  // 50 lost inside
    feed_range(300, 290);
    feed_range(700, 300);  // 110 lost over the end
    const auto blocks = drain();
    ASSERT_EQ(blocks.size(), 3u);
    EXPECT_EQ(blocks[0].header.span, 300u);
    EXPECT_EQ(blocks[0].header.count, 250u);
    EXPECT_EQ(blocks[0].header.lost_samples, 50u);
    EXPECT_EQ(blocks[1].header.span, 290u);
    EXPECT_EQ(blocks[1].header.count, 290u);
    EXPECT_EQ(blocks[2].header.first_index, 700u);
    EXPECT_EQ(blocks[2].header.lost_samples, 160u);
    EXPECT_TRUE(blocks[2].has(protocol::block_samples_lost));
}

TEST_F(StreamTest, DetailChangesAtTheNextEdge) {
    start(1, Detail::summary_1s);
    feed_range(0, 100);
    meter_->on_command(0, command_frame(protocol::CommandId::set_detail, 1, protocol::SetDetail{0, {}}));
    EXPECT_EQ(status_of_reply(0), protocol::Status::ok);
    feed_range(100, 80);
    meter_->on_command(0, command_frame(protocol::CommandId::set_detail, 1, protocol::SetDetail{1, {}}));
    EXPECT_EQ(status_of_reply(0), protocol::Status::ok);
    feed_range(180, 45 + 300);
    const auto blocks = drain();
    ASSERT_EQ(blocks.size(), 3u);
    EXPECT_EQ(blocks[0].header.span, 150u) << "the summary is cut at a multiple of 75";
    EXPECT_EQ(blocks[0].header.detail, 2);
    EXPECT_EQ(blocks[1].header.span, 75u);
    EXPECT_EQ(blocks[1].header.detail, 0);
    EXPECT_EQ(blocks[1].v[0].size(), 75u);
    EXPECT_EQ(blocks[2].header.span, 300u);
    EXPECT_EQ(blocks[2].header.detail, 1);
    EXPECT_EQ(blocks[2].rails[0].sums.count, 525u);
}

TEST_F(StreamTest, ASilentAdcGivesFlaggedEmptyBlocks) {
    start();
    feed_range(0, 80);
    for (std::uint64_t t = drdy_us(80); t < drdy_us(79 + 76 * 3); t += 500) meter_->poll(t);
    auto blocks = drain();
    ASSERT_GE(blocks.size(), 4u);
    EXPECT_EQ(blocks[1].header.count, 5u) << "what there was is not held back";
    std::uint64_t next = 80;
    for (std::size_t k = 2; k < blocks.size(); ++k) {
        EXPECT_TRUE(blocks[k].has(protocol::block_adc_silent));
        EXPECT_EQ(blocks[k].header.count, 0u);
        EXPECT_GE(blocks[k].header.span, 75u);
        EXPECT_EQ(blocks[k].header.first_index, next);
        EXPECT_EQ(blocks[k].rails[0].extremes.v_maximum, 0);
        EXPECT_TRUE(blocks[k].v[0].empty());
        next += blocks[k].header.span;
    }
    feed_range(1000, 75);
    blocks = drain();
    ASSERT_EQ(blocks.size(), 1u);
    EXPECT_EQ(blocks[0].header.first_index, 1000u);
    EXPECT_EQ(blocks[0].header.lost_samples, 920u);
    EXPECT_EQ(blocks[0].header.segment, 2u) << "a restarted ADC has a phase of its own";
    EXPECT_EQ(blocks[0].rails[0].sums.count, 155u);
}

TEST_F(StreamTest, AnAdcThatNeverSpeaksIsToldToo) {
    start(1, Detail::full, 1'000'000);
    for (std::uint64_t t = 1'000'000; t < 1'100'000; t += 1'000) meter_->poll(t);
    const auto blocks = drain();
    ASSERT_GT(blocks.size(), 30u);
    EXPECT_EQ(blocks[0].header.first_index, 0u);
    EXPECT_NEAR(static_cast<double>(blocks[0].header.first_time), 1'000'000 * 125.0, 10'000);
    for (const Block& block : blocks) EXPECT_TRUE(block.has(protocol::block_adc_silent));
    EXPECT_NEAR(static_cast<double>(blocks.back().header.first_index + blocks.back().header.span), 100'000 / 30.72, 160);
}

TEST_F(StreamTest, AWorkingAdcIsNeverCalledSilent) {
    start();
    for (std::uint64_t n = 0; n < 75 * 60; ++n) {
        feed(n);
        meter_->poll(drdy_us(n) + n % 31);
    }
    for (const Block& block : drain()) EXPECT_EQ(block.header.count, 75u);
}

TEST_F(StreamTest, LostPeakReadingsAreTold) {
    start();
    feed_range(0, 10);
    meter_->on_peak_lost(12);
    feed_range(10, 140);
    const auto blocks = drain();
    EXPECT_TRUE(blocks[0].has(protocol::block_peak_unavailable));
    EXPECT_FALSE(blocks[1].has(protocol::block_peak_unavailable));
    EXPECT_EQ(blocks[1].header.peak_overruns, 12u);
    EXPECT_EQ(blocks[1].peak.maximum, std::numeric_limits<std::int32_t>::min());
}

TEST_F(StreamTest, BulkSamplesJoinTheSameSums) {
    start(2);
    feed_range(0, 100);
    BulkSamples bulk{};
    bulk.count = 100'000;
    bulk.sum_v = 11;
    bulk.sum_i = -12;
    // Near the wrap of the low word: what follows carries into the high one.
    bulk.sum_vi = {~std::uint64_t{0}, 0};
    bulk.sum_ii = {~std::uint64_t{0}, 5};
    bulk.extremes = {2000, 3000, -4, 5};
    bulk.slow_sum = 70;
    bulk.slow_fast_sum = 71;
    bulk.slow_count = 2;
    bulk.slow_fast_count = 268;
    bulk.peak_maximum = 12'345;
    bulk.peak_minimum_reading = 3;
    bulk.peak_maximum_reading = 4;
    bulk.peak_sum = 99;
    bulk.peak_readings = 30;
    bulk.sideband = protocol::sideband_power_on;
    meter_->add_bulk(bulk);
    feed_range(100'100, 75);
    const auto blocks = drain();
    ASSERT_EQ(blocks.size(), 4u);
    const Block& summary = blocks[2];
    EXPECT_EQ(summary.frame.type, static_cast<std::uint8_t>(protocol::FrameType::summary));
    EXPECT_EQ(summary.header.first_index, 100u);
    EXPECT_EQ(summary.header.span, 100'000u);
    EXPECT_EQ(summary.header.count, 100'000u);
    EXPECT_EQ(summary.rails[0].sums.count, 100'100u);
    EXPECT_EQ(summary.rails[0].sums.sum_i - blocks[1].rails[0].sums.sum_i, -12);
    EXPECT_TRUE(from_wire(summary.rails[0].sums.sum_vi) - from_wire(blocks[1].rails[0].sums.sum_vi) == from_wire(bulk.sum_vi));
    EXPECT_EQ(summary.rails[0].extremes.i_minimum, -4);
    EXPECT_EQ(summary.slow.fast_count, 268u);
    EXPECT_EQ(summary.peak.maximum, 12'345);
    EXPECT_EQ(summary.peak.group_maximum[0], 12'345);
    EXPECT_EQ(summary.peak.readings, 30u);
    const Block& last = blocks[3];
    EXPECT_EQ(last.header.first_index, 100'100u);
    EXPECT_EQ(last.header.lost_samples, 0u);
    EXPECT_EQ(last.header.segment, 1u);
    EXPECT_EQ(last.rails[0].sums.sum_vi.high, summary.rails[0].sums.sum_vi.high) << "no second carry";
    EXPECT_TRUE(from_wire(last.rails[0].sums.sum_vi) - from_wire(summary.rails[0].sums.sum_vi) ==
                static_cast<__int128>(75) * 5'000'000 * 1'000'000);
}

TEST_F(StreamTest, ANewStreamStartsFromZero) {
    start();
    feed_range(0, 100);
    stop();
    EXPECT_FALSE(meter_->streaming());
    start();
    feed_range(5000, 75);
    const auto blocks = drain();
    ASSERT_EQ(blocks.size(), 1u) << "frames of the stream before are gone";
    EXPECT_EQ(blocks[0].header.first_index, 0u);
    EXPECT_EQ(blocks[0].header.segment, 2u) << "counts since boot";
    EXPECT_EQ(blocks[0].rails[0].sums.count, 75u);
}

TEST_F(StreamTest, InterruptsAreMaskedInPairs) {
    struct Mask {
        int depth = 0;
        int calls = 0;
    } mask;
    Port port;
    port.context = &mask;
    port.mask_interrupts = [](void* context) -> std::uint32_t {
        auto* m = static_cast<Mask*>(context);
        EXPECT_EQ(m->depth++, 0);
        ++m->calls;
        return 42;
    };
    port.restore_interrupts = [](void* context, std::uint32_t state) {
        EXPECT_EQ(state, 42u);
        --static_cast<Mask*>(context)->depth;
    };
    make(usual_config(), port);
    start();
    feed_range(0, 10);
    meter_->poll(drdy_us(200));
    counters();
    stop();
    EXPECT_EQ(mask.depth, 0);
    EXPECT_GE(mask.calls, 4);
}

}  // namespace
