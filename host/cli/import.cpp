#include <fmt/format.h>

#include <fstream>
#include <nlohmann/json.hpp>
#include <sstream>

#include "host/analysis/result.hpp"
#include "host/cli/commands.hpp"
#include "host/cli/console.hpp"
#include "host/cli/output.hpp"
#include "host/exchange/import.hpp"

namespace wattrig::cli {
namespace {

Result<exchange::ImportOptions> options_of(const ImportArguments& arguments) {
    exchange::ImportOptions options;
    options.format = arguments.format;
    options.fixed_volts = arguments.volts;
    if (arguments.accuracy_percent) options.accuracy = *arguments.accuracy_percent / 100;
    options.drive = arguments.drive;
    if (!arguments.mapping.empty()) {
        std::ifstream file(arguments.mapping);
        if (!file) return system_error("cannot open " + arguments.mapping, errno);
        std::ostringstream text;
        text << file.rdbuf();
        auto mapping = exchange::parse_mapping(text.str(), arguments.mapping);
        if (!mapping) return mapping.error();
        options.mapping = std::move(*mapping);
    }
    if (!arguments.phases.empty()) {
        auto phases = exchange::read_phases(arguments.phases);
        if (!phases) return phases.error();
        options.phases = std::move(*phases);
    }
    return options;
}

}  // namespace

int import_file(const ImportArguments& arguments) {
    auto options = options_of(arguments);
    if (!options) return refuse(options.error());
    auto directory = recording::RunDirectory::create(arguments.out.empty() ? default_directory("import") : arguments.out);
    if (!directory) return refuse(directory.error());
    auto summary = exchange::import_recording(arguments.file, *options, *directory, program_version());
    if (!summary) {
        remove_if_empty(*directory);
        return refuse(summary.error());
    }
    auto result = analysis::analyze(*directory);
    if (!result) return refuse(result.error());
    if (auto written = write_result(*directory, *result); !written) return refuse(written.error());
    if (arguments.json) {
        print_json(analysis::to_json(*result));
        return exit_ok;
    }
    print_result(*result);
    print_text(fmt::format("\nImported {} rows over {:.6g} s: {:.6g} J, mean {:.6g} W\nResult  {}\nReport  {}\n", summary->rows,
                           summary->seconds, summary->joules, summary->mean_watts, directory->file("result.json"),
                           directory->file("report.html")));
    return exit_ok;
}

}  // namespace wattrig::cli
