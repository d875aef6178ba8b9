#pragma once
// Talks to one rig over a link: greets it, starts the stream, keeps the clock map, hands every good frame on. A state machine
// without threads or clocks: the capture thread or the virtual loop calls it.

#include <array>
#include <cstdint>
#include <functional>
#include <memory>
#include <optional>
#include <string>

#include "host/base/clock.hpp"
#include "host/base/result.hpp"
#include "host/rig/block.hpp"
#include "host/rig/clock_map.hpp"
#include "host/rig/clock_sync.hpp"
#include "host/rig/frame_decoder.hpp"
#include "host/rig/link.hpp"

namespace wattrig::rig {

// Told of everything, in order, on the capture thread.
class SessionSink {
  public:
    virtual ~SessionSink() = default;
    virtual void on_frame(const Frame& frame, HostTime arrival) = 0;  // blocks, summaries, events: every good frame
    virtual void on_block(const BlockView& block, HostTime arrival) = 0;
    virtual void on_exchange(const Exchange& exchange) = 0;
    virtual void on_knot(const ClockKnot& knot, std::uint32_t boot_id) = 0;
    virtual void on_trouble(const std::string& sentence, HostTime when) = 0;  // loss, resync, link trouble: one line each
};

struct SessionOptions {
    protocol::Detail detail = protocol::Detail::full;
    std::uint8_t rails = 1;
    std::uint64_t seed = 1;  // of the host's dither
    Nanoseconds reply_timeout{1'000'000'000};
    // Its owner sets wire_out and wire_in from Link::sync_wire_time().
    ClockParameters clock{};
};
inline constexpr std::size_t sync_command_bytes =
    protocol::frame_bytes(sizeof(protocol::CommandHeader) + sizeof(protocol::SyncRequest));
inline constexpr std::size_t sync_reply_bytes =
    protocol::frame_bytes(sizeof(protocol::CommandHeader) + sizeof(protocol::SyncReply));

struct SessionState {
    bool streaming = false;
    bool clock_ready = false;  // first knot published (half-width <= 150 us)
    bool failed = false;
    std::string failure;
    std::uint64_t samples = 0, lost_samples = 0;  // exact, from indices; lost: on the device and on the way together
    std::uint64_t blocks = 0, lost_blocks = 0;    // lost: from indices, samples that the device lost by itself taken off
    std::uint64_t stale_blocks = 0;               // of a stream from before this session, dropped
    std::uint64_t exchanges = 0, lost_exchanges = 0;
    std::uint32_t boot_id = 0;
    std::uint32_t epochs = 0;  // streams with sums from zero: more than 1 when the rig restarted in between
};

// The owner polls the link and the session; the session polls no link, but attaches itself to it. Virtual and real time alike:
// all it knows of time comes in by `now` and `arrival`.
// Thread rule: the link's thread.
class Session final : public LinkHandler {
  public:
    Session(Link& link, SessionSink& sink, SessionOptions options);
    ~Session() override;
    Session(const Session&) = delete;

    // get_info, self_test, start_stream, then exchanges: a burst at the start (100/s for 3 s, 33/s for 12 s), then 8-16 a
    // second.
    void start(HostTime now);
    void stop(HostTime now);  // stop_stream; state().streaming turns false when the rig has said yes
    // Sends what is due and notices silence.
    void poll(HostTime now);
    [[nodiscard]] HostTime next_event() const;

    [[nodiscard]] const SessionState& state() const;
    [[nodiscard]] const std::optional<protocol::Info>& info() const;
    [[nodiscard]] const std::optional<protocol::SelfTestReport>& self_test() const;
    [[nodiscard]] const ClockMap& clock() const;
    [[nodiscard]] const DecoderCounters& stream_counters() const;
    // Takes effect at a block edge on the device; for `--detail auto`.
    void set_detail(protocol::Detail detail, HostTime now);

    void on_stream(std::span<const std::uint8_t> bytes, HostTime arrival) override;
    void on_reply(std::span<const std::uint8_t> bytes, HostTime arrival) override;
    void on_broken(const Error& error, HostTime when) override;
    void on_interrupted(const Error& error, HostTime when) override;
    void on_reconnected(HostTime when) override;

  private:
    struct State;
    std::unique_ptr<State> s_;
};

}  // namespace wattrig::rig
