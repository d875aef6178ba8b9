#include "host/io/worker.hpp"

#include <algorithm>
#include <cassert>
#include <cmath>
#include <cstring>
#include <utility>

namespace wattrig::io {

namespace {

constexpr std::size_t page = 4096;
constexpr std::size_t smallest_pool = 2u << 20;  // bytes: thousands of different blocks even with many workers
constexpr Nanoseconds pace_slack{1'000'000};
constexpr Nanoseconds watermark_step{100'000};
constexpr std::uint32_t slot_mask = 0xffff;

std::size_t rounded_up(std::size_t n, std::size_t to) { return (n + to - 1) / to * to; }

std::size_t pool_share(const Workload& w) {
    if (w.read_percent >= 100 || w.discard) return 0;
    const std::size_t share = std::max<std::size_t>(w.data.pool_bytes / w.workers, smallest_pool);
    // An operation begins anywhere in the share, so one more block follows it.
    return rounded_up(share, page) + rounded_up(w.largest_block(), page);
}

std::size_t slot_share(const Workload& w) {
    const bool needed = (w.read_percent > 0 || w.data.verify) && !w.discard;
    return needed ? rounded_up(w.largest_block(), page) : 0;
}

}  // namespace

std::size_t Worker::memory_size(const Workload& w) { return std::max(slot_share(w) * w.depth + pool_share(w), page); }

Worker::Worker(const Workload& workload, PhaseState& phase, std::uint32_t index, const WorkerOptions& options)
    : slots_(workload.depth),
      free_(workload.depth),
      turn_operations_(workload.depth),
      addresses_(workload, options.target_size, index, phase.cover),
      random_(mix(workload.seed + 0x77) ^ index),
      windows_(phase.fine_until),
      gaps_(mix(workload.seed + 0x1234) ^ index),
      workload_(workload),
      phase_(phase),
      index_(index),
      options_(options) {
    rate_ = workload.rate.has_value();
    bursts_ = workload.bursts.has_value();
    follow_ = options.tap != nullptr || options.log != nullptr;
    read_threshold_ = static_cast<std::uint64_t>(std::llround(workload.read_percent / 100 * 0x1p32));
    if (workload.discard) {
        read_threshold_ = 0;
        write_kind_ = OperationKind::discard;
    }
    if (workload.sync == SyncPolicy::every_n) sync_every_ = workload.sync_every;
    for (std::uint32_t i = 0; i < workload.depth; ++i) free_[i] = workload.depth - 1 - i;
    free_count_ = workload.depth;
    outcome_.errors.reserve(16);
    if (options.memory.empty()) return;
    assert(options.memory.size() >= memory_size(workload));
    verify_ = workload.data.verify;
    slot_bytes_ = slot_share(workload);
    pool_offset_ = slot_bytes_ * workload.depth;
    pool_bytes_ = pool_share(workload);
    // Not the seed alone: two workers, or two phases of a run, must not write the same data.
    if (pool_bytes_ != 0)
        fill_pool(options.memory.subspan(pool_offset_, pool_bytes_), workload.data.compressibility,
                  mix(workload.seed ^ 0x706f6f6cu) + index);
}

void Worker::start(HostTime now) {
    begin_ = depth_at_ = last_completion_ = watermark_at_ = now;
    outcome_.begin = now;
    measured_begin_ = now + workload_.ramp;
    if (workload_.limit.time) measured_end_ = measured_begin_ + *workload_.limit.time;
    next_edge_ = measured_begin_;
    burst_resume_ = now;
    windows_.start(workload_.ramp, workload_.limit.time.value_or(Nanoseconds(0)), options_.leaping);
    if (rate_) {
        const FixedRate& rate = *workload_.rate;
        const double workers = workload_.workers;
        rate_in_bytes_ = rate.bytes_per_second > 0;
        interval_ = 1e9 * workers / (rate_in_bytes_ ? rate.bytes_per_second : rate.operations_per_second);
        // The workers' operations interleave evenly.
        due_exact_ =
            interval_ * (rate_in_bytes_ ? static_cast<double>(workload_.block_sizes[0].bytes) : 1.0) * index_ / workers;
        due_ = now + Nanoseconds(std::llround(due_exact_));
        pace_floor_ = now;
    }
    if (workload_.ramp.count() == 0) cross_edges(now);
}

void Worker::cross_edges(HostTime now) {
    if (state_ == State::ramping && now >= measured_begin_) {
        state_ = State::measuring;
        measuring_ = true;
        depth_at_ = measured_begin_;
        depth_integral_ = 0;
        next_edge_ = measured_end_;
        // What is in flight completes in the measured part and so is part of its amount.
        std::int64_t operations = 0, bytes = 0;
        for (const Slot& slot : slots_)
            if (slot.busy && slot.kind != OperationKind::flush) {
                ++operations;
                bytes += slot.length;
            }
        if (phase_.operations.limited()) left_operations_ = -operations;
        if (phase_.bytes.limited()) left_bytes_ = -bytes;
    }
    if (state_ == State::measuring && now >= measured_end_) end_measuring(measured_end_, StopReason::time);
}

void Worker::end_measuring(HostTime at, StopReason reason) {
    if (measuring_) {
        account_depth(at);
        measuring_ = false;
        reason_ = reason;
        measured_end_ = at;
    } else if (state_ == State::ramping) {  // nothing was measured: an empty interval
        measured_begin_ = measured_end_ = std::max(at, begin_);
        reason_ = reason;
    }
    if (state_ < State::draining) state_ = State::draining;
    next_edge_ = HostTime::max();
}

[[gnu::always_inline]] inline void Worker::finish_operation(const Completion& completion) {
    const std::uint32_t index = completion.slot & slot_mask;
    assert(index < slots_.size() && slots_[index].busy);
    Slot& slot = slots_[index];
    slot.busy = false;
    free_[free_count_++] = index;
    --in_flight_;
    const HostTime at = completion.completed;
    // A completion at the very end of the last operation's budget belongs to it; a time limit ends before its end.
    const bool counted = measuring_ && at >= measured_begin_ && at < measured_end_;
    const bool good = completion.result == static_cast<std::int32_t>(slot.length);
    if (!good) [[unlikely]] {
        finish_badly(slot, completion, counted);
    } else if (counted || slot.kind == OperationKind::flush) [[likely]] {
        if (verify_ && slot.kind == OperationKind::read &&
            !verify(options_.memory.subspan(index * slot_bytes_, slot.length), slot.offset, workload_.seed)) [[unlikely]]
            ++outcome_.verify_failures;
        if (counted || state_ == State::flushing) {
            const auto latency = static_cast<std::uint64_t>((at - slot.due).count());
            KindOutcome& kind = outcome_.kinds[static_cast<std::size_t>(slot.kind)];
            ++kind.operations;
            kind.bytes += slot.length;
            kind.latency_sum += latency;
            kind.latency_minimum = std::min(kind.latency_minimum, latency);
            kind.latency_maximum = std::max(kind.latency_maximum, latency);
            kind.latency.add(latency);
            if (rate_) kind.service.add(static_cast<std::uint64_t>((at - slot.issued).count()));
            if (counted) windows_.add(slot.kind, (at - measured_begin_).count(), slot.length, latency);
        }
    }
    if (counted && slot.kind != OperationKind::flush) {
        ++operations_;
        bytes_ += slot.length;
    }
    if (follow_) {
        const OperationRecord record{slot.issued, at, slot.offset, slot.length, completion.result, slot.kind};
        if (options_.tap != nullptr) options_.tap->records.push(record);
        if (options_.log != nullptr) options_.log->add(index_, record);
    }
}

void Worker::complete(std::span<const Completion> completions, HostTime now) {
    if (now >= next_edge_) [[unlikely]]
        cross_edges(now);
    account_depth(now);
    for (const Completion& completion : completions) finish_operation(completion);
    if (!completions.empty()) last_completion_ = std::max(last_completion_, completions.back().completed);
}

void Worker::finish_badly(const Slot& slot, const Completion& completion, bool counted) {
    count_error(slot.kind, completion.result < 0 ? -completion.result : EIO, slot.offset);
    if (counted) {
        ++outcome_.kinds[static_cast<std::size_t>(slot.kind)].errors;
        windows_.add_error((completion.completed - measured_begin_).count());
    }
    // Cancelled by us after the end: counted, but no reason to end.
    if (state_ < State::draining && phase_.errors.fetch_add(1, std::memory_order_relaxed) + 1 > workload_.maximum_errors)
        phase_.request_stop(StopReason::errors);
}

void Worker::count_error(OperationKind kind, int os_error, std::uint64_t offset) {
    for (ErrorCount& error : outcome_.errors)
        if (error.kind == kind && error.os_error == os_error) {
            ++error.count;
            return;
        }
    outcome_.errors.push_back({kind, os_error, 1, offset});
}

// The per-operation path is inlined into next() and complete(): called, it costs a third more.
[[gnu::always_inline]] inline void Worker::issue(HostTime now) {
    OperationKind kind = OperationKind::read;
    if (read_threshold_ < (std::uint64_t{1} << 32) && (read_threshold_ == 0 || (random_() >> 32) >= read_threshold_))
        kind = write_kind_;
    const std::uint32_t length = addresses_.length();
    const std::uint64_t offset = addresses_.offset(kind, length);
    const std::uint32_t index = free_[--free_count_];
    std::byte* buffer = nullptr;
    if (!options_.memory.empty()) {
        if (kind == OperationKind::read)
            buffer = options_.memory.data() + index * slot_bytes_;
        else if (kind == OperationKind::write)
            buffer = write_buffer(index, offset, length);
    }
    // Field by field: built on the stack and copied as a whole, each would wait for its own narrow stores.
    Slot& slot = slots_[index];
    slot.issued = now;
    slot.due = now;
    slot.offset = offset;
    slot.length = length;
    slot.kind = kind;
    slot.busy = true;
    Operation& operation = turn_operations_[turn_count_++];
    operation.offset = offset;
    operation.length = length;
    operation.slot = index;
    operation.buffer = buffer;
    operation.kind = kind;
    ++in_flight_;
    --left_operations_;
    left_bytes_ -= length;
    if (bursts_) {
        --burst_operations_;
        burst_bytes_ -= length;
    }
    if (rate_) {
        slot.due = due_;
        schedule_next(now, length);
    }
    if (sync_every_ != 0 && kind == OperationKind::write) ++writes_since_sync_;
}

[[gnu::always_inline]] inline void Worker::fill(HostTime now, Turn& turn) {
    std::uint32_t most = free_count_;
    if (workload_.batching == Batching::strict) most = std::min(most, 1u);
    while (turn_count_ < most) {
        if (sync_every_ != 0 && writes_since_sync_ >= sync_every_) [[unlikely]] {
            writes_since_sync_ = 0;
            issue_flush(now);
            continue;
        }
        if ((left_operations_ <= 0 || left_bytes_ <= 0) && !refill_limits()) [[unlikely]] {
            exhausted_ = true;
            return;
        }
        if (rate_ && pass_rate(now, turn) == Gate::closed) return;
        if (bursts_ && pass_bursts(now, turn) == Gate::closed) return;
        issue(now);
    }
}

Turn Worker::next(HostTime now) {
    Turn turn;
    turn_count_ = 0;
    if (now >= next_edge_) [[unlikely]]
        cross_edges(now);
    if (state_ < State::draining && phase_.stopping()) [[unlikely]]
        end_measuring(now, static_cast<StopReason>(phase_.stop.load(std::memory_order_relaxed)));
    if (state_ < State::draining) [[likely]] {
        account_depth(now);
        fill(now, turn);
    }
    if (exhausted_ && in_flight_ == 0 && state_ < State::draining) end_measuring(last_completion_, exhausted_reason_);
    if (state_ >= State::draining && in_flight_ == 0) [[unlikely]] {
        if (!left_gate_) leave_gate();
        // A flush for reads only would measure nothing.
        if (state_ == State::draining && workload_.sync == SyncPolicy::at_end && workload_.writes() &&
            reason_ != StopReason::failed) {
            state_ = State::flushing;
            issue_flush(now);
        } else {
            state_ = State::finished;
            turn.finished = true;
            turn.deadline = now;
            outcome_.end = std::max(last_completion_, measured_end_);
        }
    }
    turn.operations = {turn_operations_.data(), turn_count_};
    if (!turn.finished) {
        turn.want = 1;
        if (workload_.batching == Batching::throughput)
            turn.want = std::clamp<std::size_t>(workload_.batch != 0 ? workload_.batch : workload_.depth / 4, 1,
                                                std::max(in_flight_, 1u));
        else if (workload_.batching == Batching::strict && turn_count_ > 0 && free_count_ > 0)
            turn.want = 0;  // still filling
        if (next_edge_ < turn.deadline) {
            turn.deadline = next_edge_;
            turn.exact = false;
        }
    }
    if (options_.tap != nullptr) raise_watermark(now);
    return turn;
}

bool Worker::refill_limits() {
    while (left_operations_ <= 0) {
        const std::int64_t portion = phase_.operations.claim();
        if (portion == 0) {
            exhausted_reason_ = StopReason::operations;
            return false;
        }
        left_operations_ += portion;
    }
    while (left_bytes_ <= 0) {
        const std::int64_t portion = phase_.bytes.claim();
        if (portion == 0) {
            exhausted_reason_ = StopReason::bytes;
            return false;
        }
        left_bytes_ += portion;
    }
    return true;
}

Worker::Gate Worker::pass_bursts(HostTime now, Turn& turn) {
    BurstGate& gate = phase_.gate;
    if (gate.number() != burst_number_) {
        burst_number_ = gate.number();
        burst_resume_ = gate.resume();
        burst_arrived_ = burst_begun_ = false;
        burst_operations_ = burst_bytes_ = 0;
    }
    if (burst_arrived_) {
        if (options_.poll.count() > 0) turn.deadline = now + options_.poll;
        return Gate::closed;
    }
    if (now < burst_resume_) {
        turn.deadline = burst_resume_;
        turn.exact = true;
        return Gate::closed;
    }
    while (burst_operations_ <= 0 || burst_bytes_ <= 0) {
        const std::int64_t operations = burst_operations_ > 0 ? 0 : gate.operations.claim();
        const std::int64_t bytes = burst_bytes_ > 0 ? 0 : gate.bytes.claim();
        if ((burst_operations_ <= 0 && operations == 0) || (burst_bytes_ <= 0 && bytes == 0)) {
            if (in_flight_ > 0) return Gate::closed;  // the last completion of this burst will come here again
            burst_arrived_ = true;
            gate.arrive(last_completion_);
            // One worker alone has opened the next burst by arriving.
            return pass_bursts(now, turn);
        }
        burst_operations_ += operations;
        burst_bytes_ += bytes;
    }
    if (!burst_begun_) {
        burst_begun_ = true;
        gate.begun(now);
    }
    return Gate::open;
}

void Worker::leave_gate() {
    left_gate_ = true;
    if (!bursts_) return;
    const bool arrived = burst_arrived_ && phase_.gate.number() == burst_number_;
    phase_.gate.leave(arrived, last_completion_);
}

Worker::Gate Worker::pass_rate(HostTime now, Turn& turn) {
    const HostTime due = std::max(due_, pace_floor_);
    if (now >= due) return Gate::open;
    turn.deadline = due;
    turn.exact = true;
    return Gate::closed;
}

void Worker::schedule_next(HostTime now, std::uint32_t length) {
    const double gap = rate_in_bytes_ ? interval_ * length : interval_;
    if (workload_.rate->poisson) {
        due_exact_ -= gap * std::log(gaps_.unit());
        due_ = begin_ + Nanoseconds(std::llround(due_exact_));
        return;
    }
    // From the count, not step by step: rounding does not add up.
    rate_count_ += rate_in_bytes_ ? length : 1;
    due_ = begin_ + Nanoseconds(std::llround(due_exact_ + static_cast<double>(rate_count_) * interval_));
    pace_floor_ = std::max(pace_floor_, now - pace_slack) + Nanoseconds(static_cast<std::int64_t>(gap / 2));
}

void Worker::issue_flush(HostTime now) {
    const std::uint32_t index = free_[--free_count_];
    slots_[index] = {now, now, 0, 0, OperationKind::flush, true};
    turn_operations_[turn_count_++] = {0, 0, index, nullptr, OperationKind::flush};
    ++in_flight_;
}

std::byte* Worker::write_buffer(std::uint32_t slot, std::uint64_t offset, std::uint32_t length) {
    // O_DIRECT wants memory aligned to the logical block.
    const std::size_t step = std::max<std::size_t>(options_.logical_block, stamped_sector);
    const std::size_t places = (pool_bytes_ - rounded_up(length, page)) / step + 1;
    std::byte* source = options_.memory.data() + pool_offset_ + random_.below(places) * step;
    if (!verify_) return source;
    std::byte* own = options_.memory.data() + slot * slot_bytes_;
    std::memcpy(own, source, length);
    stamp({own, length}, offset, ++generation_ << 8 | index_, workload_.seed);
    return own;
}

void Worker::raise_watermark(HostTime now) {
    const bool idle = in_flight_ == turn_count_;  // all that is in flight is issued at `now`
    if (!idle && now - watermark_at_ < watermark_step) return;
    watermark_at_ = now;
    HostTime oldest = now;
    if (!idle)
        for (const Slot& slot : slots_)
            if (slot.busy) oldest = std::min(oldest, slot.issued);
    options_.tap->watermark.store(oldest.time_since_epoch().count(), std::memory_order_release);
}

bool Worker::steady() const {
    return state_ < State::draining && !rate_ && free_count_ == 0 && sync_every_ == 0 && !phase_.stopping() && !exhausted_;
}

HostTime Worker::leap_limit(HostTime now, std::uint64_t operations, std::uint64_t bytes) const {
    HostTime limit = next_edge_;
    if (state_ == State::ramping) return limit;
    const std::int64_t at = (now - measured_begin_).count();
    limit = std::min(limit, measured_begin_ + Nanoseconds(windows_.window_end(at)));
    // A leap is asked for in time, a budget is in operations: half of the time that what is left takes at the mean rate so far,
    // and the last thousands exactly. Right as long as the model does not double its speed.
    const auto bound = [&](const Budget& budget, std::int64_t mine, std::uint64_t done, std::uint64_t exact) {
        if (!budget.limited()) return;
        const double left = static_cast<double>(budget.left() + std::max<std::int64_t>(mine, 0)) - static_cast<double>(exact);
        if (left <= 0 || done == 0) {
            limit = now;
            return;
        }
        const double busy = static_cast<double>(at) * (bursts_ ? workload_.bursts->duty : 1);
        const double time = 0.5 * left * busy / static_cast<double>(done);
        if (time < 1e18) limit = std::min(limit, now + Nanoseconds(static_cast<std::int64_t>(time)));
    };
    const std::uint64_t exact = 8 * std::uint64_t{workload_.total_depth()}, exact_bytes = exact * workload_.largest_block();
    bound(phase_.operations, left_operations_, operations, exact);
    bound(phase_.bytes, left_bytes_, bytes, exact_bytes);
    if (bursts_) {
        bound(phase_.gate.operations, burst_operations_, operations, exact);
        bound(phase_.gate.bytes, burst_bytes_, bytes, exact_bytes);
    }
    return limit;
}

void Worker::account(const Batch& batch, HostTime from) {
    std::int64_t operations = 0, bytes = 0;
    for (std::size_t i = 0; i < batch.kinds.size(); ++i) {
        const Batch::Kind& in = batch.kinds[i];
        operations += static_cast<std::int64_t>(in.operations + in.errors);
        bytes += static_cast<std::int64_t>(in.bytes);
        const OperationKind kind = i == 0 ? OperationKind::read : write_kind_;
        addresses_.skip(kind, in.operations + in.errors, in.bytes);
        if (in.errors != 0) {
            for (std::uint64_t e = 0; e < in.errors; ++e) count_error(kind, EIO, 0);
            if (phase_.errors.fetch_add(in.errors, std::memory_order_relaxed) + in.errors > workload_.maximum_errors)
                phase_.request_stop(StopReason::errors);
        }
        if (!measuring_) continue;
        KindOutcome& out = outcome_.kinds[static_cast<std::size_t>(kind)];
        out.operations += in.operations;
        out.bytes += in.bytes;
        out.errors += in.errors;
        out.latency_sum += in.latency_sum;
        out.latency_minimum = std::min(out.latency_minimum, in.latency_minimum);
        out.latency_maximum = std::max(out.latency_maximum, in.latency_maximum);
        out.latency.merge(in.latency);
    }
    if (!measuring_) return;
    windows_.add(batch, (from - measured_begin_).count());
    batch_depth_integral_ += batch.mean_depth * static_cast<double>((batch.until - from).count());
    operations_ += static_cast<std::uint64_t>(operations);
    bytes_ += static_cast<std::uint64_t>(bytes);
    if (phase_.operations.limited()) left_operations_ -= operations;
    if (phase_.bytes.limited()) left_bytes_ -= bytes;
    if (bursts_) {
        burst_operations_ -= operations;
        burst_bytes_ -= bytes;
    }
}

void Worker::shift(Nanoseconds leap) {
    for (Slot& slot : slots_)
        if (slot.busy) {
            slot.issued += leap;
            slot.due += leap;
        }
    depth_at_ += leap;  // the batch says what the depth was
}

void Worker::fail(HostTime now) {
    phase_.request_stop(StopReason::failed);
    end_measuring(now, StopReason::failed);
    reason_ = StopReason::failed;
    if (!left_gate_) leave_gate();
    state_ = State::finished;
    outcome_.end = std::max(last_completion_, measured_end_);
}

PhaseOutcome Worker::take_outcome() {
    assert(state_ == State::finished);
    outcome_.measured_begin = measured_begin_;
    outcome_.measured_end = measured_end_;
    outcome_.stop = reason_;
    outcome_.windows = windows_.finish((measured_end_ - measured_begin_).count());
    const double time = static_cast<double>((measured_end_ - measured_begin_).count());
    outcome_.mean_depth = time > 0 ? (static_cast<double>(depth_integral_) + batch_depth_integral_) / time : 0;
    return std::move(outcome_);
}

}  // namespace wattrig::io
