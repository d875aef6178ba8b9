#pragma once
// Strings from elsewhere (a drive's model, a path, a suite's file) made harmless for where they are shown. Any thread.

#include <optional>
#include <string>
#include <string_view>

namespace wattrig::report {

// Valid UTF-8 without control characters: anything else becomes U+FFFD. Bidirectional overrides count as control characters,
// as they would let a model string rearrange the figures beside it.
std::string clean_utf8(std::string_view text);
// For a terminal: as clean_utf8, but what was not allowed is shown as "?", so that no escape sequence reaches the terminal.
// With `utf8` false every character beyond ASCII becomes "?".
std::string terminal_safe(std::string_view text, bool utf8 = true);
// For text and for quoted attribute values of HTML.
std::string html_escape(std::string_view text);
// For JSON text inside a <script>: "<", ">", "&" and U+2028/2029 become \u escapes, which JSON reads back as they were.
// `json` must be JSON text whose strings hold no raw control characters (any JSON writer's output).
std::string script_safe_json(std::string_view json);
// One field of RFC 4180: quoted when it must be. A text that a spreadsheet would run as a formula gets a leading apostrophe.
std::string csv_field(std::string_view text);
// Shortest text that reads back the same, in every locale; empty for what was not measured.
std::string csv_number(std::optional<double> value);

// Characters of `text` as a terminal counts columns; one per code point, combining and wide characters are not told apart.
std::size_t display_width(std::string_view text);
// With spaces in front or behind, up to `width` columns.
std::string padded_left(const std::string& text, std::size_t width);
std::string padded_right(const std::string& text, std::size_t width);

}  // namespace wattrig::report
