#pragma once
// What a browser sends: the target of an HTTP request, and messages of the page. All of it is anybody's bytes. Any thread.

#include <optional>
#include <string>
#include <string_view>
#include <variant>

#include "host/base/result.hpp"

namespace wattrig::live {

struct Target {
    std::string path;   // "/", "/socket"
    std::string token;  // of ?token=...; only characters that need no escape
};
// bad_input for anything that is not a path of ours with at most one parameter, token.
Result<Target> parse_target(std::string_view target);

// Whether a page of `origin` may talk to the server it came from as `host`: only its own page may. Browsers always send an
// origin with a WebSocket; a program that is none sends nothing and may.
bool same_origin(std::string_view origin, std::string_view host);
// A name that another site cannot point at this machine: an address, or localhost; with or without a port.
bool host_is_literal(std::string_view host);

struct MarkRequest {
    std::string text;  // valid UTF-8 without control characters, at most 200 bytes
};
struct StartRequest {};  // a recording
struct StopRequest {};
struct ViewRequest {  // of a replay: seconds since its origin
    double from = 0, to = 0;
    std::size_t columns = 1000;  // 10 .. 2000
};
using Request = std::variant<MarkRequest, StartRequest, StopRequest, ViewRequest>;

inline constexpr std::size_t longest_request = 1024;  // bytes
// {"do":"mark","text":...}, {"do":"start"}, {"do":"stop"}, {"do":"view","from":...,"to":...,"columns":...}; bad_input for
// others.
Result<Request> parse_request(std::string_view text);

}  // namespace wattrig::live
