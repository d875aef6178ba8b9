#include "host/report/escape.hpp"

#include <fmt/format.h>

#include <cmath>
#include <cstdint>

namespace wattrig::report {
namespace {

constexpr char32_t invalid = 0xffffffff;

// Decodes one code point and moves `at` behind it; overlong forms, surrogates and cut-off sequences are `invalid` and one byte.
char32_t next_code_point(std::string_view text, std::size_t& at) {
    const auto byte = [&](std::size_t k) { return static_cast<std::uint8_t>(text[k]); };
    const std::uint8_t first = byte(at);
    std::size_t length = 0;
    char32_t value = 0;
    if (first < 0x80) {
        ++at;
        return first;
    }
    if (first >= 0xc2 && first <= 0xdf) {
        length = 2;
        value = first & 0x1f;
    } else if (first >= 0xe0 && first <= 0xef) {
        length = 3;
        value = first & 0x0f;
    } else if (first >= 0xf0 && first <= 0xf4) {
        length = 4;
        value = first & 0x07;
    }
    if (length == 0 || at + length > text.size()) {
        ++at;
        return invalid;
    }
    for (std::size_t k = 1; k < length; ++k) {
        if ((byte(at + k) & 0xc0) != 0x80) {
            ++at;
            return invalid;
        }
        value = value << 6 | (byte(at + k) & 0x3f);
    }
    const bool overlong = (length == 3 && value < 0x800) || (length == 4 && value < 0x10000);
    if (overlong || value > 0x10ffff || (value >= 0xd800 && value <= 0xdfff)) {
        ++at;
        return invalid;
    }
    at += length;
    return value;
}

bool control(char32_t c) {
    return c < 0x20 || (c >= 0x7f && c <= 0x9f) || c == 0x2028 || c == 0x2029 || c == 0x200e || c == 0x200f ||
           (c >= 0x202a && c <= 0x202e) || (c >= 0x2066 && c <= 0x2069) || c == 0xfeff;
}

std::string cleaned(std::string_view text, std::string_view replacement, bool ascii) {
    std::string out;
    out.reserve(text.size());
    for (std::size_t at = 0; at < text.size();) {
        const std::size_t begin = at;
        const char32_t c = next_code_point(text, at);
        if (c == U'\t')
            out += ' ';
        else if (c == invalid || control(c) || (ascii && c >= 0x80))
            out += replacement;
        else
            out += text.substr(begin, at - begin);
    }
    return out;
}

}  // namespace

std::string clean_utf8(std::string_view text) { return cleaned(text, "\xef\xbf\xbd", false); }

std::string terminal_safe(std::string_view text, bool utf8) { return cleaned(text, "?", !utf8); }

std::string html_escape(std::string_view text) {
    std::string out;
    out.reserve(text.size());
    for (const char c : clean_utf8(text)) {
        switch (c) {
            case '&': out += "&amp;"; break;
            case '<': out += "&lt;"; break;
            case '>': out += "&gt;"; break;
            case '"': out += "&quot;"; break;
            case '\'': out += "&#39;"; break;
            default: out += c;
        }
    }
    return out;
}

std::string script_safe_json(std::string_view json) {
    std::string out;
    out.reserve(json.size());
    for (std::size_t at = 0; at < json.size();) {
        const std::size_t begin = at;
        const char32_t c = next_code_point(json, at);
        switch (c) {
            case U'<': out += "\\u003c"; break;
            case U'>': out += "\\u003e"; break;
            case U'&': out += "\\u0026"; break;
            case 0x2028: out += "\\u2028"; break;
            case 0x2029: out += "\\u2029"; break;
            case invalid: out += "\\ufffd"; break;
            default: out += json.substr(begin, at - begin);
        }
    }
    return out;
}

std::string csv_field(std::string_view text) {
    std::string field(text);
    if (!field.empty() && std::string_view("=+-@").find(field.front()) != std::string_view::npos) field.insert(0, 1, '\'');
    if (field.find_first_of(",\"\r\n") == std::string::npos) return field;
    std::string out = "\"";
    for (const char c : field) {
        if (c == '"') out += '"';
        out += c;
    }
    return out + '"';
}

std::size_t display_width(std::string_view text) {
    std::size_t width = 0;
    for (const char c : text) width += (static_cast<std::uint8_t>(c) & 0xc0) != 0x80;
    return width;
}

std::string padded_left(const std::string& text, std::size_t width) {
    const std::size_t have = display_width(text);
    return have >= width ? text : std::string(width - have, ' ') + text;
}
std::string padded_right(const std::string& text, std::size_t width) {
    const std::size_t have = display_width(text);
    return have >= width ? text : text + std::string(width - have, ' ');
}
std::string csv_number(std::optional<double> value) {
    return value && std::isfinite(*value) ? fmt::format("{}", *value) : std::string();
}

}  // namespace wattrig::report
