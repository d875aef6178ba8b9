#include <fmt/format.h>

#include <algorithm>
#include <nlohmann/json.hpp>
#include <vector>

#include "host/cli/commands.hpp"
#include "host/cli/console.hpp"
#include "host/cli/output.hpp"
#include "host/report/escape.hpp"
#include "host/report/figures.hpp"
#include "host/rig/usb_discovery.hpp"
#include "host/sim/simulation.hpp"
#include "host/suites/plan.hpp"
#include "host/target/target.hpp"

namespace wattrig::cli {
namespace {

// Rows of text in columns as wide as they need.
void print_rows(const std::vector<std::vector<std::string>>& rows) {
    std::vector<std::size_t> widths;
    std::vector<std::vector<std::string>> safe = rows;
    for (auto& row : safe) {
        widths.resize(std::max(widths.size(), row.size()), 0);
        for (std::size_t k = 0; k < row.size(); ++k) {
            row[k] = report::terminal_safe(row[k], utf8_wanted());
            widths[k] = std::max(widths[k], report::display_width(row[k]));
        }
    }
    std::string out;
    for (const auto& row : safe) {
        std::string line;
        for (std::size_t k = 0; k < row.size(); ++k) {
            line += row[k];
            if (k + 1 < row.size()) line.append(widths[k] - report::display_width(row[k]) + 2, ' ');
        }
        out += line + '\n';
    }
    print_text(out);
}

std::string gigabytes(std::uint64_t bytes) { return report::significant(static_cast<double>(bytes) / 1e9, 4) + " GB"; }

}  // namespace

int list(const ListArguments& arguments) {
    nlohmann::json json = nlohmann::json::array();
    std::vector<std::vector<std::string>> rows;
    if (arguments.what == "suites") {
        for (const suites::SuiteSummary& suite : suites::list_suites()) {
            json.push_back({{"name", suite.name}, {"title", suite.title}, {"writes", suite.writes}});
            rows.push_back({suite.name, suite.writes ? "writes" : "reads", suite.title});
        }
    } else if (arguments.what == "models") {
        for (const sim::ModelSummary& model : sim::list_models()) {
            json.push_back({{"name", model.name},
                            {"description", model.description},
                            {"capacity", model.capacity},
                            {"logical_block", model.logical_block}});
            rows.push_back({"sim:" + model.name, gigabytes(model.capacity), model.description});
        }
    } else if (arguments.what == "targets") {
        for (const target::TargetInfo& device : target::list_block_devices()) {
            json.push_back({{"path", device.path},
                            {"size", device.size},
                            {"model", device.model},
                            {"serial", device.serial},
                            {"transport", device.transport},
                            {"logical_block", device.logical_block}});
            rows.push_back({device.path, gigabytes(device.size), device.transport, device.model});
        }
    } else {
        json.push_back({{"name", "sim"}, {"description", "simulated rig"}, {"simulated", true}});
        rows.push_back({"sim", "simulated rig; its power is always called simulated"});
        const rig::UsbSurvey survey = rig::survey_usb();
        for (const rig::UsbRig& found : survey.rigs) {
            if (found.boot_loader) continue;
            const bool usable = found.access == rig::UsbAccess::free;
            json.push_back({{"name", "usb:" + found.serial},
                            {"description", found.product},
                            {"place", found.place},
                            {"usable", usable},
                            {"simulated", false}});
            rows.push_back({"usb:" + found.serial, found.product + ", " + found.place +
                                                       (usable ? "" : " (cannot be used: `wattrig doctor` says why)")});
        }
        if (!arguments.json) {
            if (rows.size() == 1)
                for (const rig::UsbFinding& finding : rig::explain(survey)) print_error("rigs on USB: " + finding.words);
            print_error("rigs on the network are given as tcp:HOST:PORT");
        }
    }
    if (arguments.json)
        print_json(json);
    else
        print_rows(rows);
    return exit_ok;
}

}  // namespace wattrig::cli
