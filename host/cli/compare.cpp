#include "host/report/compare.hpp"

#include "host/cli/commands.hpp"
#include "host/cli/console.hpp"
#include "host/cli/output.hpp"

namespace wattrig::cli {

int compare(const CompareArguments& arguments) {
    std::vector<analysis::RunResult> results;
    results.reserve(arguments.directories.size());
    for (const std::string& path : arguments.directories) {
        auto directory = recording::RunDirectory::open(path);
        if (!directory) return refuse(directory.error());
        auto result = result_of(*directory);
        if (!result) return refuse(result.error());
        result->run_directory = path;
        results.push_back(std::move(*result));
    }
    const auto comparison = report::make_comparison(std::move(results), arguments.mixed);
    if (!comparison) return refuse(comparison.error());
    print_text(report::comparison_text(*comparison, {.utf8 = utf8_wanted(), .columns = output_columns()}));
    if (arguments.out.empty()) return exit_ok;
    const auto folder = recording::RunDirectory::create(arguments.out);
    if (!folder) return refuse(folder.error());
    if (auto written = folder->write_text("compare.csv", report::comparison_csv(*comparison)); !written)
        return refuse(written.error());
    if (auto written = folder->write_text("compare.html", report::comparison_html(*comparison)); !written)
        return refuse(written.error());
    print_text("\nComparison  " + folder->file("compare.html") + "\n");
    return exit_ok;
}

}  // namespace wattrig::cli
