#include "host/io/address.hpp"

#include <gtest/gtest.h>

#include <cmath>
#include <map>
#include <set>

using namespace wattrig;
using namespace wattrig::io;

namespace {

constexpr OperationKind read = OperationKind::read;
constexpr OperationKind write = OperationKind::write;

TEST(Address, SequentialWrapsAtWholeBlocks) {  // fio #580, #893
    Workload w;
    w.pattern = Pattern::sequential;
    w.offset = 8192;
    w.span = 10'000;  // two blocks and a rest
    CoverPosition cover{0};
    AddressGenerator a(w, 1 << 20, 0, cover);
    for (const std::uint64_t expected : {8192u, 12288u, 8192u, 12288u, 8192u}) EXPECT_EQ(a.offset(read, 4096), expected);
}

TEST(Address, SequentialDirectionsHaveTheirOwnPlace) {  // fio #382
    Workload w;
    w.pattern = Pattern::sequential;
    w.read_percent = 50;
    CoverPosition cover{0};
    AddressGenerator a(w, 1 << 20, 0, cover);
    EXPECT_EQ(a.offset(read, 4096), 0u);
    EXPECT_EQ(a.offset(write, 4096), 0u);
    EXPECT_EQ(a.offset(read, 4096), 4096u);
    EXPECT_EQ(a.offset(write, 4096), 4096u);
}

TEST(Address, SequentialWorkersHaveTheirOwnParts) {
    Workload w;
    w.pattern = Pattern::sequential;
    w.workers = 3;
    w.offset = 4096;
    w.span = 100 * 4096 + 512;
    CoverPosition cover{0};
    std::uint64_t end = 4096;
    for (std::uint32_t i = 0; i < 3; ++i) {
        const AddressGenerator a(w, 1 << 20, i, cover);
        EXPECT_EQ(a.begin(), end);
        EXPECT_EQ((a.begin() - 4096) % 4096, 0u);
        end = a.end();
    }
    EXPECT_EQ(end, 4096u + w.span);
}

TEST(Address, RandomStaysInTheRegionAndUsesAllOfIt) {
    Workload w;
    w.offset = 1 << 20;
    w.span = 1000 * 4096 + 100;
    CoverPosition cover{0};
    AddressGenerator a(w, 1 << 30, 0, cover);
    std::set<std::uint64_t> seen;
    for (int i = 0; i < 20'000; ++i) {
        const std::uint64_t offset = a.offset(read, 4096);
        ASSERT_GE(offset, w.offset);
        ASSERT_LE(offset + 4096, w.offset + w.span);
        ASSERT_EQ((offset - w.offset) % 4096, 0u);
        seen.insert(offset);
    }
    EXPECT_EQ(seen.size(), 1000u);
}

TEST(Address, RandomReachesBeyond32BitsOfBlocks) {  // fio #2036
    Workload w;
    w.block_sizes = {{512, 100}};
    const std::uint64_t size = std::uint64_t{1} << 45;  // 2^36 blocks
    CoverPosition cover{0};
    AddressGenerator a(w, size, 0, cover);
    std::uint64_t high = 0, bits = 0;
    for (int i = 0; i < 10'000; ++i) {
        const std::uint64_t block = a.offset(read, 512) / 512;
        high += block > std::uint64_t{1} << 35 ? 1 : 0;
        bits |= block;
    }
    EXPECT_NEAR(static_cast<double>(high), 5000, 5 * 50);
    EXPECT_EQ(bits, (std::uint64_t{1} << 36) - 1);
}

TEST(Address, LowBitsAreUniform) {  // fio #658: 15 % more on one member of a stripe
    Workload w;
    CoverPosition cover{0};
    for (const bool covering : {false, true}) {
        w.cover = covering;
        AddressGenerator a(w, std::uint64_t{300'007} * 4096, 0, cover);
        std::vector<double> counts(16);
        constexpr int draws = 160'000;
        for (int i = 0; i < draws; ++i) counts[a.offset(read, 4096) / 4096 % 16] += 1;
        double chi = 0;
        for (const double c : counts) chi += (c - draws / 16.0) * (c - draws / 16.0) / (draws / 16.0);
        EXPECT_LT(chi, 50);  // 15 degrees of freedom: 50 is beyond 1 in 50,000
    }
}

TEST(Address, CoverVisitsEachBlockOnceBeforeAnyTwiceWithSeveralWorkers) {
    Workload w;
    w.cover = true;
    w.workers = 3;
    const std::uint64_t blocks = 1001;
    CoverPosition cover{0};
    std::vector<AddressGenerator> workers;
    for (std::uint32_t i = 0; i < 3; ++i) workers.emplace_back(w, blocks * 4096 + 77, i, cover);
    std::vector<std::uint64_t> first, second;
    for (std::vector<std::uint64_t>* round : {&first, &second}) {
        std::set<std::uint64_t> seen;
        for (std::uint64_t i = 0; i < blocks; ++i) {
            // One worker is five times as fast as the others.
            round->push_back(workers[i % 7 < 5 ? 0 : i % 7 - 4].offset(write, 4096));
            seen.insert(round->back());
        }
        EXPECT_EQ(seen.size(), blocks);
        EXPECT_LT(*seen.rbegin(), blocks * 4096);
    }
    EXPECT_NE(first, second);
}

TEST(Address, SplitHasItsSharesAndAlignment) {  // JESD219: 4 KiB and more on 4 KiB
    Workload w;
    w.block_sizes = {{512, 4}, {1024, 1}, {4096, 67}, {8192, 10}, {65536, 18}};
    CoverPosition cover{0};
    AddressGenerator a(w, 10'000'000 / 512 * 512, 0, cover);
    std::map<std::uint32_t, int> counts;
    constexpr int draws = 200'000;
    for (int i = 0; i < draws; ++i) {
        const std::uint32_t length = a.length();
        const std::uint64_t offset = a.offset(read, length);
        ++counts[length];
        ASSERT_EQ(offset % (length >= 4096 ? 4096 : 512), 0u);
        ASSERT_LE(offset + length, 10'000'000u);
    }
    for (const BlockSizeShare& size : w.block_sizes) {
        const double p = size.percent / 100;
        EXPECT_NEAR(counts[size.bytes], p * draws, 5 * std::sqrt(p * (1 - p) * draws)) << size.bytes;
    }
}

TEST(Address, ZonesHaveTheirShares) {
    Workload w;
    w.zones = {{50, 5}, {30, 15}, {20, 80}};  // JESD219
    w.offset = 4096 * 10;
    w.span = 4096 * 100'000;
    CoverPosition cover{0};
    AddressGenerator a(w, std::uint64_t{1} << 30, 0, cover);
    std::array<double, 3> counts{};
    constexpr int draws = 100'000;
    for (int i = 0; i < draws; ++i) {
        const double at = static_cast<double>(a.offset(read, 4096) - w.offset) / static_cast<double>(w.span);
        ASSERT_LT(at, 1);
        ++counts[at < 0.05 ? 0 : at < 0.2 ? 1 : 2];
    }
    EXPECT_NEAR(counts[0], 50'000, 800);
    EXPECT_NEAR(counts[1], 30'000, 750);
    EXPECT_NEAR(counts[2], 20'000, 650);
}

TEST(Address, TinyRegionWithZonesStaysInside) {
    Workload w;
    w.zones = {{50, 1}, {30, 1}, {20, 98}};
    w.span = 4096 * 2;
    CoverPosition cover{0};
    AddressGenerator a(w, 1 << 20, 0, cover);
    for (int i = 0; i < 1000; ++i) ASSERT_LE(a.offset(read, 4096) + 4096, 8192u);
}

TEST(Address, SkipIsTheSameAsAsking) {
    Workload w;
    w.pattern = Pattern::sequential;
    w.span = 10 * 4096 + 100;
    CoverPosition cover{0};
    AddressGenerator a(w, 1 << 20, 0, cover), b(w, 1 << 20, 0, cover);
    for (int i = 0; i < 37; ++i) (void)a.offset(write, 4096);
    b.skip(write, 37, 37 * 4096);
    EXPECT_EQ(a.offset(write, 4096), b.offset(write, 4096));
}

}  // namespace
