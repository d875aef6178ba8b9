#include "firmware/core/peak_window.hpp"

#include <gtest/gtest.h>

#include <algorithm>
#include <limits>
#include <random>
#include <vector>

namespace {

using namespace wattrig;
using firmware::PeakWindow;
using firmware::SampleHistory;

constexpr std::int32_t none = std::numeric_limits<std::int32_t>::min();

// PROTOCOL.md section 4, said in the slowest way: every window summed anew, divided with floor, none of the code's shortcuts.
class BruteForce {
  public:
    explicit BruteForce(std::int32_t zero) : zero_(zero) {}
    void sample(std::int32_t v) { v_.push_back(v); }
    void lost() { readings_.clear(); }
    void add(const std::vector<std::uint16_t>& call) {
        for (std::size_t n = 0; n < call.size(); ++n) {
            readings_.push_back(call[n]);
            values.push_back(none);
            const std::size_t back = (call.size() - 1 - n) * 500 / 3840;
            if (readings_.size() >= 25 && !v_.empty()) {
                __int128 sum = 0;
                for (std::size_t k = readings_.size() - 25; k < readings_.size(); ++k) sum += readings_[k];
                const std::size_t newest = v_.size() - 1;
                // The device knows 256 samples; a call of more than 8 ms takes the oldest for what lies before.
                const __int128 v = std::max(v_[newest - std::min({back, newest, std::size_t{255}})], 0);
                const __int128 product = (256 * sum - __int128{25} * zero_) * v;
                const __int128 divisor = 1 << 20;
                __int128 value = product / divisor;
                if (product % divisor < 0) --value;
                maximum = std::max(maximum, static_cast<std::int32_t>(value));
                values.back() = static_cast<std::int32_t>(value);
            }
            block_.push_back(call[n]);
        }
    }
    void next_block() {
        maximum = none;
        values.clear();
        block_.clear();
    }
    std::int32_t maximum = none;
    std::vector<std::int32_t> values;  // of the window that ends at each reading of the block
    std::vector<std::uint16_t> block_;

