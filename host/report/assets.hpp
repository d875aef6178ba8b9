#pragma once
// Files of host/report/web and the chart library, as bytes of the program. Any thread.

#include <string_view>

namespace wattrig::report {

std::string_view report_css();
std::string_view echarts_js();
std::string_view page_js();  // what all pages share; before the page's own script
std::string_view report_js();
std::string_view compare_js();
std::string_view trace_js();   // power over time, speed against position
std::string_view rounds_js();  // rounds until steady state

}  // namespace wattrig::report
