#pragma once
// Short hands of the simulator's tests.

#include "host/sim/virtual_simulation.hpp"
#include "tests/sim/capture.hpp"

namespace wattrig::sim {

inline io::Workload random_load(std::uint32_t depth, Nanoseconds time, double read_percent = 100, std::uint32_t bytes = 4096) {
    io::Workload workload;
    workload.depth = depth;
    workload.span = 16'000'000'000;
    workload.read_percent = read_percent;
    workload.block_sizes = {{bytes, 100.0}};
    workload.limit.time = time;
    return workload;
}

// Drive, rig and a session that listens, in one loop.
struct Bench {
    explicit Bench(SimulationOptions options, SimLinkFaults faults = {})
        : simulation(load_model(options.model).value(), options, std::move(faults)), capture(simulation.link(), options.seed) {
        loop.add(simulation.rig_actor());
        started = capture.start(loop);
        engine.target_size = simulation.model().capacity;
        engine.logical_block = simulation.model().logical_block;
        engine.aggregate = options.aggregate;
    }
    io::PhaseOutcome run(const io::Workload& workload) {
        auto outcome = io::run_virtual(workload, simulation.drive(), loop, engine);
        if (!outcome) throw std::runtime_error(outcome.error().message);
        return std::move(*outcome);
    }
    void wait(Nanoseconds time) { loop.advance_to(loop.now() + time, &simulation.drive()); }
    double truth(io::Interval interval) const {
        return simulation.true_energy(interval.end) - simulation.true_energy(interval.begin);
    }

    VirtualRig simulation;
    io::VirtualLoop loop;
    Capture capture;
    io::VirtualOptions engine;
    bool started = false;
};

}  // namespace wattrig::sim
