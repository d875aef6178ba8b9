#include "host/base/histogram.hpp"

#include <gtest/gtest.h>

#include <algorithm>
#include <cmath>
#include <vector>

#include "host/base/random.hpp"

using namespace wattrig;

namespace {

// fio's layout, written down from its description and not from our code: values below 128 have a bucket each; above, with m the
// position of the highest set bit, the lowest m - 6 bits are dropped, and the bucket is 64 x (m - 6 + 1) + the six bits below
// the highest one. A bucket is printed as the middle of its range.
std::uint64_t fio_bucket(std::uint64_t value) {
    if (value < 128) return value;
    int m = 0;
    while ((value >> m) > 1) ++m;
    const int dropped = m - 6;
    return static_cast<std::uint64_t>(dropped + 1) * 64 + (value / (std::uint64_t{1} << dropped)) % 64;
}
std::uint64_t fio_value(std::uint64_t bucket) {
    if (bucket < 128) return bucket;
    const auto dropped = bucket / 64 - 1;
    const double width = std::pow(2.0, static_cast<double>(dropped));
    return static_cast<std::uint64_t>(64 * width + (static_cast<double>(bucket % 64) + 0.5) * width);
}

TEST(Histogram, BucketsAreFios) {
    for (std::uint64_t v = 0; v < 100'000; ++v) ASSERT_EQ(Histogram::bucket(v), fio_bucket(v)) << v;
    for (unsigned bit = 7; bit < 40; ++bit)
        for (std::int64_t d = -2; d <= 2; ++d) {
            const std::uint64_t v = (std::uint64_t{1} << bit) + static_cast<std::uint64_t>(d);
            ASSERT_EQ(Histogram::bucket(v), fio_bucket(v)) << v;
        }
    for (std::size_t i = 0; i < Histogram::buckets; ++i) ASSERT_EQ(Histogram::bucket_middle(i), fio_value(i)) << i;
}

// Latencies of a real run of fio 3.33 (json+ bins): every one is the middle of one of our buckets.
TEST(Histogram, HoldsBinsThatFioPrinted) {
    for (const std::uint64_t bin :
         {46848u, 57600u, 64256u, 72192u, 81408u, 118272u, 127488u, 142336u, 185344u, 346112u, 1384448u})
        EXPECT_EQ(Histogram::bucket_middle(Histogram::bucket(bin)), bin);
}

TEST(Histogram, BucketsTileTheRange) {
    EXPECT_EQ(Histogram::bucket_begin(0), 0u);
    for (std::size_t i = 0; i + 1 < Histogram::buckets; ++i) {
        const std::uint64_t begin = Histogram::bucket_begin(i), end = Histogram::bucket_begin(i + 1);
        ASSERT_LT(begin, end);
        ASSERT_EQ(Histogram::bucket(begin), i);
        ASSERT_EQ(Histogram::bucket(end - 1), i);
        // Error of the middle: at most 1/128 of the value.
        ASSERT_LE(static_cast<double>(end - 1 - Histogram::bucket_middle(i)), static_cast<double>(begin) / 128 + 1e-9);
    }
    EXPECT_EQ(Histogram::bucket(Histogram::top - 1), Histogram::buckets - 1);
    EXPECT_EQ(Histogram::top, std::uint64_t{1} << 40);
}

TEST(Histogram, PercentilesAreThoseOfTheSortedValues) {
    Random random(7);
    Histogram histogram;
    std::vector<std::uint64_t> values;
    for (int i = 0; i < 20'000; ++i) {
        const auto v = static_cast<std::uint64_t>(std::exp(5 + 15 * random.unit()));
        values.push_back(v);
        histogram.add(v);
    }
    std::sort(values.begin(), values.end());
    for (const double percent : {0.001, 1.0, 5.0, 50.0, 90.0, 99.0, 99.9, 99.99, 100.0}) {
        const auto rank = static_cast<std::size_t>(std::ceil(std::round(percent * 200'000'000) / 1'000'000));
        const std::uint64_t exact = values[std::max<std::size_t>(rank, 1) - 1];
        EXPECT_EQ(histogram.percentile(percent), Histogram::bucket_middle(Histogram::bucket(exact))) << percent;
    }
}

TEST(Histogram, PercentileOfRoundCountsIsNotOffByOne) {
    Histogram histogram;
    for (std::uint64_t v = 1; v <= 100; ++v) histogram.add(v);  // exact buckets
    for (std::uint64_t p = 1; p <= 100; ++p) EXPECT_EQ(histogram.percentile(static_cast<double>(p)), p);
    Histogram thousand;
    for (int i = 0; i < 999; ++i) thousand.add(1);
    thousand.add(100);
    EXPECT_EQ(thousand.percentile(99.9), 1u);
    EXPECT_EQ(thousand.percentile(99.95), 100u);
}

TEST(Histogram, OverflowIsCountedNotClamped) {
    Histogram histogram;
    EXPECT_EQ(histogram.percentile(50), 0u);
    histogram.add(10);
    histogram.add(Histogram::top - 1);
    histogram.add(Histogram::top, 2);
    histogram.add(UINT64_MAX);
    EXPECT_EQ(histogram.total(), 5u);
    EXPECT_EQ(histogram.overflow(), 3u);
    EXPECT_EQ(histogram.percentile(20), 10u);
    EXPECT_EQ(histogram.percentile(99), Histogram::top);
    std::uint64_t sum = 0;
    for (std::size_t i = 0; i < Histogram::buckets; ++i) sum += histogram.count(i);
    EXPECT_EQ(sum + histogram.overflow(), histogram.total());
}

TEST(Histogram, MergeAddsAndClearEmpties) {
    Histogram a, b;
    a.add(5, 3);
    b.add(5);
    b.add(Histogram::top);
    a.merge(b);
    EXPECT_EQ(a.total(), 5u);
    EXPECT_EQ(a.overflow(), 1u);
    EXPECT_EQ(a.count(5), 4u);
    a.clear();
    EXPECT_EQ(a.total() + a.overflow() + a.count(5), 0u);
}

}  // namespace
