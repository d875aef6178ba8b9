#pragma once
// Finds frames in a stream of bytes: one pipe, or a recording. Wrong bytes are skipped and counted; it is in step again with
// the first whole frame after them.

#include <algorithm>
#include <cstddef>
#include <cstdint>
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

    friend bool operator==(const DecoderCounters&, const DecoderCounters&) = default;
};

struct Frame {
    protocol::FrameHeader header;
    std::span<const std::uint8_t> payload;
    std::span<const std::uint8_t> bytes;  // the whole frame as received
    std::uint64_t offset = 0;             // of its first byte since the decoder was made
};

// The result does not depend on how the bytes are cut into chunks. Frames that lie whole in the chunk are not copied.
// A broken length cannot make it wait: the header has a check of its own, and no frame is longer than maximum_frame_bytes.
// Thread rule: one thread.
class FrameDecoder {
  public:
    // `frame` views die when the callback returns.
    template <class F>
    void feed(std::span<const std::uint8_t> chunk, F&& on_frame);
    // End of stream: a partial frame counts as skipped. What a partial frame had swallowed is looked through once more, and
    // whole frames in it are handed out.
    template <class F>
    void finish(F&& on_frame);
    void finish() {
        finish([](const Frame&) {});
    }
    [[nodiscard]] const DecoderCounters& counters() const { return counters_; }
    // Bytes held back for the next chunk: a partial frame at the end.
    [[nodiscard]] std::size_t pending() const { return pending_.size(); }

  private:
    // Looks for a frame that starts in data[position, limit). True: `frame` is it and `position` stands behind it. False:
    // `position` is the first byte that must be held back (or at least `limit`). `last`: nothing will follow `data`.
    bool take(std::span<const std::uint8_t> data, std::size_t& position, std::size_t limit, bool last, Frame& frame);
    void skip(std::size_t bytes);

    std::vector<std::uint8_t> pending_;
    DecoderCounters counters_;
    std::uint64_t consumed_ = 0;  // bytes before data[0] of the next take
    bool in_step_ = true;
};

template <class F>
void FrameDecoder::feed(std::span<const std::uint8_t> chunk, F&& on_frame) {
    counters_.bytes += chunk.size();
    Frame frame;
    if (!pending_.empty()) {
        // Only as much is copied as the frames that begin in the held back bytes can need.
        const std::size_t held = pending_.size();
        const std::size_t copied = std::min(chunk.size(), protocol::maximum_frame_bytes);
        pending_.insert(pending_.end(), chunk.begin(), chunk.begin() + static_cast<std::ptrdiff_t>(copied));
        std::size_t position = 0;
        while (position < held && take(pending_, position, held, false, frame)) on_frame(static_cast<const Frame&>(frame));
        consumed_ += position;
        if (position < held) {  // the chunk did not complete it, so all of the chunk has been copied
            pending_.erase(pending_.begin(), pending_.begin() + static_cast<std::ptrdiff_t>(position));
            return;
        }
        pending_.clear();
        chunk = chunk.subspan(position - held);
    }
    std::size_t position = 0;
    while (take(chunk, position, chunk.size(), false, frame)) on_frame(static_cast<const Frame&>(frame));
    consumed_ += position;
    pending_.assign(chunk.begin() + static_cast<std::ptrdiff_t>(position), chunk.end());
}

template <class F>
void FrameDecoder::finish(F&& on_frame) {
    Frame frame;
    std::size_t position = 0;
    while (take(pending_, position, pending_.size(), true, frame)) on_frame(static_cast<const Frame&>(frame));
    consumed_ += position;
    pending_.clear();
}

}  // namespace wattrig::rig
