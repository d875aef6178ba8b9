// The simulated wire: order, causality, ceiling, faults, and stamps that keep the promise of two-way exchanges.

#include <gtest/gtest.h>

#include "tests/sim/support.hpp"

namespace wattrig::sim {
namespace {

using namespace std::chrono_literals;

TEST(SimLink, ExchangesBracketTheTrueTime) {
    Bench bench({"client-1tb", 8, false, true});
    bench.wait(20s);
    ASSERT_GT(bench.capture.exchanges.size(), 300U);
    Nanoseconds shortest = 1s, longest{0};
    for (const rig::Exchange& exchange : bench.capture.exchanges) {
        // A device stamp is cut to whole microseconds.
        const HostTime received = bench.simulation.true_host_time(exchange.d2),
                       armed = bench.simulation.true_host_time(exchange.d3);
        EXPECT_LE(exchange.h1, received);
        EXPECT_LE(received, armed + 1us);
        EXPECT_LE(armed, exchange.h4);
        shortest = std::min(shortest, exchange.h4 - exchange.h1);
        longest = std::max(longest, exchange.h4 - exchange.h1);
    }
    EXPECT_LT(shortest, 600us);
    EXPECT_GT(longest, 5ms) << "outliers are part of the model";
    // The published map holds its guarantee.
    const rig::ClockMap& map = bench.capture.session().clock();
    for (std::int64_t k = 1; k < 200; ++k) {
        const DeviceTime t = bench.simulation.feed().clock().to_device(HostTime(Nanoseconds(k * 100'000'000)));
        const HostTime truth = bench.simulation.true_host_time(t);
        if (truth < map.knots().front().host) continue;
        EXPECT_LE(std::abs((map.to_host(t) - truth).count()), map.half_width(truth).count());
    }
}

TEST(SimLink, NothingArrivesBeforeItWasMade) {
    Bench bench({"client-1tb", 9, false, true});
    bench.wait(2s);
    HostTime before{};
    for (const KeptBlock& block : bench.capture.blocks) {
        const auto end = static_cast<std::int64_t>(block.header.first_time) + 75 * 3840;
        const HostTime made = bench.simulation.true_host_time(DeviceTime(Ticks(end)));
        EXPECT_GT(block.arrival, made);
        EXPECT_LT(block.arrival, made + 20ms);
        EXPECT_GE(block.arrival, before);
        before = block.arrival;
    }
}

TEST(SimLink, FaultsReachTheSessionAndNothingElseDoes) {
    SimLinkFaults faults;
    faults.drop = {100};
    faults.corrupt = {200};
    faults.duplicate = {300};
    Bench bench({"client-1tb", 4, false, true}, faults);
    bench.wait(1500ms);
    EXPECT_EQ(bench.capture.session().stream_counters().crc_errors, 1U);
    EXPECT_EQ(bench.capture.session().state().lost_blocks, 2U);
    std::uint64_t seen = 0, next = 0;
    for (const KeptBlock& block : bench.capture.blocks) {
        EXPECT_GE(block.header.first_index, next);
        next = block.header.first_index + 75;
        ++seen;
    }
    EXPECT_EQ(seen + 2, bench.capture.blocks.back().header.first_index / 75 + 1);
    // The running sums bridge what is lost: the energy is as if nothing had been.
    const io::Interval interval{HostTime(100ms), HostTime(1400ms)};
    const auto measured = bench.capture.energies(bench.simulation.calibration(), {interval}).front();
    EXPECT_NEAR(measured.energy->value(), bench.truth(interval), 3e-3 * bench.truth(interval));
}

TEST(SimLink, SaysThatItIsSimulated) {
    Bench bench({"client-1tb", 7, false, true});
    EXPECT_TRUE(bench.simulation.link().simulated());
    EXPECT_EQ(bench.simulation.link().description(), "simulated rig, seed 7");
    ASSERT_TRUE(bench.capture.session().info().has_value());
    EXPECT_GE(bench.capture.session().info()->board_id, 0xffff'0000U);
    EXPECT_TRUE(bench.simulation.calibration().simulated);
}

}  // namespace
}  // namespace wattrig::sim
