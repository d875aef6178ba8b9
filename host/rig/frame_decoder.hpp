#pragma once
// Finds frames in a stream of bytes: one pipe, or a recording. Wrong bytes are skipped and counted; it is in step again with
// the first whole frame after them.

#include <cstdint>
#include <functional>
#include <span>
#include <vector>

#include "firmware/protocol/protocol.hpp"

namespace wattrig::rig {

struct DecoderCounters {
    std::uint64_t frames = 0;
    std::uint64_t bytes = 0;
    std::uint64_t skipped_bytes = 0;  // not part of any good frame
    std::uint64_t header_errors = 0;  // magic seen, header_check or length wrong
    std::uint64_t crc_errors = 0;
    std::uint64_t resyncs = 0;        // runs of skipped bytes
    std::uint64_t newer_version = 0;  // good frames of a protocol version this program does not know: skipped, said
};

struct Frame {
    protocol::FrameHeader header;
    std::span<const std::uint8_t> payload;
    std::span<const std::uint8_t> bytes;  // the whole frame as received
};

// The result does not depend on how the bytes are cut into chunks. Frames that lie whole in the chunk are not copied.
// Thread rule: one thread.
class FrameDecoder {
  public:
    // `frame` views die when the callback returns.
    template <class F>
    void feed(std::span<const std::uint8_t> chunk, F&& on_frame);
    void finish();  // end of stream: a partial frame counts as skipped
    [[nodiscard]] const DecoderCounters& counters() const { return counters_; }
    // Bytes held back for the next chunk: a partial frame at the end.
    [[nodiscard]] std::size_t pending() const { return pending_.size(); }

  private:
    std::vector<std::uint8_t> pending_;
    DecoderCounters counters_;
    bool in_step_ = true;
};

}  // namespace wattrig::rig
