#include <algorithm>
#include <bit>
#include <cmath>
#include <cstring>

#include "firmware/protocol/frame.hpp"
#include "host/recording/mapped_file.hpp"
#include "host/recording/recording.hpp"

namespace wattrig::recording {
namespace {

// Pieces of the mapping that are looked at before their pages are given back.
constexpr std::size_t piece_bytes = std::size_t{8} << 20;

HostTime host_time(std::int64_t ns) { return HostTime(Nanoseconds(ns)); }
DeviceTime device_time(std::uint64_t ticks) { return DeviceTime(Ticks(static_cast<std::int64_t>(ticks))); }

// Times beyond are no clock's; below, differences and nanoseconds of ticks never overflow.
constexpr std::int64_t host_limit = std::int64_t{1} << 62;
constexpr std::uint64_t device_limit = std::uint64_t{1} << 59;
bool plausible(std::int64_t host_ns) { return host_ns > -host_limit && host_ns < host_limit; }

class Reader {
  public:
    Reader(const std::string& name, RecordingVisitor& visitor) : name_(name), visitor_(visitor) {}

    void frame(const rig::Frame& frame) {
        tell_damage(frame.offset);
        switch (static_cast<protocol::FrameType>(frame.header.type)) {
            case protocol::FrameType::block:
            case protocol::FrameType::summary: block(frame); return;
            case protocol::FrameType::event:
            case protocol::FrameType::command:
            case protocol::FrameType::reply: return;
            default: break;
        }
        switch (static_cast<HostRecord>(frame.header.type)) {
            case HostRecord::start: start(frame); return;
            case HostRecord::exchange: exchange(frame); return;
            case HostRecord::knot: knot(frame); return;
            case HostRecord::marker:
            case HostRecord::trouble: text(frame); return;
            case HostRecord::arrival: return;
            case HostRecord::end: end(frame); return;
        }
    }
    void tell_damage(std::uint64_t offset) {
        const std::uint64_t skipped = counters_ == nullptr ? 0 : counters_->skipped_bytes;
        if (skipped == skipped_told_) return;
        problem(offset, std::to_string(skipped - skipped_told_) + " damaged bytes before here were skipped");
        skipped_told_ = skipped;
    }

    ReadReport report;
    bool started = false;
    const rig::DecoderCounters* counters_ = nullptr;

  private:
    void problem(std::uint64_t offset, const std::string& what) {
        if (report.first_problem.empty()) report.first_problem = name_ + ", byte " + std::to_string(offset) + ": " + what;
    }
    void bad(const rig::Frame& frame, const std::string& what) {
        ++report.bad_records;
        problem(frame.offset, what);
    }
    template <class T>
    bool load(const rig::Frame& frame, T& record) {
        if (frame.payload.size() < sizeof(T)) {
            bad(frame, "record of type " + std::to_string(frame.header.type) + " has " + std::to_string(frame.payload.size()) +
                           " bytes, expected at least " + std::to_string(sizeof(T)));
            return false;
        }
        record = protocol::load<T>(frame.payload.data());
        return true;
    }

