// Any bytes as a message of the live page: a request within its bounds or one sentence.

#include <cmath>
#include <cstdint>
#include <cstdlib>
#include <string_view>

#include "host/live/request.hpp"

extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t* data, std::size_t size) {
    using namespace wattrig::live;
    const auto request = parse_request({reinterpret_cast<const char*>(data), size});
    if (!request) {
        const wattrig::Error error = request.error();
        if (error.message.empty() || error.message.find('\n') != std::string::npos) std::abort();
        return 0;
    }
    if (size > longest_request) std::abort();
    if (const auto* mark = std::get_if<MarkRequest>(&*request)) {
        if (mark->text.empty() || mark->text.size() > 200) std::abort();
        for (const char c : mark->text)
            if (static_cast<unsigned char>(c) < 32) std::abort();
    }
    if (const auto* view = std::get_if<ViewRequest>(&*request)) {
        if (!(view->from < view->to) || !(std::fabs(view->from) < 1e9) || !(std::fabs(view->to) < 1e9)) std::abort();
        if (view->columns < 10 || view->columns > 2000) std::abort();
    }
    return 0;
}