  private:
    std::int32_t zero_;
    std::vector<std::int32_t> v_;
    std::vector<std::uint16_t> readings_;
};

TEST(PeakWindow, MatchesBruteForceOverBlockBordersGapsAndPieces) {
    for (std::uint32_t seed = 0; seed < 20; ++seed) {
        std::mt19937 random(seed);
        const auto zero = static_cast<std::int32_t>(random() % (500 * 256));
        PeakWindow peak(zero);
        SampleHistory history;
        BruteForce truth(zero);
        std::uint32_t blocks = 0;
        std::uint16_t level = 1000;
        for (std::uint32_t call = 0; call < 3000; ++call) {
            const auto kind = random() % 100;
            if (kind < 60) {
                const auto v = static_cast<std::int32_t>(random() % 40 == 0 ? -50 : 3'000'000 + random() % 2'000'000);
                history.add(v, 0);
                truth.sample(v);
            } else if (kind < 61) {
                peak.lose();
                truth.lost();
            } else if (kind < 66) {
                const protocol::PeakSummary summary = peak.finish_block(blocks++, true);
                ASSERT_EQ(summary.maximum, truth.maximum) << seed << " " << call;
                if (summary.maximum != none) {
                    // Rounding makes equals of neighbours; any of them will do.
                    ASSERT_LT(summary.maximum_at, truth.values.size());
                    ASSERT_EQ(truth.values[summary.maximum_at], truth.maximum) << seed << " " << call;
                }
                ASSERT_EQ(summary.readings, truth.block_.size());
                std::uint32_t sum = 0;
                for (const auto reading : truth.block_) sum += reading;
                ASSERT_EQ(summary.sum_low, sum);
                if (!truth.block_.empty()) {
                    ASSERT_EQ(summary.minimum_reading, *std::ranges::min_element(truth.block_));
                    ASSERT_EQ(summary.maximum_reading, *std::ranges::max_element(truth.block_));
                } else {
                    ASSERT_EQ(summary.minimum_reading, 0);
                    ASSERT_EQ(summary.maximum_reading, 0);
                }
                truth.next_block();
            } else {
                static constexpr std::size_t sizes[] = {0, 1, 7, 8, 9, 24, 25, 26, 64, 576, 700, 2000};
                std::vector<std::uint16_t> readings(sizes[random() % std::size(sizes)]);
                if (random() % 10 == 0) level = static_cast<std::uint16_t>(random() % 3900);
                for (auto& reading : readings) reading = static_cast<std::uint16_t>(level + random() % 196);
                peak.add(readings, history);
                truth.add(readings);
            }
        }
    }
}

TEST(PeakWindow, FindsAShortPulseOnTheBlockBorder) {
    PeakWindow peak(0);
    SampleHistory history;
    history.add(1 << 20, 0);
    std::vector<std::uint16_t> readings(1152, 100);
    for (std::size_t n = 564; n < 589; ++n) readings[n] = 3000;  // 100 us, 12 readings before the border at 576 and 13 after
    peak.add(std::span(readings).first(576), history);
    const auto before = peak.finish_block(0, true);
    peak.add(std::span(readings).subspan(576), history);
    const auto after = peak.finish_block(1, true);
    EXPECT_EQ(before.maximum, (12 * 3000 + 13 * 100) * 256);
    EXPECT_EQ(after.maximum, 25 * 3000 * 256) << "the whole pulse, seen from the block in which it ends";
    EXPECT_EQ(after.maximum_at, 588 - 576);
}

TEST(PeakWindow, ReportsNothingWithoutAWholeWindow) {
    PeakWindow peak(0);
    SampleHistory history;
    history.add(1 << 20, 0);
    const std::vector<std::uint16_t> readings(24, 4095);
    peak.add(readings, history);
    EXPECT_EQ(peak.finish_block(0, true).maximum, none);
    peak.add(std::vector<std::uint16_t>(1, 4095), history);
    EXPECT_EQ(peak.finish_block(1, true).maximum, 25 * 4095 * 256) << "reaches back into the block before";
    peak.lose();
    peak.add(readings, history);
    EXPECT_EQ(peak.finish_block(2, true).maximum, none) << "never over a gap";
}

TEST(PeakWindow, TheLargestValueFits) {
    PeakWindow peak(0);
    SampleHistory history;
    history.add(protocol::code_maximum, 0);
    peak.add(std::vector<std::uint16_t>(25, 4095), history);
    EXPECT_EQ(peak.finish_block(0, true).maximum,
              static_cast<std::int32_t>(std::int64_t{25 * 4095} * protocol::code_maximum >> 12));
}

TEST(PeakWindow, GroupsSurviveAnyRunOfLostBlocks) {
    // A pulse in one block; the host sees only a later one. Within 64 blocks the pulse must stand in the group that held it.
    for (std::uint32_t pulse = 0; pulse < 40; ++pulse) {
        PeakWindow peak(0);
        SampleHistory history;
        history.add(1 << 20, 0);
        for (std::uint32_t block = 0; block < pulse + 80; ++block) {
            peak.add(std::vector<std::uint16_t>(576, block == pulse ? 2000 : 10), history);
            const auto summary = peak.finish_block(block, true);
            const std::uint32_t age = block / 8 - pulse / 8;  // in groups; as if wrapped while block < pulse
            for (std::uint32_t group = 0; group < protocol::peak_groups; ++group) {
                const bool exists = group <= block / 8;
                if (block >= pulse && group == age) {
                    ASSERT_EQ(summary.group_maximum[group], 25 * 2000 * 256) << pulse << " " << block;
                } else if (!exists) {
                    ASSERT_EQ(summary.group_maximum[group], none);
                } else {
                    // The pulse leaks 24 readings into the block after, which may be of the next group.
                    ASSERT_LT(summary.group_maximum[group], 25 * 2000 * 256) << pulse << " " << block << " " << group;
                }
            }
        }
    }
}

}  // namespace
