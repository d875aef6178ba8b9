// Text, CSV and HTML of a result made by hand. The golden files say what a reader saw when this was written and found good.
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <clocale>
#include <fstream>
#include <sstream>

#include "host/report/columns.hpp"
#include "host/report/csv.hpp"
#include "host/report/escape.hpp"
#include "host/report/figures.hpp"
#include "host/report/html.hpp"
#include "host/report/table.hpp"
#include "tests/report/sample_result.hpp"

namespace wattrig::report {
namespace {

using testing::HasSubstr;
using testing::Not;

std::string golden(const std::string& name) {
    std::ifstream file(std::string(WATTRIG_SOURCE_DIR) + "/tests/report/golden/" + name, std::ios::binary);
    EXPECT_TRUE(file) << name;
    std::ostringstream text;
    text << file.rdbuf();
    return text.str();
}

TEST(Figures, DigitsFollowTheUncertainty) {
    const auto text = [](double value, double u) { return figure_text({value, u, std::nullopt, {}}).value; };
    EXPECT_EQ(text(1.23456, 0.0123), "1.235");
    EXPECT_EQ(text(1.23456, 0.123), "1.23");
    EXPECT_EQ(text(345612, 1234), "345600");
    EXPECT_EQ(figure_text({345612.0, 1234.0, std::nullopt, {}}).u, "1200");
    EXPECT_EQ(figure_text({1.23456, 0.0123, 0.0456, {}}).spread, "0.046");
    EXPECT_EQ(figure_text({1.0, 0.1, std::nullopt, "too short to tell"}).spread, "short");
    EXPECT_EQ(figure_text({}).value, "-");
    EXPECT_EQ(figure_text({1.23456, std::nullopt, std::nullopt, {}}).value, "1.235");
}

TEST(Figures, RoundingKeepsTheNumberOfDigits) {
    EXPECT_EQ(significant(9.996, 3), "10.0");
    EXPECT_EQ(significant(999.6, 3), "1000");
    EXPECT_EQ(significant(0.00012344, 3), "0.000123");
    EXPECT_EQ(significant(0.0, 3), "0");
    EXPECT_EQ(significant(-1234.5, 2), "-1200");
    EXPECT_EQ(with_decimals(-0.0001, 2), "0.00");
    EXPECT_EQ(significant(std::nan(""), 3), "-");
}

TEST(Figures, LocaleDoesNotChangeNumbers) {
    const char* before = std::setlocale(LC_ALL, nullptr);
    const std::string saved = before ? before : "C";
    std::setlocale(LC_ALL, "de_DE.UTF-8");  // not installed everywhere; the program's own test sets it, too
    EXPECT_EQ(with_decimals(1234.5, 1), "1234.5");
    EXPECT_THAT(phases_csv(sample_result(true)), HasSubstr("59.2074606"));
    std::setlocale(LC_ALL, saved.c_str());
}

TEST(Escape, ForeignTextIsHarmless) {
    EXPECT_EQ(html_escape("<a href=\"x\">'&"), "&lt;a href=&quot;x&quot;&gt;&#39;&amp;");
    EXPECT_EQ(terminal_safe("a\x1b[2Jb\x07\n"), "a?[2Jb??");
    EXPECT_EQ(terminal_safe("\xc2\x9b"
                            "2J"),
              "?2J");  // C1 control sequence introducer
    EXPECT_EQ(terminal_safe("a\xe2\x80\xae"
                            "b"),
              "a?b");                                       // right-to-left override
    EXPECT_EQ(terminal_safe("\xc3\xa4\xff"), "\xc3\xa4?");  // valid, then a byte that is not UTF-8
    EXPECT_EQ(terminal_safe("\xc3\xa4", false), "?");
    EXPECT_EQ(terminal_safe("\xc0\xaf\xed\xa0\x80"), "?????");  // overlong, surrogate
    EXPECT_EQ(script_safe_json("{\"a\":\"</script>\xe2\x80\xa8&\"}"), "{\"a\":\"\\u003c/script\\u003e\\u2028\\u0026\"}");
    EXPECT_EQ(csv_field("a,\"b\""), "\"a,\"\"b\"\"\"");
    EXPECT_EQ(csv_field("=1+1"), "'=1+1");
    EXPECT_EQ(csv_field("plain"), "plain");
}

TEST(Columns, DepthsOfAPatternStandTogether) {
    analysis::RunResult result = sample_result(true);
    // As a suite that goes through its patterns depth by depth, with an idle time before each.
    std::swap(result.phases[1], result.phases[6]);
    std::rotate(result.phases.begin(), result.phases.end() - 1, result.phases.end());
    const auto rows = rows_of(result);
    std::vector<std::string> names;
    for (std::size_t k = 0; k < 6; ++k) names.push_back(rows[k].group);
    EXPECT_THAT(names, testing::Each("randread 4 KiB"));
    EXPECT_EQ(rows.back().name, "idle");
}

TEST(Table, Golden) { EXPECT_EQ(text_report(sample_result(true)), golden("simulated.txt")); }
TEST(Table, GoldenAscii) { EXPECT_EQ(text_report(sample_result(false, false), {.utf8 = false}), golden("no_rig_ascii.txt")); }

TEST(Table, FitsThePageAndSaysWhatItLeavesOut) {
    for (const std::size_t columns : {80u, 100u, 120u}) {
        std::istringstream text(text_report(sample_result(true), {.utf8 = true, .columns = columns}));
        for (std::string line; std::getline(text, line);) {
            if (line.starts_with("random ") || line.starts_with("sequential ") || line.starts_with("Scores")) continue;
            EXPECT_LE(display_width(line), std::max<std::size_t>(columns, 94)) << columns << ": " << line;
        }
    }
    EXPECT_THAT(text_report(sample_result(true), {.columns = 100}), HasSubstr("Left out for width"));
}

TEST(Table, SimulatedCannotBeMissed) {
    analysis::RunResult result = sample_result(true);
    EXPECT_THAT(text_report(result), HasSubstr("power: SIMULATED    drive: SIMULATED"));
    EXPECT_THAT(html_report(result), HasSubstr("<strong>power: SIMULATED</strong><strong>drive: SIMULATED</strong>"));
    result.drive_simulated = false;  // a real drive beside the simulated rig
    EXPECT_THAT(text_report(result), HasSubstr("power: SIMULATED"));
    EXPECT_THAT(text_report(result), Not(HasSubstr("drive: SIMULATED")));
    EXPECT_THAT(text_report(sample_result(false)), Not(HasSubstr("SIMULATED")));
    EXPECT_THAT(html_report(sample_result(false)), Not(HasSubstr("<strong>power")));
}

TEST(Table, NotMeasuredIsADash) {
    const std::string text = text_report(sample_result(false, false));
    EXPECT_THAT(text, HasSubstr("none: power was not measured"));
    EXPECT_THAT(text, Not(HasSubstr(" 0.000")));
}

TEST(Table, AnUnfinishedRunSaysSo) {
    analysis::RunResult result = sample_result(true);
    result.interrupted = true;
    result.scale = 0.25;
    EXPECT_THAT(text_report(result), testing::AllOf(HasSubstr("INTERRUPTED"), HasSubstr("scaled by 0.250, not comparable")));
    result.phases.clear();
    result.scores.clear();
    EXPECT_THAT(text_report(result), HasSubstr("No phase was carried out."));
    EXPECT_THAT(html_report(result), HasSubstr("No phase was carried out."));
}

TEST(Csv, IsRfc4180WithUnits) {
    analysis::RunResult result = sample_result(true);
    result.phases[0].phase.label = "a, \"quoted\"\nlabel QD1";
    const std::string csv = phases_csv(result);
    std::size_t fields = 0, rows = 0;
    bool quoted = false;
    std::size_t expected = 0;
    for (std::size_t k = 0; k < csv.size(); ++k) {
        if (csv[k] == '"') quoted = !quoted;
        if (quoted) continue;
        if (csv[k] == ',') ++fields;
        if (csv[k] != '\n') continue;
        ASSERT_EQ(csv[k - 1], '\r');
        if (rows++ == 0) expected = fields;
        EXPECT_EQ(fields, expected) << "row " << rows;
        fields = 0;
    }
    EXPECT_EQ(rows, 1 + result.phases.size());
    for (const char* head : {"throughput [MB/s]", "latency_p99.9 [us]", "power_U_k2 [W]", "power_spread_95 [W]"})
        EXPECT_THAT(csv, HasSubstr(head));
    EXPECT_THAT(scores_csv(result), HasSubstr("mean_of_ratios [MB/s/W],mean_of_ratios_U_k2 [MB/s/W],ratio_of_means"));
}

TEST(Html, EscapesWhatOthersWrote) {
    analysis::RunResult result = sample_result(true);
    result.drive = "</title><script>alert(1)</script>";
    result.warnings = {"<img src=x onerror=alert(1)>"};
    result.run_json = R"({"target":{"path":"</script><b>"},"notes":["<i>"]})";
    for (auto& phase : result.phases) phase.phase.label = "</script>" + phase.phase.label;
    const std::string html = html_report(result);
    EXPECT_THAT(html, Not(HasSubstr("<script>alert")));
    EXPECT_THAT(html, Not(HasSubstr("<img src=x")));
    EXPECT_THAT(html, Not(HasSubstr("</script><b>")));
    EXPECT_THAT(html, Not(HasSubstr("</script>randread")));
    EXPECT_THAT(html, HasSubstr("&lt;img src=x onerror=alert(1)&gt;"));
}

TEST(Html, FetchesNothing) {
    const std::string html = html_report(sample_result(true));
    for (const char* word : {"src=\"http", "href=\"http", "<link rel=\"stylesheet", "@import", "url(http"})
        EXPECT_THAT(html, Not(HasSubstr(word)));
    EXPECT_THAT(html, HasSubstr("default-src 'none'"));
}

}  // namespace
}  // namespace wattrig::report
