// Any bytes as an HTTP request to the live page: refused or one of its two paths, never anything else.

#include <boost/asio/buffer.hpp>
#include <boost/beast/http.hpp>
#include <cstdint>
#include <cstdlib>
#include <string>

#include "host/live/request.hpp"

extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t* data, std::size_t size) {
    namespace http = boost::beast::http;
    using namespace wattrig::live;
    const std::string_view text(reinterpret_cast<const char*>(data), size);
    // The target alone, so that it is reached without a well-formed request around it.
    if (const auto target = parse_target(text)) {
        if (target->path != "/" && target->path != "/socket") std::abort();
        if (target->token.find_first_of("&?<>\"'% /") != std::string::npos) std::abort();
    }
    http::request_parser<http::empty_body> parser;
    parser.header_limit(8192);
    parser.body_limit(0);
    boost::beast::error_code error;
    parser.put(boost::asio::buffer(data, size), error);
    if (error || !parser.is_header_done()) return 0;
    const auto field = [&](http::field name) { return std::string_view(parser.get()[name].data(), parser.get()[name].size()); };
    (void)parse_target({parser.get().target().data(), parser.get().target().size()});
    const std::string_view host = field(http::field::host), origin = field(http::field::origin);
    (void)host_is_literal(host);
    if (!origin.empty() && same_origin(origin, host) && origin.substr(7) != host) std::abort();
    return 0;
}
