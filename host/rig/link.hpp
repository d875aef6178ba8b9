#pragma once
// A way to a rig: USB, TCP, a replayed recording, or the simulator. It moves bytes and stamps them; what they mean is the
// session's business. The stamps of the sync pipe are what the clock map's guarantee stands on: `send` returns a time from
// before the bytes could leave, on_reply carries one from after they had arrived.

#include <cstddef>
#include <cstdint>
#include <span>
#include <string>

#include "host/base/clock.hpp"
#include "host/base/result.hpp"

namespace wattrig::rig {

class LinkHandler {
  public:
    virtual ~LinkHandler() = default;
    // Bytes of bulk IN 1, in any chunks. `arrival` is when the transfer completed.
    virtual void on_stream(std::span<const std::uint8_t> bytes, HostTime arrival) = 0;
    // Bytes of bulk IN 2, in any chunks.
    virtual void on_reply(std::span<const std::uint8_t> bytes, HostTime arrival) = 0;
    virtual void on_broken(const Error& error, HostTime when) = 0;
    // The rig went away, and the link looks for it: nothing arrives and commands are lost until on_reconnected or on_broken.
    virtual void on_interrupted(const Error& /*error*/, HostTime /*when*/) {}
    virtual void on_reconnected(HostTime /*when*/) {}
};

// Least time that a sync command and its reply spend on the wire: physics, so it may be taken off the clock map's bounds.
struct WireTime {
    Nanoseconds out{0}, in{0};
};

// Thread rule: all calls and all callbacks on one thread, the capture thread (in virtual time: the event loop's).
class Link {
  public:
    virtual ~Link() = default;
    virtual void attach(LinkHandler& handler) = 0;
    // One frame to bulk OUT 2. Returns h1, taken right before the submission.
    virtual Result<HostTime> send(std::span<const std::uint8_t> frame) = 0;
    // Delivers what has arrived by `now` to the handler, without waiting.
    virtual void poll(HostTime now) = 0;
    // When poll should be called next at the latest; HostTime::max() if the link wakes its thread by itself.
    [[nodiscard]] virtual HostTime next_event() const = 0;
    // Waits for bytes, `until` or wake(), whichever comes first, and delivers the bytes. False, at once, when this link cannot.
    virtual bool wait_until(HostTime /*until*/) { return false; }
    virtual void wake() {}  // any thread
    [[nodiscard]] virtual WireTime sync_wire_time() const { return {}; }
    [[nodiscard]] virtual std::string description() const = 0;  // "simulated rig, seed 7", "usb 1209:0001 serial W0042"
    [[nodiscard]] virtual bool simulated() const = 0;
};

}  // namespace wattrig::rig
