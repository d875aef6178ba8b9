#pragma once
// A rig behind one TCP connection: an emulated one, or a real one on another machine. The frames are those of USB; stream,
// replies and commands share the connection and are told apart by their type.
//
// No thread of its own. Made without an io_context it brings one and does its work in poll(), which should then be called each
// millisecond; with one it wakes that context's thread by itself.
// Thread rule: the thread that polls, or that runs the io_context.

#include <cstdint>
#include <memory>
#include <string>

#include "host/base/result.hpp"
#include "host/rig/link.hpp"

namespace boost::asio {
class io_context;
}

namespace wattrig::rig {

class TcpLink final : public Link {
  public:
    // `where`: "HOST:PORT", IPv6 in brackets. A `token` is sent first, as `wattrig serve-rig` asks for it beyond loopback.
    // Waits at most `timeout` for the connection; then link_broke.
    static Result<std::unique_ptr<TcpLink>> connect(const std::string& where, Nanoseconds timeout,
                                                    boost::asio::io_context* context = nullptr, const std::string& token = {});
    ~TcpLink() override;

    void attach(LinkHandler& handler) override;
    Result<HostTime> send(std::span<const std::uint8_t> frame) override;
    void poll(HostTime now) override;
    [[nodiscard]] HostTime next_event() const override;
    [[nodiscard]] std::string description() const override;  // "tcp 127.0.0.1:4711"
    [[nodiscard]] bool simulated() const override { return false; }

  private:
    struct State;
    explicit TcpLink(std::shared_ptr<State> state);
    std::shared_ptr<State> s_;
};

}  // namespace wattrig::rig
