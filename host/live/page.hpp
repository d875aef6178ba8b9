#pragma once
// The live page as one HTML text: style, scripts and chart library in it, as in a report. Any thread.

#include <string>

namespace wattrig::live {

// Of the HTTP answer: only this page's own socket, nothing of another place.
inline constexpr const char* page_policy =
    "default-src 'none'; style-src 'unsafe-inline'; script-src 'unsafe-inline'; img-src data:; connect-src 'self'; "
    "base-uri 'none'; form-action 'none'; frame-ancestors 'none'";

struct PageFacts {
    std::string title, mark;
    bool has_work = false;  // MB/s and IOPS of a device
    std::string replay;     // Replay::summary() as text; empty: live
};
std::string live_page(const PageFacts& facts);

}  // namespace wattrig::live
