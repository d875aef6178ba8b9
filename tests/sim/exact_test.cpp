// The exact fidelity end to end: engine, drive, analog front end, firmware core, link, session.

#include <gtest/gtest.h>

#include <cmath>

#include "host/sim/virtual_simulation.hpp"
#include "tests/sim/capture.hpp"

namespace wattrig::sim {
namespace {

using namespace std::chrono_literals;

io::Workload random_reads(std::uint32_t depth, Nanoseconds time) {
    io::Workload workload;
    workload.depth = depth;
    workload.span = 16'000'000'000;
    workload.limit.time = time;
    return workload;
}

io::VirtualOptions options_for(const VirtualSimulation& simulation) {
    io::VirtualOptions options;
    options.target_size = simulation.model().capacity;
    options.logical_block = simulation.model().logical_block;
    return options;
}

TEST(ExactSimulation, MeasuredEnergyLiesAtTheTruth) {
    auto made = VirtualSimulation::create({"client-1tb", 3, false, true});
    ASSERT_TRUE(made.has_value()) << made.error().message;
    VirtualSimulation& simulation = **made;
    io::VirtualLoop loop;
    loop.add(simulation.rig_actor());
    Capture capture(simulation.link());
    ASSERT_TRUE(capture.start(loop));
    auto outcome = io::run_virtual(random_reads(8, 2s), simulation.drive(), loop, options_for(simulation));
    ASSERT_TRUE(outcome.has_value()) << outcome.error().message;
    loop.advance_to(loop.now() + 1s, &simulation.drive());
    EXPECT_TRUE(capture.troubles.empty()) << capture.troubles.front();
    const io::Interval interval{outcome->measured_begin, outcome->measured_end};
    const double truth = simulation.true_energy(interval.end) - simulation.true_energy(interval.begin);
    const auto energies = capture.energies(simulation.calibration(), {interval});
    ASSERT_TRUE(energies[0].energy.has_value());
    std::printf("iops %.0f truth %.6f J measured %.6f J U %.6f W\n",
                static_cast<double>(outcome->total().operations) / to_seconds(outcome->measured()), truth,
                energies[0].energy->value(), energies[0].u.expanded());
    EXPECT_NEAR(energies[0].energy->value(), truth, 1e-3 * truth);
    EXPECT_EQ(energies[0].coverage, 1.0);
}

}  // namespace
}  // namespace wattrig::sim
