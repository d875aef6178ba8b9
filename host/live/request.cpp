#include "host/live/request.hpp"

#include <algorithm>
#include <boost/asio/ip/address.hpp>
#include <cmath>
#include <nlohmann/json.hpp>

#include "host/report/escape.hpp"

namespace wattrig::live {
namespace {

using nlohmann::json;

constexpr std::size_t longest_target = 300, longest_mark = 200;

bool plain(char c) {
    return (c >= '0' && c <= '9') || (c >= 'A' && c <= 'Z') || (c >= 'a' && c <= 'z') || c == '-' || c == '_' || c == '.';
}

// "127.0.0.1:8080", "[::1]:8080", "localhost" without their port.
std::string_view without_port(std::string_view host) {
    if (host.starts_with('[')) {
        const std::size_t end = host.find(']');
        if (end == std::string_view::npos) return {};
        return host.substr(1, end - 1);
    }
    return host.substr(0, host.find(':'));
}

}  // namespace

Result<Target> parse_target(std::string_view target) {
    const auto refused = [] { return bad_input("expected / or /socket, with ?token=TOKEN where one is asked for"); };
    if (target.size() > longest_target) return refused();
    Target parsed;
    const std::size_t query = target.find('?');
    parsed.path = std::string(target.substr(0, query));
    if (parsed.path != "/" && parsed.path != "/socket") return refused();
    if (query == std::string_view::npos) return parsed;
    std::string_view rest = target.substr(query + 1);
    constexpr std::string_view word = "token=";
    if (!rest.starts_with(word)) return refused();
    rest.remove_prefix(word.size());
    if (!std::all_of(rest.begin(), rest.end(), plain)) return refused();
    parsed.token = std::string(rest);
    return parsed;
}

bool same_origin(std::string_view origin, std::string_view host) {
    if (origin.empty()) return true;
    constexpr std::string_view scheme = "http://";
    return origin.starts_with(scheme) && origin.substr(scheme.size()) == host;
}

bool host_is_literal(std::string_view host) {
    const std::string_view name = without_port(host);
    if (name == "localhost") return true;
    boost::system::error_code error;
    boost::asio::ip::make_address(std::string(name), error);
    return !error;
}

Result<Request> parse_request(std::string_view text) {
    if (text.size() > longest_request) return bad_input("the page's message is longer than 1024 bytes");
    const json message = json::parse(text, nullptr, false);
    if (!message.is_object() || !message.contains("do") || !message["do"].is_string())
        return bad_input("expected a message {\"do\": ...} of the page");
    const std::string what = message["do"].get<std::string>();
    if (what == "start") return Request(StartRequest{});
    if (what == "stop") return Request(StopRequest{});
    if (what == "mark") {
        if (!message.contains("text") || !message["text"].is_string()) return bad_input("expected the text of a mark");
        std::string words = report::clean_utf8(message["text"].get<std::string>());
        if (words.empty() || words.size() > longest_mark) return bad_input("expected a mark of 1 to 200 bytes");
        return Request(MarkRequest{std::move(words)});
    }
    if (what == "view") {
        ViewRequest view;
        for (const auto& [key, value] : {std::pair("from", &view.from), std::pair("to", &view.to)}) {
            if (!message.contains(key) || !message[key].is_number()) return bad_input("expected the seconds of a view");
            *value = message[key].get<double>();
            // Beyond, nanoseconds do not fit 64 bits.
            if (!(std::fabs(*value) < 1e9)) return bad_input("expected seconds of a view within 30 years");
        }
        if (!(view.from < view.to)) return bad_input("expected a view that ends after it begins");
        if (message.contains("columns")) {
            if (!message["columns"].is_number_unsigned()) return bad_input("expected a number of columns");
            view.columns = std::clamp<std::size_t>(message["columns"].get<std::size_t>(), 10, 2000);
        }
        return Request(view);
    }
    return bad_input("expected mark, start, stop or view");
}

}  // namespace wattrig::live
