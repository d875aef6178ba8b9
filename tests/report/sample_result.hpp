#pragma once
// A result made by hand for the tests of the reports: figures chosen so that each rule of rounding is met, not plausible ones
// of any drive.

#include "host/analysis/result.hpp"

namespace wattrig::report {

inline analysis::PhaseResult sample_phase(const std::string& pattern, std::uint32_t depth, double iops, double block,
                                          double watts, std::uint32_t number) {
    analysis::PhaseResult phase;
    recording::PhaseRecord& record = phase.phase;
    record.number = number;
    record.step = "sweep";
    record.label = pattern + " QD" + std::to_string(depth);
    record.parameters = {{"pattern", pattern}, {"depth", std::to_string(depth)}};
    record.complete = true;
    record.has_io = true;
    io::PhaseOutcome& outcome = record.outcome;
    outcome.begin = HostTime(std::chrono::seconds(10 * number));
    outcome.measured_begin = outcome.begin;
    outcome.measured_end = outcome.end = outcome.begin + std::chrono::seconds(5);
    outcome.mean_depth = depth;
    io::KindOutcome& reads = outcome.kinds[0];
    reads.operations = static_cast<std::uint64_t>(iops * 5);
    reads.bytes = static_cast<std::uint64_t>(iops * 5 * block);
    phase.iops = phase.read_iops = iops;
    phase.megabytes_per_second = iops * block / 1e6;
    const double mean = depth / iops * 1e6;
    phase.latency = {.mean = mean,
                     .p50 = mean * 0.95,
                     .p90 = mean * 1.2,
                     .p99 = mean * 1.7,
                     .p99_9 = mean * 3.1,
                     .p99_99 = mean * 6,
                     .maximum = mean * 14.5,
                     .minimum = mean * 0.6};
    phase.read_latency = phase.latency;
    phase.watts = {.value = watts, .u = 0.0123 + 0.004 * watts, .spread = 0.0456 * watts, .spread_note = {}};
    phase.power.energy = Joules(watts * 5);
    phase.power.mean = Watts(watts);
    phase.power.coverage = 1;
    const double relative = *phase.watts.u / watts;
    const auto figure = [&](double value) {
        return analysis::Figure{.value = value, .u = value * relative, .spread = value * 0.0456, .spread_note = {}};
    };
    phase.megabytes_per_second_per_watt = figure(*phase.megabytes_per_second / watts);
    phase.iops_per_watt = figure(iops / watts);
    phase.microjoules_per_operation = figure(watts / iops * 1e6);
    return phase;
}

// `power` false: a run without a rig.
inline analysis::RunResult sample_result(bool simulated, bool power = true) {
    analysis::RunResult result;
    result.suite = "qd-sweep";
    result.run_directory = "runs/sample";
    result.target = simulated ? "sim:client-1tb" : "/mnt/test/scratch.bin";
    result.drive = simulated ? "client-1tb (model)" : "EXAMPLE 1000 GB";
    result.rig = simulated ? "simulated rig, seed 1" : "usb 1209:0001 serial W0042";
    result.power_measured = power;
    result.power_simulated = simulated && power;
    result.drive_simulated = simulated;
    result.fidelity = simulated ? "exact" : "real";
    result.scale = 1;
    if (power) {
        result.clock = {.map = "two-sided", .bound_us = 12.34, .drift_ppm = 4.2, .exchanges = 1234};
        result.samples = 3'255'208;
    }
    std::uint32_t number = 0;
    const struct {
        const char* pattern;
        double block, base, top, watts, slope;
    } lines[] = {{"randread 4 KiB", 4096, 14'800, 620'000, 1.9, 3.1},
                 {"randwrite 4 KiB", 4096, 52'000, 540'000, 2.3, 3.9},
                 {"seqread 128 KiB", 131'072, 17'000, 52'000, 2.8, 2.9}};
    for (const auto& line : lines)
        for (const std::uint32_t depth : {1u, 2u, 4u, 8u, 16u, 32u}) {
            const double load = line.base * depth;
            const double iops = load / (1 + load / line.top);
            result.phases.push_back(
                sample_phase(line.pattern, depth, iops, line.block, line.watts + line.slope * iops / line.top, number++));
        }
    analysis::PhaseResult idle;
    idle.phase.number = number;
    idle.phase.step = idle.phase.label = idle.phase.kind = "idle";
    idle.phase.complete = true;
    idle.phase.outcome.begin = idle.phase.outcome.measured_begin = HostTime(std::chrono::seconds(10 * number));
    idle.phase.outcome.end = idle.phase.outcome.measured_end = idle.phase.outcome.begin + std::chrono::seconds(30);
    idle.watts = {.value = 0.6543, .u = 0.0091, .spread = std::nullopt, .spread_note = "too short to tell"};
    idle.power.mean = Watts(0.6543);
    result.phases.push_back(idle);
    result.phases[3].warnings.push_back("reads of unmapped blocks possible");
    result.warnings.push_back("the governor is \"powersave\": speeds at low queue depth may be lower than the drive's own");
    for (const char* pattern : {"random read", "random write", "sequential read"}) {
        const std::uint32_t first = pattern == std::string("random read") ? 0 : pattern == std::string("random write") ? 6 : 12;
        analysis::Score score;
        score.name = std::string(pattern) + ", QD 1-2-4";
        score.phases = {first, first + 1, first + 2};
        score.megabytes_per_second = 134.5 + first;
        score.watts = 2.2 + 0.1 * first;
        score.mean_of_ratios = {.value = 58.77, .u = 0.42, .spread = std::nullopt, .spread_note = {}};
        score.ratio_of_means = {.value = 61.23, .u = 0.44, .spread = std::nullopt, .spread_note = {}};
        score.total_bytes_per_joule = {.value = 61.2, .u = 0.45, .spread = std::nullopt, .spread_note = {}};
        if (!power) {
            score.watts.reset();
            score.mean_of_ratios = score.ratio_of_means = score.total_bytes_per_joule = {};
        }
        result.scores.push_back(score);
    }
    if (!power)
        for (analysis::PhaseResult& phase : result.phases) {
            phase.power = {};
            phase.watts = phase.megabytes_per_second_per_watt = phase.iops_per_watt = phase.microjoules_per_operation = {};
        }
    result.run_json =
        R"json({"schema":"wattrig.run/1","suite":{"name":"qd-sweep","title":"A pattern against queue depth","version":"1","scale":1},)json"
        R"json("notes":["queue depths double (ours)"],"target":{"path":"sim:client-1tb","size":1000204886016},)json"
        R"json("rig":{"present":true,"description":"simulated rig, seed 1","simulated":true},)json"
        R"json("host":{"kernel":"6.1.0","governor":"powersave","cpu":"Example CPU <b>7</b>"}})json";
    return result;
}

}  // namespace wattrig::report
