#include "host/analysis/join.hpp"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <cmath>

namespace wattrig::analysis {
namespace {

HostTime at(double seconds) { return HostTime(from_seconds(seconds)); }

recording::PhaseRecord io_phase(std::uint32_t number, double begin, double end, std::uint64_t operations,
                                std::uint32_t bytes_each = 4096) {
    recording::PhaseRecord phase;
    phase.number = number;
    phase.label = "p" + std::to_string(number);
    phase.complete = phase.has_io = true;
    io::PhaseOutcome& o = phase.outcome;
    o.begin = at(begin);
    o.measured_begin = at(begin);
    o.measured_end = o.end = at(end);
    io::KindOutcome& reads = o.kinds[0];
    reads.operations = operations;
    reads.bytes = operations * bytes_each;
    return phase;
}
recording::PhaseRecord quiet_phase(std::uint32_t number, const char* kind, double begin, double end) {
    recording::PhaseRecord phase;
    phase.number = number;
    phase.kind = kind;
    phase.complete = true;
    phase.outcome.begin = at(begin);
    phase.outcome.end = at(end);
    return phase;
}
power::IntervalPower power_of(const io::Interval& interval, double watts) {
    power::IntervalPower p;
    p.interval = interval;
    p.coverage = 1;
    p.mean = Watts(watts);
    p.energy = Watts(watts) * (interval.end - interval.begin);
    p.u.reference = 1e-3 * watts;
    p.u.i_offset = 1e-4;
    p.u.noise = 2e-4;
    return p;
}
// Phases with a power for each interval that the plan asks for.
std::vector<PhaseResult> join(const std::vector<recording::PhaseRecord>& phases, const std::vector<double>& watts) {
    const PowerPlan plan = plan_power(phases);
    EXPECT_EQ(plan.intervals.size(), watts.size());
    std::vector<power::IntervalPower> powers;
    powers.reserve(plan.intervals.size());
    for (std::size_t k = 0; k < watts.size(); ++k) powers.push_back(power_of(plan.intervals[k], watts[k]));
    std::vector<PhaseResult> results;
    for (std::size_t k = 0; k < phases.size(); ++k) {
        results.push_back(io_figures(phases[k]));
        add_power(results.back(), plan.phases[k], powers);
    }
    subtract_idle(results);
    return results;
}

TEST(Join, EfficiencyIsWorkPerJoule) {
    const auto r = join({io_phase(0, 10, 20, 1'000'000)}, {2.5});
    EXPECT_DOUBLE_EQ(*r[0].iops, 100'000);
    EXPECT_DOUBLE_EQ(*r[0].megabytes_per_second, 409.6);
    EXPECT_NEAR(*r[0].megabytes_per_second_per_watt.value, 409.6 / 2.5, 1e-9);
    EXPECT_NEAR(*r[0].iops_per_watt.value, 40'000, 1e-6);
    EXPECT_NEAR(*r[0].microjoules_per_operation.value, 25, 1e-9);
    // U: twice the root of (2.5 mW)^2 + (0.1 mW)^2 + (0.2 mW)^2, and the same share in what is divided by it.
    const double u = 2 * std::sqrt(2.5e-3 * 2.5e-3 + 1e-8 + 4e-8);
    EXPECT_NEAR(*r[0].watts.u, u, 1e-12);
    EXPECT_NEAR(*r[0].microjoules_per_operation.u, 25 * u / 2.5, 1e-9);
    EXPECT_FALSE(r[0].watts.spread);
    EXPECT_EQ(r[0].watts.spread_note, "too short to tell");
    EXPECT_FALSE(r[0].idle_subtracted_microjoules_per_operation.value);  // nobody said what idle is
}

TEST(Join, IdleAndCoolOff) {
    const auto r = join({quiet_phase(0, "idle", 0, 10), io_phase(1, 10, 20, 1'000'000), quiet_phase(2, "cool_off", 20, 50)},
                        {0.5, 2.5, 0.7});
    EXPECT_NEAR(*r[1].idle_subtracted_microjoules_per_operation.value, 20, 1e-9);
    EXPECT_NEAR(*r[1].cool_off_joules, 0.2 * 30, 1e-9);
    // Gain errors shrink to the difference (2 W), the offset cancels, noise adds in quadrature.
    const double u = 2 * std::sqrt(2e-3 * 2e-3 + 2 * 4e-8);
    EXPECT_NEAR(*r[1].idle_subtracted_microjoules_per_operation.u, u * 10, 1e-6);
    EXPECT_FALSE(r[0].cool_off_joules);
    EXPECT_FALSE(r[0].iops);
    EXPECT_EQ(idle_for(r, 3)->source, "idle phase 0");
}

TEST(Join, BurstsCountAlone) {
    recording::PhaseRecord phase = io_phase(0, 0, 20, 20'000);
    for (int k = 0; k < 20; ++k) phase.outcome.bursts.push_back({at(k), at(k + 0.2)});
    std::vector<double> watts = {0.9};
    for (int k = 0; k < 20; ++k) {
        watts.push_back(2.0 + (k % 2 == 0 ? 0.1 : -0.1));
        watts.push_back(0.5);
    }
    const auto r = join({phase}, watts);
    EXPECT_NEAR(*r[0].iops, 20'000 / 4.0, 1e-6);
    EXPECT_NEAR(*r[0].watts.value, 2.0, 1e-9);
    EXPECT_NEAR(*r[0].idle_watts.value, 0.5, 1e-9);
    EXPECT_NEAR(r[0].power.mean->value(), 0.9, 1e-12);
    EXPECT_NEAR(*r[0].microjoules_per_operation.value, 8.0 / 20'000 * 1e6, 1e-6);
    // Batches are whole bursts: s = 0.1 sqrt(20/19), t(19) = 2.093.
    ASSERT_TRUE(r[0].watts.spread);
    EXPECT_NEAR(*r[0].watts.spread, 2.093 * 0.1 * std::sqrt(20.0 / 19) / std::sqrt(20), 1e-4);
    EXPECT_NEAR(*r[0].watts.u, 2 * std::sqrt(4e-6 + 1e-8 + 4e-8 / 20), 1e-9);
}

TEST(Join, RatioSpreadUsesTheWindows) {
    // Twenty batches of 1 s; IOPS and power rise and fall together, so work per joule hardly varies.
    recording::PhaseRecord phase = io_phase(0, 0, 20, 0);
    phase.outcome.kinds[0].operations = 0;
    const PowerPlan plan = plan_power(std::array{phase});
    power::IntervalPower power = power_of(plan.intervals[0], 2.0);
    power.batch_length = Nanoseconds(1'000'000'000);
    for (int k = 0; k < 20; ++k) {
        const double load = k % 2 == 0 ? 0.5 : 1.5;
        power.batch_means.push_back(2.0 * load);
        for (int j = 0; j < 10; ++j) {
            const auto reads = static_cast<std::uint32_t>(10'000 * load);
            phase.outcome.windows.push_back(
                {from_seconds(k + 0.1 * j), from_seconds(0.1), reads, 0, 0, std::uint64_t{reads} * 4096, 0, 0, 0});
            phase.outcome.kinds[0].operations += reads;
        }
    }
    phase.outcome.kinds[0].bytes = phase.outcome.kinds[0].operations * 4096;
    PhaseResult r = io_figures(phase);
    add_power(r, plan.phases[0], std::array{power});
    EXPECT_NEAR(*r.iops_per_watt.value, 50'000, 1e-6);
    EXPECT_GT(*r.watts.spread, 0.4);
    EXPECT_LT(*r.iops_per_watt.spread, 1);
    EXPECT_LT(*r.megabytes_per_second_per_watt.spread, 0.01);
}

TEST(Join, LittlesLaw) {
    recording::PhaseRecord phase = io_phase(0, 0, 10, 1'000'000);
    io::KindOutcome& reads = phase.outcome.kinds[0];
    reads.latency_sum = 1'000'000ULL * 40'000;  // 40 us each: 4 in flight
    for (int k = 0; k < 1000; ++k) reads.latency.add(40'000, 1000);
    reads.latency_minimum = reads.latency_maximum = 40'000;
    phase.outcome.mean_depth = 4.04;
    const PhaseResult r = io_figures(phase);
    EXPECT_NEAR(*r.little_error, 0.01, 1e-9);
    EXPECT_NEAR(*r.latency.mean, 40, 1e-9);
    EXPECT_DOUBLE_EQ(*r.latency.p99, 40);
    EXPECT_FALSE(r.write_latency.mean);
    EXPECT_FALSE(r.write_iops);
    reads.service.add(1);  // fixed rate: latency counts from the intended start
    EXPECT_FALSE(io_figures(phase).little_error);
}

// An operation that was in flight at the end is in no figure: what it hides is said.
TEST(Join, AHangAtTheEndIsTold) {
    recording::PhaseRecord phase = io_phase(0, 0, 10, 1'000'000);
    io::KindOutcome& reads = phase.outcome.kinds[0];
    reads.latency.add(40'000, 1'000'000);
    reads.latency_minimum = reads.latency_maximum = 40'000;
    const auto warned = [&](std::int64_t drain_ms, std::uint64_t longest_ns) {
        phase.outcome.end = phase.outcome.measured_end + std::chrono::milliseconds(drain_ms);
        reads.latency_maximum = longest_ns;
        const auto words = io_figures(phase).warnings;
        return std::any_of(words.begin(), words.end(),
                           [](const auto& w) { return w.find("device hung") != std::string::npos; });
    };
    EXPECT_FALSE(warned(1, 40'000));
    EXPECT_FALSE(warned(99, 40'000));
    EXPECT_TRUE(warned(3000, 40'000));
    EXPECT_FALSE(warned(3000, 4'000'000'000)) << "an operation that took longer is counted";
    reads = {};
    const auto words = io_figures(phase).warnings;
    EXPECT_TRUE(std::any_of(words.begin(), words.end(), [](const auto& w) { return w.starts_with("no operation"); }));
}

TEST(Join, WhatIsNotKnownStaysNull) {
    recording::PhaseRecord cut = io_phase(0, 0, 10, 1000);
    cut.complete = false;
    EXPECT_TRUE(plan_power(std::array{cut}).intervals.empty());
    const PhaseResult r = io_figures(cut);
    EXPECT_FALSE(r.iops);
    EXPECT_FALSE(r.warnings.empty());
    // One burst without energy: no mean of the others under the name of all.
    recording::PhaseRecord bursts = io_phase(0, 0, 4, 1000);
    bursts.outcome.bursts = {{at(0), at(1)}, {at(2), at(3)}};
    const PowerPlan plan = plan_power(std::array{bursts});
    std::vector<power::IntervalPower> powers;
    powers.reserve(plan.intervals.size());
    for (const auto& interval : plan.intervals) powers.push_back(power_of(interval, 1));
    powers[plan.phases[0].bursts[1]].energy.reset();
    PhaseResult b = io_figures(bursts);
    add_power(b, plan.phases[0], powers);
    EXPECT_FALSE(b.watts.value);
    EXPECT_FALSE(b.microjoules_per_operation.value);
    EXPECT_TRUE(b.idle_watts.value);
}

// Three depths with 100, 150, 250 MB/s at 1, 2, 4 W; the last one ran twice as long.
TEST(Scores, ThreeWaysToAverage) {
    const auto r = join(
        {io_phase(0, 0, 10, 1'000, 1'000'000), io_phase(1, 10, 20, 1'500, 1'000'000), io_phase(2, 20, 40, 5'000, 1'000'000)},
        {1, 2, 4});
    const std::size_t which[] = {0, 1, 2};
    const Score s = make_score("QD 1-2-4", r, which);
    EXPECT_NEAR(*s.megabytes_per_second, 500.0 / 3, 1e-9);
    EXPECT_NEAR(*s.watts, 7.0 / 3, 1e-9);
    EXPECT_NEAR(*s.mean_of_ratios.value, (100 + 75 + 62.5) / 3, 1e-9);
    EXPECT_NEAR(*s.ratio_of_means.value, 500.0 / 7, 1e-9);
    EXPECT_NEAR(*s.total_bytes_per_joule.value, 7500.0 / 110, 1e-9);
    // The reference's 0.1 % is one error in all three: it must come back as 0.1 % (k = 2: 0.2 %), not smaller by sqrt 3.
    EXPECT_NEAR(*s.mean_of_ratios.u / *s.mean_of_ratios.value, 2e-3, 5e-5);
    EXPECT_NEAR(*s.ratio_of_means.u / *s.ratio_of_means.value, 2e-3, 5e-5);
    EXPECT_NEAR(*s.total_bytes_per_joule.u / *s.total_bytes_per_joule.value, 2e-3, 5e-5);
}

TEST(Scores, Weights) {
    const auto r = join({io_phase(0, 0, 10, 1'000, 1'000'000), io_phase(1, 10, 20, 1'500, 1'000'000)}, {1, 2});
    const std::size_t which[] = {0, 1};
    const double weights[] = {3, 1};
    const Score s = make_score("weighted", r, which, weights);
    EXPECT_NEAR(*s.megabytes_per_second, (3 * 100 + 150) / 4.0, 1e-9);
    EXPECT_NEAR(*s.watts, (3 * 1 + 2) / 4.0, 1e-9);
    EXPECT_NEAR(*s.mean_of_ratios.value, (3 * 100 + 75) / 4.0, 1e-9);
    EXPECT_NEAR(*s.ratio_of_means.value, 450.0 / 5, 1e-9);
    EXPECT_NEAR(*s.total_bytes_per_joule.value, 4500.0 / 50, 1e-9);
    const double none[] = {0, 0};
    EXPECT_FALSE(make_score("none", r, which, none).mean_of_ratios.value);
}

TEST(Scores, AMissingPowerGivesNoEfficiency) {
    auto r = join({io_phase(0, 0, 10, 1'000), io_phase(1, 10, 20, 1'000)}, {1, 2});
    r[1].watts = {};
    const std::size_t which[] = {0, 1};
    const Score s = make_score("s", r, which);
    EXPECT_TRUE(s.megabytes_per_second);
    EXPECT_FALSE(s.watts);
    EXPECT_FALSE(s.mean_of_ratios.value);
    EXPECT_FALSE(make_score("none", r, {}).megabytes_per_second);
}

}  // namespace
}  // namespace wattrig::analysis
