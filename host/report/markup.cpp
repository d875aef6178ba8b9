#include "host/report/markup.hpp"

#include <fmt/format.h>

#include <bit>
#include <cstdint>
#include <cstring>
#include <nlohmann/json.hpp>
#include <span>

#include "host/report/assets.hpp"
#include "host/report/escape.hpp"

namespace wattrig::report {
namespace {

std::string base64(std::span<const std::uint8_t> bytes) {
    static constexpr char digits[] = "ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789+/";
    std::string text;
    text.reserve((bytes.size() + 2) / 3 * 4);
    for (std::size_t k = 0; k < bytes.size(); k += 3) {
        const std::size_t rest = bytes.size() - k;
        const std::uint32_t three = std::uint32_t{bytes[k]} << 16 | (rest > 1 ? std::uint32_t{bytes[k + 1]} << 8 : 0) |
                                    (rest > 2 ? std::uint32_t{bytes[k + 2]} : 0);
        text += digits[three >> 18];
        text += digits[three >> 12 & 63];
        text += rest > 1 ? digits[three >> 6 & 63] : '=';
        text += rest > 2 ? digits[three & 63] : '=';
    }
    return text;
}

}  // namespace

std::string page_head(std::string_view title, std::string_view policy) {
    return fmt::format(
        "<!DOCTYPE html>\n<html lang=\"en\">\n<head>\n<meta charset=\"utf-8\">\n<title>{}</title>\n"
        "<meta name=\"viewport\" content=\"width=device-width, initial-scale=1\">\n"
        "<meta name=\"generator\" content=\"wattrig\">\n"
        "<meta http-equiv=\"Content-Security-Policy\" content=\"default-src 'none'; style-src 'unsafe-inline'; "
        "script-src 'unsafe-inline'; img-src data:{}\">\n<link rel=\"icon\" href=\"data:,\">\n<style>\n{}</style>\n</head>\n"
        "<body>\n<a class=\"skip\" href=\"#figures\">Skip to the table of figures</a>\n",
        html_escape(title), policy.empty() ? std::string() : "; " + std::string(policy), report_css());
}

std::string chart_frame(std::string_view id, std::string_view title, std::string_view sentence, std::size_t height) {
    return fmt::format(
        "<figure><figcaption><div><h3>{0}</h3><p>{1}</p></div><span class=\"buttons\">"
        "<button type=\"button\" data-save=\"png\" aria-label=\"Save {0} as PNG\">PNG</button>"
        "<button type=\"button\" data-save=\"svg\" aria-label=\"Save {0} as SVG\">SVG</button></span></figcaption>"
        "<div class=\"chart\" id=\"chart-{2}\" data-name=\"{2}\"{3} role=\"img\" aria-label=\"{0}. {1}.\"></div></figure>\n",
        html_escape(title), html_escape(sentence), id, height == 0 ? "" : fmt::format(" style=\"height:{}px\"", height));
}

std::string copy_button(std::string_view table_id) {
    return fmt::format("<p class=\"copy\"><button type=\"button\" data-copy=\"{}\">Copy as CSV</button></p>\n", table_id);
}

std::string no_script_note() {
    return "<noscript><p class=\"note\">The charts need JavaScript. Every figure is in the table below.</p></noscript>\n";
}

std::string page_scripts(const nlohmann::json& data, const std::vector<std::string_view>& scripts) {
    std::string out = "<script type=\"application/json\" id=\"data\">" +
                      script_safe_json(data.dump(-1, ' ', false, nlohmann::json::error_handler_t::replace)) + "</script>\n";
    const auto script = [&](std::string_view text) {
        out += "<script>\n";
        out += text;
        out += "</script>\n";
    };
    script(echarts_js());
    script(page_js());
    for (const std::string_view text : scripts) script(text);
    script("page.done();\n");
    return out + "</body>\n</html>\n";
}

std::string base64_floats(const std::vector<float>& values) {
    static_assert(std::endian::native == std::endian::little);
    return base64({reinterpret_cast<const std::uint8_t*>(values.data()), values.size() * sizeof(float)});
}
std::string base64_bytes(const std::vector<std::uint8_t>& values) { return base64(values); }

}  // namespace wattrig::report
