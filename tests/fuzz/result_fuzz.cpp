// Any text as a result.json: read and shown in every form, or one sentence. Nothing of its strings becomes a command of the
// terminal or a tag of the page.

#include <cstdint>
#include <cstdlib>
#include <nlohmann/json.hpp>
#include <string>

#include "host/analysis/result.hpp"
#include "host/exchange/export.hpp"
#include "host/report/compare.hpp"
#include "host/report/csv.hpp"
#include "host/report/html.hpp"
#include "host/report/table.hpp"

namespace {

void expect(bool condition) {
    if (!condition) std::abort();
}
void expect_harmless(const std::string& text) {
    for (const char c : text) expect(static_cast<unsigned char>(c) >= 0x20 || c == '\n');
}
std::size_t count(const std::string& text, const std::string& what) {
    std::size_t found = 0;
    for (std::size_t at = text.find(what); at != std::string::npos; at = text.find(what, at + 1)) ++found;
    return found;
}

}  // namespace

extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t* data, std::size_t size) {
    using namespace wattrig;
    const auto json = nlohmann::json::parse(data, data + size, nullptr, false);
    if (json.is_discarded()) return 0;
    const auto result = analysis::result_from_json(json, "fuzz.json");
    if (!result) {
        const std::string message = result.error().message;
        expect(!message.empty() && message.find('\n') == std::string::npos);
        return 0;
    }
    expect_harmless(report::text_report(*result));
    (void)report::phases_csv(*result);
    (void)report::scores_csv(*result);
    (void)exchange::openmetrics(*result);
    (void)nlohmann::json::parse(exchange::fio_json(*result, "fuzz"));  // throws on what is no JSON
    const std::string page = report::html_report(*result);
    // The page's own scripts end as often as they begin; a string that smuggled one in would tip the balance.
    static const std::size_t scripts = count(report::html_report(analysis::RunResult{}), "</script");
    expect(count(page, "</script") == scripts);
    expect(page.find('\x1b') == std::string::npos);
    if (const auto comparison = report::make_comparison({*result, *result}, true)) {
        expect_harmless(report::comparison_text(*comparison));
        expect(report::comparison_html(*comparison).find('\x1b') == std::string::npos);
    }
    return 0;
}
