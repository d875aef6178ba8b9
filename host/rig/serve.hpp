#pragma once
// Shares a local rig with one client at a time over TCP. The frames are those of the link; where a token is asked for, the
// client's first line is "wattrig-token TOKEN\n". Commands that could leave the rig without firmware are refused unless
// allowed.
//
// Thread rule: run() on the link's thread; stop() from any.

#include <atomic>
#include <functional>
#include <memory>
#include <string>

#include "host/base/result.hpp"
#include "host/rig/link.hpp"

namespace wattrig::rig {

struct ServeOptions {
    std::string address = "127.0.0.1";
    std::uint16_t port = 4711;  // 0: any free one
    std::string token;          // empty: none asked for; only allowed on a loopback address
    bool allow_update = false;
};

class RigServer {
  public:
    // bad_input for an address that is no loopback without a token.
    static Result<std::unique_ptr<RigServer>> open(Link& link, const ServeOptions& options,
                                                   std::function<void(const std::string&)> notice);
    ~RigServer();
    [[nodiscard]] std::uint16_t port() const;
    // Until stop(), or until the link is broken for good.
    Result<void> run(const std::atomic<bool>& stop);

  private:
    struct State;
    explicit RigServer(std::unique_ptr<State> state);
    std::unique_ptr<State> s_;
};

}  // namespace wattrig::rig
