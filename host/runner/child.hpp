#pragma once
// A command of the user's, run while power is recorded, and the marks that it sends.

#include <functional>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "host/base/clock.hpp"
#include "host/base/result.hpp"
#include "host/io/engine.hpp"

namespace wattrig::runner {

struct Mark {
    HostTime when;
    std::string text;  // without control characters, at most 300 bytes
};
struct CommandOutcome {
    HostTime begin, end;  // right before it was started, right after it was seen to end
    int status = 0;       // as a shell has it: its exit code, or 128 + the signal that ended it
    std::vector<Mark> marks;
};
inline constexpr int command_not_executable = 126, command_not_found = 127;

// Starts `command` with WATTRIG_MARK_SOCKET in its environment and waits for its end. `each` is called at least each 200 ms,
// `marked` with each mark as it comes. When `stop` is set the command is asked to end (SIGTERM) unless it does so by itself
// within 2 s. device_refused when the command cannot be started (os_error: why); system when the socket cannot be made. Main
// thread.
Result<CommandOutcome> run_child(const std::vector<std::string>& command, const io::StopFlag* stop,
                                 const std::function<void()>& each, const std::function<void(const Mark&)>& marked);

// A mark as it goes over the wire (host/runner/wattrig_mark.h); nothing when the bytes are none, or claim a time after `now` or
// a minute before.
std::optional<Mark> parse_mark(std::string_view message, HostTime now);

}  // namespace wattrig::runner
