#pragma once
// A drive in virtual time whose truth is a closed form: every operation takes `latency` (or what `latency_of` says), any number
// at once. Deterministic and cheap, so that the loop's own cost can be measured with it.

#include <algorithm>
#include <bit>
#include <functional>
#include <optional>
#include <queue>
#include <vector>

#include "host/io/backend.hpp"

namespace wattrig::io {

class FakeDrive final : public VirtualBackend {
  public:
    struct Seen {
        std::uint32_t worker;
        Operation operation;
        HostTime issued;
    };

    Nanoseconds latency{100'000};
    std::function<Nanoseconds(const Operation&, HostTime)> latency_of;  // instead of `latency`
    std::function<std::int32_t(const Operation&, HostTime)> result_of;  // instead of success
    std::function<std::optional<Batch>(HostTime, HostTime)> leap_of;    // no leap without it
    bool keep = true;                                                   // all operations in `seen`
    std::vector<Seen> seen;
    std::uint64_t submits = 0, begun = 0, ended = 0;

    [[nodiscard]] Capabilities capabilities() const override {
        return {.discard = true, .write_zeroes = true, .registered_buffers = false, .description = "fake"};
    }
    void begin_phase(const Workload&, HostTime) override { ++begun; }
    void end_phase(HostTime) override { ++ended; }
    void submit(std::uint32_t worker, std::span<const Operation> operations, HostTime now) override {
        ++submits;
        for (const Operation& operation : operations) {
            if (keep) seen.push_back({worker, operation, now});
            const HostTime at = now + (latency_of ? latency_of(operation, now) : latency);
            const std::int32_t result = result_of ? result_of(operation, now) : static_cast<std::int32_t>(operation.length);
            pending_.push({at, sequence_++, {at, operation.slot | worker << 16, result}});
        }
    }
    [[nodiscard]] HostTime next_event() const override { return pending_.empty() ? HostTime::max() : pending_.top().at; }
    std::size_t reap(HostTime now, std::span<Completion> out) override {
        std::size_t n = 0;
        while (n < out.size() && !pending_.empty() && pending_.top().at <= now) {
            out[n++] = pending_.top().completion;
            pending_.pop();
        }
        return n;
    }
    std::optional<Batch> leap(HostTime now, HostTime until) override {
        if (!leap_of) return std::nullopt;
        auto batch = leap_of(now, until);
        if (!batch) return batch;
        std::priority_queue<Pending, std::vector<Pending>, std::greater<>> moved;
        for (; !pending_.empty(); pending_.pop()) {
            Pending p = pending_.top();
            p.at += batch->until - now;
            p.completion.completed = p.at;
            moved.push(p);
        }
        pending_ = std::move(moved);
        return batch;
    }

  private:
    struct Pending {
        HostTime at;
        std::uint64_t sequence;
        Completion completion;
        auto operator<=>(const Pending& other) const { return at != other.at ? at <=> other.at : sequence <=> other.sequence; }
        bool operator==(const Pending& other) const { return sequence == other.sequence; }
    };
    std::priority_queue<Pending, std::vector<Pending>, std::greater<>> pending_;
    std::uint64_t sequence_ = 0;
};

// As cheap as a drive can be: one latency for all, so completions come in the order of submission.
class CheapDrive final : public VirtualBackend {
  public:
    explicit CheapDrive(std::uint32_t depth) : ring_(std::bit_ceil(depth)), mask_(ring_.size() - 1) {}
    [[nodiscard]] Capabilities capabilities() const override { return {}; }
    void begin_phase(const Workload&, HostTime) override {}
    void end_phase(HostTime) override {}
    void submit(std::uint32_t worker, std::span<const Operation> operations, HostTime now) override {
        for (const Operation& operation : operations) {
            // Spread over time, so that completions do not come in batches: one turn of the loop for each operation.
            last_ = std::max(last_ + Nanoseconds(2'500), now + Nanoseconds(80'000));
            ring_[tail_++ & mask_] = {last_, operation.slot | worker << 16, static_cast<std::int32_t>(operation.length)};
        }
    }
    [[nodiscard]] HostTime next_event() const override {
        return head_ == tail_ ? HostTime::max() : ring_[head_ & mask_].completed;
    }
    std::size_t reap(HostTime now, std::span<Completion> out) override {
        std::size_t n = 0;
        while (n < out.size() && head_ != tail_ && ring_[head_ & mask_].completed <= now) out[n++] = ring_[head_++ & mask_];
        return n;
    }
    std::optional<Batch> leap(HostTime, HostTime) override { return std::nullopt; }

  private:
    std::vector<Completion> ring_;
    std::size_t mask_;
    std::uint64_t head_ = 0, tail_ = 0;
    HostTime last_{};
};

}  // namespace wattrig::io
