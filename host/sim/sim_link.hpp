#pragma once
// The wire between the simulated board and the host: full-speed USB as a driver sees it. Frames leave at no more than the bus
// can carry and arrive late by latencies that vary, with outliers and a hidden constant part each way. In virtual time the loop
// visits its events; beside real I/O the same code is polled.
// Thread rule: one thread (see rig::Link).

#include <cstdint>
#include <deque>
#include <functional>
#include <string>
#include <vector>

#include "host/rig/link.hpp"
#include "host/sim/meter_feed.hpp"
#include "host/sim/noise.hpp"

namespace wattrig::sim {

// For tests. Numbers count the frames of bulk IN 1 from 0.
struct SimLinkFaults {
    std::vector<std::uint64_t> drop;
    std::vector<std::uint64_t> corrupt;  // one byte in the middle
    std::vector<std::uint64_t> duplicate;
};

class SimLink final : public rig::Link {
  public:
    // What the link asks of the rest of the simulation.
    struct Hooks {
        std::function<void(HostTime)> produce;           // brings drive and codes up to a time
        std::function<void(HostTime)> produce_when_due;  // the same, but may put it off: nobody looks at the codes
        std::function<void(HostTime)> stream_begun;      // may be empty
    };
    SimLink(std::uint64_t seed, MeterFeed& feed, Hooks hooks, SimLinkFaults faults = {});

    void attach(rig::LinkHandler& handler) override { handler_ = &handler; }
    Result<HostTime> send(std::span<const std::uint8_t> frame) override;
    void poll(HostTime now) override;
    [[nodiscard]] HostTime next_event() const override { return next_; }
    [[nodiscard]] std::string description() const override;
    [[nodiscard]] bool simulated() const override { return true; }

    // Codes are made at these times even when nothing else happens; HostTime::max() for never.
    void set_next_production(HostTime t) {
        next_production_ = t;
        find_next();
    }
    // Beside real I/O: codes are made behind the clock, so nothing arrives before it was made; and a host that comes late finds
    // no more than its posted transfers and the rig's ring could hold.
    void set_live() { live_ = true; }
    [[nodiscard]] std::uint64_t frames() const { return frames_; }

  private:
    struct Packet {
        HostTime arrival;
        std::vector<std::uint8_t> bytes;
    };
    bool on_frame(std::span<const std::uint8_t> frame, HostTime finished);
    void notice_absence(Nanoseconds absence);
    void queue_stream(std::vector<std::uint8_t> bytes, HostTime finished);
    void run_device(HostTime until);
    void frame_start(HostTime now);
    [[nodiscard]] HostTime reply_ready();
    [[nodiscard]] Nanoseconds latency(Nanoseconds hidden, double outliers);
    void deliver(HostTime now);
    void find_next();

    std::uint64_t seed_;
    MeterFeed& feed_;
    Hooks hooks_;
    SimLinkFaults faults_;
    Random random_;
    rig::LinkHandler* handler_ = nullptr;
    bool live_ = false;
    Nanoseconds deaf_for_{0};  // so long from the next block on the host takes nothing
    HostTime deaf_until_{};
    HostTime now_{};
    HostTime next_production_{};
    HostTime next_{};  // earliest of all events: the loop asks far more often than anything changes
    Nanoseconds hidden_out_, hidden_in_;
    double frame_rate_error_;  // of the host controller's 1 ms against the host's clock
    std::int64_t frame_phase_ns_;
    std::uint64_t frames_ = 0;
    HostTime bus_free_{}, last_stream_{}, last_command_{}, last_reply_{};
    HostTime device_now_{};  // of the board's latest command or reply
    HostTime reply_ready_ = HostTime::max();
    std::deque<Packet> commands_, replies_, stream_;
};

}  // namespace wattrig::sim
