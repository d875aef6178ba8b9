#include "host/recording/summary.hpp"

#include <gtest/gtest.h>

#include <filesystem>
#include <random>

#include "host/recording/recording.hpp"
#include "tests/recording/files.hpp"
#include "tests/rig/blocks.hpp"

namespace wattrig::recording {
namespace {

using test::BlockMaker;
using test::Bytes;
using test::Folder;

struct Recorded {
    Folder folder;
    std::string path = folder.file("power.wrt");
    std::unique_ptr<RecordingWriter> writer;
    BlockMaker maker;
    std::vector<bool> received;  // by sample index

    Recorded() { writer = std::move(*RecordingWriter::create(path, {})); }
    void give(const Bytes& frame) {
        const std::uint64_t end = maker.next_index;
        received.resize(end, true);
        writer->append_frame(frame, HostTime{});
    }
    void lose(std::uint64_t samples) {
        maker.skip(samples);
        received.resize(maker.next_index, false);
    }
};

// The plain way: every sample of the range, one by one.
void expect_equal(const SummaryPoint& point, const std::vector<bool>& received, std::uint64_t anchor) {
    std::uint64_t count = 0;
    double v = 0, i = 0, p = 0;
    std::int64_t least = INT64_MAX, most = INT64_MIN;
    std::int32_t i_least = INT32_MAX, v_most = INT32_MIN;
    for (std::uint64_t k = point.first_index; k < std::min<std::uint64_t>(point.first_index + point.span, received.size());
         ++k) {
        if (!received[k]) continue;
        ++count;
        const std::int64_t product = std::int64_t{test::v_of(k)} * test::i_of(k);
        v += test::v_of(k);
        i += test::i_of(k);
        p += static_cast<double>(product);
        least = std::min(least, product);
        most = std::max(most, product);
        i_least = std::min(i_least, test::i_of(k));
        v_most = std::max(v_most, test::v_of(k));
    }
    ASSERT_EQ(point.count, count) << "at " << point.first_index;
    if (count == 0) {
        EXPECT_FALSE(point.begin);
        return;
    }
    const SummaryValues& values = point.rails[0];
    const auto n = static_cast<double>(count);
    EXPECT_NEAR(values.v_mean, v / n, 1e-6);
    EXPECT_NEAR(values.i_mean, i / n, 1e-6);
    EXPECT_NEAR(values.p_mean, p / n, std::abs(p / n) * 1e-12 + 1);
    EXPECT_EQ(values.p_minimum, least);
    EXPECT_EQ(values.p_maximum, most);
    EXPECT_EQ(values.i_minimum, i_least);
    EXPECT_EQ(values.v_maximum, v_most);
    ASSERT_TRUE(point.begin);
    EXPECT_EQ(point.begin->time_since_epoch().count(),
              static_cast<std::int64_t>(anchor + point.first_index * protocol::ticks_per_sample) - 1920);
}

void expect_all_levels(const PowerSummary& summary, const Recorded& recorded) {
    ASSERT_EQ(summary.epochs().size(), 1u);
    const std::uint64_t end = recorded.received.size();
    for (const std::uint64_t step : {256, 512, 3 * 256, 4096, 8192, 65536, 1 << 20}) {
        const std::vector<SummaryPoint> points = summary.read(0, 0, end, step);
        ASSERT_EQ(points.size(), (end + step - 1) / step);
        for (const SummaryPoint& point : points) expect_equal(point, recorded.received, recorded.maker.anchor);
    }
}

TEST(PowerSummary, EqualsThePlainWayAtEveryResolution) {
    Recorded recorded;
    std::mt19937_64 random(4);
    for (int k = 0; k < 3000; ++k) {
        recorded.give(recorded.maker.block(static_cast<std::uint32_t>(k % 3 == 0 ? 1 + random() % 75 : 75)));
        if (random() % 100 == 0) recorded.lose(1 + random() % 5000);
    }
    ASSERT_TRUE(recorded.writer->finish());
    const Result<PowerSummary> summary = PowerSummary::open(recorded.path);
    ASSERT_TRUE(summary) << summary.error().message;
    EXPECT_FALSE(summary->rebuilt()) << "written while recording";
    expect_all_levels(*summary, recorded);
    // A part from the middle, as a chart asks for it.
    const std::vector<SummaryPoint> part = summary->read(0, 100'000, 120'000, 256);
    ASSERT_EQ(part.front().first_index, 99'840u);
    ASSERT_EQ(part.size(), 79u);
    for (const SummaryPoint& point : part) expect_equal(point, recorded.received, recorded.maker.anchor);
}

TEST(PowerSummary, IsRebuiltWhenMissingDamagedOrUnfinished) {
    Recorded recorded;
    for (int k = 0; k < 1500; ++k) recorded.give(recorded.maker.block());
    ASSERT_TRUE(recorded.writer->finish());
    const std::string path = recorded.folder.file("power.sum");
    const Bytes good = test::read_file(path);
    ASSERT_GT(good.size(), 30'000u);
    std::filesystem::remove(path);
    Result<PowerSummary> summary = PowerSummary::open(recorded.path);
    ASSERT_TRUE(summary) << summary.error().message;
    EXPECT_TRUE(summary->rebuilt());
    expect_all_levels(*summary, recorded);

    std::mt19937_64 random(8);
    for (int trial = 0; trial < 40; ++trial) {
        Bytes bad = good;
        switch (trial % 4) {
            case 0: bad.resize(random() % bad.size()); break;
            case 1: bad[random() % bad.size()] ^= 0x40; break;
            case 2: bad.erase(bad.begin() + static_cast<std::ptrdiff_t>(random() % bad.size())); break;
            default: bad.assign(random() % 3000, 0x57); break;
        }
        test::write_file(path, bad);
        summary = PowerSummary::open(recorded.path);
        ASSERT_TRUE(summary) << summary.error().message;
        EXPECT_TRUE(summary->rebuilt()) << trial;
        EXPECT_EQ(summary->read(0, 0, 1u << 30, 4096).size(), 28u);
        summary = PowerSummary::open(recorded.path);
        EXPECT_FALSE(summary->rebuilt());
    }
}

TEST(PowerSummary, OneOfAnotherRecordingIsNotBelieved) {
    Recorded recorded;
    for (int k = 0; k < 200; ++k) recorded.give(recorded.maker.block());
    ASSERT_TRUE(recorded.writer->finish());
    Bytes longer = test::read_file(recorded.path);
    const Bytes more = recorded.maker.block();
    longer.insert(longer.end(), more.begin(), more.end());
    test::write_file(recorded.path, longer);
    const Result<PowerSummary> summary = PowerSummary::open(recorded.path);
    ASSERT_TRUE(summary);
    EXPECT_TRUE(summary->rebuilt());
    EXPECT_EQ(summary->epochs()[0].end_index, 201u * 75);
}

TEST(PowerSummary, BlocksWithoutCodesKeepTheirMeansAndAreMarked) {
    Recorded recorded;
    std::uint64_t end = 0;
    for (int k = 0; k < 5; ++k) {
        recorded.give(recorded.maker.summary(protocol::samples_per_summary_1s, protocol::Detail::summary_1s));
        for (int n = 0; n < 4; ++n) recorded.give(recorded.maker.summary(300, protocol::Detail::summary_10ms));
        for (int n = 0; n < 30; ++n) recorded.give(recorded.maker.block());
        end = recorded.maker.next_index;
    }
    ASSERT_TRUE(recorded.writer->finish());
    const Result<PowerSummary> summary = PowerSummary::open(recorded.path);
    ASSERT_TRUE(summary);
    double sum = 0;
    for (std::uint64_t k = 0; k < end; ++k) sum += test::i_of(k);
    for (const std::uint64_t step : {256, 4096, 65536, 1 << 20}) {
        double total = 0;
        std::uint64_t count = 0;
        bool any_coarse = false;
        for (const SummaryPoint& point : summary->read(0, 0, end, step)) {
            EXPECT_EQ(point.count, std::min(end, point.first_index + point.span) - point.first_index) << point.first_index;
            total += point.rails[0].i_mean * static_cast<double>(point.count);
            count += point.count;
            any_coarse = any_coarse || point.coarse;
        }
        EXPECT_EQ(count, end);
        EXPECT_TRUE(any_coarse);
        EXPECT_NEAR(total / sum, 1, 1e-9) << step;
    }
    // 1 s as 127 entries would make a day of summary blocks larger than its recording.
    EXPECT_LT(std::filesystem::file_size(recorded.folder.file("power.sum")), 40'000u);
}

TEST(PowerSummary, AGapBeforeABlockWithoutCodesIsNoMeanOfBoth) {
    Recorded recorded;
    recorded.give(recorded.maker.summary(300, protocol::Detail::summary_10ms));
    recorded.lose(300);
    recorded.give(recorded.maker.summary(300, protocol::Detail::summary_10ms));
    recorded.give(recorded.maker.summary(300, protocol::Detail::summary_10ms));
    ASSERT_TRUE(recorded.writer->finish());
    const Result<PowerSummary> summary = PowerSummary::open(recorded.path);
    ASSERT_TRUE(summary);
    std::uint64_t count = 0;
    for (const SummaryPoint& point : summary->read(0, 0, 1200, 256)) count += point.count;
    EXPECT_EQ(count, 600u);
}

TEST(PowerSummary, ARestartIsAnotherEpoch) {
    Recorded recorded;
    for (int k = 0; k < 20; ++k) recorded.give(recorded.maker.block());
    BlockMaker second;
    second.boot_id = 8;
    for (int k = 0; k < 10; ++k) recorded.writer->append_frame(second.block(), HostTime{});
    ASSERT_TRUE(recorded.writer->finish());
    const Result<PowerSummary> summary = PowerSummary::open(recorded.path);
    ASSERT_TRUE(summary);
    ASSERT_EQ(summary->epochs().size(), 2u);
    EXPECT_EQ(summary->epochs()[1].boot_id, 8u);
    std::uint64_t count = 0;
    for (const SummaryPoint& point : summary->read(1, 0, 100'000, 256)) count += point.count;
    EXPECT_EQ(count, 750u);
    EXPECT_TRUE(summary->read(2, 0, 100, 256).empty());
}

}  // namespace
}  // namespace wattrig::recording
