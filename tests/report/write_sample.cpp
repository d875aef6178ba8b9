// Writes the sample's report for the browser test: write_sample simulated|real|hostile FILE.html
// or, after a change that was looked at and found good, the golden texts: write_sample golden FOLDER
#include <cstdio>
#include <fstream>
#include <iostream>

#include "host/report/html.hpp"
#include "host/report/table.hpp"
#include "tests/report/sample_result.hpp"

int main(int count, char** arguments) {
    if (count != 3) return 2;
    const std::string which = arguments[1];
    if (which == "golden") {
        using namespace wattrig::report;
        const std::string folder = std::string(arguments[2]) + "/";
        std::ofstream(folder + "simulated.txt") << text_report(sample_result(true));
        std::ofstream(folder + "no_rig_ascii.txt") << text_report(sample_result(false, false), {.utf8 = false});
        return 0;
    }
    wattrig::analysis::RunResult result = wattrig::report::sample_result(which != "real");
    if (which == "hostile") {
        const std::string hostile =
            "</script><script>document.title='owned'</script><img src=x onerror=document.title='owned'>\"'&\x1b[2J\xff";
        result.drive = result.target = result.suite = result.rig = result.run_directory = hostile;
        result.warnings.push_back(hostile);
        result.scores[0].name = hostile;
        for (auto& phase : result.phases) {
            phase.phase.label = hostile + " " + phase.phase.label;
            phase.warnings.push_back(hostile);
        }
        result.run_json =
            R"({"suite":{"title":"</script><script>document.title='owned'</script>"},"host":{"<img src=x onerror=1>":"<b>"}})";
    }
    std::ofstream(arguments[2], std::ios::binary) << wattrig::report::html_report(result);
    std::cout << wattrig::report::text_report(result);
    return 0;
}
