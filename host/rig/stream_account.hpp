#pragma once
// Keeps the books of one stream: what came, what is missing, exactly, from 64-bit sample indices. Counters of frames wrap and
// are blind to a loss of exactly their modulus; an index is not.
//
// Thread rule: one thread.

#include <cstdint>
#include <functional>
#include <string>

#include "host/base/clock.hpp"
#include "host/rig/block.hpp"

namespace wattrig::rig {

class StreamAccount {
  public:
    enum class Verdict {
        next,      // new samples
        repeated,  // of a time that has been seen: not to be counted
    };
    using Tell = std::function<void(const std::string& sentence, HostTime when)>;
    explicit StreamAccount(Tell tell) : tell_(std::move(tell)) {}

    // The next block begins a stream whose index starts at 0. Totals go on.
    void expect_new_stream() { begun_ = false; }
    Verdict add(const BlockView& block, HostTime arrival);

    [[nodiscard]] bool begun() const { return begun_; }
    [[nodiscard]] std::uint64_t samples() const { return samples_; }
    [[nodiscard]] std::uint64_t lost_samples() const { return lost_samples_; }
    [[nodiscard]] std::uint64_t lost_blocks() const { return lost_blocks_; }

  private:
    void tell_gap(const protocol::BlockHeader& header, std::uint64_t gap, HostTime when);
    void tell_edges(const protocol::BlockHeader& header, HostTime when);

    Tell tell_;
    bool begun_ = false;
    std::uint64_t next_index_ = 0;
    std::uint64_t last_time_ = 0;
    protocol::BlockHeader last_{};
    std::uint64_t samples_ = 0;
    std::uint64_t lost_samples_ = 0;
    std::uint64_t lost_blocks_ = 0;
};

}  // namespace wattrig::rig
