#include "host/cli/output.hpp"

#include <cstdio>
#include <filesystem>
#include <nlohmann/json.hpp>

#include "host/cli/console.hpp"
#include "host/report/table.hpp"
#include "host/report/write.hpp"

namespace wattrig::cli {

void print_text(const std::string& text) {
    std::fwrite(text.data(), 1, text.size(), stdout);
    std::fflush(stdout);
}

void print_json(const nlohmann::json& value) {
    print_text(value.dump(2, ' ', false, nlohmann::json::error_handler_t::replace) + "\n");
}

void print_result(const analysis::RunResult& result) {
    print_text(report::text_report(result, {.utf8 = utf8_wanted(), .columns = output_columns()}));
}

Result<void> write_result(const recording::RunDirectory& directory, const analysis::RunResult& result) {
    if (auto written = directory.write_json("result.json", analysis::to_json(result)); !written) return written;
    return report::write_reports(directory, result);
}

Result<analysis::RunResult> result_of(const recording::RunDirectory& directory) {
    const std::string file = directory.file("result.json");
    if (!std::filesystem::exists(file)) {
        auto made = analysis::analyze(directory);
        if (!made) return made;
        if (auto written = directory.write_json("result.json", analysis::to_json(*made)); !written) return written.error();
        return made;
    }
    auto json = directory.read_json("result.json");
    if (!json) return json.error();
    return analysis::result_from_json(*json, file);
}

}  // namespace wattrig::cli
