// The two fidelities against each other: operations per second 0.2 %, mean latency 0.5 %, percentiles one bucket, energy 0.1 %.

#include <gtest/gtest.h>

#include <cmath>

#include "tests/sim/support.hpp"

namespace wattrig::sim {
namespace {

using namespace std::chrono_literals;

struct Case {
    const char* name;
    const char* model;
    std::uint32_t depth;
    double read_percent;
    std::uint32_t bytes;
    bool sequential;
};

class Fidelity : public testing::TestWithParam<Case> {};

// The engine's windows of 1 ms keep the first 10 s of a phase exact, so a phase has to be longer to leap at all.
TEST_P(Fidelity, AggregateAgreesWithExact) {
    const Case& c = GetParam();
    // Which operations are reads is drawn: over 6 s that alone moves the energy of a mix by 0.1 %.
    const bool mixed = c.read_percent > 0 && c.read_percent < 100;
    io::Workload workload = random_load(c.depth, mixed ? 70s : 16s, c.read_percent, c.bytes);
    if (c.sequential) workload.pattern = io::Pattern::sequential;
    struct Figures {
        double iops, latency, energy, measured;
        std::uint64_t p50, p99;
    };
    std::array<Figures, 2> figures{};
    for (const bool aggregate : {false, true}) {
        Bench bench({c.model, 1, aggregate, true});
        const auto outcome = bench.run(workload);
        bench.wait(200ms);
        const auto total = outcome.total();
        const io::Interval interval{outcome.measured_begin + 10s, outcome.measured_end};  // where the leaps are
        const auto measured = bench.capture.energies(bench.simulation.calibration(), {interval}).front();
        figures[aggregate] = {static_cast<double>(total.operations) / to_seconds(outcome.measured()),
                              static_cast<double>(total.latency_sum) / static_cast<double>(total.operations),
                              bench.truth(interval),
                              measured.energy->value(),
                              total.latency.percentile(50),
                              total.latency.percentile(99)};
        if (aggregate) {
            EXPECT_GE(bench.simulation.aggregate()->leaps(), 5U);
            EXPECT_EQ(measured.coverage, 1.0);
        }
    }
    const auto& [exact, leapt] = figures;
    EXPECT_NEAR(leapt.iops, exact.iops, 0.002 * exact.iops);
    EXPECT_NEAR(leapt.latency, exact.latency, 0.005 * exact.latency);
    EXPECT_NEAR(leapt.energy, exact.energy, 0.001 * exact.energy);
    // The same rig: its errors are the same, drifts apart.
    EXPECT_NEAR(leapt.measured - leapt.energy, exact.measured - exact.energy, 2e-4 * exact.energy);
    const auto buckets_apart = [](std::uint64_t a, std::uint64_t b) {
        return std::abs(static_cast<double>(Histogram::bucket(a)) - static_cast<double>(Histogram::bucket(b)));
    };
    EXPECT_LE(buckets_apart(leapt.p50, exact.p50), 1);
    EXPECT_LE(buckets_apart(leapt.p99, exact.p99), 1);
}

INSTANTIATE_TEST_SUITE_P(Loads, Fidelity,
                         testing::Values(Case{"RandomReads", "client-1tb", 4, 100, 4096, false},
                                         Case{"DeepReads", "constant-300k", 16, 100, 4096, false},
                                         Case{"Mixed", "dramless-500gb", 8, 65, 16384, false},
                                         Case{"SequentialWrites", "client-1tb", 4, 0, 131072, true},
                                         Case{"LargeReads", "client-1tb", 2, 100, 1048576, true}),
                         [](const auto& instance) { return std::string(instance.param.name); });

TEST(Aggregate, FindsTheCliffWhereTheExactModelHasIt) {
    std::array<std::uint64_t, 2> left{}, operations{};
    std::array<double, 2> energy{};
    for (const bool aggregate : {false, true}) {
        Bench bench({"dramless-500gb", 1, aggregate, true});
        bench.capture.keep_codes = false;
        io::Workload workload = random_load(8, 24s, 0, 1 << 20);
        workload.span = 200'000'000'000;
        workload.pattern = io::Pattern::sequential;
        const auto outcome = bench.run(workload);
        left[aggregate] = bench.simulation.drive_model().cache_left_at();
        operations[aggregate] = outcome.total().operations;
        energy[aggregate] = bench.truth({outcome.measured_begin, outcome.measured_end});
    }
    EXPECT_GT(left[0], 12'000'000'000U);
    EXPECT_NEAR(static_cast<double>(left[1]), static_cast<double>(left[0]), 0.005 * static_cast<double>(left[0]));
    EXPECT_NEAR(static_cast<double>(operations[1]), static_cast<double>(operations[0]),
                0.005 * static_cast<double>(operations[0]));
    EXPECT_NEAR(energy[1], energy[0], 0.003 * energy[0]);
}

TEST(Aggregate, IdleTimePassesInSummariesAndItsEnergyIsRight) {
    Bench bench({"client-1tb", 2, true, true});
    io::Workload workload = random_load(8, 1s, 0, 131072);
    const auto outcome = bench.run(workload);
    bench.wait(3600s);
    std::size_t summaries = 0;
    for (const KeptBlock& block : bench.capture.blocks) summaries += block.header.detail == 2;
    EXPECT_GT(summaries, 3900U);
    for (const KeptBlock& block : bench.capture.blocks) {  // the switch was never touched
        ASSERT_EQ(block.header.flags & protocol::block_power_off, 0U) << "block at index " << block.header.first_index;
    }
    EXPECT_LT(bench.capture.blocks.size(), 7000U);
    EXPECT_EQ(bench.simulation.drive_model().cache_used(), 0);
    // First the cache drains, then there is nothing but idle.
    const DriveParameters& p = bench.simulation.drive_model().parameters();
    const double written = static_cast<double>(bench.simulation.drive_model().programs() * p.flash.program_bytes);
    const io::Interval all{outcome.end + 20ms, outcome.end + 3500s};
    const double drained = written - 60e6 * to_seconds(outcome.end - outcome.begin);  // the rest while the host was at work
    EXPECT_NEAR(bench.truth(all), 0.85 * 3499.98 + drained * p.power.drain_joule_per_byte, 0.01);
    const io::Interval late{outcome.end + 100s, outcome.end + 3500s};
    const auto measured = bench.capture.energies(bench.simulation.calibration(), {all, late});
    EXPECT_NEAR(measured[1].mean->value(), 0.85, 4 * measured[1].u.standard());
    EXPECT_EQ(measured[1].coverage, 1.0);
    EXPECT_TRUE(bench.capture.troubles.empty()) << bench.capture.troubles.front();
}

TEST(Aggregate, DeclinesWhatItCannotLeap) {
    Bench bench({"client-1tb", 2, true, true});
    io::Workload bursts = random_load(1, 12s);
    bursts.bursts = io::Bursts{.bytes = 1 << 20, .operations = 0, .duty = 0.2};
    (void)bench.run(bursts);
    io::Workload rate = random_load(4, 12s);
    rate.rate = io::FixedRate{.operations_per_second = 2000, .bytes_per_second = 0, .poisson = false};
    const auto outcome = bench.run(rate);
    EXPECT_EQ(bench.simulation.aggregate()->leaps(), 0U);
    EXPECT_NEAR(static_cast<double>(outcome.total().operations), 24'000, 30);
}

}  // namespace
}  // namespace wattrig::sim
