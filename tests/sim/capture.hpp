#pragma once
// What the tests of the simulator hang behind its link: a session as the program has it, and everything it hands on, kept.

#include <string>
#include <vector>

#include "host/io/engine.hpp"
#include "host/power/energy.hpp"
#include "host/rig/session.hpp"
#include "host/sim/simulation.hpp"

namespace wattrig::sim {

// One block, copied out of its frame.
struct KeptBlock {
    protocol::BlockHeader header;
    protocol::RailPart rail;
    protocol::SlowSums slow;
    protocol::PeakSummary peak;
    std::vector<std::int32_t> v, i;
    HostTime arrival;
};

class Capture final : public rig::SessionSink, public io::VirtualActor {
  public:
    explicit Capture(rig::Link& link, std::uint64_t seed = 1, protocol::Detail detail = protocol::Detail::full);
    // Plays `loop` until the stream runs and the clock map has its first knot; at most 10 s of virtual time.
    bool start(io::VirtualLoop& loop);

    bool keep_codes = true;
    bool keep_blocks = true;
    std::vector<KeptBlock> blocks;
    std::vector<std::uint8_t> frames;  // payloads of good blocks, each with its length before it
    std::vector<rig::Exchange> exchanges;
    std::vector<std::string> troubles;
    [[nodiscard]] rig::Session& session() { return session_; }
    // Energy of intervals by the program's own estimator, from what was kept.
    std::vector<power::IntervalPower> energies(const power::Calibration& calibration,
                                               std::vector<io::Interval> intervals) const;

    void on_frame(const rig::Frame& frame, HostTime arrival) override;
    void on_block(const rig::BlockView& block, HostTime arrival) override;
    void on_exchange(const rig::Exchange& exchange) override { exchanges.push_back(exchange); }
    void on_knot(const rig::ClockKnot&, std::uint32_t) override {}
    void on_trouble(const std::string& sentence, HostTime) override { troubles.push_back(sentence); }

    [[nodiscard]] HostTime next_event() const override { return std::min(link_.next_event(), session_.next_event()); }
    void run(HostTime now) override {
        link_.poll(now);
        session_.poll(now);
    }

  private:
    rig::Link& link_;
    rig::Session session_;
    HostTime now_{};
};

}  // namespace wattrig::sim
