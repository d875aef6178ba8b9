#include <filesystem>
#include <nlohmann/json.hpp>

#include "host/cli/commands.hpp"
#include "host/cli/console.hpp"
#include "host/cli/output.hpp"
#include "host/report/write.hpp"

namespace wattrig::cli {
namespace {

// result.json when it is there; a run that was killed has none yet.
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

}  // namespace

int report(const ReportArguments& arguments) {
    const auto refuse = [](const Error& error) {
        print_error(error.message);
        return exit_code_of(error);
    };
    auto directory = recording::RunDirectory::open(arguments.directory);
    if (!directory) return refuse(directory.error());
    auto result = result_of(*directory);
    if (!result) return refuse(result.error());
    if (auto written = report::write_reports(*directory, *result); !written) return refuse(written.error());
    if (arguments.json)
        print_json(analysis::to_json(*result));
    else if (!arguments.quiet) {
        print_result(*result);
        print_text("\nReport  " + directory->file("report.html") + "\n");
    }
    return exit_ok;
}

}  // namespace wattrig::cli
