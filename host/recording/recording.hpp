#pragma once
// power.wrt: the frames as received, and between them the host's own records (exchanges, knots, markers, trouble) in the same
// framing with types >= 0x80. Append-only; a CRC on each: readable after kill -9, unplug or a full disk. Format:
// host/recording/FORMAT.md.

#include <cstdint>
#include <functional>
#include <memory>
#include <optional>
#include <span>
#include <string>
#include <vector>

#include "host/base/clock.hpp"
#include "host/base/result.hpp"
#include "host/rig/block.hpp"
#include "host/rig/clock_map.hpp"
#include "host/rig/frame_decoder.hpp"
#include "host/rig/host_record.hpp"

namespace wattrig::recording {

using HostRecord = rig::HostRecord;

struct RecordingStart {
    HostTime monotonic;            // pair of readings taken together
    std::int64_t realtime_ns = 0;  // since 1970-01-01 UTC; 0 in virtual time
    protocol::Info info{};
    bool simulated = false;
};

// Buffered writer of power.wrt, and of power.sum beside it. What a full disk does not take waits in memory (8 MiB, 25 s of one
// rail) and is tried again at each flush. All errors are kept: after the first, appends are dropped and counted, and nothing
// written is damaged: the file is cut back to its last whole frame. A text longer than a frame can hold is cut at a whole
// character.
// Thread rule: one thread (the writer), or the event loop's in virtual time.
class RecordingWriter {
  public:
    // A new file; system error when it exists already: nothing is ever overwritten.
    static Result<std::unique_ptr<RecordingWriter>> create(const std::string& path, const RecordingStart& start);
    virtual ~RecordingWriter() = default;
    virtual void append_frame(std::span<const std::uint8_t> frame_bytes, HostTime arrival) = 0;
    virtual void append_exchange(const rig::Exchange& exchange) = 0;
    virtual void append_knot(const rig::ClockKnot& knot, std::uint32_t boot_id) = 0;
    virtual void append_marker(HostTime when, const std::string& text) = 0;
    virtual void append_trouble(HostTime when, const std::string& text) = 0;
    virtual Result<void> flush() = 0;                         // to the kernel; called at least each second by its owner
    virtual Result<void> finish() = 0;                        // end record, flush, power.sum completed
    [[nodiscard]] virtual std::uint64_t bytes() const = 0;    // appended and not dropped
    [[nodiscard]] virtual std::uint64_t dropped() const = 0;  // frames and records after the first error
};

struct Marker {
    HostTime when;
    std::string text;
};

// What a pass over a recording hands out, in file order.
class RecordingVisitor {
  public:
    virtual ~RecordingVisitor() = default;
    virtual void on_start(const RecordingStart&) {}
    // `file_offset` of its frame. The first form is called by the second unless that is overridden.
    virtual void on_block(const rig::BlockView&) {}
    virtual void on_block_at(const rig::BlockView& block, std::uint64_t /*file_offset*/) { on_block(block); }
    virtual void on_exchange(const rig::Exchange&) {}
    virtual void on_knot(const rig::ClockKnot&, std::uint32_t /*boot_id*/) {}
    virtual void on_marker(const Marker&) {}
    virtual void on_trouble(const Marker&) {}
};

struct ReadReport {
    rig::DecoderCounters counters;
    bool clean_end = false;
    std::uint64_t bad_records = 0;  // good CRC, contents that contradict themselves
    std::uint64_t bytes = 0;        // of the file
    std::string first_problem;      // file, offset, what was expected; empty when none
};

// One pass in constant memory. An error only when the file cannot be opened or is no recording at all.
Result<ReadReport> read_recording(const std::string& path, RecordingVisitor& visitor);
// The same over bytes in memory; `name` stands in messages.
Result<ReadReport> read_recording(std::span<const std::uint8_t> bytes, const std::string& name, RecordingVisitor& visitor);

}  // namespace wattrig::recording
