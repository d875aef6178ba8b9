#include "host/rig/command_client.hpp"

#include <algorithm>

#include "firmware/protocol/frame.hpp"

namespace wattrig::rig {

using protocol::CommandHeader;

CommandClient::CommandClient(Link& link, std::function<HostTime()> now, std::function<void()> pause)
    : link_(link), now_(std::move(now)), pause_(std::move(pause)) {
    link_.attach(*this);
}

void CommandClient::on_stream(std::span<const std::uint8_t>, HostTime) {}
void CommandClient::on_reply(std::span<const std::uint8_t> bytes, HostTime) {
    replies_.feed(bytes, [this](const Frame& frame) { arrived_.emplace_back(frame.payload.begin(), frame.payload.end()); });
}
void CommandClient::on_broken(const Error& error, HostTime) { broken_ = error; }

Result<std::vector<std::uint8_t>> CommandClient::ask(protocol::CommandId id, std::span<const std::uint8_t> arguments,
                                                     Nanoseconds timeout) {
    const std::size_t payload = protocol::padded(sizeof(CommandHeader) + arguments.size());
    std::vector<std::uint8_t> frame(protocol::frame_bytes(payload));
    std::uint8_t* at = frame.data() + sizeof(protocol::FrameHeader);
    protocol::store(at, CommandHeader{static_cast<std::uint16_t>(id), ++tag_, 0, 0});
    std::copy(arguments.begin(), arguments.end(), at + sizeof(CommandHeader));
    protocol::seal_frame(frame.data(), protocol::FrameType::command, payload, sequence_++);
    arrived_.clear();
    if (auto sent = link_.send(frame); !sent) return sent.error();
    const HostTime deadline = now_() + timeout;
    for (;;) {
        link_.poll(now_());
        for (const auto& reply : arrived_) {
            if (reply.size() < sizeof(CommandHeader)) continue;
            const auto header = protocol::load<CommandHeader>(reply.data());
            if (header.tag != tag_ || header.id != static_cast<std::uint16_t>(id)) continue;
            const auto status = static_cast<protocol::Status>(header.status);
            if (status != protocol::Status::ok) return device_refused(std::string(protocol::status_text(status)));
            return std::vector<std::uint8_t>(reply.begin() + sizeof(CommandHeader), reply.end());
        }
        arrived_.clear();
        if (broken_) return *broken_;
        if (now_() >= deadline)
            return link_broke(replies_.counters().newer_version > 0
                                  ? "the rig speaks a newer protocol than this program: update wattrig"
                                  : "the rig does not answer: plug it in again; if that does not help, its firmware is wrong");
        if (!link_.wait_until(deadline)) pause_();
    }
}

Result<protocol::Info> CommandClient::info() {
    auto reply = ask(protocol::CommandId::get_info, {}, Nanoseconds(1'000'000'000));
    if (!reply) return reply.error();
    if (reply->size() < sizeof(protocol::Info))
        return device_refused("the rig's answer is too short: wrong firmware, or another device with the same USB number");
    const auto info = protocol::load<protocol::Info>(reply->data());
    if (info.protocol_version != protocol::protocol_version)
        return device_refused("the rig speaks protocol version " + std::to_string(info.protocol_version) +
                              ", this program speaks " + std::to_string(protocol::protocol_version) +
                              ": update the older of the two");
    return info;
}

}  // namespace wattrig::rig
