#include "host/cli/output.hpp"

#include <cctype>
#include <cstdio>
#include <ctime>
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

std::string now_text(const char* format) {
    const std::time_t now = std::time(nullptr);
    std::tm parts{};
    localtime_r(&now, &parts);
    char text[64];
    return {text, std::strftime(text, sizeof text, format, &parts)};
}

std::string default_directory(const std::string& suite) {
    // A suite from a file has a path for a name at most in its own words.
    std::string name = suite;
    for (char& c : name)
        if (!std::isalnum(static_cast<unsigned char>(c)) && c != '-' && c != '_' && c != '.') c = '-';
    const std::string path = "wattrig-runs/" + name + "-" + now_text("%Y-%m-%d-%H%M%S");
    std::string free = path;
    for (int k = 2; std::filesystem::exists(free); ++k) free = path + "-" + std::to_string(k);
    return free;
}

void remove_if_empty(const recording::RunDirectory& directory) {
    std::error_code ignored;
    if (std::filesystem::is_empty(directory.path(), ignored)) std::filesystem::remove(directory.path(), ignored);
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
