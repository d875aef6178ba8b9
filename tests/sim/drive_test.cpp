// The drive model: what follows from its declared inputs by arithmetic.

#include <gtest/gtest.h>

#include <cmath>

#include "host/sim/drive_backend.hpp"
#include "host/sim/noise.hpp"

namespace wattrig::sim {
namespace {

struct Played {
    double seconds = 0, mean_latency_ns = 0, bytes_per_second = 0;
};

Played play(DriveModel& drive, io::OperationKind kind, std::uint32_t bytes, std::uint32_t depth, std::uint64_t operations,
            std::uint64_t span, bool sequential, std::int64_t& now) {
    DriveBackend backend(drive, {});
    Random random(9);
    std::vector<std::int64_t> issued(depth);
    std::uint64_t position = 0;
    const auto submit = [&](std::uint32_t slot) {
        const std::uint64_t block =
            sequential ? position++ % (span / bytes) : random.below(static_cast<std::uint32_t>(span / bytes));
        const io::Operation operation{block * bytes, bytes, slot, nullptr, kind};
        issued[slot] = now;
        backend.submit(0, {&operation, 1}, HostTime(Nanoseconds(now)));
    };
    const std::int64_t begin = now;
    for (std::uint32_t slot = 0; slot < depth; ++slot) submit(slot);
    Played played;
    io::Completion done[64];
    for (std::uint64_t n = 0; n < operations;) {
        now = backend.next_event().time_since_epoch().count();
        const std::size_t reaped = backend.reap(HostTime(Nanoseconds(now)), done);
        for (std::size_t k = 0; k < reaped; ++k, ++n) {
            played.mean_latency_ns += static_cast<double>(now - issued[done[k].slot]) / static_cast<double>(operations);
            submit(done[k].slot);
        }
    }
    played.seconds = static_cast<double>(now - begin) * 1e-9;
    played.bytes_per_second = static_cast<double>(operations) * bytes / played.seconds;
    return played;
}

TEST(DriveModel, OneReadAtATimeTakesTheSumOfItsParts) {
    const DriveParameters p = load_model("client-1tb").value();
    EnergyLedger ledger(0, 0, 1e6);
    DriveModel drive(p, 1, nullptr, &ledger);
    std::int64_t now = 0;
    const Played played = play(drive, io::OperationKind::read, 4096, 1, 20'000, 16'000'000'000, false, now);
    const double expected = 1500 + 58000 + 4096 / 1.2 + 6000;  // command, tR, channel, overhead
    EXPECT_NEAR(played.mean_latency_ns, expected, 0.003 * expected);
}

TEST(DriveModel, WritesGoAtTheRateOfTheirProgramsInTheCacheAndPastIt) {
    DriveParameters p = load_model("client-1tb").value();
    p.cache.bytes = 4'000'000'000;
    p.cache.busy_drain_bytes_per_second = 0;
    EnergyLedger ledger(0, 0, 1e6);
    DriveModel drive(p, 1, nullptr, &ledger);
    std::int64_t now = 0;
    const double cached = 64 * 65536 / 1.5e-3, direct = 64 * 65536 / 3.6e-3;
    const Played first = play(drive, io::OperationKind::write, 131072, 16, 28'000, 100'000'000'000, true, now);
    EXPECT_NEAR(first.bytes_per_second, cached, 0.01 * cached);
    EXPECT_TRUE(drive.cache_open());
    play(drive, io::OperationKind::write, 131072, 16, 4'000, 100'000'000'000, true, now);
    EXPECT_FALSE(drive.cache_open());
    EXPECT_NEAR(static_cast<double>(drive.cache_left_at()), 4e9, 20e6);
    const Played second = play(drive, io::OperationKind::write, 131072, 16, 20'000, 100'000'000'000, true, now);
    EXPECT_NEAR(second.bytes_per_second, direct, 0.01 * direct);
}

TEST(DriveModel, TheMapCacheMissesByTheShareOfTheSpanItCannotHold) {
    const DriveParameters p = load_model("dramless-500gb").value();
    EnergyLedger ledger(0, 0, 1e6);
    DriveModel drive(p, 1, nullptr, &ledger);
    std::int64_t now = 0;
    play(drive, io::OperationKind::read, 4096, 1, 60'000, 16'000'000'000, false, now);  // warm
    const double inside = play(drive, io::OperationKind::read, 4096, 1, 20'000, 16'000'000'000, false, now).mean_latency_ns;
    play(drive, io::OperationKind::read, 4096, 1, 200'000, 64'000'000'000, false, now);
    const double outside = play(drive, io::OperationKind::read, 4096, 1, 50'000, 64'000'000'000, false, now).mean_latency_ns;
    // 64 GB are 15259 segments, of which 8192 fit.
    const double misses = 1 - 8192.0 / 15259;
    EXPECT_NEAR(outside - inside, misses * 55'000, 0.03 * misses * 55'000);
}

TEST(DriveModel, AFlushWaitsForWhatIsInTheBuffer) {
    const DriveParameters p = load_model("client-1tb").value();
    EnergyLedger ledger(0, 0, 1e6);
    DriveModel drive(p, 1, nullptr, &ledger);
    const io::Operation write{0, 4096, 0, nullptr, io::OperationKind::write};
    const std::int64_t written = drive.submit(write, 0);
    EXPECT_LT(written, 20'000);
    const io::Operation flush{0, 0, 0, nullptr, io::OperationKind::flush};
    const std::int64_t flushed = drive.submit(flush, written);
    EXPECT_GE(flushed, written + p.flash.cache_program_ns);
    EXPECT_LT(drive.submit(flush, flushed) - flushed, 100'000) << "nothing is left to flush";
}

TEST(DriveModel, IdleTimeDrainsTheCacheAtItsPrice) {
    DriveParameters p = load_model("client-1tb").value();
    p.cache.busy_drain_bytes_per_second = 0;
    EnergyLedger ledger(p.power.idle_watt, p.power.active_watt, static_cast<double>(p.power.active_time_constant_ns));
    DriveModel drive(p, 1, nullptr, &ledger);
    std::int64_t now = 0;
    play(drive, io::OperationKind::write, 131072, 8, 8'000, 100'000'000'000, true, now);
    now += 40'000'000;  // programs end, drain has not begun
    drive.settle(now);
    const double used = drive.cache_used(), before = ledger.energy(now);
    ASSERT_GT(used, 0.9e9);
    now += 5'000'000'000;
    drive.settle(now);
    EXPECT_EQ(drive.cache_used(), 0);
    EXPECT_NEAR(ledger.energy(now) - before, 5 * p.power.idle_watt + used * p.power.drain_joule_per_byte, 1e-6);
}

}  // namespace
}  // namespace wattrig::sim
