// Power over time: energy is exact whatever is added, and the ledger, which shares nothing with the bins, says the same.

#include <gtest/gtest.h>

#include <cmath>
#include <numeric>

#include "host/sim/energy_ledger.hpp"
#include "host/sim/noise.hpp"
#include "host/sim/power_trace.hpp"

namespace wattrig::sim {
namespace {

constexpr double bin_seconds = 3.84e-6;

HostTime at(std::int64_t ns) { return HostTime(Nanoseconds(ns)); }

TEST(PowerTrace, ARectangleKeepsItsEnergyAndPlace) {
    PowerTrace trace(0.5, 0, 1e6);
    trace.anchor(at(0), 0, 0.125 / ticks_per_bin);
    trace.add(10'000, 20'000, 2.0);
    std::vector<float> watts(10);
    trace.take(watts);
    // 10 us is bin 2.604, 20 us bin 5.208.
    const double expected[] = {0.5, 0.5, 0.5 + 2 * (3 - 10.0 / 3.84), 2.5, 2.5, 0.5 + 2 * (20.0 / 3.84 - 5), 0.5};
    for (std::size_t k = 0; k < std::size(expected); ++k) EXPECT_NEAR(watts[k], expected[k], 1e-6) << k;
}

TEST(PowerTrace, SumsToTheClosedFormForTenThousandOperationsAndIdleGaps) {
    PowerTrace trace(0.4, 0.9, 2e6);
    EnergyLedger ledger(0.4, 0.9, 2e6);
    Random random(5);
    double operations = 0, active_ns = 0, joule = 0;
    std::int64_t now = 0;
    std::vector<float> watts(200);
    std::vector<std::array<std::int64_t, 2>> activity;
    for (int burst = 0; burst < 100; ++burst) {
        const std::int64_t begin = now;
        trace.anchor(at(now), static_cast<double>(now) * 0.125 / ticks_per_bin, 0.125 / ticks_per_bin);
        trace.activity(now, true);
        for (int k = 0; k < 100; ++k) {
            const auto length =
                static_cast<std::int64_t>(random.uniform(200, k % 50 == 0 ? 300e6 : 90e3));  // some beyond 126 ms
            trace.add(now, now + length, 1e9 * 3e-6 / static_cast<double>(length));
            ledger.add(now, now + length, 3e-6);
            operations += 1;
            now += static_cast<std::int64_t>(random.uniform(1e3, 30e3));
        }
        ledger.advance(now, true);
        trace.activity(now, false);
        active_ns += static_cast<double>(now - begin);
        now += static_cast<std::int64_t>(random.uniform(1e6, 20e6));
        ledger.advance(now, false);
        while (trace.bin_at(at(now)) > static_cast<double>(trace.next_bin() + 200)) {
            trace.take(watts);
            joule += std::accumulate(watts.begin(), watts.end(), 0.0) * bin_seconds;
        }
    }
    now += 400'000'000;  // all of it has ended and decayed
    ledger.advance(now, false);
    while (trace.bin_at(at(now)) > static_cast<double>(trace.next_bin() + 200)) {
        trace.take(watts);
        joule += std::accumulate(watts.begin(), watts.end(), 0.0) * bin_seconds;
    }
    // Energy = N e + idle x time + floor x active time; the time constant's parts cancel once the floor is back at 0.
    const double end = static_cast<double>(trace.next_bin()) * bin_seconds;
    const double closed = operations * 3e-6 + 0.4 * end + 0.9 * active_ns * 1e-9;
    EXPECT_NEAR(joule, closed, 2e-6 * closed);
    EXPECT_NEAR(ledger.energy(static_cast<std::int64_t>(end * 1e9)), closed, 1e-9 * closed);
}

TEST(EnergyLedger, ALeapAddsWhatItSaysAndMovesWhatIsUnderWay) {
    EnergyLedger ledger(1.0, 0, 1e6);
    ledger.add(0, 10'000'000, 0.010);  // 1 W for 10 ms
    ledger.advance(5'000'000, false);
    ledger.leap(1'000'000'000, 7.0);
    ledger.advance(1'020'000'000, false);
    EXPECT_NEAR(ledger.energy(5'000'000), 0.010, 1e-9);
    EXPECT_NEAR(ledger.energy(1'005'000'000), 7.010, 1e-9);
    EXPECT_NEAR(ledger.energy(1'010'000'000), 7.020, 1e-9);
    EXPECT_NEAR(ledger.energy(1'020'000'000), 7.030, 1e-9);
}

}  // namespace
}  // namespace wattrig::sim
