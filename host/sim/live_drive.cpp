#include "host/sim/live_drive.hpp"

#include <algorithm>

namespace wattrig::sim {
namespace {

constexpr auto later = [](const auto& a, const auto& b) { return a.issued > b.issued; };

}  // namespace

double LiveDrive::energy_of(io::OperationKind kind, std::uint64_t bytes) {
    const PowerParameters& power = p_.power;
    const auto size = static_cast<double>(bytes);
    switch (kind) {
        case io::OperationKind::read: return power.read_joule + power.read_joule_per_byte * size;
        case io::OperationKind::write: {
            if (cache_open_ && cache_used_ + size > static_cast<double>(p_.cache.bytes)) cache_open_ = false;
            if (cache_open_) cache_used_ += size;
            const double program = cache_open_ ? power.cache_program_joule_per_byte : power.program_joule_per_byte;
            return power.write_joule + (power.write_joule_per_byte + program) * size;
        }
        case io::OperationKind::flush:
        case io::OperationKind::discard:
        case io::OperationKind::write_zeroes: return power.write_joule;
    }
    return 0;
}

void LiveDrive::pulse(std::int64_t begin, std::int64_t end, double joule) {
    end = std::max(end, begin + 1);
    trace_.add(begin, end, joule * 1e9 / static_cast<double>(end - begin));
    ledger_.add(begin, end, joule);
}

void LiveDrive::add(io::OperationKind kind, std::uint64_t bytes, std::int64_t issued, std::int64_t completed) {
    ++operations_;
    if (issued < settled_) {
        ++late_;
        issued = settled_;
        completed = std::max(completed, settled_ + 1);
    }
    waiting_.push_back({issued, std::max(completed, issued + 1), energy_of(kind, bytes)});
    std::push_heap(waiting_.begin(), waiting_.end(), later);
}

void LiveDrive::settle(std::int64_t until) {
    if (until <= settled_) return;
    while (!waiting_.empty() && waiting_.front().issued < until) {
        std::pop_heap(waiting_.begin(), waiting_.end(), later);
        const Record record = waiting_.back();
        waiting_.pop_back();
        if (record.issued > busy_until_) advance(record.issued);
        pulse(record.issued, record.completed, record.joule);
        busy_until_ = std::max(busy_until_, record.completed);
    }
    advance(until);
}

// Floor and drain up to `until`: at work up to busy_until_, idle from there on.
void LiveDrive::advance(std::int64_t until) {
    const std::int64_t active_end = std::min(until, busy_until_);
    const auto drain = [&](std::int64_t from, std::int64_t to, double rate) {
        if (cache_used_ <= 0 || rate <= 0 || to <= from) return;
        const double bytes = std::min(cache_used_, rate * 1e-9 * static_cast<double>(to - from));
        cache_used_ -= bytes;
        if (cache_used_ < 1) cache_used_ = 0;
        if (cache_used_ <= p_.cache.reopen_fraction * static_cast<double>(p_.cache.bytes)) cache_open_ = true;
        pulse(from, std::min(to, from + static_cast<std::int64_t>(bytes / rate * 1e9) + 1),
              bytes * p_.power.drain_joule_per_byte);
    };
    if (active_end > settled_) {
        if (!active_) trace_.activity(settled_, true);
        active_ = true;
        drain(settled_, active_end, p_.cache.busy_drain_bytes_per_second);
        ledger_.advance(active_end, true);
    }
    if (until > busy_until_) {
        const std::int64_t begin = std::max(settled_, busy_until_);
        if (active_) trace_.activity(begin, false);
        active_ = false;
        drain(std::max(begin, busy_until_ + p_.cache.idle_before_drain_ns), until, p_.cache.drain_bytes_per_second);
        ledger_.advance(until, false);
    }
    settled_ = std::max(settled_, until);
}

}  // namespace wattrig::sim
