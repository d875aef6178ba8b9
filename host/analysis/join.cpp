#include "host/analysis/join.hpp"

#include "host/analysis/speed.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <array>
#include <cmath>

#include "host/analysis/speed.hpp"
#include "host/analysis/statistics.hpp"
#include "host/power/uncertainty.hpp"

namespace wattrig::analysis {
namespace {

// Below, a drain says little: a write cache that is emptied, a scheduler that came late.
constexpr Nanoseconds tolerated_drain{100'000'000};

constexpr double nanoseconds_per_microsecond = 1e3;

bool valid(const io::Interval& interval) { return interval.end > interval.begin; }

// Flushes are no data operations: they count in their own kind, not in IOPS or latency.
constexpr std::array data_kinds = {io::OperationKind::read, io::OperationKind::write, io::OperationKind::discard,
                                   io::OperationKind::write_zeroes};
const io::KindOutcome& kind(const io::PhaseOutcome& outcome, io::OperationKind k) {
    return outcome.kinds[static_cast<std::size_t>(k)];
}

LatencyFigures latency_figures(std::span<const io::KindOutcome* const> kinds) {
    LatencyFigures figures;
    Histogram histogram;
    std::uint64_t operations = 0, sum = 0, minimum = UINT64_MAX, maximum = 0;
    for (const io::KindOutcome* k : kinds) {
        if (k->operations == 0) continue;
        histogram.merge(k->latency);
        operations += k->operations;
        sum += k->latency_sum;
        minimum = std::min(minimum, k->latency_minimum);
        maximum = std::max(maximum, k->latency_maximum);
    }
    if (operations == 0) return figures;
    figures.mean = static_cast<double>(sum) / static_cast<double>(operations) / nanoseconds_per_microsecond;
    figures.minimum = static_cast<double>(minimum) / nanoseconds_per_microsecond;
    figures.maximum = static_cast<double>(maximum) / nanoseconds_per_microsecond;
    figures.overflow = histogram.overflow();
    if (histogram.total() == 0) return figures;
    const auto percentile = [&](double percent) -> std::optional<double> {
        const std::uint64_t value = histogram.percentile(percent);
        if (value >= Histogram::top) return std::nullopt;  // beyond the histogram: only the maximum knows
        // A bucket's middle may lie outside of what was seen.
        return static_cast<double>(std::clamp(value, minimum, maximum)) / nanoseconds_per_microsecond;
    };
    figures.p50 = percentile(50);
    figures.p90 = percentile(90);
    figures.p99 = percentile(99);
    figures.p99_9 = percentile(99.9);
    figures.p99_99 = percentile(99.99);
    return figures;
}

// Busy time that rates refer to, seconds; 0 when there is none.
double busy_seconds(const io::PhaseOutcome& outcome) {
    if (outcome.bursts.empty()) return std::max(0.0, to_seconds(outcome.measured()));
    double seconds = 0;
    for (const io::Interval& burst : outcome.bursts) seconds += to_seconds(burst.end - burst.begin);
    return seconds;
}

struct Counts {
    std::uint64_t operations = 0, bytes = 0;
};
Counts data_counts(const io::PhaseOutcome& outcome) {
    Counts counts;
    for (const io::OperationKind k : data_kinds) {
        counts.operations += kind(outcome, k).operations;
        counts.bytes += kind(outcome, k).bytes;
    }
    return counts;
}

// Bytes and operations in each batch of the power, from the window counters; empty when the batches have holes.
struct Batches {
    std::vector<double> bytes, operations, joules;
};
Batches batches_of(const io::PhaseOutcome& outcome, const power::IntervalPower& power) {
    Batches batches;
    const double length = to_seconds(power.batch_length);
    const std::size_t count = power.batch_means.size();
    const double begin = to_seconds(outcome.measured_begin - outcome.begin);
    const double total = to_seconds(outcome.measured());
    if (length <= 0 || outcome.windows.empty() || static_cast<double>(count) < std::floor(total / length + 1e-3))
        return batches;
    batches.bytes.assign(count, 0);
    batches.operations.assign(count, 0);
    for (const double watts : power.batch_means) batches.joules.push_back(watts * length);
    for (const io::Window& window : outcome.windows) {
        const double from = to_seconds(window.begin) - begin;
        const double width = to_seconds(window.length);
        if (width <= 0) continue;
        // A window that reaches over the edge of a batch is shared by time.
        const double bytes = static_cast<double>(window.read_bytes + window.write_bytes) / width;
        const double operations = static_cast<double>(window.reads + window.writes) / width;
        const double first = std::max(0.0, std::floor(from / length));
        for (auto k = static_cast<std::size_t>(first); k < count; ++k) {
            const double overlap =
                std::min(from + width, static_cast<double>(k + 1) * length) - std::max(from, static_cast<double>(k) * length);
            if (overlap <= 0) break;
            batches.bytes[k] += bytes * overlap;
            batches.operations[k] += operations * overlap;
        }
    }
    return batches;
}

void set_spread(Figure& figure, const Spread& spread, double factor) {
    figure.spread_note = spread.note;
    if (spread.half_width) figure.spread = *spread.half_width * factor;
}

// value = amount / (watts x seconds): relative doubt is the power's.
Figure per_joule(double amount, double joules, double relative_u) {
    Figure figure;
    if (joules <= 0) return figure;
    figure.value = amount / joules;
    figure.u = std::fabs(*figure.value) * relative_u;
    return figure;
}

}  // namespace

PowerPlan plan_power(std::span<const recording::PhaseRecord> phases) {
    PowerPlan plan;
    const auto add = [&](const io::Interval& interval) {
        plan.intervals.push_back(interval);
        return plan.intervals.size() - 1;
    };
    for (const recording::PhaseRecord& phase : phases) {
        PowerPlan::Phase& p = plan.phases.emplace_back();
        const io::PhaseOutcome& o = phase.outcome;
        if (!phase.complete) continue;
        const io::Interval whole = phase.has_io ? io::Interval{o.measured_begin, o.measured_end} : io::Interval{o.begin, o.end};
        if (!valid(whole)) continue;
        p.whole = add(whole);
        for (std::size_t k = 0; k < o.bursts.size(); ++k) {
            if (!valid(o.bursts[k])) continue;
            p.bursts.push_back(add(o.bursts[k]));
            const HostTime next = k + 1 < o.bursts.size() ? o.bursts[k + 1].begin : o.measured_end;
            if (next > o.bursts[k].end) p.pauses.push_back(add({o.bursts[k].end, next}));
        }
        if (!has_position(phase)) continue;
        p.cliff = find_cliffs(speed_samples(o));
        if (p.cliff->regions.size() < 2) continue;  // one region is the phase itself
        for (const SpeedRegion& region : p.cliff->regions)
            p.regions.push_back(
                add({o.begin + from_seconds(region.begin_seconds), o.begin + from_seconds(region.end_seconds)}));
    }
    return plan;
}

void add_speed(PhaseResult& result, const PowerPlan::Phase& plan) {
    if (!plan.cliff) return;
    SpeedFigures& speed = result.speed.emplace();
    // Only what is written can leave a cache.
    const bool writes = kind(result.phase.outcome, io::OperationKind::write).bytes > 0;
    const std::size_t levels = plan.cliff->regions.size();
    speed.verdict = writes || levels == 0 ? cliff_verdict(*plan.cliff)
                    : levels == 1         ? "one speed throughout"
                                          : fmt::format("{} levels of speed", levels);
    for (const SpeedRegion& region : plan.cliff->regions) {
        SpeedFigures::Region& to = speed.regions.emplace_back();
        to.begin_bytes = region.begin_bytes;
        to.end_bytes = region.end_bytes;
        to.seconds = region.end_seconds - region.begin_seconds;
        to.megabytes_per_second = region.level.value / 1e6;
        if (region.level.low) to.low = *region.level.low / 1e6;
        if (region.level.high) to.high = *region.level.high / 1e6;
        to.mean_megabytes_per_second = region.mean / 1e6;
    }
    for (const SpeedChange& change : plan.cliff->changes)
        speed.changes.push_back({change.bytes, change.low_bytes, change.high_bytes, change.ratio});
}

PhaseResult io_figures(const recording::PhaseRecord& phase) {
    PhaseResult result;
    result.phase = phase;
    result.warnings = phase.warnings;
    if (!phase.complete) result.warnings.emplace_back("the phase did not come to its end: no figures");
    if (!phase.has_io || !phase.complete) return result;
    const io::PhaseOutcome& o = phase.outcome;
    const double seconds = busy_seconds(o);
    const Counts counts = data_counts(o);
    const io::KindOutcome& reads = kind(o, io::OperationKind::read);
    const io::KindOutcome& writes = kind(o, io::OperationKind::write);
    if (seconds > 0) {
        result.iops = static_cast<double>(counts.operations) / seconds;
        result.megabytes_per_second = static_cast<double>(counts.bytes) / seconds / 1e6;
        if (reads.operations + reads.errors > 0) result.read_iops = static_cast<double>(reads.operations) / seconds;
        if (writes.operations + writes.errors > 0) result.write_iops = static_cast<double>(writes.operations) / seconds;
    }
    std::vector<const io::KindOutcome*> all;
    all.reserve(data_kinds.size());
    for (const io::OperationKind k : data_kinds) all.push_back(&kind(o, k));
    result.latency = latency_figures(all);
    result.read_latency = latency_figures(std::array{&reads});
    result.write_latency = latency_figures(std::array{&writes});
    if (result.latency.overflow > 0)
        result.warnings.push_back(fmt::format("{} operations took longer than 2^40 ns", result.latency.overflow));
    // What was in flight when the limit came is in no figure. If it took longer than everything that is, the device hung, and a
    // table of latencies that hides it would be false.
    const Nanoseconds drained = o.end - o.measured_end;
    std::uint64_t longest = 0;
    for (const io::KindOutcome& each : o.kinds) longest = std::max(longest, each.latency_maximum);
    if (drained > tolerated_drain && drained.count() > static_cast<std::int64_t>(longest))
        result.warnings.push_back(
            fmt::format("operations in flight at the end took up to {:.3g} s more, longer than any that is counted: the device "
                        "hung",
                        to_seconds(drained)));
    if (counts.operations == 0 && seconds > 0) result.warnings.emplace_back("no operation came to its end in this phase");
    // Little's law holds for the time that is counted, pauses included. At a fixed rate latency counts from the intended start,
    // before the operation is in flight, so there it says nothing.
    const bool open_loop = std::any_of(o.kinds.begin(), o.kinds.end(), [](const auto& k) { return k.service.total() > 0; });
    const double measured = to_seconds(o.measured());
    if (!open_loop && o.mean_depth > 0 && result.latency.mean && measured > 0) {
        const double product = static_cast<double>(counts.operations) / measured * *result.latency.mean * 1e-6;
        if (product > 0) result.little_error = o.mean_depth / product - 1;
    }
    return result;
}

std::optional<CombinedPower> combine(std::span<const power::IntervalPower> powers, std::span<const std::size_t> which) {
    CombinedPower sum;
    for (const std::size_t k : which) {
        if (!powers[k].energy) return std::nullopt;
        sum.joules += powers[k].energy->value();
        sum.seconds += to_seconds(powers[k].interval.end - powers[k].interval.begin);
    }
    if (sum.seconds <= 0) return std::nullopt;
    std::vector<power::WeightedBudget> parts;
    for (const std::size_t k : which)
        parts.push_back({to_seconds(powers[k].interval.end - powers[k].interval.begin) / sum.seconds, powers[k].u});
    sum.u = power::combine(parts);
    return sum;
}

namespace {

Figure combined_figure(std::span<const power::IntervalPower> powers, std::span<const std::size_t> which) {
    Figure figure;
    const auto sum = combine(powers, which);
    if (!sum) return figure;
    figure.value = sum->watts();
    figure.u = sum->u.expanded();
    std::vector<double> joules, seconds;
    for (const std::size_t k : which) {
        joules.push_back(powers[k].energy->value());
        seconds.push_back(to_seconds(powers[k].interval.end - powers[k].interval.begin));
    }
    set_spread(figure, spread_of_ratio(joules, seconds), 1);
    return figure;
}

}  // namespace

void add_power(PhaseResult& result, const PowerPlan::Phase& plan, std::span<const power::IntervalPower> powers) {
    if (!plan.whole) return;
    result.power = powers[*plan.whole];
    for (std::size_t k = 0; result.speed && k < plan.regions.size(); ++k) {
        const power::IntervalPower& region = powers[plan.regions[k]];
        if (!region.mean) continue;
        Figure& watts = result.speed->regions[k].watts;
        watts.value = region.mean->value();
        watts.u = region.u.expanded();
        set_spread(watts, spread_of_mean(region.batch_means), 1);
    }
    for (const std::string& flag : result.power.flags) result.warnings.push_back("power: " + flag);
    const io::PhaseOutcome& o = result.phase.outcome;
    const Counts counts = data_counts(o);
    const auto bytes = static_cast<double>(counts.bytes), operations = static_cast<double>(counts.operations);
    double joules = 0, relative_u = 0;
    Batches batches;
    if (plan.bursts.empty()) {
        if (!result.power.mean) return;
        result.watts.value = result.power.mean->value();
        result.budget = result.power.u;
        result.watts.u = result.budget.expanded();
        set_spread(result.watts, spread_of_mean(result.power.batch_means), 1);
        joules = result.power.energy->value();
        batches = batches_of(o, result.power);
    } else {
        result.watts = combined_figure(powers, plan.bursts);
        result.idle_watts = combined_figure(powers, plan.pauses);
        const auto sum = combine(powers, plan.bursts);
        if (!sum) return;
        joules = sum->joules;
        result.budget = sum->u;
        // Each burst has the same amount; batches are whole bursts.
        const auto n = static_cast<double>(plan.bursts.size());
        for (const std::size_t k : plan.bursts) {
            batches.joules.push_back(powers[k].energy->value());
            batches.bytes.push_back(bytes / n);
            batches.operations.push_back(operations / n);
        }
    }
    if (!result.phase.has_io || joules <= 0 || *result.watts.value <= 0) return;
    relative_u = *result.watts.u / *result.watts.value;
    if (bytes > 0) {
        result.megabytes_per_second_per_watt = per_joule(bytes / 1e6, joules, relative_u);
        set_spread(result.megabytes_per_second_per_watt, spread_of_ratio(batches.bytes, batches.joules), 1e-6);
    }
    if (operations > 0) {
        result.iops_per_watt = per_joule(operations, joules, relative_u);
        set_spread(result.iops_per_watt, spread_of_ratio(batches.operations, batches.joules), 1);
        Figure& each = result.microjoules_per_operation;
        each.value = joules / operations * 1e6;
        each.u = *each.value * relative_u;
        each.spread_note = result.iops_per_watt.spread_note;
        if (result.iops_per_watt.spread) each.spread = *each.value * *result.iops_per_watt.spread / *result.iops_per_watt.value;
    }
}

std::optional<IdlePower> idle_for(std::span<const PhaseResult> phases, std::size_t phase) {
    const auto usable = [&](std::size_t k) { return phases[k].phase.kind == "idle" && phases[k].watts.value.has_value(); };
    const auto from_phase = [&](std::size_t k) {
        return IdlePower{*phases[k].watts.value, phases[k].budget, fmt::format("idle phase {}", phases[k].phase.number)};
    };
    for (std::size_t k = phase; k-- > 0;)
        if (usable(k)) return from_phase(k);
    for (std::size_t k = phase; k < phases.size(); ++k)
        if (usable(k)) return from_phase(k);
    // A tenth of the batches of a cool-off, its lowest: a drive that has nothing more to do rests there.
    std::optional<IdlePower> quietest;
    for (const PhaseResult& p : phases) {
        if (p.phase.kind != "cool_off" || p.power.batch_means.size() < fewest_batches) continue;
        std::vector<double> means = p.power.batch_means;
        const std::size_t tenth = means.size() / 10;
        std::partial_sort(means.begin(), means.begin() + static_cast<std::ptrdiff_t>(tenth), means.end());
        double sum = 0;
        for (std::size_t k = 0; k < tenth; ++k) sum += means[k];
        const double watts = sum / static_cast<double>(tenth);
        if (!quietest || watts < quietest->watts) quietest = IdlePower{watts, p.power.u, "quietest part of the cool-offs"};
    }
    return quietest;
}

void subtract_idle(std::span<PhaseResult> phases) {
    for (std::size_t k = 0; k < phases.size(); ++k) {
        PhaseResult& p = phases[k];
        if (!p.phase.has_io || !p.watts.value) continue;
        const auto idle = idle_for(phases, k);
        if (!idle) continue;
        const double operations = static_cast<double>(data_counts(p.phase.outcome).operations);
        if (operations > 0) {
            Figure& figure = p.idle_subtracted_microjoules_per_operation;
            const double factor = busy_seconds(p.phase.outcome) / operations * 1e6;
            figure.value = (*p.watts.value - idle->watts) * factor;
            // The instrument's own errors are in both and cancel as far as they are alike.
            const power::WeightedBudget parts[] = {{1, p.budget}, {-1, idle->u}};
            figure.u = power::combine(parts).expanded() * factor;
            figure.spread_note = p.watts.spread_note;
            if (p.watts.spread) figure.spread = *p.watts.spread * factor;
        }
        if (k + 1 < phases.size() && phases[k + 1].phase.kind == "cool_off" && phases[k + 1].power.energy) {
            const power::IntervalPower& after = phases[k + 1].power;
            p.cool_off_joules = after.energy->value() - idle->watts * to_seconds(after.interval.end - after.interval.begin);
        }
    }
}

}  // namespace wattrig::analysis
