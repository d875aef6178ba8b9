#pragma once
// The live page: HTTP for the page itself, a WebSocket for each viewer. Bounded for any number of viewers: a viewer has one
// message on its way; while it does not take it nothing more is made for it, and it finds later what is still in the history.
//
// Thread rule: run() on one thread, which does all; the flag from any.

#include <atomic>
#include <cstdint>
#include <functional>
#include <memory>
#include <nlohmann/json_fwd.hpp>
#include <string>

#include "host/base/result.hpp"
#include "host/live/capture.hpp"
#include "host/live/device_counters.hpp"
#include "host/live/replay.hpp"

namespace wattrig::live {

struct ServerOptions {
    std::string address = "127.0.0.1";
    std::uint16_t port = 4712;                   // 0: any free one
    std::string token;                           // asked for when it is not empty; must be there beyond loopback
    std::size_t most_viewers = 16;               // more are told to come back later
    std::string title, mark;                     // of the page; the mark says what is simulated
    std::function<std::string()> new_directory;  // for a recording
    std::string run_json;                        // JSON of an object: what a recording says of rig and program
};

class Server {
  public:
    // Either `capture` or `replay`; both are the caller's, as is `device`, which may be null. bad_input for an address beyond
    // loopback without a token of at least 16 characters, system when the port is taken.
    static Result<std::unique_ptr<Server>> open(ServerOptions options, Capture* capture, const Replay* replay,
                                                DeviceCounters* device, std::function<void(const std::string&)> notice);
    ~Server();
    [[nodiscard]] std::uint16_t port() const;
    Result<void> run(const std::atomic<bool>& stop);

  private:
    struct State;
    explicit Server(std::shared_ptr<State> state);
    std::shared_ptr<State> s_;
};

}  // namespace wattrig::live
