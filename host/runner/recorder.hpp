#pragma once
// From the capture to power.wrt: directly in virtual time, through a bounded ring to a thread of its own in real time, so that
// a slow disk never holds up the link.

#include <array>
#include <atomic>
#include <cstdint>
#include <memory>
#include <optional>
#include <span>
#include <string>
#include <thread>
#include <variant>

#include "host/base/spsc_ring.hpp"
#include "host/recording/recording.hpp"
#include "host/runner/wait.hpp"

namespace wattrig::runner {

struct FrameRecord {
    HostTime arrival;
    std::uint32_t size = 0;
    std::array<std::uint8_t, protocol::maximum_frame_bytes> bytes;
};
struct KnotRecord {
    rig::ClockKnot knot;
    std::uint32_t boot_id = 0;
};
struct TextRecord {
    bool trouble = false;  // else a marker
    HostTime when;
    std::uint32_t size = 0;
    std::array<char, 500> text;  // longer ones are cut
};
// One thing to be recorded, of fixed size: the ring copies it without a heap. The first must be a RecordingStart.
using Record = std::variant<recording::RecordingStart, FrameRecord, rig::Exchange, KnotRecord, TextRecord>;

Record frame_record(std::span<const std::uint8_t> bytes, HostTime arrival);
Record text_record(bool trouble, HostTime when, const std::string& text);

class Recorder {
  public:
    virtual ~Recorder() = default;
    virtual void put(const Record& record) = 0;  // never waits; the capture's thread
    // Everything put is on its way to the disk and the file is ended. Once, after the last put.
    virtual Result<void> finish() = 0;
    // Why nothing is written any more (a disk that stays full, a file that was deleted). Any thread.
    [[nodiscard]] virtual std::optional<Error> failure() const = 0;
    [[nodiscard]] virtual std::uint64_t dropped() const = 0;  // records that found the ring full
};

// Writes at once, on the caller's thread.
std::unique_ptr<Recorder> make_direct_recorder(const std::string& path);
// Writes on a thread of its own and flushes to the kernel at least each second. The ring holds about 9 s of blocks.
std::unique_ptr<Recorder> make_threaded_recorder(const std::string& path);

}  // namespace wattrig::runner
