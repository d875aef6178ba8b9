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

void DriveBackend::insert(const Pending& pending) {
    if (!is_heap_ && in_flight() >= sorted_limit) {
        pending_.erase(pending_.begin(), pending_.begin() + static_cast<std::ptrdiff_t>(head_));
        head_ = 0;
        is_heap_ = true;
        std::make_heap(pending_.begin(), pending_.end(), later);
    }
    pending_.push_back(pending);
    if (is_heap_) {
        std::push_heap(pending_.begin(), pending_.end(), later);
        return;
    }
    std::size_t at = pending_.size() - 1;
    for (; at > head_ && pending_[at - 1].completed > pending.completed; --at) pending_[at] = pending_[at - 1];
    pending_[at] = pending;
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
    return head_ == pending_.size() ? HostTime::max() : HostTime(Nanoseconds(pending_[head_].completed));
}

std::size_t DriveBackend::reap(HostTime now, std::span<io::Completion> out) {
    const std::int64_t until = now.time_since_epoch().count();
    std::size_t reaped = 0;
    while (reaped < out.size() && head_ < pending_.size() && pending_[head_].completed <= until) {
        const Pending& done = pending_[head_];
        out[reaped++] = {HostTime(Nanoseconds(done.completed)), done.slot, done.result};
        if (is_heap_) {
            std::pop_heap(pending_.begin(), pending_.end(), later);
            pending_.pop_back();
        } else {
            ++head_;
        }
    }
    if (is_heap_) {
        is_heap_ = !pending_.empty();
    } else if (head_ == pending_.size()) {
        pending_.clear();
        head_ = 0;
    } else if (head_ >= 4096) {
        pending_.erase(pending_.begin(), pending_.begin() + static_cast<std::ptrdiff_t>(head_));
        head_ = 0;
    }
    return reaped;
}

std::optional<io::Batch> DriveBackend::leap(HostTime now, HostTime until) {
    return leaper_ ? leaper_->leap(now, until) : std::nullopt;
}

void DriveBackend::shift(Nanoseconds by) {
    for (Pending& pending : pending_) pending.completed += by.count();
}

}  // namespace wattrig::sim
