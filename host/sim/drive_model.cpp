#include "host/sim/drive_model.hpp"

#include <algorithm>
#include <bit>
#include <cassert>
#include <limits>

namespace wattrig::sim {
namespace {

constexpr std::int64_t longest_unsettled = 100'000'000;

constexpr std::uint64_t scramble(std::uint64_t x) {
    x *= 0x9e3779b97f4a7c15u;
    return x ^ (x >> 32);
}

}  // namespace

DriveModel::DriveModel(const DriveParameters& parameters, std::uint64_t seed, PowerTrace* trace, EnergyLedger* ledger)
    : p_(parameters),
      trace_(trace),
      ledger_(ledger),
      link_ns_per_byte_(1e9 / parameters.controller.link_bytes_per_second),
      page_shift_(static_cast<std::uint32_t>(std::countr_zero(parameters.flash.page_bytes))),
      read_times_(256),
      units_(parameters.flash.units),
      jitter_(seed * 0x9e3779b97f4a7c15u + 0x853c49e6748fea9bu),
      program_done_(parameters.write_buffer_bytes / parameters.flash.program_bytes + 2) {
    const double channel_ns_per_byte = 1e9 / p_.flash.channel_bytes_per_second;
    for (std::uint32_t bytes = 0; bytes <= p_.flash.page_bytes; bytes += 512)
        channel_times_.push_back(static_cast<std::int32_t>(bytes * channel_ns_per_byte));
    if (std::has_single_bit(units_.size())) units_shift_ = std::countr_zero(units_.size());
    for (std::size_t k = 0; k < read_times_.size(); ++k) {
        const double place = (2.0 * static_cast<double>(k) + 1.0) / 256.0 - 1.0;
        read_times_[k] =
            static_cast<std::int32_t>(static_cast<double>(p_.flash.read_ns) * (1.0 + p_.flash.read_spread * place));
    }
    if (p_.map_cache.segments > 0) {
        segment_slot_.assign(p_.capacity_bytes / p_.map_cache.segment_bytes + 1, -1);
        slot_segment_.assign(p_.map_cache.segments, 0);
    }
}

// Consecutive pages lie on consecutive units, and each round begins at a place of its own.
std::uint32_t DriveModel::unit_of(std::uint64_t page) const {
    const std::uint64_t units = units_.size();
    if (units_shift_ >= 0) return static_cast<std::uint32_t>((page + (scramble(page >> units_shift_) >> 40)) & (units - 1));
    return static_cast<std::uint32_t>((page + (scramble(page / units) >> 40)) % units);
}

std::int64_t DriveModel::submit(const io::Operation& operation, std::int64_t now) {
    if (now > busy_until_) {
        settle(now);  // the gap is idle time
        busy_until_ = now;
    } else if (now - settled_ > longest_unsettled) {
        settle(now);  // nobody asks for codes; the ledger's cells reach 2 s ahead
    }
    controller_free_ = std::max(controller_free_, now) + p_.controller.command_ns;
    const std::int64_t start = controller_free_;
    std::int64_t completed = 0;
    switch (operation.kind) {
        case io::OperationKind::read: completed = read(operation, start); break;
        case io::OperationKind::write: completed = write(operation, start, now); break;
        case io::OperationKind::flush: completed = flush(start, now); break;
        case io::OperationKind::discard:
        case io::OperationKind::write_zeroes: {
            const double gib = static_cast<double>(operation.length) / (1u << 30);
            controller_free_ += static_cast<std::int64_t>(gib * static_cast<double>(p_.controller.discard_ns_per_gib));
            completed = controller_free_ + p_.controller.discard_ns;
            pulse(start, completed, p_.power.write_joule);
            break;
        }
    }
    busy_until_ = std::max(busy_until_, completed);
    return completed;
}

std::int64_t DriveModel::read_unit(std::uint32_t index, std::int64_t start, std::int64_t time) {
    Unit& unit = units_[index];
    std::int64_t begin = std::max(unit.read_free, start);
    if (begin < unit.program_free && begin >= unit.programs_since) {
        begin += p_.flash.suspend_ns;
        unit.program_free += time + p_.flash.suspend_ns;
    }
    return unit.read_free = begin + time;
}

// The map's own cache: random replacement, so that in the steady state the share of hits is cached over touched segments.
std::int64_t DriveModel::map_lookup(std::uint64_t offset, std::int64_t start, double& joule) {
    const auto segment = static_cast<std::size_t>(offset / p_.map_cache.segment_bytes);
    if (segment >= segment_slot_.size() || segment_slot_[segment] >= 0) return start;
    std::uint32_t slot = slots_used_;
    if (slots_used_ < slot_segment_.size()) {
        ++slots_used_;
    } else {
        jitter_ = jitter_ * 6364136223846793005u + 1442695040888963407u;
        slot = static_cast<std::uint32_t>(((jitter_ >> 32) * slot_segment_.size()) >> 32);
        segment_slot_[slot_segment_[slot] - 1] = -1;
    }
    slot_segment_[slot] = static_cast<std::uint32_t>(segment + 1);
    segment_slot_[segment] = static_cast<std::int32_t>(slot);
    joule += p_.map_cache.miss_joule;
    return read_unit(unit_of(scramble(segment) >> 20), start, p_.map_cache.miss_ns);
}

std::int64_t DriveModel::read(const io::Operation& operation, std::int64_t start) {
    double joule = p_.power.read_joule + p_.power.read_joule_per_byte * operation.length;
    const std::int64_t begin = start;
    if (!segment_slot_.empty()) start = map_lookup(operation.offset, start, joule);
    const std::uint64_t last = (operation.offset + operation.length - 1) >> page_shift_;
    std::uint64_t at = operation.offset;
    std::int64_t flash_done = start;
    for (std::uint64_t page = at >> page_shift_; page <= last; ++page) {
        const std::uint64_t until = std::min<std::uint64_t>((page + 1) << page_shift_, operation.offset + operation.length);
        const auto time = read_times_[scramble(page) >> 56] + channel_times_[(until - at) >> 9];
        flash_done = std::max(flash_done, read_unit(unit_of(page), start, time));
        at = until;
    }
    link_read_free_ = std::max(link_read_free_, static_cast<double>(start)) + operation.length * link_ns_per_byte_;
    jitter_ = jitter_ * 6364136223846793005u + 1442695040888963407u;
    const auto overhead = p_.controller.read_overhead_ns;
    const std::int64_t completed =
        std::max(flash_done, static_cast<std::int64_t>(link_read_free_)) + overhead - (overhead >> 4) +
        static_cast<std::int64_t>(((jitter_ >> 32) * static_cast<std::uint64_t>(overhead >> 3)) >> 32);
    pulse(begin, completed, joule);
    return completed;
}

// Takes the data into the buffer as programs of it finish, and issues a program whenever there is enough for one.
std::int64_t DriveModel::write(const io::Operation& operation, std::int64_t start, std::int64_t now) {
    double joule = p_.power.write_joule + p_.power.write_joule_per_byte * operation.length;
    if (!segment_slot_.empty()) start = map_lookup(operation.offset, start, joule);
    const std::uint64_t program_bytes = p_.flash.program_bytes;
    std::int64_t accepted_at = start;
    std::int64_t begin = 0;
    for (std::uint64_t left = operation.length; left > 0;) {
        const std::uint64_t piece = std::min(left, program_bytes);
        left -= piece;
        accepted_ += piece;
        const std::uint64_t in_buffer_or_done = accepted_ + padding_;
        if (in_buffer_or_done > p_.write_buffer_bytes) {
            const std::uint64_t must_be_done = (in_buffer_or_done - p_.write_buffer_bytes + program_bytes - 1) / program_bytes;
            accepted_at = std::max(accepted_at, program_done_[(must_be_done - 1) % program_done_.size()]);
        }
        link_write_free_ =
            std::max(link_write_free_, static_cast<double>(accepted_at)) + static_cast<double>(piece) * link_ns_per_byte_;
        if (begin == 0) begin = accepted_at;
        accepted_at = std::max(accepted_at, static_cast<std::int64_t>(link_write_free_));
        if (accepted_ + padding_ - programs_ * program_bytes >= program_bytes) program(accepted_at, now);
    }
    jitter_ = jitter_ * 6364136223846793005u + 1442695040888963407u;
    const auto overhead = p_.controller.write_overhead_ns;
    const std::int64_t completed =
        accepted_at + overhead - (overhead >> 4) +
        static_cast<std::int64_t>(((jitter_ >> 32) * static_cast<std::uint64_t>(overhead >> 3)) >> 32);
    pulse(begin, completed, joule);
    return completed;
}

void DriveModel::program(std::int64_t earliest, std::int64_t now) {
    bool cached = false;
    if (held_) {
        cached = p_.cache.bytes > 0 && cache_open_;
    } else if (p_.cache.bytes > 0) {
        if (now > drained_to_) {
            drain(drained_to_, now, p_.cache.busy_drain_bytes_per_second);
            drained_to_ = now;
        }
        const double bytes = p_.flash.program_bytes;
        if (cache_open_ && cache_used_ + bytes > static_cast<double>(p_.cache.bytes)) {
            cache_open_ = false;
            ++events_;
            if (cache_left_at_ == 0) cache_left_at_ = accepted_ + leapt_;
        }
        cached = cache_open_;
        if (cached) cache_used_ += bytes;
    }
    Unit& unit = units_[programs_ % units_.size()];
    const std::int64_t begin = std::max({unit.program_free, unit.read_free, earliest});
    if (begin > unit.program_free) unit.programs_since = begin;
    const std::int64_t end = begin + (cached ? p_.flash.cache_program_ns : p_.flash.program_ns);
    unit.program_free = end;
    all_done_ = std::max(all_done_, end);
    program_done_[programs_ % program_done_.size()] = all_done_;
    ++programs_;
    busy_until_ = std::max(busy_until_, end);
    pulse(begin, end,
          p_.flash.program_bytes * (cached ? p_.power.cache_program_joule_per_byte : p_.power.program_joule_per_byte));
}

std::int64_t DriveModel::flush(std::int64_t start, std::int64_t now) {
    const std::uint64_t waiting = accepted_ + padding_ - programs_ * p_.flash.program_bytes;
    if (waiting > 0) {
        padding_ += p_.flash.program_bytes - waiting;
        program(start, now);
    }
    const std::int64_t completed = std::max(start, all_done_) + p_.controller.flush_ns;
    pulse(start, completed, p_.power.write_joule);
    return completed;
}

void DriveModel::drain(std::int64_t from, std::int64_t to, double rate) {
    if (cache_used_ <= 0 || rate <= 0 || to <= from || held_) return;
    const double bytes = std::min(cache_used_, rate * 1e-9 * static_cast<double>(to - from));
    pulse(from, std::min(to, from + static_cast<std::int64_t>(bytes / rate * 1e9) + 1), bytes * p_.power.drain_joule_per_byte);
    take_from_cache(bytes);
}

void DriveModel::settle(std::int64_t now) {
    if (now <= settled_) return;
    // Drain is booked for time that has passed, so before the ledger closes it.
    const std::int64_t active_end = std::min(now, busy_until_);
    if (active_end > settled_) {
        if (!active_ && trace_) trace_->activity(settled_, true);
        active_ = true;
        if (p_.cache.bytes > 0) drain(drained_to_, active_end, p_.cache.busy_drain_bytes_per_second);
        ledger_->advance(active_end, true);
    }
    if (now > busy_until_) {
        const std::int64_t begin = std::max(settled_, busy_until_);
        if (active_ && trace_) trace_->activity(begin, false);
        active_ = false;
        if (p_.cache.bytes > 0)
            drain(std::max(begin, busy_until_ + p_.cache.idle_before_drain_ns), now, p_.cache.drain_bytes_per_second);
        ledger_->advance(now, false);
    }
    drained_to_ = now;
    settled_ = now;
}

std::int64_t DriveModel::next_idle_event(std::int64_t now) const {
    if (p_.cache.bytes == 0 || cache_used_ <= 0) return std::numeric_limits<std::int64_t>::max();
    const std::int64_t begins = busy_until_ + p_.cache.idle_before_drain_ns;
    if (now < begins) return begins;
    return now + static_cast<std::int64_t>(cache_used_ / p_.cache.drain_bytes_per_second * 1e9);
}

double DriveModel::idle_drain(std::int64_t now) const {
    if (p_.cache.bytes == 0 || cache_used_ <= 0 || now < busy_until_ + p_.cache.idle_before_drain_ns) return 0;
    return p_.cache.drain_bytes_per_second;
}

void DriveModel::pass_idle(std::int64_t by, double drained) {
    settled_ += by;
    drained_to_ += by;
    take_from_cache(drained);
}

void DriveModel::take_from_cache(double bytes) {
    cache_used_ = std::clamp(cache_used_ - bytes, 0.0, static_cast<double>(p_.cache.bytes));
    if (cache_used_ < 1) cache_used_ = 0;
    if (!cache_open_ && cache_used_ <= p_.cache.reopen_fraction * static_cast<double>(p_.cache.bytes)) {
        cache_open_ = true;
        ++events_;
    }
}

void DriveModel::leap(std::int64_t by, double cached, std::uint64_t written) {
    controller_free_ += by;
    link_read_free_ += static_cast<double>(by);
    link_write_free_ += static_cast<double>(by);
    for (Unit& unit : units_) {
        unit.read_free += by;
        unit.program_free += by;
        unit.programs_since += by;
    }
    for (std::int64_t& done : program_done_) done += by;
    all_done_ += by;
    busy_until_ += by;
    drained_to_ += by;
    settled_ += by;
    leapt_ += written;
    if (p_.cache.bytes > 0) take_from_cache(-cached);
}

}  // namespace wattrig::sim
