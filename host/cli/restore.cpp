// `wattrig doctor --restore DIR`: puts back what a killed run left changed in a drive.

#include <fmt/format.h>

#include "host/cli/commands.hpp"
#include "host/cli/console.hpp"
#include "host/cli/output.hpp"
#include "host/nvme/settings.hpp"

namespace wattrig::cli {

std::vector<std::string> drive_settings_left_changed(const std::string& folder) {
    std::vector<std::string> lines;
    for (const std::string& directory : nvme::find_restore_records(folder)) {
        const auto left = nvme::read_restore_record(directory);
        lines.push_back(left
                            ? fmt::format("{} settings of {} (serial {}) were left changed; put them back with `wattrig doctor "
                                          "--restore {}`",
                                          left->before.size(), left->device, left->serial, directory)
                            : left.error().message);
    }
    return lines;
}

int restore_drive_settings(const std::string& folder) {
    const auto directories = nvme::find_restore_records(folder);
    if (directories.empty()) {
        print_text(fmt::format("{}: no drive was left with changed settings\n", folder));
        return exit_ok;
    }
    int code = exit_ok;
    for (const std::string& directory : directories) {
        auto lines = nvme::restore_settings(directory);
        if (!lines) {
            code = refuse(lines.error());
            continue;
        }
        for (const std::string& line : *lines) print_text(line + "\n");
    }
    return code;
}

}  // namespace wattrig::cli