    void block(const rig::Frame& frame) {
        const Result<rig::BlockView> view = rig::parse_block(frame.payload);
        if (!view) {
            bad(frame, view.error().message);
            return;
        }
        visitor_.on_block_at(*view, frame.offset);
    }
    void start(const rig::Frame& frame) {
        rig::StartRecord record;
        if (!load(frame, record)) return;
        if (record.version == 0 || !plausible(record.monotonic_ns)) {
            bad(frame, "start record with version " + std::to_string(record.version) + " or an impossible time");
            return;
        }
        started = true;
        visitor_.on_start(RecordingStart{host_time(record.monotonic_ns), record.realtime_ns, record.info,
                                         (record.flags & rig::recording_simulated) != 0});
    }
    void exchange(const rig::Frame& frame) {
        rig::ExchangeRecord record;
        if (!load(frame, record)) return;
        if (!plausible(record.h1_ns) || !plausible(record.h4_ns) || record.h4_ns < record.h1_ns || record.d3 < record.d2 ||
            record.d3 >= device_limit) {
            bad(frame, "clock exchange " + std::to_string(record.number) + " whose stamps are out of order");
            return;
        }
        visitor_.on_exchange({host_time(record.h1_ns), host_time(record.h4_ns), device_time(record.d2), device_time(record.d3),
                              record.boot_id, record.number});
    }
    void knot(const rig::Frame& frame) {
        rig::KnotRecord record;
        if (!load(frame, record)) return;
        const auto rate = std::bit_cast<double>(record.rate_ppm_bits);
        const bool later =
            !has_knot_ || record.boot_id != knot_.boot_id || (record.device > knot_.device && record.host_ns > knot_.host_ns);
        // Written this way round, the comparison refuses what is not a number.
        if (!later || record.device >= device_limit || !plausible(record.host_ns) || record.half_width_ns < 0 ||
            !(std::abs(rate) <= 10'000)) {
            bad(frame, "knot of the clock map that is out of order or out of range");
            return;
        }
        has_knot_ = true;
        knot_ = record;
        visitor_.on_knot({device_time(record.device), host_time(record.host_ns), Nanoseconds(record.half_width_ns), rate},
                         record.boot_id);
    }
    void text(const rig::Frame& frame) {
        rig::TextRecord record;
        if (!load(frame, record)) return;
        if (record.text_bytes > frame.payload.size() - sizeof record) {
            bad(frame, "text of " + std::to_string(record.text_bytes) + " bytes in a record of " +
                           std::to_string(frame.payload.size()));
            return;
        }
        const Marker marker{
            host_time(record.when_ns),
            std::string(reinterpret_cast<const char*>(frame.payload.data() + sizeof record), record.text_bytes)};
        if (frame.header.type == static_cast<std::uint8_t>(HostRecord::marker)) {
            visitor_.on_marker(marker);
        } else {
            visitor_.on_trouble(marker);
        }
    }
    void end(const rig::Frame& frame) {
        rig::EndRecord record;
        if (load(frame, record)) report.clean_end = true;
    }

    const std::string& name_;
    RecordingVisitor& visitor_;
    bool has_knot_ = false;
    rig::KnotRecord knot_{};
    std::uint64_t skipped_told_ = 0;
};

template <class AfterPiece>
Result<ReadReport> read(std::span<const std::uint8_t> bytes, const std::string& name, RecordingVisitor& visitor,
                        AfterPiece&& after_piece) {
    Reader reader(name, visitor);
    rig::FrameDecoder decoder;
    reader.counters_ = &decoder.counters();
    const auto on_frame = [&](const rig::Frame& frame) { reader.frame(frame); };
    for (std::size_t at = 0; at < bytes.size();) {
        const std::size_t size = std::min(piece_bytes, bytes.size() - at);
        decoder.feed(bytes.subspan(at, size), on_frame);
        at += size;
        after_piece(at);
    }
    decoder.finish(on_frame);
    reader.tell_damage(bytes.size());
    reader.report.counters = decoder.counters();
    reader.report.bytes = bytes.size();
    if (decoder.counters().frames == 0) {
        if (decoder.counters().newer_version > 0) {
            return bad_input(name + " was written by a newer version of this program");
        }
        return bad_input(name + " is no recording: no frame was found in its " + std::to_string(bytes.size()) +
                         " bytes (expected power.wrt of a run directory)");
    }
    return reader.report;
}

}  // namespace

Result<ReadReport> read_recording(std::span<const std::uint8_t> bytes, const std::string& name, RecordingVisitor& visitor) {
    return read(bytes, name, visitor, [](std::size_t) {});
}

Result<ReadReport> read_recording(const std::string& path, RecordingVisitor& visitor) {
    Result<MappedFile> file = MappedFile::open(path);
    if (!file) return file.error();
    return read(file->bytes(), path, visitor, [&](std::size_t at) { file->release_before(at); });
}

}  // namespace wattrig::recording
