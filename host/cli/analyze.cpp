#include <nlohmann/json.hpp>

#include "host/cli/commands.hpp"
#include "host/cli/console.hpp"
#include "host/cli/output.hpp"

namespace wattrig::cli {

int analyze(const AnalyzeArguments& arguments) {
    auto directory = recording::RunDirectory::open(arguments.directory);
    if (!directory) return refuse(directory.error());
    auto result = analysis::analyze(*directory);
    if (!result) return refuse(result.error());
    const nlohmann::json json = analysis::to_json(*result);
    if (auto written = directory->write_json("result.json", json); !written) return refuse(written.error());
    if (arguments.json)
        print_json(json);
    else if (!arguments.quiet) {
        print_result(*result);
        print_text("\nResult  " + directory->file("result.json") + "\n");
    }
    return exit_ok;
}

}  // namespace wattrig::cli
