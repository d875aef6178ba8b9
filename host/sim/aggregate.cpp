#include "host/sim/aggregate.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <cmath>

namespace wattrig::sim {
namespace {

// 0.8 s: a stream that brings nothing for a second counts as silent.
constexpr std::uint32_t longest_samples = 26'000;
constexpr std::uint32_t shortest_samples = 25 * 40;  // 31 ms: below it exact codes are cheap enough
constexpr double event_margin_seconds = 2e-3;
constexpr std::int64_t longest_idle_ns = 800'000'000;
constexpr double price_step = 1.1;

// How many programs of collection come between two of the host differs from one to the next by one: the distributions mix.
void blend_latency(const Histogram& a, const Histogram& b, double share, Histogram& out) {
    constexpr double total = 4e6;
    for (std::size_t bucket = 0; bucket < Histogram::buckets; ++bucket) {
        if (a.count(bucket) + b.count(bucket) == 0) continue;
        const double part = (1 - share) * static_cast<double>(a.count(bucket)) / static_cast<double>(a.total()) +
                            share * static_cast<double>(b.count(bucket)) / static_cast<double>(b.total());
        if (const auto n = static_cast<std::uint64_t>(std::llround(part * total)); n > 0)
            out.add(Histogram::bucket_middle(bucket), n);
    }
}

// Between two prices of collection a load's time and energy for an operation go in a straight line, since a program's do.
SteadyState blend(const SteadyState& a, const SteadyState& b, double share) {
    const auto mix = [share](double x, double y) { return x + (y - x) * share; };
    const SteadyState& near = share < 0.5 ? a : b;
    SteadyState out;
    out.played = near.played;
    double rates[3] = {0, 0, 0};  // operations a second of a, b, out
    for (std::size_t k = 0; k < 2; ++k) {
        const SteadyState::Kind &x = a.kinds[k], &y = b.kinds[k];
        if (x.operations_per_second <= 0 || y.operations_per_second <= 0) continue;
        SteadyState::Kind& o = out.kinds[k];
        o.operations_per_second = 1 / mix(1 / x.operations_per_second, 1 / y.operations_per_second);
        o.bytes_per_operation = mix(x.bytes_per_operation, y.bytes_per_operation);
        o.mean_latency_ns = mix(x.mean_latency_ns, y.mean_latency_ns);
        blend_latency(x.latency, y.latency, share, o.latency);
        o.minimum_ns =
            static_cast<std::uint64_t>(std::llround(mix(static_cast<double>(x.minimum_ns), static_cast<double>(y.minimum_ns))));
        o.maximum_ns =
            static_cast<std::uint64_t>(std::llround(mix(static_cast<double>(x.maximum_ns), static_cast<double>(y.maximum_ns))));
        rates[0] += x.operations_per_second;
        rates[1] += y.operations_per_second;
        rates[2] += o.operations_per_second;
    }
    out.watt = mix(a.watt / rates[0], b.watt / rates[1]) * rates[2];
    out.programmed_bytes_per_second =
        mix(a.programmed_bytes_per_second / rates[0], b.programmed_bytes_per_second / rates[1]) * rates[2];
    out.current = near.current;
    return out;
}

}  // namespace

Aggregate::Aggregate(DriveModel& drive, EnergyLedger& ledger, MeterFeed* feed, DriveBackend& backend,
                     std::function<void(HostTime)> produce)
    : drive_(drive), ledger_(ledger), feed_(feed), backend_(backend), produce_(std::move(produce)) {}

void Aggregate::begin_phase(const io::Workload& workload, HostTime now) {
    produce_(now);
    workload_ = workload;
    exact_left_ = exact_operations;
    events_seen_ = drive_.events();
    current_ = nullptr;
    carried_ = {};
    // Leaps are for a constant load at full depth; all else is played.
    eligible_ = !workload.discard && !workload.bursts && !workload.rate && workload.sync != io::SyncPolicy::every_n &&
                workload.batching == io::Batching::natural;
    load_key_ = fmt::format("{} {} {} {} {} {}", static_cast<int>(workload.pattern), workload.read_percent, workload.offset,
                            workload.span, workload.depth, workload.workers);
    for (const io::BlockSizeShare& share : workload.block_sizes) load_key_ += fmt::format(" {}:{}", share.bytes, share.percent);
    for (const io::Zone& zone : workload.zones) load_key_ += fmt::format(" z{}:{}", zone.access_percent, zone.span_percent);
}

double Aggregate::busy_drain() const {
    return drive_.cache_used() > 0 ? drive_.parameters().cache.busy_drain_bytes_per_second : 0.0;
}

const SteadyState& Aggregate::played(HostTime now, const std::string& state, double copies_per_byte) {
    auto& entry = cache_[load_key_ + state];
    if (!entry) {
        entry = std::make_unique<SteadyState>(play_steady_state(drive_, workload_, now.time_since_epoch().count(),
                                                                feed_ ? &feed_->front_end() : nullptr, copies_per_byte));
    }
    return *entry;
}

// Played once for each state of the drive; where collection copies data, at steps of its price, and blended between two.
const SteadyState& Aggregate::steady_state(HostTime now) {
    const double copies = workload_.read_percent < 100 ? drive_.copies_per_byte() : 0.0;
    if (current_ && std::abs(copies - current_copies_) <= 2e-4 * (1 + copies)) return *current_;
    std::string state = drive_.cache_open() ? " open" : " past";
    if (drive_.folding()) state += " folding";
    if (drive_.throttled()) state += " throttled";
    current_copies_ = copies;
    if (copies <= 0) {
        current_ = &played(now, state, 0);
        return *current_;
    }
    const double step = std::floor(std::log(1 + copies) / std::log(price_step));
    const double low = std::pow(price_step, step), high = low * price_step;
    const SteadyState& a = played(now, fmt::format("{} {:.0f}", state, step), low - 1);
    const SteadyState& b = played(now, fmt::format("{} {:.0f}", state, step + 1), high - 1);
    blended_ = blend(a, b, (1 + copies - low) / (high - low));
    current_ = &blended_;
    return *current_;
}

// Until the drive changes what it does; infinity when the load does not move it.
double Aggregate::seconds_to_event(const SteadyState& steady) const {
    double seconds =
        drive_.seconds_to_thermal_event(steady.watt + busy_drain() * drive_.parameters().power.drain_joule_per_byte);
    const double programmed = steady.programmed_bytes_per_second;
    if (drive_.space() && programmed > 0) {
        if (drive_.copies_per_byte() == 0) seconds = std::min(seconds, drive_.space()->bytes_to_collection() / programmed);
        if (!drive_.cache_open() && !drive_.folding())
            seconds = std::min(seconds, std::max(0.0, drive_.bytes_to_folding()) / programmed);
    }
    const CacheParameters& cache = drive_.parameters().cache;
    if (cache.bytes == 0) return seconds;
    const double used = drive_.cache_used(),
                 drained = cache.busy_drain_bytes_per_second + programmed * drive_.folded_per_byte();
    if (drive_.cache_open()) {
        // The limit comes nearer as the flash that could be borrowed fills.
        const double shrinks = cache.borrowed_bits_per_cell > 0 && drive_.cache_limit() < static_cast<double>(cache.bytes)
                                   ? programmed / (cache.borrowed_bits_per_cell - 1)
                                   : 0.0;
        const double net = programmed - drained + shrinks;
        if (net > 0)
            return std::min(seconds,
                            std::max(0.0, (drive_.cache_limit() - drive_.parameters().flash.program_bytes - used) / net));
    }
    const double net = (drive_.cache_open() ? programmed : 0.0) - drained;
    if (net >= 0 || used <= 0) return seconds;
    const double goal = drive_.cache_open() ? 0.0 : cache.reopen_fraction * static_cast<double>(cache.bytes);
    return used > goal ? std::min(seconds, (used - goal) / -net) : seconds;
}

// What the leap wrote, into the books of the flash.
void Aggregate::write_to_space(double host_bytes, double programmed_bytes) {
    FlashSpace* space = drive_.space();
    if (!space || host_bytes <= 0) return;
    const std::uint64_t span = workload_.span > 0 ? workload_.span : drive_.parameters().capacity_bytes - workload_.offset;
    if (workload_.pattern == io::Pattern::sequential) {
        const std::uint64_t part = span / workload_.workers;
        for (std::uint32_t k = 0; k < workload_.workers; ++k) {
            const std::uint64_t begin = workload_.offset + k * part;
            space->write_in_order(begin, begin + part, space->latest_end(begin, begin + part), host_bytes / workload_.workers);
        }
    } else if (workload_.zones.empty()) {
        space->write_random(workload_.offset, workload_.offset + span, programmed_bytes);
    } else {
        double begin = 0;
        for (const io::Zone& zone : workload_.zones) {
            const double size = zone.span_percent / 100 * static_cast<double>(span);
            if (size < 4096) continue;
            const std::uint64_t from = workload_.offset + static_cast<std::uint64_t>(begin);
            space->write_random(from, from + static_cast<std::uint64_t>(size), programmed_bytes * zone.access_percent / 100);
            begin += size;
        }
    }
    drive_.look_at_space();
}

io::Batch Aggregate::make_batch(const SteadyState& steady, double seconds) {
    io::Batch batch;
    batch.mean_depth = workload_.total_depth();
    for (std::size_t k = 0; k < 2; ++k) {
        const SteadyState::Kind& kind = steady.kinds[k];
        const std::uint64_t played = kind.latency.total();
        if (played == 0) continue;
        Carried& carried = carried_[k];
        carried.operations += kind.operations_per_second * seconds;
        const auto total = static_cast<std::uint64_t>(carried.operations);
        const std::uint64_t count = total - carried.issued;
        io::Batch::Kind& out = batch.kinds[k];
        // Bucket edges move along the cumulative distribution, so that rare buckets come up as often as they should.
        const double before = static_cast<double>(carried.issued), after = static_cast<double>(total);
        std::uint64_t cumulative = 0, given = 0;
        for (std::size_t bucket = 0; bucket < Histogram::buckets && cumulative < played; ++bucket) {
            if (kind.latency.count(bucket) == 0) continue;
            cumulative += kind.latency.count(bucket);
            const double share = static_cast<double>(cumulative) / static_cast<double>(played);
            const auto reached =
                cumulative == played
                    ? count
                    : static_cast<std::uint64_t>(std::floor(share * after + 0.5) - std::floor(share * before + 0.5));
            const std::uint64_t until = std::clamp(reached, given, count);
            if (until > given) out.latency.add(Histogram::bucket_middle(bucket), until - given);
            given = until;
        }
        carried.issued = total;
        out.operations = count;
        const double bytes = kind.bytes_per_operation * static_cast<double>(count);
        out.bytes = workload_.block_sizes.size() == 1 ? count * workload_.block_sizes[0].bytes
                                                      : static_cast<std::uint64_t>(std::llround(bytes / 512)) * 512;
        out.latency_sum = static_cast<std::uint64_t>(std::llround(kind.mean_latency_ns * static_cast<double>(count)));
        if (count > 0) {
            out.latency_minimum = kind.minimum_ns;
            out.latency_maximum = kind.maximum_ns;
        }
    }
    return batch;
}

std::optional<io::Batch> Aggregate::leap(HostTime now, HostTime until) {
    if (!eligible_ || exact_left_ > 0) return std::nullopt;
    if (drive_.events() != events_seen_) {
        events_seen_ = drive_.events();
        exact_left_ = exact_operations;
        current_ = nullptr;
        return std::nullopt;
    }
    if (backend_.in_flight() != workload_.total_depth() || until - now < Nanoseconds(2'000'000)) return std::nullopt;
    produce_(now);
    const SteadyState& steady = steady_state(now);
    const double to_event = seconds_to_event(steady);
    if (to_event < 2 * event_margin_seconds) {
        exact_left_ = 64;  // look again soon
        return std::nullopt;
    }
    // Never past the event: the last of it is played.
    if (to_event < 10) until = std::min(until, now + from_seconds(to_event - event_margin_seconds));
    Nanoseconds length = until - now;
    std::uint32_t samples = 0;
    if (feed_) {
        const double count = to_seconds(length) / 30.72e-6 / static_cast<double>(samples_per_chunk);
        samples = static_cast<std::uint32_t>(std::min(count, 1e6)) * static_cast<std::uint32_t>(samples_per_chunk);
        samples = std::min(samples, longest_samples);
        while (samples > 0 && feed_->host_length(now, samples) > length)
            samples -= static_cast<std::uint32_t>(samples_per_chunk);
        if (samples == 0) return std::nullopt;
        length = feed_->host_length(now, samples);
    }
    const double seconds = to_seconds(length);
    io::Batch batch = make_batch(steady, seconds);
    batch.until = now + length;
    const double drain = busy_drain();
    const double watt = steady.watt + drain * drive_.parameters().power.drain_joule_per_byte;
    if (feed_) {
        CurrentStatistics current = steady.current;
        const double more = feed_->front_end().current_of(watt) - feed_->front_end().current_of(current.watt);
        current.mean += more;
        current.minimum += more;
        current.maximum += more;
        current.window_maximum += watt - current.watt;
        current.watt = watt;
        feed_->bulk(samples, current, now + length);
        feed_->trace().shift(length);
    }
    const double into_cache = drive_.cache_open() ? steady.programmed_bytes_per_second : 0.0;
    const double folded = steady.programmed_bytes_per_second * drive_.folded_per_byte();
    drive_.leap(length.count(), watt, seconds * (into_cache - drain - folded), batch.kinds[1].bytes);
    write_to_space(static_cast<double>(batch.kinds[1].bytes), seconds * steady.programmed_bytes_per_second);
    ledger_.leap(length.count(), watt * seconds);
    backend_.shift(length);
    if (feed_) feed_->anchor(now + length);
    ++leaps_;
    return batch;
}

bool Aggregate::idle() const {
    return feed_ && drive_.idle(ledger_.now()) && ledger_.active_level() < 1e-7 && feed_->trace().active_level() < 1e-7 &&
           feed_->trace().constant_after(HostTime(Nanoseconds(ledger_.now()))) && ledger_.now() >= exact_until_;
}

bool Aggregate::may_wait(HostTime t) const {
    const std::int64_t until = t.time_since_epoch().count();
    return idle() && until - ledger_.now() < 50'000'000 && drive_.next_idle_event(ledger_.now()) > until;
}

void Aggregate::pass_idle(HostTime until) {
    while (idle()) {
        const std::int64_t now = ledger_.now();
        const HostTime begin{Nanoseconds(now)};
        const std::int64_t limit =
            std::min({until.time_since_epoch().count(), drive_.next_idle_event(now), now + longest_idle_ns});
        const auto count = static_cast<std::uint32_t>(std::max<std::int64_t>(limit - now, 0) / (std::int64_t{30'730} * 25));
        const std::uint32_t samples = count * static_cast<std::uint32_t>(samples_per_chunk);
        if (samples < shortest_samples) return;
        const Nanoseconds length = feed_->host_length(begin, samples);
        const double rate = drive_.idle_drain(now);
        CurrentStatistics current;
        current.watt = drive_.idle_watt(now) + rate * drive_.parameters().power.drain_joule_per_byte;
        current.mean = current.minimum = current.maximum = feed_->front_end().current_of(current.watt);
        current.window_maximum = current.watt;
        feed_->bulk(samples, current, begin + length);
        drive_.pass_idle(length.count(), current.watt, rate * to_seconds(length));
        ledger_.leap(length.count(), current.watt * to_seconds(length));
        feed_->anchor(begin + length);
    }
}

}  // namespace wattrig::sim
