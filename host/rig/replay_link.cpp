#include "host/rig/replay_link.hpp"

#include <algorithm>
#include <array>
#include <cstring>
#include <deque>
#include <fstream>
#include <map>
#include <optional>
#include <utility>
#include <vector>

#include "firmware/protocol/frame.hpp"
#include "host/rig/block.hpp"
#include "host/rig/clock_sync.hpp"
#include "host/rig/frame_decoder.hpp"
#include "host/rig/host_record.hpp"

namespace wattrig::rig {
namespace {

using protocol::CommandHeader;
using protocol::CommandId;
using protocol::FrameType;
using protocol::Status;

constexpr std::size_t chunk_bytes = std::size_t{1} << 20;
// The made-up way there and back.
constexpr Nanoseconds way_there{50'000};
constexpr Nanoseconds round_trip{100'000};
constexpr std::int64_t host_limit = std::int64_t{1} << 61;

HostTime host_time(std::int64_t ns) { return HostTime(Nanoseconds(ns)); }
DeviceTime device_time(std::uint64_t ticks) { return DeviceTime(Ticks(static_cast<std::int64_t>(ticks))); }
bool plausible(std::int64_t ns) { return ns > -host_limit && ns < host_limit; }

bool is_block(const Frame& frame) {
    return frame.header.type == static_cast<std::uint8_t>(FrameType::block) ||
           frame.header.type == static_cast<std::uint8_t>(FrameType::summary);
}

// Recorded host times of frames: each 100 ms one is in the file, between them the device's clock says how far apart they were.
class Timeline {
  public:
    void arrival(const Frame& frame) {
        if (frame.payload.size() < sizeof(ArrivalRecord)) return;
        const auto when = protocol::load<ArrivalRecord>(frame.payload.data()).when_ns;
        if (!plausible(when)) return;
        fixed_ = host_time(when);
        device_.reset();
    }
    HostTime due(const BlockView* block) {
        if (block != nullptr) {
            const DeviceTime time = device_time(block->header.first_time);
            if (device_ && boot_id_ == block->header.boot_id && time > *device_) {
                last_ = std::max(last_, fixed_ + Nanoseconds((time - *device_).count() * 8));
                return last_;
            }
            if (device_) fixed_ = last_;  // another boot without an arrival between: at once
            device_ = time;
            boot_id_ = block->header.boot_id;
        }
        last_ = begun_ ? std::max(last_, fixed_) : fixed_;
        begun_ = true;
        return last_;
    }

  private:
    HostTime fixed_{};
    HostTime last_{};
    bool begun_ = false;
    std::optional<DeviceTime> device_;
    std::uint32_t boot_id_ = 0;
};

struct Boot {
    std::vector<Exchange> exchanges;
    ClockMap map;
};

}  // namespace

struct ReplayLink::State {
    std::string path;
    LinkHandler* handler = nullptr;
    protocol::Info info{};
    bool simulated = false;
    std::map<std::uint32_t, Boot> boots;
    HostTime first_due{};
    DeviceTime first_device{};

    // Playing.
    std::ifstream file;
    FrameDecoder decoder;
    Timeline timeline;
    struct Due {
        HostTime when;
        std::uint32_t boot_id;
        std::vector<std::uint8_t> bytes;
    };
    std::deque<Due> queue;
    std::uint32_t queued_boot = 0;
    std::vector<std::uint8_t> chunk;
    bool file_ended = false;

    HostTime now{};
    bool playing = false;
    Nanoseconds shift{0};  // recorded time + shift = time of this host
    std::uint32_t boot_id = 0;

    struct Command {
        HostTime sent;
        std::vector<std::uint8_t> payload;
    };
    std::deque<Command> commands;
    std::uint32_t sequence = 0;

    // ---------------------------------------------------------------------------------------------------------------- file
    Result<void> scan() {
        bool any_block = false;
        Timeline times;
        const auto on_frame = [&](const Frame& frame) {
            if (is_block(frame)) {
                const Result<BlockView> block = parse_block(frame.payload);
                if (!block) return;
                const HostTime due = times.due(&*block);
                Boot& boot = boots[block->header.boot_id];
                if (boot.map.empty()) {  // better than nothing: as if blocks came without delay
                    boot.map = ClockMap({{block->end(), due, Nanoseconds(0), 0}}, block->header.boot_id, "arrivals");
                }
                if (any_block) return;
                any_block = true;
                first_due = due;
                first_device = device_time(block->header.first_time);
                boot_id = block->header.boot_id;
                info.rails = std::max(info.rails, block->header.rails);
                simulated = simulated || (block->header.flags & protocol::block_simulated) != 0;
                return;
            }
            switch (static_cast<HostRecord>(frame.header.type)) {
                case HostRecord::start:
                    if (frame.payload.size() >= sizeof(StartRecord)) {
                        const auto record = protocol::load<StartRecord>(frame.payload.data());
                        info = record.info;
                        simulated = (record.flags & recording_simulated) != 0;
                    }
                    return;
                case HostRecord::exchange:
                    if (frame.payload.size() >= sizeof(ExchangeRecord)) {
                        const auto record = protocol::load<ExchangeRecord>(frame.payload.data());
                        if (!plausible(record.h1_ns) || !plausible(record.h4_ns)) return;
                        boots[record.boot_id].exchanges.push_back({host_time(record.h1_ns), host_time(record.h4_ns),
                                                                   device_time(record.d2), device_time(record.d3),
                                                                   record.boot_id, record.number});
                    }
                    return;
                case HostRecord::arrival: times.arrival(frame); return;
                default: return;
            }
        };
        if (!open_file()) return bad_input("cannot open " + path + " to replay it");
        FrameDecoder scanning;
        while (read_chunk()) scanning.feed(chunk, on_frame);
        scanning.finish(on_frame);
        if (!any_block) return bad_input(path + " holds no block of a rig: nothing to replay");
        for (auto& [id, boot] : boots) {
            ClockMap map = refit_two_sided(boot.exchanges);
            if (!map.empty()) boot.map = std::move(map);
            boot.exchanges = {};
        }
        info.protocol_version = protocol::protocol_version;
        info.boot_id = boot_id;
        if (!open_file()) return bad_input("cannot open " + path + " a second time");
        return {};
    }
    bool open_file() {
        file = std::ifstream(path, std::ios::binary);
        file_ended = false;
        return file.good();
    }
    bool read_chunk() {
        chunk.resize(chunk_bytes);
        file.read(reinterpret_cast<char*>(chunk.data()), static_cast<std::streamsize>(chunk.size()));
        chunk.resize(static_cast<std::size_t>(file.gcount()));
        return !chunk.empty();
    }
    void fill_queue() {
        const auto on_frame = [&](const Frame& frame) {
            if (frame.header.type == static_cast<std::uint8_t>(HostRecord::arrival)) {
                timeline.arrival(frame);
                return;
            }
            HostTime due{};
            if (is_block(frame)) {
                const Result<BlockView> block = parse_block(frame.payload);
                if (!block) return;
                due = timeline.due(&*block);
                queued_boot = block->header.boot_id;
            } else if (frame.header.type == static_cast<std::uint8_t>(FrameType::event)) {
                due = timeline.due(nullptr);
            } else {
                return;
            }
            queue.push_back({due, queued_boot, {frame.bytes.begin(), frame.bytes.end()}});
        };
        while (queue.empty() && !file_ended) {
            if (read_chunk()) {
                decoder.feed(chunk, on_frame);
            } else {
                decoder.finish(on_frame);
                file_ended = true;
            }
        }
    }

    // ------------------------------------------------------------------------------------------------------------ commands
    [[nodiscard]] DeviceTime device_at(HostTime t) {
        const ClockMap& map = boots[boot_id].map;
        return map.empty() ? DeviceTime{} : std::max(map.to_device(t - shift), DeviceTime{});
    }
    void reply(const CommandHeader& command, Status status, std::span<const std::uint8_t> payload, HostTime arrival) {
        std::array<std::uint8_t, protocol::maximum_frame_bytes> frame{};
        std::uint8_t* at = frame.data() + sizeof(protocol::FrameHeader);
        protocol::store(at, CommandHeader{command.id, command.tag, static_cast<std::uint16_t>(status), 0});
        std::memcpy(at + sizeof(CommandHeader), payload.data(), payload.size());
        const std::size_t size =
            protocol::seal_frame(frame.data(), FrameType::reply, sizeof(CommandHeader) + payload.size(), sequence++);
        if (handler != nullptr) handler->on_reply(std::span(frame).first(size), arrival);
    }
    template <class T>
    void reply_with(const CommandHeader& command, const T& record, HostTime arrival) {
        std::array<std::uint8_t, sizeof(T)> bytes{};
        protocol::store(bytes.data(), record);
        reply(command, Status::ok, bytes, arrival);
    }
    void carry_out(const Command& command) {
        const auto header = protocol::load<CommandHeader>(command.payload.data());
        const HostTime arrival = command.sent + round_trip;
        switch (static_cast<CommandId>(header.id)) {
            case CommandId::get_info: {
                protocol::Info answer = info;
                answer.boot_id = boot_id;
                answer.streaming = playing ? 1 : 0;
                // Before the start the device has not reached its first sample.
                const DeviceTime device = playing ? device_at(command.sent + way_there) : first_device - Ticks(1'000'000);
                answer.now = static_cast<std::uint64_t>(std::max(device, DeviceTime{}).time_since_epoch().count());
                reply_with(header, answer, arrival);
                return;
            }
            case CommandId::start_stream:
                if (!playing) shift = arrival - first_due;
                playing = true;
                reply(header, Status::ok, {}, arrival);
                return;
            case CommandId::stop_stream:
                playing = false;
                reply(header, Status::ok, {}, arrival);
                return;
            case CommandId::sync: {
                if (command.payload.size() < sizeof header + sizeof(protocol::SyncRequest)) break;
                const auto request = protocol::load<protocol::SyncRequest>(command.payload.data() + sizeof header);
                const auto middle = static_cast<std::uint64_t>(device_at(command.sent + way_there).time_since_epoch().count());
                reply_with(header, protocol::SyncReply{request.exchange, 0, middle, middle, 0, 0, 0}, arrival);
                return;
            }
            default: break;
        }
        reply(header, Status::not_available, {}, arrival);
    }
};

Result<std::unique_ptr<ReplayLink>> ReplayLink::open(const std::string& path) {
    auto state = std::make_unique<State>();
    state->path = path;
    if (const Result<void> scanned = state->scan(); !scanned) return scanned.error();
    return std::unique_ptr<ReplayLink>(new ReplayLink(std::move(state)));
}

ReplayLink::ReplayLink(std::unique_ptr<State> state) : s_(std::move(state)) {}
ReplayLink::~ReplayLink() = default;

void ReplayLink::attach(LinkHandler& handler) { s_->handler = &handler; }

Result<HostTime> ReplayLink::send(std::span<const std::uint8_t> frame) {
    if (protocol::check_frame(frame) != protocol::FrameCheck::ok) return bad_input("replay: a command that is no frame");
    const auto header = protocol::load<protocol::FrameHeader>(frame.data());
    if (header.payload_bytes < sizeof(CommandHeader)) return bad_input("replay: a command without its header");
    const std::span<const std::uint8_t> payload = frame.subspan(sizeof header, header.payload_bytes);
    s_->commands.push_back({s_->now, {payload.begin(), payload.end()}});
    return s_->now;
}

void ReplayLink::poll(HostTime now) {
    State& s = *s_;
    s.now = std::max(s.now, now);
    while (!s.commands.empty() && s.commands.front().sent + round_trip <= s.now) {
        const State::Command command = std::move(s.commands.front());
        s.commands.pop_front();
        s.carry_out(command);
    }
    while (s.playing) {
        s.fill_queue();
        if (s.queue.empty() || s.queue.front().when + s.shift > s.now) return;
        const State::Due due = std::move(s.queue.front());
        s.queue.pop_front();
        s.boot_id = due.boot_id;
        if (s.handler != nullptr) s.handler->on_stream(due.bytes, due.when + s.shift);
    }
}

HostTime ReplayLink::next_event() const {
    HostTime next = HostTime::max();
    if (!s_->commands.empty()) next = s_->commands.front().sent + round_trip;
    if (s_->playing && !s_->queue.empty()) next = std::min(next, s_->queue.front().when + s_->shift);
    return next;
}

std::string ReplayLink::description() const { return "replay of " + s_->path; }
bool ReplayLink::simulated() const { return s_->simulated; }
bool ReplayLink::ended() const { return s_->file_ended && s_->queue.empty(); }

}  // namespace wattrig::rig
