// Writes results as JSON into the folder given, for validate_results.py.

#include <fstream>
#include <nlohmann/json.hpp>
#include <string>

#include "tests/analysis/example_result.hpp"

int main(int argc, char** argv) {
    if (argc != 2) return 2;
    const std::string folder = argv[1];
    const auto write = [&](const char* name, const wattrig::analysis::RunResult& result) {
        std::ofstream(folder + "/" + name) << wattrig::analysis::to_json(result).dump(1, ' ', false,
                                                                                      nlohmann::json::error_handler_t::replace);
    };
    write("full.json", wattrig::test::full_result());
    write("empty.json", wattrig::test::empty_result());
    return 0;
}
