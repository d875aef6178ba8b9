#include "host/io/workload.hpp"

#include <gtest/gtest.h>

#include <functional>

using namespace wattrig;
using namespace wattrig::io;
using namespace std::chrono_literals;

namespace {

constexpr std::uint64_t target = 1u << 30;

Workload good() {
    Workload w;
    w.limit.time = 1s;
    return w;
}

TEST(Workload, GoodOnesPass) {
    EXPECT_TRUE(check(good(), target, 512));
    Workload w = good();
    w.block_sizes = {{512, 4}, {4096, 67}, {65536, 29}};
    w.zones = {{50, 5}, {30, 15}, {20, 80}};
    w.offset = 4096;
    w.span = target - 4096;
    w.workers = 256;
    w.depth = 1024;
    EXPECT_TRUE(check(w, target, 512));
    EXPECT_EQ(w.largest_block(), 65536u);
    EXPECT_EQ(w.total_depth(), 262'144u);
    EXPECT_FALSE(w.writes());
    w.discard = true;
    EXPECT_TRUE(w.writes());
}

struct Bad {
    const char* field;  // the message begins with it
    const char* came;   // and holds this
    std::function<void(Workload&)> spoil;
};

TEST(Workload, EveryBadThingIsNamed) {
    const std::vector<Bad> all{
        {"iodepth", "got 0", [](Workload& w) { w.depth = 0; }},
        {"iodepth", "got 1025", [](Workload& w) { w.depth = 1025; }},
        {"iodepth_batch_complete", "got 2", [](Workload& w) { w.batch = 2; }},
        {"numjobs", "got 257", [](Workload& w) { w.workers = 257; }},
        {"numjobs", "got 0", [](Workload& w) { w.workers = 0; }},
        {"bs", "got none", [](Workload& w) { w.block_sizes.clear(); }},
        {"bs", "got 0", [](Workload& w) { w.block_sizes = {{0, 100}}; }},
        {"bs", "got 1000 B", [](Workload& w) { w.block_sizes = {{1000, 100}}; }},
        {"bssplit", "got 99", [](Workload& w) { w.block_sizes = {{512, 50}, {4096, 49}}; }},
        {"bssplit", "got 0", [](Workload& w) { w.block_sizes = {{512, 0}, {4096, 100}}; }},
        {"bssplit", "got nan", [](Workload& w) { w.block_sizes = {{512, std::numeric_limits<double>::quiet_NaN()}}; }},
        {"offset", "got 100 B", [](Workload& w) { w.offset = 100; }},
        {"offset", "got 1073741824 B", [](Workload& w) { w.offset = target; }},
        {"size", "got 1073741824 B",
         [](Workload& w) {
             w.offset = 512;
             w.span = target;
         }},
        {"size", "got 2048 B", [](Workload& w) { w.span = 2048; }},
        {"size", "got 8192 B",
         [](Workload& w) {
             w.pattern = Pattern::sequential;
             w.workers = 3;
             w.span = 8192;
         }},
        {"rwmixread", "got 101", [](Workload& w) { w.read_percent = 101; }},
        {"rwmixread", "got -1", [](Workload& w) { w.read_percent = -1; }},
        {"cover", "got sequential",
         [](Workload& w) {
             w.cover = true;
             w.pattern = Pattern::sequential;
         }},
        {"cover", "got 2",
         [](Workload& w) {
             w.cover = true;
             w.block_sizes = {{512, 50}, {4096, 50}};
         }},
        {"cover", "got both",
         [](Workload& w) {
             w.cover = true;
             w.zones = {{100, 100}};
         }},
        {"random_distribution", "got sequential",
         [](Workload& w) {
             w.pattern = Pattern::sequential;
             w.zones = {{100, 100}};
         }},
        {"random_distribution", "got 90", [](Workload& w) { w.zones = {{50, 50}, {40, 50}}; }},
        {"random_distribution", "got 80", [](Workload& w) { w.zones = {{50, 50}, {50, 30}}; }},
        {"random_distribution", "got 0", [](Workload& w) { w.zones = {{50, 0}, {50, 100}}; }},
        {"rate", "got both",
         [](Workload& w) {
             w.rate = FixedRate{.operations_per_second = 1};
             w.bursts = Bursts{.operations = 1};
         }},
        {"bursts", "got neither", [](Workload& w) { w.bursts = Bursts{}; }},
        {"bursts", "got both", [](Workload& w) { w.bursts = Bursts{.bytes = 1, .operations = 1}; }},
        {"bursts", "got 0", [](Workload& w) { w.bursts = Bursts{.operations = 1, .duty = 0}; }},
        {"bursts", "got 1.5", [](Workload& w) { w.bursts = Bursts{.operations = 1, .duty = 1.5}; }},
        {"rate", "got neither", [](Workload& w) { w.rate = FixedRate{}; }},
        {"rate", "got both", [](Workload& w) { w.rate = FixedRate{.operations_per_second = 1, .bytes_per_second = 1}; }},
        {"rate_iops", "got -5", [](Workload& w) { w.rate = FixedRate{.operations_per_second = -5}; }},
        {"rate", "got inf",
         [](Workload& w) { w.rate = FixedRate{.bytes_per_second = std::numeric_limits<double>::infinity()}; }},
        {"runtime, io_size, number_ios", "got none", [](Workload& w) { w.limit = {}; }},
        {"runtime", "got 0", [](Workload& w) { w.limit.time = 0ns; }},
        {"io_size", "got 0", [](Workload& w) { w.limit.bytes = 0; }},
        {"number_ios", "got 0", [](Workload& w) { w.limit.operations = 0; }},
        {"ramp_time", "got -1", [](Workload& w) { w.ramp = -1ns; }},
        {"buffer_compress_percentage", "got 1.1", [](Workload& w) { w.data.compressibility = 1.1; }},
        {"data pool", "got 1024 B", [](Workload& w) { w.data.pool_bytes = 1024; }},
        {"verify", "got a phase of discards",
         [](Workload& w) {
             w.discard = true;
             w.data.verify = true;
         }},
        {"fsync", "got 0", [](Workload& w) { w.sync = SyncPolicy::every_n; }},
    };
    for (const Bad& bad : all) {
        Workload w = good();
        bad.spoil(w);
        const auto result = check(w, target, 512);
        ASSERT_FALSE(result) << bad.field << " " << bad.came;
        const Error& error = result.error();
        EXPECT_EQ(error.kind, ErrorKind::bad_input);
        EXPECT_TRUE(error.message.starts_with(bad.field)) << error.message;
        EXPECT_NE(error.message.find("expected"), std::string::npos) << error.message;
        EXPECT_NE(error.message.find(bad.came), std::string::npos) << error.message << " / " << bad.came;
    }
}

TEST(Workload, AlignmentFollowsTheLogicalBlock) {
    Workload w = good();
    w.block_sizes = {{512, 100}};
    EXPECT_TRUE(check(w, target, 512));
    EXPECT_FALSE(check(w, target, 4096));
    w.block_sizes = {{4096, 100}};
    w.offset = 512;
    EXPECT_FALSE(check(w, target, 4096));
}

}  // namespace
