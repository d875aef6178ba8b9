#pragma once
// Sizes, times and words as people write them in a suite or on the command line. Any thread.
//
// Sizes: "4 KiB", "1.5 MiB" are powers of two; "16 GB", "500 kB" are powers of ten; "128k", "1m", "2G" (one letter) are fio's,
// powers of two. "KB", "kb", "Mb" and the like mean both things to different people and are refused.
// Times: "60 s", "1.5 min", "2 h", "1 d", "250 ms", "100 us".

#include <cstdint>
#include <optional>
#include <span>
#include <string>
#include <string_view>

#include "host/base/clock.hpp"
#include "host/base/result.hpp"

namespace wattrig::suites {

// Errors read "expected a size such as ..., came ...", without file or key. `plain_number`: a bare number counts (bytes;
// seconds), as on fio's command line.
Result<std::uint64_t> parse_size(std::string_view text, bool plain_number);
Result<Nanoseconds> parse_time(std::string_view text, bool plain_number);

std::string format_size(std::uint64_t bytes);   // exact: "4 KiB", "16 GB", "0.5 KiB", "1000001 B"
std::string format_time(Nanoseconds duration);  // exact: "60 s", "250 ms", "2 min"
std::string format_number(double value);        // shortest that reads back the same: "65", "0.2"

// The candidate that `word` was probably meant to be: few letters differ. Nothing when none is near.
std::optional<std::string> nearest_word(std::string_view word, std::span<const std::string> candidates);

// "x" for a message: at most 60 characters, control characters and quotes made harmless.
std::string quoted_text(std::string_view text);

}  // namespace wattrig::suites
