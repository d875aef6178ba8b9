#include "host/suites/text.hpp"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <chrono>
#include <vector>

namespace wattrig::suites {
namespace {

using namespace std::chrono_literals;
using testing::HasSubstr;

TEST(SizeText, DecimalAndBinaryAreKeptApart) {
    const std::vector<std::pair<const char*, std::uint64_t>> good{
        {"4 KiB", 4096},         {"4KiB", 4096},      {"16 GB", 16'000'000'000},
        {"1.5 MiB", 1'572'864},  {"0.5 KiB", 512},    {"128k", 131072},
        {"128K", 131072},        {"1m", 1u << 20},    {"1M", 1u << 20},
        {"2G", 2ull << 30},      {"500 kB", 500'000}, {"1 TB", 1'000'000'000'000},
        {"8 GiB", 8ull << 30},   {" 7 B ", 7},        {"0 B", 0},
        {"1024 PiB", 1ull << 60}};
    for (const auto& [text, bytes] : good) {
        const auto parsed = parse_size(text, false);
        ASSERT_TRUE(parsed) << text;
        EXPECT_EQ(*parsed, bytes) << text;
    }
    EXPECT_EQ(*parse_size("4096", true), 4096u);
}

TEST(SizeText, RefusesWhatIsNoSizeOrMeansTwo) {
    for (const char* text : {"", "4", "KiB", "-4 KiB", "4 KiBs", "4..5 KiB", "4. KiB", ".", "0.3 B", "1025 PiB", "1e3 B",
                             "+4 KiB", "nan", "99999999999999999999 B", "4 Kib", "16 gB x"})
        EXPECT_FALSE(parse_size(text, false)) << text;
    for (const char* text : {"4 KB", "4kb", "4 Mb", "16 gb", "1 Tb"}) {
        const auto parsed = parse_size(text, true);
        ASSERT_FALSE(parsed) << text;
        EXPECT_THAT(parsed.error().message, HasSubstr("ambiguous")) << text;
    }
}

TEST(TimeText, NeedsAUnitUnlessAPlainNumberIsAllowed) {
    EXPECT_EQ(*parse_time("60 s", false), 60s);
    EXPECT_EQ(*parse_time("2 min", false), 2min);
    EXPECT_EQ(*parse_time("1.95 s", false), 1950ms);
    EXPECT_EQ(*parse_time("24 h", false), 24h);
    EXPECT_EQ(*parse_time("100us", false), 100us);
    EXPECT_EQ(*parse_time("10", true), 10s);
    for (const char* text : {"10", "", "-1 s", "1 year", "400 d", "1e300 s", "0.1 ns", "s"})
        EXPECT_FALSE(parse_time(text, false)) << text;
}

TEST(SizeText, WhatIsPrintedReadsBackTheSame) {
    for (const std::uint64_t bytes : {0ull, 1ull, 512ull, 4096ull, 4097ull, 131072ull, 1000000ull, 16000000000ull,
                                      64000000000ull, 1ull << 30, 10ull << 30, 1ull << 60, 1000001ull, 1023ull, 1536ull})
        EXPECT_EQ(*parse_size(format_size(bytes), false), bytes) << format_size(bytes);
    EXPECT_EQ(format_size(4096), "4 KiB");
    EXPECT_EQ(format_size(512), "0.5 KiB");
    EXPECT_EQ(format_size(64'000'000'000), "64 GB");
    EXPECT_EQ(format_size(1u << 20), "1 MiB");
    EXPECT_EQ(format_size(1000001), "1000001 B");
    for (const Nanoseconds time : {Nanoseconds(0), Nanoseconds(1), Nanoseconds(1950ms), Nanoseconds(60s), Nanoseconds(3min),
                                   Nanoseconds(24h), Nanoseconds(61min), Nanoseconds(1001us)})
        EXPECT_EQ(*parse_time(format_time(time), false), time) << format_time(time);
    EXPECT_EQ(format_time(60s), "60 s");
    EXPECT_EQ(format_time(1950ms), "1.95 s");
    EXPECT_EQ(format_time(3min), "3 min");
}

TEST(NearestWord, FindsTypingErrorsAndNothingFarAway) {
    const std::vector<std::string> words{"depth", "runtime", "read_percent"};
    EXPECT_EQ(nearest_word("dept", words), "depth");
    EXPECT_EQ(nearest_word("run_time", words), "runtime");
    EXPECT_EQ(nearest_word("readpercent", words), "read_percent");
    EXPECT_FALSE(nearest_word("banana", words));
    EXPECT_FALSE(nearest_word(std::string(1000, 'd'), words));
}

TEST(Quoted, IsShortAndHarmless) {
    EXPECT_EQ(quoted_text("a\nb\"c"), "\"a?b?c\"");
    EXPECT_LE(quoted_text(std::string(500, 'x')).size(), 70u);
    // Cut before, not inside, a character of two bytes.
    EXPECT_EQ(quoted_text(std::string(59, 'x') + "\xC3\xA4tail"), "\"" + std::string(59, 'x') + "...\"");
}

}  // namespace
}  // namespace wattrig::suites
