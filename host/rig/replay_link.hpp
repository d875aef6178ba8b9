#pragma once
// A recording as a link: power.wrt plays as if the rig were there again, with its frames, its boots and its clock. Commands are
// answered from what the recording knows; the session greets it and starts it like any rig.
//
// Time: the host's own, shifted so that the first frame comes when the stream is started. Stamps of exchanges are made from the
// recorded clock map (or, without one, from the frames' own times), so the replayed map agrees with the recorded one within its
// bound. No clock is read: what `poll` says is now.
// Thread rule: one thread.

#include <memory>
#include <string>

#include "host/base/result.hpp"
#include "host/rig/link.hpp"

namespace wattrig::rig {

class ReplayLink final : public Link {
  public:
    // One pass over the file for its info and clock; then frames are read as they are due, in constant memory. bad_input when
    // the file is no recording or holds no block.
    static Result<std::unique_ptr<ReplayLink>> open(const std::string& path);
    ~ReplayLink() override;

    void attach(LinkHandler& handler) override;
    Result<HostTime> send(std::span<const std::uint8_t> frame) override;
    void poll(HostTime now) override;
    [[nodiscard]] HostTime next_event() const override;
    [[nodiscard]] std::string description() const override;  // "replay of FILE"
    [[nodiscard]] bool simulated() const override;
    [[nodiscard]] bool ended() const;  // every frame has been delivered

  private:
    struct State;
    explicit ReplayLink(std::unique_ptr<State> state);
    std::unique_ptr<State> s_;
};

}  // namespace wattrig::rig
