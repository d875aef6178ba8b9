#pragma once
// Results with every field set, and with every optional field empty.

#include "host/analysis/result.hpp"

namespace wattrig::test {

inline analysis::RunResult full_result() {
    using analysis::Figure;
    analysis::RunResult r;
    r.suite = "quick";
    r.run_directory = "runs/1";
    r.target = "sim:client-1tb";
    r.drive = "client-1tb";
    r.rig = "simulated rig, seed 7";
    r.power_measured = r.power_simulated = r.drive_simulated = true;
    r.fidelity = "exact";
    r.scale = 0.1;
    r.interrupted = true;
    r.complete = false;
    r.clock = {"two-sided", 61.5, -12.25, 640};
    r.samples = 1'000'000;
    r.lost_samples = 3;
    r.lost_blocks = 2;
    r.idle_watts = {0.31, 0.001, 0.002, ""};
    r.idle_source = "idle phase 0";
    r.warnings = {"scaled", "\xff\xfe not UTF-8"};
    r.run_json = R"({"schema":"wattrig.run/1","suite":{"name":"quick"}})";
    analysis::PhaseResult p;
    p.phase = {3, "random read", "randread QD4", "io", {{"pattern", "randread"}, {"depth", "4"}}, true, true, true, {}, {}};
    io::PhaseOutcome& o = p.phase.outcome;
    o.begin = HostTime(Nanoseconds(1'000));
    o.measured_begin = HostTime(Nanoseconds(2'000));
    o.measured_end = HostTime(Nanoseconds(10'000'002'000));
    o.end = HostTime(Nanoseconds(10'000'100'000));
    o.stop = io::StopReason::bytes;
    o.kinds[0].operations = 500'000;
    o.kinds[0].bytes = 2'048'000'000;
    o.kinds[1].errors = 2;
    o.errors.push_back({io::OperationKind::write, 5, 2, 4096});
    o.mean_depth = 3.98;
    o.device_mean_depth = 3.5;
    o.engine = "virtual exact";
    p.iops = p.read_iops = 50'000;
    p.megabytes_per_second = 204.8;
    p.latency = {80, 79, 100, 150, 300, 900, 1000, 60, 0};
    p.read_latency = p.latency;
    p.speed = analysis::SpeedFigures{
        "cache exhausted at 5.5 GB",
        {{0, 5.5e9, 6.5, 840, 838, 842, 839, {4.5, 0.1, 0.2, ""}}, {5.5e9, 50e9, 99, 450, std::nullopt, std::nullopt, 441, {}}},
        {{5.5e9, 5.4e9, 5.6e9, 0.536}}};
    power::IntervalPower& w = p.power;
    w.interval = {o.measured_begin, o.measured_end};
    w.samples = 325'520;
    w.coverage = 1;
    w.energy = Joules(31.5);
    w.mean = Watts(3.15);
    w.u.reference = 1e-3;
    w.minimum = Watts(0.3);
    w.maximum = Watts(5);
    w.mean_voltage = Volts(3.29);
    w.minimum_voltage = Volts(3.2);
    w.mean_current = Amperes(0.957);
    w.pcm1 = Watts(3.2);
    w.pcm2 = Watts(6.1);
    w.pcm1_coverage = w.pcm2_coverage = 0.99;
    w.batch_means = {3.1, 3.2};
    w.batch_length = Nanoseconds(5'000'000'000);
    w.flags = {"clipped"};
    w.simulated = true;
    p.budget = w.u;
    p.watts = {3.15, 2e-3, std::nullopt, "too short to tell"};
    p.idle_watts = {0.3, 1e-3, 1e-3, ""};
    p.megabytes_per_second_per_watt = p.iops_per_watt = p.microjoules_per_operation = {65.0, 0.04, 0.1, ""};
    p.idle_subtracted_microjoules_per_operation = {56.8, 0.04, 0.1, ""};
    p.cool_off_joules = 2.5;
    p.little_error = -0.003;
    p.warnings = {"power: clipped"};
    r.phases = {p};
    analysis::Score s;
    s.name = "random read, QD 1-2-4";
    s.phases = {3};
    s.weights = {1};
    s.megabytes_per_second = 204.8;
    s.watts = 3.15;
    s.mean_of_ratios = s.ratio_of_means = s.total_bytes_per_joule = {65.0, 0.04, 0.1, ""};
    r.scores = {s};
    return r;
}

// Nothing was measured: no rig, one idle phase that was cut off, a score without cells.
inline analysis::RunResult empty_result() {
    analysis::RunResult r;
    analysis::PhaseResult p;
    p.phase.kind = "idle";
    r.phases = {p};
    r.scores = {analysis::Score{}};
    return r;
}

}  // namespace wattrig::test
