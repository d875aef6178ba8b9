// The rig beside real I/O, with a clock that the test turns.

#include <gtest/gtest.h>

#include "host/sim/live_simulation.hpp"
#include "tests/sim/capture.hpp"

namespace wattrig::sim {
namespace {

using namespace std::chrono_literals;

// A machine that has been up for 11 days.
constexpr HostTime boot{Nanoseconds(987'654'321'012'345)};

struct LiveBench {
    LiveBench() : rig(load_model("client-1tb").value(), {"client-1tb", 3, false, true}), capture(rig.link(), 3) {
        rig.link().poll(now);
        capture.session().start(now);
    }
    // Plays to `until` in steps of 1 ms; `each` is called before every poll.
    void play(HostTime until, const std::function<void(HostTime)>& each = {}) {
        while (now < until) {
            now += 1ms;
            if (each) each(now);
            capture.run(now);
        }
    }
    double mean_watt(HostTime begin, HostTime end) {
        const auto energies = capture.energies(rig.calibration(), {{begin, end}});
        return energies.front().mean ? energies.front().mean->value() : -1;
    }
    HostTime now = boot;
    LiveRig rig;
    Capture capture;
};

io::OperationRecord record(HostTime issued, Nanoseconds latency, std::uint32_t bytes = 131072) {
    return {issued, issued + latency, 0, bytes, static_cast<std::int32_t>(bytes), io::OperationKind::read};
}

TEST(LiveSimulation, OperationsMakePowerAndSleepsMakeItFallToIdle) {
    LiveBench bench;
    io::OperationTap tap(1 << 14);
    bench.play(boot + 1s);
    tap.watermark = bench.now.time_since_epoch().count();
    bench.rig.set_taps({&tap});
    const HostTime begin = bench.now;
    std::int64_t records = 0;
    bench.play(begin + 1s, [&](HostTime t) {
        for (int k = 0; k < 10; ++k, ++records) (void)tap.records.push(record(t - 1ms + k * 100us, 90us));
        tap.watermark = t.time_since_epoch().count();
    });
    const HostTime sleep = bench.now;
    bench.play(sleep + 1s, [&](HostTime t) { tap.watermark = t.time_since_epoch().count(); });  // "sleep" instead of operations
    bench.rig.set_taps({});
    bench.play(sleep + 2s);
    EXPECT_TRUE(bench.capture.troubles.empty()) << bench.capture.troubles.front();
    const DriveParameters p = load_model("client-1tb").value();
    const double energy = p.power.read_joule + 131072 * p.power.read_joule_per_byte;
    const double busy = p.power.idle_watt + 10'000 * energy + 0.9 * p.power.active_watt;
    EXPECT_NEAR(bench.mean_watt(begin + 100ms, sleep - 100ms), busy, 0.003 * busy);
    EXPECT_NEAR(bench.mean_watt(sleep + 50ms, sleep + 900ms), p.power.idle_watt, 0.002);
    EXPECT_NEAR(bench.mean_watt(sleep + 1100ms, sleep + 1800ms), p.power.idle_watt, 0.002);
    EXPECT_EQ(bench.rig.counters().operations, static_cast<std::uint64_t>(records));
    EXPECT_EQ(bench.rig.counters().late, 0U);
    // Truth by closed form: N e + idle x time + floor x busy time.
    const double all = bench.rig.true_energy(sleep + 1500ms) - bench.rig.true_energy(begin - 50ms);
    EXPECT_NEAR(all, static_cast<double>(records) * energy + 2.55 * p.power.idle_watt + 0.9 * p.power.active_watt, 1e-3);
}

TEST(LiveSimulation, CodesStayBehindTheClockAndBelowTheLowestWatermark) {
    LiveBench bench;
    bench.play(boot + 500ms);
    EXPECT_LE(bench.rig.settled(), bench.now - LiveRig::behind);
    EXPECT_GT(bench.rig.settled(), bench.now - LiveRig::behind - 2ms);
    io::OperationTap fast(64), slow(64);
    fast.watermark = slow.watermark = bench.now.time_since_epoch().count();
    bench.rig.set_taps({&fast, &slow});
    const HostTime stuck = bench.now;
    bench.play(stuck + 500ms, [&](HostTime t) { fast.watermark = t.time_since_epoch().count(); });
    EXPECT_LE(bench.rig.settled(), stuck) << "a worker that waits for a slow operation holds the power back";
    // It comes at last, 480 ms long: nothing of it is late.
    (void)slow.records.push(record(stuck + 1ms, 480ms));
    slow.watermark = bench.now.time_since_epoch().count();
    bench.play(bench.now + 100ms, [&](HostTime t) { fast.watermark = slow.watermark = t.time_since_epoch().count(); });
    EXPECT_EQ(bench.rig.counters().late, 0U);
    EXPECT_GT(bench.rig.settled(), stuck + 400ms);
    bench.rig.set_taps({});
}

// What the posted transfers (8) and the rig's ring (64) hold of 2.304 ms each is not lost; beyond, exactly the rest is.
TEST(LiveSimulation, AHostThatComesLateLosesWhatTheRigCouldNotHold) {
    for (const Nanoseconds away : {Nanoseconds(20ms), Nanoseconds(160ms), Nanoseconds(500ms), Nanoseconds(2s)}) {
        LiveBench bench;
        bench.play(boot + 2s);
        const auto before = bench.capture.session().state();
        EXPECT_EQ(before.lost_samples, 0U);
        bench.now += away;
        bench.play(bench.now + 2s);
        const auto after = bench.capture.session().state();
        const auto held = static_cast<std::int64_t>(72);
        const std::int64_t lost = std::max<std::int64_t>(0, away / Nanoseconds(2'304'000) - held);
        EXPECT_NEAR(static_cast<double>(after.lost_samples), static_cast<double>(lost * 75), 2 * 75) << away.count();
        EXPECT_EQ(after.lost_samples > 0, lost > 0);
        EXPECT_FALSE(after.failed);
    }
}

TEST(LiveSimulation, LateRecordsAreCountedAndTheirEnergyIsNotLost) {
    LiveBench bench;
    io::OperationTap tap(64);
    bench.play(boot + 500ms);
    bench.rig.set_taps({&tap});
    const double before = bench.rig.true_energy(bench.rig.settled());
    const HostTime from = bench.rig.settled();
    tap.watermark = (bench.now + 1s).time_since_epoch().count();  // a promise that is not kept
    bench.play(bench.now + 200ms);
    (void)tap.records.push(record(bench.now - 180ms, 1ms));
    bench.play(bench.now + 300ms);
    EXPECT_EQ(bench.rig.counters().late, 1U);
    const DriveParameters p = load_model("client-1tb").value();
    const HostTime to = bench.rig.settled();
    EXPECT_GT(bench.rig.true_energy(to) - before,
              p.power.idle_watt * to_seconds(to - from) + 0.9 * 131072 * p.power.read_joule_per_byte);
    for (int k = 0; k < 100; ++k) (void)tap.records.push(record(bench.now + 1us * k, 1us));
    EXPECT_EQ(bench.rig.counters().dropped, 36U);
    bench.rig.set_taps({});
    EXPECT_EQ(bench.rig.counters().dropped, 36U) << "still told when the tap is gone";
}

}  // namespace
}  // namespace wattrig::sim
