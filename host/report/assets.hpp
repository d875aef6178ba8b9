#pragma once
// Files of host/report/web and the chart library, as bytes of the program. Any thread.

#include <string_view>

namespace wattrig::report {

std::string_view report_css();
std::string_view echarts_js();
std::string_view page_js();  // what all pages share; before the page's own script
std::string_view report_js();
std::string_view trace_js();  // after it
std::string_view compare_js();

// Beside each chart's title; page_js() gives them their work.
inline constexpr std::string_view save_buttons =
    "<span class=\"save\"><button type=\"button\" data-save=\"svg\">Save SVG</button>"
    "<button type=\"button\" data-save=\"png\">Save PNG</button></span>";

}  // namespace wattrig::report
