// The two fidelities against each other where the drive changes what it does: collection, folding, temperature, idle states.
// The same limits as in aggregate_test.cpp: operations 0.2 %, mean latency 0.5 %, percentiles one bucket, energy 0.1 %.

#include <gtest/gtest.h>

#include <cmath>

#include "host/io/engine.hpp"
#include "host/sim/virtual_simulation.hpp"

namespace wattrig::sim {
namespace {

using namespace std::chrono_literals;

struct Played {
    io::PhaseOutcome outcome;
    double operations, latency, joule, copies, celsius;
    std::uint64_t leaps, p50, p99;
    std::vector<Transition> transitions;
};

// `prepare` may change the drive's state before the phase.
template <class Prepare>
Played play(DriveParameters p, bool aggregate, const io::Workload& workload, Prepare prepare, std::uint64_t seed = 3) {
    SimulationOptions options;
    options.aggregate = aggregate;
    options.rig = false;
    options.seed = seed;
    VirtualRig rig(p, options);
    io::VirtualLoop loop;
    io::VirtualOptions engine;
    engine.target_size = p.capacity_bytes;
    engine.logical_block = p.logical_block_bytes;
    engine.aggregate = aggregate;
    prepare(rig.drive_model());
    Played played{io::run_virtual(workload, rig.drive(), loop, engine).value(), 0, 0, 0, 0, 0, 0, 0, 0, {}};
    const auto total = played.outcome.total();
    played.operations = static_cast<double>(total.operations);
    played.latency = static_cast<double>(total.latency_sum) / played.operations;
    played.joule = rig.true_energy(played.outcome.measured_end) - rig.true_energy(played.outcome.measured_begin);
    played.copies = rig.drive_model().copies_per_byte();
    played.celsius = rig.drive_model().celsius();
    played.leaps = aggregate ? rig.aggregate()->leaps() : 0;
    played.p50 = total.latency.percentile(50);
    played.p99 = total.latency.percentile(99);
    played.transitions = rig.drive_model().transitions();
    return played;
}

void expect_agreement(const Played& exact, const Played& leapt) {
    EXPECT_GE(leapt.leaps, 5U);
    EXPECT_NEAR(leapt.operations, exact.operations, 0.002 * exact.operations);
    EXPECT_NEAR(leapt.latency, exact.latency, 0.005 * exact.latency);
    EXPECT_NEAR(leapt.joule, exact.joule, 0.001 * exact.joule);
    const auto apart = [](std::uint64_t a, std::uint64_t b) {
        return std::abs(static_cast<double>(Histogram::bucket(a)) - static_cast<double>(Histogram::bucket(b)));
    };
    EXPECT_LE(apart(leapt.p50, exact.p50), 1);
    EXPECT_LE(apart(leapt.p99, exact.p99), 1);
}

io::Workload load(io::Pattern pattern, double read_percent, std::uint32_t bytes, std::uint32_t depth, Nanoseconds time) {
    io::Workload w;
    w.pattern = pattern;
    w.read_percent = read_percent;
    w.block_sizes = {{bytes, 100.0}};
    w.depth = depth;
    w.limit.time = time;
    return w;
}

void make_steady(DriveModel& drive) {
    const std::uint64_t capacity = drive.parameters().capacity_bytes;
    drive.space()->write_in_order(0, capacity, 0, static_cast<double>(capacity));
    drive.space()->write_random(0, capacity, 6.0 * static_cast<double>(capacity));
    drive.look_at_space();
}

struct Case {
    const char* name;
    double read_percent;
    std::uint32_t bytes, depth;
};
class Collecting : public testing::TestWithParam<Case> {};
TEST_P(Collecting, AggregateAgreesWithExact) {
    const Case& c = GetParam();
    const DriveParameters p = load_model("enterprise-aic-1600gb").value();
    const io::Workload w = load(io::Pattern::random, c.read_percent, c.bytes, c.depth, 24s);
    const Played exact = play(p, false, w, make_steady), leapt = play(p, true, w, make_steady);
    EXPECT_GT(exact.copies, 1);
    EXPECT_NEAR(leapt.copies, exact.copies, 0.01 * exact.copies);
    expect_agreement(exact, leapt);
}
INSTANTIATE_TEST_SUITE_P(Loads, Collecting,
                         testing::Values(Case{"SmallWrites", 0, 4096, 256}, Case{"Mixed", 65, 4096, 256},
                                         Case{"MixedLarge", 65, 65536, 32}, Case{"LargeWrites", 0, 1 << 18, 16},
                                         Case{"HalfKilobyte", 5, 512, 64}),
                         [](const auto& instance) { return std::string(instance.param.name); });

// From fresh over the begin of collection, on a drive small enough to get there.
TEST(Transitions, CollectionBeginsAtTheSameByte) {
    DriveParameters p = load_model("enterprise-aic-1600gb").value();
    p.capacity_bytes = 16'000'000'000;
    const io::Workload w = load(io::Pattern::random, 0, 65536, 32, 60s);
    const auto nothing = [](DriveModel&) {};
    const Played exact = play(p, false, w, nothing), leapt = play(p, true, w, nothing);
    ASSERT_EQ(exact.transitions.size(), 1U);
    ASSERT_EQ(leapt.transitions.size(), 1U);
    EXPECT_EQ(exact.transitions[0].kind, Transition::Kind::collection);
    EXPECT_NEAR(static_cast<double>(leapt.transitions[0].host_bytes), static_cast<double>(exact.transitions[0].host_bytes),
                0.005 * 16e9);
    EXPECT_NEAR(leapt.operations, exact.operations, 0.005 * exact.operations);
    EXPECT_NEAR(leapt.joule, exact.joule, 0.002 * exact.joule);
}

TEST(Transitions, FoldingAndTheEndOfTheCacheComeAtTheSameByte) {
    DriveParameters p = load_model("folding-500gb").value();
    p.capacity_bytes = 100'000'000'000;
    p.cache.bytes = 15'000'000'000;
    io::Workload w = load(io::Pattern::sequential, 0, 1 << 20, 4, 1h);
    w.limit.time.reset();
    w.limit.bytes = 99'000'000'000 >> 20 << 20;
    const auto nothing = [](DriveModel&) {};
    const Played exact = play(p, false, w, nothing), leapt = play(p, true, w, nothing);
    ASSERT_GE(exact.transitions.size(), 2U);

    ASSERT_EQ(leapt.transitions.size(), exact.transitions.size());
    for (std::size_t k = 0; k < exact.transitions.size(); ++k) {
        EXPECT_EQ(leapt.transitions[k].kind, exact.transitions[k].kind);
        EXPECT_NEAR(static_cast<double>(leapt.transitions[k].host_bytes), static_cast<double>(exact.transitions[k].host_bytes),
                    0.2e9);
    }
    EXPECT_NEAR(to_seconds(leapt.outcome.measured()), to_seconds(exact.outcome.measured()),
                0.002 * to_seconds(exact.outcome.measured()));
    EXPECT_NEAR(leapt.joule, exact.joule, 0.002 * exact.joule);
}

TEST(Transitions, ThrottlingComesAtTheSameTime) {
    const DriveParameters p = load_model("throttling-1tb").value();
    const io::Workload w = load(io::Pattern::sequential, 0, 1 << 20, 8, 240s);
    const auto nothing = [](DriveModel&) {};
    const Played exact = play(p, false, w, nothing), leapt = play(p, true, w, nothing);
    ASSERT_GE(exact.transitions.size(), 3U);
    ASSERT_EQ(leapt.transitions.size(), exact.transitions.size());
    EXPECT_NEAR(leapt.operations, exact.operations, 0.005 * exact.operations);
    EXPECT_NEAR(leapt.joule, exact.joule, 0.003 * exact.joule);
    EXPECT_NEAR(leapt.celsius, exact.celsius, 0.5);
}

// An idle hour in summaries: the energy of every state, and the same wake-up at its end.
TEST(Transitions, IdleStatesPassInSummariesWithTheRightEnergy) {
    const DriveParameters p = load_model("high-end-nvme-1tb").value();
    for (const bool rig_there : {false, true}) {
        SimulationOptions options;
        options.aggregate = true;
        options.rig = rig_there;
        VirtualRig rig(p, options);
        io::VirtualLoop loop;
        loop.add(rig.rig_actor());
        io::VirtualOptions engine;
        engine.target_size = p.capacity_bytes;
        engine.aggregate = true;
        io::Workload w = load(io::Pattern::random, 100, 4096, 1, 1h);
        w.limit.time.reset();
        w.limit.operations = 100;
        const auto first = io::run_virtual(w, rig.drive(), loop, engine).value();
        const HostTime end = first.end;
        loop.advance_to(end + 3600s, &rig.drive());
        const auto& states = p.power.idle_states;
        const double light = 1e-9 * static_cast<double>(states[0].idle_ns + states[0].entry_ns);
        const double deep = 1e-9 * static_cast<double>(states[1].idle_ns + states[1].entry_ns);
        const double floor = p.power.active_watt * 1e-9 * static_cast<double>(p.power.active_time_constant_ns);
        const double expected = light * p.power.idle_watt + (deep - light) * states[0].watt + (3600 - deep) * states[1].watt;
        // The floor's decay brings at most its time constant's worth.
        const double joule = rig.true_energy(end + 3600s) - rig.true_energy(end);
        EXPECT_GT(joule, expected - 1e-6);
        EXPECT_LT(joule, expected + floor + 1e-4);
        const auto woken = io::run_virtual(w, rig.drive(), loop, engine).value();
        EXPECT_GT(woken.total().latency_maximum, static_cast<std::uint64_t>(states[1].exit_ns));
        EXPECT_LT(woken.total().latency_maximum, static_cast<std::uint64_t>(states[1].exit_ns) + 100'000);
    }
}

}  // namespace
}  // namespace wattrig::sim
