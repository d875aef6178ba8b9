// The worker's accounting in virtual time, where every figure has an exact right value.

#include <gtest/gtest.h>

#include <cerrno>
#include <cmath>
#include <map>
#include <numeric>
#include <set>

#include "host/base/random.hpp"
#include "host/io/engine.hpp"
#include "tests/io/fake_backend.hpp"

using namespace wattrig;
using namespace wattrig::io;
using namespace std::chrono_literals;

namespace {

constexpr std::uint64_t gib = std::uint64_t{1} << 30;

HostTime at(Nanoseconds t) { return HostTime(t); }
const KindOutcome& reads(const PhaseOutcome& o) { return o.kinds[static_cast<std::size_t>(OperationKind::read)]; }
const KindOutcome& writes(const PhaseOutcome& o) { return o.kinds[static_cast<std::size_t>(OperationKind::write)]; }
const KindOutcome& flushes(const PhaseOutcome& o) { return o.kinds[static_cast<std::size_t>(OperationKind::flush)]; }

PhaseOutcome run(const Workload& workload, FakeDrive& drive, bool aggregate = false) {
    VirtualLoop loop;
    VirtualOptions options;
    options.target_size = 100 * gib;
    options.aggregate = aggregate;
    auto outcome = run_virtual(workload, drive, loop, options);
    if (!outcome) throw std::runtime_error(outcome.error().message);
    EXPECT_EQ(drive.begun, 1u);
    EXPECT_EQ(drive.ended, 1u);
    return std::move(*outcome);
}

void expect_windows_sum_to_totals(const PhaseOutcome& o) {
    Window sum{};
    Nanoseconds edge = o.measured_begin - o.begin;
    for (const Window& w : o.windows) {
        ASSERT_EQ(w.begin, edge) << "windows tile the measured part";
        edge = w.begin + w.length;
        sum.reads += w.reads;
        sum.writes += w.writes;
        sum.errors += w.errors;
        sum.read_bytes += w.read_bytes;
        sum.write_bytes += w.write_bytes;
        sum.latency_sum += w.latency_sum;
        sum.latency_maximum = std::max(sum.latency_maximum, w.latency_maximum);
    }
    const KindOutcome total = o.total();
    EXPECT_EQ(sum.reads, reads(o).operations);
    EXPECT_EQ(sum.writes, writes(o).operations);
    EXPECT_EQ(sum.errors, total.errors);
    EXPECT_EQ(sum.read_bytes, reads(o).bytes);
    EXPECT_EQ(sum.write_bytes, writes(o).bytes);
    EXPECT_EQ(sum.latency_sum, total.latency_sum);
    EXPECT_EQ(sum.latency_maximum, total.latency_maximum);
    EXPECT_EQ(edge, o.measured_end - o.begin);
}

TEST(Virtual, TimeLimitIsExact) {
    Workload w;
    w.depth = 4;
    w.limit.time = 10ms;
    FakeDrive drive;  // 100 us each
    const PhaseOutcome o = run(w, drive);
    // Completions at 0.1, 0.2 ... 9.9 ms are inside [0, 10 ms), the one at 10.0 is not.
    EXPECT_EQ(reads(o).operations, 4u * 99);
    EXPECT_EQ(reads(o).bytes, 4u * 99 * 4096);
    EXPECT_EQ(o.stop, StopReason::time);
    EXPECT_EQ(o.measured(), 10ms);
    EXPECT_EQ(o.end, at(10ms));
    EXPECT_DOUBLE_EQ(o.mean_depth, 4);
    EXPECT_EQ(reads(o).latency_minimum, 100'000u);
    EXPECT_EQ(reads(o).latency_maximum, 100'000u);
    EXPECT_EQ(reads(o).latency_sum, 4u * 99 * 100'000);
    EXPECT_EQ(o.engine, "virtual exact, fake");
    expect_windows_sum_to_totals(o);
    EXPECT_EQ(o.windows.size(), 10u);
}

TEST(Virtual, OperationLimitIsExactForAnyDepthAndWorkers) {
    for (const std::uint32_t workers : {1u, 3u})
        for (const std::uint32_t depth : {1u, 7u}) {
            Workload w;
            w.depth = depth;
            w.workers = workers;
            w.limit.operations = 1000;
            FakeDrive drive;
            const PhaseOutcome o = run(w, drive);
            EXPECT_EQ(reads(o).operations, 1000u);
            EXPECT_EQ(drive.seen.size(), 1000u);
            EXPECT_EQ(o.stop, StopReason::operations);
            EXPECT_EQ(o.measured_end, o.end);
            expect_windows_sum_to_totals(o);
            // All workers end together: at most one round of latency more than the ideal.
            const auto rounds = static_cast<std::int64_t>((1000 + depth * workers - 1) / (depth * workers));
            EXPECT_LE(o.measured(), (rounds + 1) * 100us);
        }
}

TEST(Virtual, BytesRoundUpToWholeOperations) {
    Workload w;
    w.block_sizes = {{131072, 100}};
    w.limit.bytes = 1'000'000;  // 7.6 blocks
    w.limit.operations = 100;
    w.depth = 3;
    FakeDrive drive;
    const PhaseOutcome o = run(w, drive);
    EXPECT_EQ(reads(o).bytes, 8u * 131072);
    EXPECT_EQ(o.stop, StopReason::bytes);
}

TEST(Virtual, RampIsDoneButNotCounted) {
    Workload w;
    w.depth = 2;
    w.ramp = 5ms;
    w.limit.time = 10ms;
    FakeDrive drive;
    const PhaseOutcome o = run(w, drive);
    EXPECT_EQ(o.measured_begin - o.begin, 5ms);
    EXPECT_EQ(o.measured_end - o.begin, 15ms);
    EXPECT_EQ(reads(o).operations, 2u * 100);  // completions at 5.0 .. 14.9 ms
    EXPECT_EQ(drive.seen.size(), 2u * 150);
    EXPECT_DOUBLE_EQ(o.mean_depth, 2);
    expect_windows_sum_to_totals(o);
    EXPECT_EQ(o.windows.front().begin, 5ms);
}

TEST(Virtual, RampLongerThanTheLimitMeasuresTheLimit) {  // fio #2041
    Workload w;
    w.ramp = 1s;
    w.limit.time = 1ms;
    w.limit.operations = 5;
    FakeDrive drive;
    const PhaseOutcome o = run(w, drive);
    EXPECT_EQ(o.measured_begin - o.begin, 1s);
    EXPECT_EQ(reads(o).operations, 5u);
    EXPECT_EQ(o.stop, StopReason::operations);
    EXPECT_EQ(drive.seen.size(), 10'000u + 4);  // the one in flight at the end of the ramp is the first of the five
}

TEST(Virtual, MixHasReadsAndWritesInTheSameWindow) {  // fio #410, #452
    Workload w;
    w.read_percent = 70;
    w.depth = 32;
    w.limit.operations = 100'000;
    FakeDrive drive;
    const PhaseOutcome o = run(w, drive);
    EXPECT_EQ(reads(o).operations + writes(o).operations, 100'000u);
    EXPECT_NEAR(static_cast<double>(reads(o).operations), 70'000, 5 * std::sqrt(100'000 * 0.7 * 0.3));
    EXPECT_EQ(o.total().operations, 100'000u);
    expect_windows_sum_to_totals(o);
    EXPECT_GT(o.windows[3].reads, 0u);
    EXPECT_GT(o.windows[3].writes, 0u);
}

TEST(Virtual, WindowsGrowCoarser) {
    Workload w;
    w.limit.time = 700s;
    FakeDrive drive;
    drive.keep = false;
    drive.latency = 999'000ns;
    const PhaseOutcome o = run(w, drive);
    expect_windows_sum_to_totals(o);
    EXPECT_EQ(o.windows.size(), 10'000u + 5'900 + 100);
    EXPECT_EQ(o.windows[9'999].length, 1ms);
    EXPECT_EQ(o.windows[10'000].length, 100ms);
    EXPECT_EQ(o.windows.back().length, 1s);
}

TEST(Virtual, WindowsAroundAnErrorAreFine) {
    Workload w;
    w.limit.time = 20s;
    w.maximum_errors = 10;
    FakeDrive drive;
    drive.keep = false;
    const HostTime bad = at(15'050ms);
    drive.result_of = [&](const Operation& op, HostTime now) {
        return now == bad ? -EIO : static_cast<std::int32_t>(op.length);
    };
    const PhaseOutcome o = run(w, drive);
    ASSERT_EQ(o.errors.size(), 1u);
    EXPECT_EQ(o.errors[0].os_error, EIO);
    EXPECT_EQ(reads(o).errors, 1u);
    expect_windows_sum_to_totals(o);
    for (const Window& window : o.windows) {
        const bool near = window.begin >= 15s && window.begin < 16100ms;  // split for a second after it
        EXPECT_EQ(window.length, window.begin < 10s || near ? 1ms : 100ms) << window.begin.count();
        EXPECT_EQ(window.errors, window.begin == 15'050ms ? 1u : 0u);
    }
}

TEST(Virtual, ErrorsAreCountedByNumberWithTheFirstOffset) {
    Workload w;
    w.pattern = Pattern::sequential;
    w.limit.operations = 100;
    w.maximum_errors = 100;
    FakeDrive drive;
    drive.result_of = [](const Operation& op, HostTime) -> std::int32_t {
        const std::uint64_t block = op.offset / 4096;
        if (block % 10 == 3) return -EIO;
        if (block % 10 == 5) return 512;  // short
        if (block == 77) return -ENODATA;
        return static_cast<std::int32_t>(op.length);
    };
    const PhaseOutcome o = run(w, drive);
    ASSERT_EQ(o.errors.size(), 2u);
    EXPECT_EQ(o.errors[0].os_error, EIO);
    EXPECT_EQ(o.errors[0].count, 20u);
    EXPECT_EQ(o.errors[0].first_offset, 3u * 4096);
    EXPECT_EQ(o.errors[1].os_error, ENODATA);
    EXPECT_EQ(o.errors[1].first_offset, 77u * 4096);
    EXPECT_EQ(reads(o).operations, 79u);
    EXPECT_EQ(reads(o).errors, 21u);
    EXPECT_EQ(o.stop, StopReason::operations);
}

TEST(Virtual, MoreThanMaximumErrorsEndsThePhase) {
    for (const std::uint64_t allowed : {0u, 3u}) {
        Workload w;
        w.workers = 2;
        w.limit.time = 10s;
        w.maximum_errors = allowed;
        FakeDrive drive;
        drive.result_of = [](const Operation& op, HostTime now) {
            return now >= at(1ms) ? -EIO : static_cast<std::int32_t>(op.length);
        };
        const PhaseOutcome o = run(w, drive);
        EXPECT_EQ(o.stop, StopReason::errors);
        EXPECT_GT(o.total().errors, allowed);
        EXPECT_LE(o.total().errors, allowed + 2);
        EXPECT_LT(o.end, at(2ms));
    }
}

TEST(Virtual, BurstsKeepTheDutyCycleAndNeverCatchUp) {  // fio #497, #556, #596
    for (const std::uint32_t workers : {1u, 3u}) {
        Workload w;
        w.depth = 2;
        w.workers = workers;
        w.ramp = 7ms;
        w.bursts = Bursts{.operations = 60, .duty = 0.2};
        w.limit.time = 200ms;
        FakeDrive drive;
        // A stall in the third burst: its idle time must follow from its own busy time, and no later burst may be larger.
        bool stalled = false;
        drive.latency_of = [&](const Operation&, HostTime now) -> Nanoseconds {
            if (!stalled && now > at(40ms)) {
                stalled = true;
                return 3ms;
            }
            return 100us;
        };
        const PhaseOutcome o = run(w, drive);
        ASSERT_GT(o.bursts.size(), 3u);
        std::size_t next = 0;
        for (std::size_t i = 0; i + 1 < o.bursts.size(); ++i) {
            const Nanoseconds busy = o.bursts[i].end - o.bursts[i].begin;
            EXPECT_EQ(o.bursts[i + 1].begin - o.bursts[i].end, 4 * busy);
            std::size_t operations = 0;
            for (; next < drive.seen.size() && drive.seen[next].issued < o.bursts[i].end; ++next, ++operations)
                EXPECT_GE(drive.seen[next].issued, o.bursts[i].begin);
            EXPECT_EQ(operations, 60u);
        }
        expect_windows_sum_to_totals(o);
        EXPECT_LE(o.bursts.back().end, o.measured_end);
    }
}

TEST(Virtual, BurstsOfUnequalWorkersEndWithTheLimit) {
    Workload w;
    w.depth = 3;
    w.workers = 4;
    w.bursts = Bursts{.operations = 100, .duty = 0.5};
    w.limit.operations = 500;
    for (std::uint64_t seed = 1; seed <= 20; ++seed) {
        w.seed = seed;
        FakeDrive drive;
        Random random(seed);
        drive.latency_of = [&](const Operation&, HostTime) {
            return Nanoseconds(20'000 + static_cast<std::int64_t>(random.below(10) == 0 ? random.below(10'000'000) : 0));
        };
        const PhaseOutcome o = run(w, drive);
        EXPECT_EQ(o.bursts.size(), 5u) << "no burst of a few left over";
        EXPECT_EQ(reads(o).operations, 500u);
    }
}

TEST(Virtual, ByteLimitWithASplitOverWorkersEndsWithinOneBlockEach) {
    Workload w;
    w.block_sizes = {{512, 50}, {65536, 50}};
    w.depth = 4;
    w.workers = 3;
    w.limit.bytes = 10'000'000;
    for (const bool bursts : {false, true}) {
        if (bursts) w.bursts = Bursts{.bytes = 1'000'000, .duty = 0.5};
        FakeDrive drive;
        const PhaseOutcome o = run(w, drive);
        EXPECT_GE(reads(o).bytes, 10'000'000u);
        EXPECT_LT(reads(o).bytes, 10'000'000u + 3 * 65536);
        EXPECT_EQ(o.stop, StopReason::bytes);
    }
}

TEST(Virtual, BurstsOfBytesRoundUp) {
    Workload w;
    w.block_sizes = {{8192, 100}};
    w.bursts = Bursts{.bytes = 20'000, .duty = 0.5};  // 2.4 blocks
    w.limit.operations = 12;
    FakeDrive drive;
    const PhaseOutcome o = run(w, drive);
    ASSERT_EQ(o.bursts.size(), 4u);
    for (std::size_t i = 0; i < 4; ++i) {
        EXPECT_EQ(o.bursts[i].begin, at(i * 600us));
        EXPECT_EQ(o.bursts[i].end, at(i * 600us + 300us));
    }
    EXPECT_EQ(o.measured(), 2100us);
    EXPECT_EQ(reads(o).operations, 12u);
}

TEST(Virtual, FixedRateIsExact) {
    for (const std::uint32_t workers : {1u, 4u}) {
        Workload w;
        w.depth = 8;
        w.workers = workers;
        w.rate = FixedRate{.operations_per_second = 7'000};
        w.limit.time = 10s;
        FakeDrive drive;
        const PhaseOutcome o = run(w, drive);
        EXPECT_NEAR(o.rate_error, 0, 0.001);
        ASSERT_GE(drive.seen.size(), 69'999u);
        for (std::size_t k = 0; k < 70'000 && k < drive.seen.size(); ++k)
            ASSERT_NEAR(static_cast<double>(drive.seen[k].issued.time_since_epoch().count()),
                        1e9 / 7'000 * static_cast<double>(k), 1.0);
        EXPECT_EQ(reads(o).latency_maximum, 100'000u);
        EXPECT_EQ(reads(o).service.total(), reads(o).operations);
        expect_windows_sum_to_totals(o);
    }
}

TEST(Virtual, FixedRateInBytesHoldsWithASplit) {  // fio #1290
    Workload w;
    w.block_sizes = {{4096, 50}, {65536, 50}};
    w.read_percent = 50;
    w.depth = 64;
    w.rate = FixedRate{.bytes_per_second = 200e6};
    w.limit.time = 30s;
    FakeDrive drive;
    drive.keep = false;
    const PhaseOutcome o = run(w, drive);
    EXPECT_NEAR(o.rate_error, 0, 0.001);
}

TEST(Virtual, PoissonArrivalsHitTheRate) {  // fio #333 was off by two
    Workload w;
    w.depth = 64;
    w.workers = 2;
    w.rate = FixedRate{.operations_per_second = 50'000, .poisson = true};
    w.limit.operations = 4'000'000;  // one standard error of the rate is 0.05 %
    FakeDrive drive;
    drive.keep = false;
    const PhaseOutcome o = run(w, drive);
    EXPECT_LT(std::abs(o.rate_error), 0.0015);
    EXPECT_EQ(o.total().operations, 4'000'000u);
}

TEST(Virtual, OpenLoopLatencyCountsFromTheIntendedStart) {
    Workload w;
    w.depth = 1;
    w.rate = FixedRate{.operations_per_second = 1'000};
    w.limit.operations = 20;
    FakeDrive drive;
    drive.latency_of = [](const Operation&, HostTime now) -> Nanoseconds { return now == at(5ms) ? 4500us : 100us; };
    const PhaseOutcome o = run(w, drive);
    // Due at 5 ms, 4.5 ms long. Those due at 6, 7, 8, 9 ms follow when the slot is free, at most twice as fast as the rate.
    EXPECT_EQ(reads(o).latency_maximum, 4'500'000u);
    std::uint64_t sum = 0;
    HostTime free{};
    for (const auto& seen : drive.seen) {
        const auto k = static_cast<std::int64_t>(&seen - drive.seen.data());
        ASSERT_GE(seen.issued, at(k * 1ms));
        ASSERT_GE(seen.issued, free);
        free = seen.issued + (seen.issued == at(5ms) ? Nanoseconds(4500us) : Nanoseconds(100us));
        sum += static_cast<std::uint64_t>((free - at(k * 1ms)).count());
    }
    EXPECT_EQ(reads(o).latency_sum, sum);
    EXPECT_EQ(reads(o).service.percentile(50), Histogram::bucket_middle(Histogram::bucket(100'000)));
    EXPECT_GT(drive.seen[6].issued, at(9ms));
    EXPECT_EQ(drive.seen[19].issued, at(19ms)) << "the backlog has been worked off";
}

TEST(Virtual, NoCatchUpBurstAfterAStall) {
    Workload w;
    w.depth = 256;
    w.rate = FixedRate{.operations_per_second = 100'000};
    w.limit.time = 4s;
    FakeDrive drive;
    drive.latency_of = [](const Operation&, HostTime now) -> Nanoseconds {
        return now >= at(1s) && now < at(1500ms) ? at(1500ms) - now : Nanoseconds(50us);
    };
    const PhaseOutcome o = run(w, drive);
    EXPECT_NEAR(o.rate_error, 0, 0.001) << "the backlog is worked off in the end";
    // Never more than twice the rate over any 10 ms, but for the 1 ms of slack.
    std::size_t first = 0;
    for (std::size_t i = 0; i < drive.seen.size(); ++i) {
        while (drive.seen[i].issued - drive.seen[first].issued > 10ms) ++first;
        ASSERT_LE(i - first + 1, 2'000u + 210);
    }
    expect_windows_sum_to_totals(o);
}

TEST(Virtual, FlushEveryNWrites) {
    Workload w;
    w.read_percent = 0;
    w.depth = 2;
    w.sync = SyncPolicy::every_n;
    w.sync_every = 5;
    w.limit.operations = 100;
    FakeDrive drive;
    const PhaseOutcome o = run(w, drive);
    EXPECT_EQ(writes(o).operations, 100u);
    EXPECT_EQ(flushes(o).operations, 20u);
    std::size_t n = 0;
    for (const auto& seen : drive.seen) {
        if (seen.operation.kind == OperationKind::flush) {
            EXPECT_EQ(n, 5u);
            EXPECT_EQ(seen.operation.length, 0u);
            n = 0;
        } else {
            ++n;
        }
    }
    EXPECT_EQ(o.total().operations, 120u);
}

TEST(Virtual, FlushAtTheEndComesAfterTheMeasuredPart) {
    Workload w;
    w.read_percent = 0;
    w.sync = SyncPolicy::at_end;
    w.limit.operations = 10;
    FakeDrive drive;
    const PhaseOutcome o = run(w, drive);
    EXPECT_EQ(flushes(o).operations, 1u);
    EXPECT_EQ(o.measured(), 1ms);
    EXPECT_EQ(o.end - o.begin, 1100us);
    EXPECT_EQ(drive.seen.back().operation.kind, OperationKind::flush);
}

TEST(Virtual, DiscardPhase) {
    Workload w;
    w.discard = true;
    w.pattern = Pattern::sequential;
    w.limit.operations = 10;
    FakeDrive drive;
    const PhaseOutcome o = run(w, drive);
    EXPECT_EQ(o.kinds[static_cast<std::size_t>(OperationKind::discard)].operations, 10u);
    for (const auto& seen : drive.seen) EXPECT_EQ(seen.operation.kind, OperationKind::discard);
}

TEST(Virtual, StopFlagEndsCleanly) {
    Workload w;
    w.depth = 4;
    w.limit.time = 1000s;
    FakeDrive drive;
    drive.keep = false;
    StopFlag stop = false;
    std::uint64_t n = 0;
    drive.latency_of = [&](const Operation&, HostTime) {
        if (++n == 100'000) stop = true;
        return Nanoseconds(100us);
    };
    VirtualLoop loop;
    VirtualOptions options;
    options.target_size = gib;
    options.stop = &stop;
    const auto o = run_virtual(w, drive, loop, options);
    ASSERT_TRUE(o);
    EXPECT_EQ(o->stop, StopReason::interrupted);
    EXPECT_LT(o->end, at(10s));
    expect_windows_sum_to_totals(*o);
}

TEST(Virtual, ADriveThatForgetsAnOperationIsAnError) {
    Workload w;
    w.limit.operations = 10;
    FakeDrive drive;
    drive.latency = std::chrono::duration_cast<Nanoseconds>(HostTime::max() - at(0ns));
    VirtualLoop loop;
    VirtualOptions options;
    options.target_size = gib;
    const auto o = run_virtual(w, drive, loop, options);
    ASSERT_FALSE(o);
    EXPECT_EQ(o.error().kind, ErrorKind::device_refused);
}

struct Ticker final : VirtualActor {
    Nanoseconds step{1ms};
    HostTime next{};
    std::vector<HostTime> ran;
    [[nodiscard]] HostTime next_event() const override { return next; }
    void run(HostTime now) override {
        ran.push_back(now);
        next += step;
    }
};

TEST(Virtual, ActorsRunOnTimeDuringAndBetweenPhases) {
    Workload w;
    w.limit.time = 10ms;
    FakeDrive drive;
    VirtualLoop loop;
    Ticker ticker;
    loop.add(ticker);
    loop.advance_to(at(3500us), &drive);
    EXPECT_EQ(loop.now(), at(3500us));
    EXPECT_EQ(ticker.ran.size(), 4u);
    VirtualOptions options;
    options.target_size = gib;
    const auto o = run_virtual(w, drive, loop, options);
    ASSERT_TRUE(o);
    EXPECT_EQ(o->begin, at(3500us));
    EXPECT_EQ(o->measured_end, at(13500us));
    ASSERT_EQ(ticker.ran.size(), 14u);
    for (std::size_t i = 0; i < ticker.ran.size(); ++i) EXPECT_EQ(ticker.ran[i], at(static_cast<int>(i) * 1ms));
    EXPECT_EQ(loop.now(), o->end);
}

TEST(Virtual, LeapsGoThroughTheSameAccounting) {
    Workload w;
    w.depth = 8;
    w.workers = 2;
    w.limit.time = 100s;
    w.ramp = 3s;
    FakeDrive drive;
    drive.keep = false;
    Nanoseconds leapt{};
    int calls = 0;
    drive.leap_of = [&](HostTime now, HostTime until) -> std::optional<Batch> {
        if (now < at(1s) || ++calls % 3 == 0) return std::nullopt;  // wants some of it exactly, in between
        // 16 operations each 100 us, as the drive does exactly.
        const Nanoseconds whole = (until - now) / 100us * Nanoseconds(100us);
        if (whole.count() == 0) return std::nullopt;
        Batch batch;
        batch.until = now + whole;
        batch.mean_depth = 16;
        auto& kind = batch.kinds[0];
        kind.operations = static_cast<std::uint64_t>(whole / 100us) * 16;
        kind.bytes = kind.operations * 4096;
        kind.latency_sum = kind.operations * 100'000;
        kind.latency_minimum = kind.latency_maximum = 100'000;
        kind.latency.add(100'000, kind.operations);
        leapt += whole;
        return batch;
    };
    VirtualLoop loop;
    Ticker ticker;
    loop.add(ticker);
    VirtualOptions options;
    options.target_size = gib;
    options.aggregate = true;
    const auto o = run_virtual(w, drive, loop, options);
    ASSERT_TRUE(o);
    EXPECT_GT(leapt, 90s);
    // The exact run: completions at 3.0000 .. 102.9999 s.
    EXPECT_NEAR(static_cast<double>(reads(*o).operations), 16.0 * 1'000'000, 16);
    EXPECT_EQ(reads(*o).latency_maximum, 100'000u) << "operations in flight move along with a leap";
    EXPECT_NEAR(o->mean_depth, 16, 1e-6);
    EXPECT_EQ(o->measured(), 100s);
    expect_windows_sum_to_totals(*o);
    EXPECT_EQ(ticker.ran.size(), 103'001u);
}

TEST(Virtual, LeapsStopShortOfAnOperationLimit) {
    Workload w;
    w.depth = 16;
    w.limit.operations = 3'000'000;
    FakeDrive drive;
    drive.keep = false;
    drive.leap_of = [](HostTime now, HostTime until) -> std::optional<Batch> {
        if (now < at(500ms)) return std::nullopt;
        const Nanoseconds whole = (until - now) / 100us * Nanoseconds(100us);
        if (whole.count() == 0) return std::nullopt;
        Batch batch;
        batch.until = now + whole;
        batch.kinds[0].operations = static_cast<std::uint64_t>(whole / 100us) * 16;
        batch.kinds[0].bytes = batch.kinds[0].operations * 4096;
        batch.kinds[0].latency.add(100'000, batch.kinds[0].operations);
        return batch;
    };
    const PhaseOutcome o = run(w, drive, true);
    EXPECT_EQ(reads(o).operations, 3'000'000u);
    EXPECT_EQ(o.stop, StopReason::operations);
    EXPECT_EQ(o.measured(), 3'000'000 / 16 * 100us);
}

TEST(Virtual, SameSeedSameRun) {
    Workload w;
    w.read_percent = 50;
    w.depth = 16;
    w.workers = 2;
    w.limit.operations = 5'000;
    FakeDrive a, b, c;
    (void)run(w, a);
    (void)run(w, b);
    w.seed = 2;
    (void)run(w, c);
    ASSERT_EQ(a.seen.size(), b.seen.size());
    std::size_t same = 0;
    for (std::size_t i = 0; i < a.seen.size(); ++i) {
        ASSERT_EQ(a.seen[i].operation.offset, b.seen[i].operation.offset);
        ASSERT_EQ(a.seen[i].operation.kind, b.seen[i].operation.kind);
        same += a.seen[i].operation.offset == c.seen[i].operation.offset ? 1 : 0;
    }
    EXPECT_LT(same, 10u);
}

}  // namespace
