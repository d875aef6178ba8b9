#include "host/report/assets.hpp"

#include <cstddef>

// Bytes of host/report/web, put here by the assembler (CMakeLists.txt).
extern "C" {
extern const char wattrig_report_css_begin[], wattrig_report_css_end[];
extern const char wattrig_echarts_js_begin[], wattrig_echarts_js_end[];
extern const char wattrig_page_js_begin[], wattrig_page_js_end[];
extern const char wattrig_report_js_begin[], wattrig_report_js_end[];
extern const char wattrig_compare_js_begin[], wattrig_compare_js_end[];
extern const char wattrig_trace_js_begin[], wattrig_trace_js_end[];
extern const char wattrig_rounds_js_begin[], wattrig_rounds_js_end[];
}

namespace wattrig::report {
namespace {
std::string_view asset(const char* begin, const char* end) { return {begin, static_cast<std::size_t>(end - begin)}; }
}  // namespace

std::string_view report_css() { return asset(wattrig_report_css_begin, wattrig_report_css_end); }
std::string_view echarts_js() { return asset(wattrig_echarts_js_begin, wattrig_echarts_js_end); }
std::string_view page_js() { return asset(wattrig_page_js_begin, wattrig_page_js_end); }
std::string_view report_js() { return asset(wattrig_report_js_begin, wattrig_report_js_end); }
std::string_view compare_js() { return asset(wattrig_compare_js_begin, wattrig_compare_js_end); }
std::string_view trace_js() { return asset(wattrig_trace_js_begin, wattrig_trace_js_end); }
std::string_view rounds_js() { return asset(wattrig_rounds_js_begin, wattrig_rounds_js_end); }

}  // namespace wattrig::report
