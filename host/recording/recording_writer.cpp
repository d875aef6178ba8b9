#include <array>
#include <bit>
#include <cstring>
#include <utility>

#include "firmware/protocol/frame.hpp"
#include "host/recording/appender.hpp"
#include "host/recording/paths.hpp"
#include "host/recording/recording.hpp"
#include "host/recording/summary.hpp"

namespace wattrig::recording {
namespace {

constexpr Nanoseconds arrival_spacing{100'000'000};
constexpr std::size_t summary_piece_bytes = std::size_t{64} << 10;

// Longest start of `text` of at most `limit` bytes that does not cut a UTF-8 character.
std::size_t whole_characters(const std::string& text, std::size_t limit) {
    if (text.size() <= limit) return text.size();
    std::size_t end = limit;
    while (end > 0 && (static_cast<unsigned char>(text[end]) & 0xc0) == 0x80) --end;
    return end;
}

class Writer final : public RecordingWriter {
  public:
    Writer(std::unique_ptr<Appender> power, std::unique_ptr<Appender> summary)
        : power_(std::move(power)), summary_(std::move(summary)) {}

    Result<void> begin(const RecordingStart& start) {
        put(HostRecord::start, rig::StartRecord{rig::recording_version, start.simulated ? rig::recording_simulated : 0,
                                                start.monotonic.time_since_epoch().count(), start.realtime_ns, start.info});
        // A start that does not reach the disk is told now and not at the end of the run.
        return power_->sync();
    }
    void append_frame(std::span<const std::uint8_t> frame_bytes, HostTime arrival) override {
        if (!arrival_written_ || arrival - last_arrival_ >= arrival_spacing) {
            put(HostRecord::arrival, rig::ArrivalRecord{arrival.time_since_epoch().count()});
            arrival_written_ = true;
            last_arrival_ = arrival;
        }
        const std::uint64_t offset = power_->bytes();
        if (!power_->append(frame_bytes)) {
            ++dropped_;
            return;
        }
        ++device_frames_;
        summarize(frame_bytes, offset);
    }
    void append_exchange(const rig::Exchange& exchange) override {
        put(HostRecord::exchange,
            rig::ExchangeRecord{exchange.h1.time_since_epoch().count(), exchange.h4.time_since_epoch().count(),
                                static_cast<std::uint64_t>(exchange.d2.time_since_epoch().count()),
                                static_cast<std::uint64_t>(exchange.d3.time_since_epoch().count()), exchange.boot_id,
                                exchange.number});
    }
    void append_knot(const rig::ClockKnot& knot, std::uint32_t boot_id) override {
        put(HostRecord::knot, rig::KnotRecord{static_cast<std::uint64_t>(knot.device.time_since_epoch().count()),
                                              knot.host.time_since_epoch().count(), knot.half_width.count(),
                                              std::bit_cast<std::uint64_t>(knot.rate_ppm), boot_id, 0});
    }
    void append_marker(HostTime when, const std::string& text) override { put_text(HostRecord::marker, when, text); }
    void append_trouble(HostTime when, const std::string& text) override { put_text(HostRecord::trouble, when, text); }

    Result<void> flush() override {
        write_summary();
        // An error of the summary is none: it is made again from the recording when somebody wants it.
        if (summary_ && !summary_->flush()) summary_.reset();
        return power_->flush();
    }
    Result<void> finish() override {
        if (!finished_) {
            finished_ = true;
            put(HostRecord::end, rig::EndRecord{device_frames_, host_records_});
            builder_.finish(power_->bytes());
            write_summary();
        }
        if (summary_ && !summary_->sync()) summary_.reset();
        return power_->sync();
    }
    [[nodiscard]] std::uint64_t bytes() const override { return power_->bytes(); }
    [[nodiscard]] std::uint64_t dropped() const override { return dropped_; }

  private:
    template <class T>
    void put(HostRecord type, const T& record) {
        std::array<std::uint8_t, protocol::frame_bytes(sizeof(T))> frame;
        protocol::store(frame.data() + sizeof(protocol::FrameHeader), record);
        put_frame(type, frame, sizeof(T));
    }
    void put_text(HostRecord type, HostTime when, const std::string& text) {
        const std::size_t size = whole_characters(text, rig::maximum_text_bytes);
        const std::size_t payload = protocol::padded(sizeof(rig::TextRecord) + size);
        std::array<std::uint8_t, protocol::maximum_frame_bytes> frame{};
        std::uint8_t* at = frame.data() + sizeof(protocol::FrameHeader);
        protocol::store(at, rig::TextRecord{when.time_since_epoch().count(), static_cast<std::uint32_t>(size), 0});
        std::memcpy(at + sizeof(rig::TextRecord), text.data(), size);
        put_frame(type, std::span(frame).first(protocol::frame_bytes(payload)), payload);
    }
    void put_frame(HostRecord type, std::span<std::uint8_t> frame, std::size_t payload) {
        protocol::seal_frame(frame.data(), static_cast<protocol::FrameType>(type), payload,
                             static_cast<std::uint32_t>(host_records_));
        if (power_->append(frame)) {
            ++host_records_;
        } else {
            ++dropped_;
        }
    }
    void summarize(std::span<const std::uint8_t> frame, std::uint64_t offset) {
        const auto header = protocol::load<protocol::FrameHeader>(frame.data());
        const auto type = static_cast<protocol::FrameType>(header.type);
        if (type != protocol::FrameType::block && type != protocol::FrameType::summary) return;
        const Result<rig::BlockView> block = rig::parse_block(frame.subspan(sizeof header, header.payload_bytes));
        if (block) builder_.add(*block, offset);
        if (builder_.frames().size() >= summary_piece_bytes) write_summary();
    }
    void write_summary() {
        if (summary_) summary_->append(builder_.frames());
        builder_.frames().clear();
    }

    std::unique_ptr<Appender> power_;
    std::unique_ptr<Appender> summary_;  // none when it could not be made: it will be rebuilt when wanted
    SummaryBuilder builder_;
    HostTime last_arrival_{};
    bool arrival_written_ = false;
    bool finished_ = false;
    std::uint64_t device_frames_ = 0;
    std::uint64_t host_records_ = 0;
    std::uint64_t dropped_ = 0;
};

}  // namespace

Result<std::unique_ptr<RecordingWriter>> RecordingWriter::create(const std::string& path, const RecordingStart& start) {
    Result<std::unique_ptr<Appender>> power = Appender::create(path);
    if (!power) return power.error();
    Result<std::unique_ptr<Appender>> summary = Appender::create(summary_path(path));
    auto writer = std::make_unique<Writer>(std::move(*power), summary ? std::move(*summary) : nullptr);
    if (const Result<void> begun = writer->begin(start); !begun) return begun.error();
    return std::unique_ptr<RecordingWriter>(std::move(writer));
}

}  // namespace wattrig::recording
