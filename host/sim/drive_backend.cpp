#include "host/sim/drive_backend.hpp"

#include <algorithm>

namespace wattrig::sim {
namespace {

constexpr auto later = [](const auto& a, const auto& b) { return a.completed > b.completed; };

}  // namespace

io::Capabilities DriveBackend::capabilities() const { return {true, true, false, "model " + model_.parameters().name}; }

void DriveBackend::begin_phase(const io::Workload& workload, HostTime now) {
    if (leaper_) leaper_->begin_phase(workload, now);
}

void DriveBackend::end_phase(HostTime now) {
    if (catch_up_) catch_up_(now);
}

// A new operation mostly completes after those in flight, so its place is near the front of a list that ends with the
// earliest; the search begins there.
void DriveBackend::insert(const Pending& pending) {
    if (is_heap_) {
        pending_.push_back(pending);
        std::push_heap(pending_.begin(), pending_.end(), later);
        return;
    }
    if (pending_.size() >= sorted_limit) {
        is_heap_ = true;
        std::make_heap(pending_.begin(), pending_.end(), later);
        return insert(pending);
    }
    std::size_t at = 0;
    while (at < pending_.size() && pending_[at].completed > pending.completed) ++at;
    pending_.insert(pending_.begin() + static_cast<std::ptrdiff_t>(at), pending);
}

void DriveBackend::submit(std::uint32_t worker, std::span<const io::Operation> operations, HostTime now) {
    if (now >= catch_up_at_) catch_up_(now);
    for (const io::Operation& operation : operations) {
        const std::int64_t completed = model_.submit(operation, now.time_since_epoch().count());
        insert({completed, operation.slot | worker << 16, static_cast<std::int32_t>(operation.length)});
    }
    if (leaper_) leaper_->on_submitted(operations.size());
}

HostTime DriveBackend::next_event() const {
    if (pending_.empty()) return HostTime::max();
    return HostTime(Nanoseconds(is_heap_ ? pending_.front().completed : pending_.back().completed));
}

std::size_t DriveBackend::reap(HostTime now, std::span<io::Completion> out) {
    const std::int64_t until = now.time_since_epoch().count();
    std::size_t reaped = 0;
    while (reaped < out.size() && !pending_.empty()) {
        if (is_heap_) {
            if (pending_.front().completed > until) break;
            std::pop_heap(pending_.begin(), pending_.end(), later);
        } else if (pending_.back().completed > until) {
            break;
        }
        const Pending& done = pending_.back();
        out[reaped++] = {HostTime(Nanoseconds(done.completed)), done.slot, done.result};
        pending_.pop_back();
    }
    if (is_heap_ && pending_.empty()) is_heap_ = false;
    return reaped;
}

std::optional<io::Batch> DriveBackend::leap(HostTime now, HostTime until) {
    return leaper_ ? leaper_->leap(now, until) : std::nullopt;
}

void DriveBackend::shift(Nanoseconds by) {
    for (Pending& pending : pending_) pending.completed += by.count();
}

}  // namespace wattrig::sim
