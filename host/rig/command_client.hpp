#pragma once
// Single questions to a rig that is not streaming, one after the other: for doctor and update.
//
// Thread rule: the link's thread.

#include <functional>
#include <optional>
#include <span>
#include <string>
#include <vector>

#include "host/rig/frame_decoder.hpp"
#include "host/rig/link.hpp"

namespace wattrig::rig {

class CommandClient final : public LinkHandler {
  public:
    // `now` reads the host's clock; `pause` lets a millisecond pass, for links that cannot wait by themselves.
    CommandClient(Link& link, std::function<HostTime()> now, std::function<void()> pause);

    // The reply's payload behind its CommandHeader. device_refused with the status' words when the rig says no.
    Result<std::vector<std::uint8_t>> ask(protocol::CommandId id, std::span<const std::uint8_t> arguments, Nanoseconds timeout);
    // Checked for its size and the protocol's version.
    Result<protocol::Info> info();

    void on_stream(std::span<const std::uint8_t> bytes, HostTime arrival) override;
    void on_reply(std::span<const std::uint8_t> bytes, HostTime arrival) override;
    void on_broken(const Error& error, HostTime when) override;
    void on_interrupted(const Error& error, HostTime when) override { on_broken(error, when); }

  private:
    Link& link_;
    std::function<HostTime()> now_;
    std::function<void()> pause_;
    FrameDecoder replies_;
    std::uint16_t tag_ = 0x4000;
    std::uint32_t sequence_ = 0;
    std::vector<std::vector<std::uint8_t>> arrived_;
    std::optional<Error> broken_;
};

}  // namespace wattrig::rig
