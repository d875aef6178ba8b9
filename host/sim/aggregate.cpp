#include "host/sim/aggregate.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <cmath>

namespace wattrig::sim {
namespace {

constexpr std::uint32_t longest_samples = protocol::samples_per_summary_1s;
constexpr std::uint32_t shortest_samples = 25 * 40;  // 31 ms: below it exact codes are cheap enough
constexpr double event_margin_seconds = 2e-3;
constexpr std::int64_t longest_idle_ns = 900'000'000;

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

const SteadyState& Aggregate::steady_state(HostTime now) {
    if (current_) return *current_;
    auto& entry = cache_[load_key_ + (drive_.cache_open() ? " open" : " past")];
    if (!entry) {
        entry = std::make_unique<SteadyState>(
            play_steady_state(drive_, workload_, now.time_since_epoch().count(), feed_ ? &feed_->front_end() : nullptr));
    }
    current_ = entry.get();
    return *current_;
}

// Until the cache is full, open again or empty; infinity when the load does not move it.
double Aggregate::seconds_to_event(const SteadyState& steady) const {
    const CacheParameters& cache = drive_.parameters().cache;
    if (cache.bytes == 0) return HUGE_VAL;
    const double full = static_cast<double>(cache.bytes), used = drive_.cache_used();
    const double net = (drive_.cache_open() ? steady.programmed_bytes_per_second : 0.0) - cache.busy_drain_bytes_per_second;
    if (drive_.cache_open() && net > 0) return std::max(0.0, (full - drive_.parameters().flash.program_bytes - used) / net);
    if (net >= 0 || used <= 0) return HUGE_VAL;
    const double goal = drive_.cache_open() ? 0.0 : cache.reopen_fraction * full;
    return std::max(0.0, (used - goal) / -net);
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
                                                      : static_cast<std::uint64_t>(bytes / 512 + 0.5) * 512;
        out.latency_sum = static_cast<std::uint64_t>(kind.mean_latency_ns * static_cast<double>(count) + 0.5);
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
    drive_.leap(length.count(), seconds * ((drive_.cache_open() ? steady.programmed_bytes_per_second : 0.0) - drain),
                batch.kinds[1].bytes);
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
        const auto count = static_cast<std::uint32_t>(std::max<std::int64_t>(limit - now, 0) / (30'730 * 25));
        const std::uint32_t samples = count * static_cast<std::uint32_t>(samples_per_chunk);
        if (samples < shortest_samples) return;
        const Nanoseconds length = feed_->host_length(begin, samples);
        const double rate = drive_.idle_drain(now);
        CurrentStatistics current;
        current.watt = drive_.parameters().power.idle_watt + rate * drive_.parameters().power.drain_joule_per_byte;
        current.mean = current.minimum = current.maximum = feed_->front_end().current_of(current.watt);
        current.window_maximum = current.watt;
        feed_->bulk(samples, current, begin + length);
        drive_.pass_idle(length.count(), rate * to_seconds(length));
        ledger_.leap(length.count(), current.watt * to_seconds(length));
        feed_->anchor(begin + length);
    }
}

}  // namespace wattrig::sim
