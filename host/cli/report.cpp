#include <nlohmann/json.hpp>

#include "host/cli/commands.hpp"
#include "host/cli/console.hpp"
#include "host/cli/output.hpp"
#include "host/report/write.hpp"

namespace wattrig::cli {
int report(const ReportArguments& arguments) {
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
