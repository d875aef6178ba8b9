#include "host/report/write.hpp"

#include "host/report/csv.hpp"
#include "host/report/html.hpp"

namespace wattrig::report {

Result<void> write_reports(const recording::RunDirectory& directory, const analysis::RunResult& result) {
    if (auto written = directory.write_text("phases.csv", phases_csv(result)); !written) return written;
    if (auto written = directory.write_text("scores.csv", scores_csv(result)); !written) return written;
    const RunDetail detail = read_run_detail(directory);
    return directory.write_text("report.html", html_report(result, &detail));
}

}  // namespace wattrig::report
