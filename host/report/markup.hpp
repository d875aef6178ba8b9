#pragma once
// Pieces of HTML that all pages share. For host/report and host/live. Any thread.

#include <cstddef>
#include <nlohmann/json_fwd.hpp>
#include <string>
#include <string_view>
#include <vector>

namespace wattrig::report {

// Everything up to and with <body>: style, policy (no network), the link past the charts. `title` is plain text; `policy` is
// added to the page's content security policy.
std::string page_head(std::string_view title, std::string_view policy = {});
// A chart's frame: heading, one sentence, buttons to save it. `id` names element "chart-ID" and the files saved; plain texts.
// `height` in CSS pixels, 0 = as the style sheet says.
std::string chart_frame(std::string_view id, std::string_view title, std::string_view sentence, std::size_t height = 0);
// Button that copies the table with that id as CSV.
std::string copy_button(std::string_view table_id);
// What stands for charts where no script runs.
std::string no_script_note();
// Data, chart library, what pages share, then `scripts`, and the end of the page.
std::string page_scripts(const nlohmann::json& data, const std::vector<std::string_view>& scripts);

// Little-endian binary32, base64: what a script reads back as a Float32Array.
std::string base64_floats(const std::vector<float>& values);
std::string base64_bytes(const std::vector<std::uint8_t>& values);

}  // namespace wattrig::report
