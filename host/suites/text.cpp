#include "host/suites/text.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <array>
#include <charconv>
#include <limits>
#include <vector>

namespace wattrig::suites {
namespace {

struct Unit {
    std::string_view name;
    std::uint64_t factor;
};
constexpr std::uint64_t kibi = 1024;
constexpr std::array<Unit, 22> size_units{{
    {"B", 1},
    {"kB", 1'000},
    {"MB", 1'000'000},
    {"GB", 1'000'000'000},
    {"TB", 1'000'000'000'000},
    {"PB", 1'000'000'000'000'000},
    {"KiB", kibi},
    {"MiB", kibi* kibi},
    {"GiB", kibi* kibi* kibi},
    {"TiB", kibi* kibi* kibi* kibi},
    {"PiB", kibi* kibi* kibi* kibi* kibi},
    {"k", kibi},
    {"K", kibi},
    {"m", kibi* kibi},
    {"M", kibi* kibi},
    {"g", kibi* kibi* kibi},
    {"G", kibi* kibi* kibi},
    {"t", kibi* kibi* kibi* kibi},
    {"T", kibi* kibi* kibi* kibi},
    {"bytes", 1},
    {"p", kibi* kibi* kibi* kibi* kibi},
    {"P", kibi* kibi* kibi* kibi* kibi},
}};
constexpr std::array<Unit, 9> time_units{{
    {"ns", 1},
    {"us", 1'000},
    {"ms", 1'000'000},
    {"s", 1'000'000'000},
    {"sec", 1'000'000'000},
    {"min", 60'000'000'000},
    {"m", 60'000'000'000},
    {"h", 3'600'000'000'000},
    {"d", 86'400'000'000'000},
}};

std::string_view trimmed(std::string_view text) {
    while (!text.empty() && text.front() == ' ') text.remove_prefix(1);
    while (!text.empty() && text.back() == ' ') text.remove_suffix(1);
    return text;
}

struct Number {
    unsigned __int128 digits = 0;   // value without its point
    std::uint64_t denominator = 1;  // power of ten
};
// Exact decimal at the front of `text`, which is moved behind it. At most 19 digits, so nothing overflows.
std::optional<Number> take_number(std::string_view& text) {
    Number number;
    std::size_t used = 0, digits = 0;
    bool point = false;
    for (; used < text.size(); ++used) {
        const char c = text[used];
        if (c == '.' && !point) {
            point = true;
            continue;
        }
        if (c < '0' || c > '9') break;
        if (++digits > 19) return std::nullopt;
        number.digits = number.digits * 10 + static_cast<unsigned>(c - '0');
        if (point) number.denominator *= 10;
    }
    if (digits == 0 || (point && number.denominator == 1)) return std::nullopt;
    text.remove_prefix(used);
    return number;
}

// Value times the unit's factor; nothing when it is no number with a known unit, not whole, or above `top`.
template <std::size_t N>
std::optional<std::uint64_t> parse(std::string_view text, const std::array<Unit, N>& units, std::uint64_t plain_factor,
                                   std::uint64_t top) {
    text = trimmed(text);
    const auto number = take_number(text);
    if (!number) return std::nullopt;
    text = trimmed(text);
    std::uint64_t factor = plain_factor;
    if (!text.empty()) {
        const auto unit = std::find_if(units.begin(), units.end(), [&](const Unit& u) { return u.name == text; });
        if (unit == units.end()) return std::nullopt;
        factor = unit->factor;
    }
    if (factor == 0) return std::nullopt;
    const unsigned __int128 product = number->digits * factor;
    if (product % number->denominator != 0) return std::nullopt;
    const unsigned __int128 value = product / number->denominator;
    if (value > top) return std::nullopt;
    return static_cast<std::uint64_t>(value);
}

bool is_ambiguous_unit(std::string_view text) {
    text = trimmed(text);
    if (!take_number(text)) return false;
    text = trimmed(text);
    return text.size() == 2 && (text[1] == 'b' || text[1] == 'B') && std::string_view("kKmMgGtT").find(text[0]) != text.npos;
}

}  // namespace

Result<std::uint64_t> parse_size(std::string_view text, bool plain_number) {
    constexpr std::uint64_t top = std::uint64_t{1} << 60;
    if (const auto value = parse(text, size_units, plain_number ? 1 : 0, top)) return *value;
    if (is_ambiguous_unit(text) && !parse(text, size_units, 0, std::numeric_limits<std::uint64_t>::max()))
        return bad_input(fmt::format("{} is ambiguous, write KiB, MiB, GiB (powers of 1024) or kB, MB, GB (powers of 1000)",
                                     quoted_text(text)));
    return bad_input(fmt::format("expected a size in whole bytes such as \"4 KiB\", \"16 GB\" or \"128k\" (= 128 KiB), came {}",
                                 quoted_text(text)));
}

Result<Nanoseconds> parse_time(std::string_view text, bool plain_number) {
    constexpr std::uint64_t top = 366ull * 86'400'000'000'000ull;
    if (const auto value = parse(text, time_units, plain_number ? 1'000'000'000 : 0, top))
        return Nanoseconds(static_cast<std::int64_t>(*value));
    return bad_input(
        fmt::format("expected a time of at most 366 d such as \"60 s\", \"2 min\" or \"250 ms\", came {}", quoted_text(text)));
}

std::string format_size(std::uint64_t bytes) {
    constexpr std::array<Unit, 5> binary{{{"PiB", kibi * kibi * kibi * kibi * kibi},
                                          {"TiB", kibi * kibi * kibi * kibi},
                                          {"GiB", kibi * kibi * kibi},
                                          {"MiB", kibi * kibi},
                                          {"KiB", kibi}}};
    constexpr std::array<Unit, 4> decimal{{{"TB", 1'000'000'000'000}, {"GB", 1'000'000'000}, {"MB", 1'000'000}, {"kB", 1'000}}};
    if (bytes == 512) return "0.5 KiB";
    // 64 GB is 61035156.25 KiB: whichever way needs fewer digits is the one it was meant in.
    const auto pick = [&](const auto& units) -> std::optional<std::string> {
        for (const auto& unit : units)
            if (bytes >= unit.factor && bytes % unit.factor == 0) return fmt::format("{} {}", bytes / unit.factor, unit.name);
        return std::nullopt;
    };
    const auto in_binary = pick(binary), in_decimal = pick(decimal);
    if (in_binary && (!in_decimal || in_binary->size() <= in_decimal->size())) return *in_binary;
    if (in_decimal) return *in_decimal;
    return fmt::format("{} B", bytes);
}

std::string format_time(Nanoseconds duration) {
    const auto count = static_cast<std::uint64_t>(std::max<std::int64_t>(duration.count(), 0));
    constexpr std::array<Unit, 7> units{{{"d", 86'400'000'000'000},
                                         {"h", 3'600'000'000'000},
                                         {"min", 60'000'000'000},
                                         {"s", 1'000'000'000},
                                         {"ms", 1'000'000},
                                         {"us", 1'000},
                                         {"ns", 1}}};
    if (count == 0) return "0 s";
    // Seconds up to two minutes ("60 s", as methods say it), with fractions only where they are short.
    if (count <= 120'000'000'000 && count >= 1'000'000'000 && count % 1'000'000 == 0)
        return fmt::format("{} s", format_number(static_cast<double>(count) / 1e9));
    for (const auto& unit : units)
        if (count % unit.factor == 0) return fmt::format("{} {}", count / unit.factor, unit.name);
    return fmt::format("{} ns", count);
}

std::string format_number(double value) { return fmt::format("{}", value); }

std::optional<std::string> nearest_word(std::string_view word, std::span<const std::string> candidates) {
    if (word.size() > 40) return std::nullopt;
    std::optional<std::string> best;
    std::size_t best_distance = std::max<std::size_t>(1, word.size() / 3) + 1;
    for (const auto& candidate : candidates) {
        // Letters changed, lost, added or swapped with their neighbour.
        const std::size_t rows = word.size() + 1, columns = candidate.size() + 1;
        std::vector<std::size_t> table(rows * columns);
        const auto at = [&](std::size_t i, std::size_t j) -> std::size_t& { return table[i * columns + j]; };
        for (std::size_t i = 0; i < rows; ++i) at(i, 0) = i;
        for (std::size_t j = 0; j < columns; ++j) at(0, j) = j;
        for (std::size_t i = 1; i < rows; ++i)
            for (std::size_t j = 1; j < columns; ++j) {
                const bool same = word[i - 1] == candidate[j - 1];
                at(i, j) = std::min({at(i - 1, j) + 1, at(i, j - 1) + 1, at(i - 1, j - 1) + (same ? 0 : 1)});
                if (i > 1 && j > 1 && word[i - 1] == candidate[j - 2] && word[i - 2] == candidate[j - 1])
                    at(i, j) = std::min(at(i, j), at(i - 2, j - 2) + 1);
            }
        if (table.back() < best_distance) {
            best_distance = table.back();
            best = candidate;
        }
    }
    return best;
}

std::string quoted_text(std::string_view text) {
    std::string out = "\"";
    for (const char c : text.substr(0, 60)) out += (static_cast<unsigned char>(c) < 0x20 || c == '"' || c == 0x7F) ? '?' : c;
    // A cut inside a character of several bytes would be no UTF-8.
    if (text.size() > 60) {
        while (!out.empty() && (static_cast<unsigned char>(out.back()) & 0xC0) == 0x80) out.pop_back();
        if (!out.empty() && static_cast<unsigned char>(out.back()) >= 0xC0) out.pop_back();
        out += "...";
    }
    return out + "\"";
}

}  // namespace wattrig::suites
