#pragma once
// The table of a result as rows and columns of text, shared by the terminal and the HTML report. Any thread.

#include <cstdint>
#include <optional>
#include <string>
#include <vector>

#include "host/analysis/result.hpp"

namespace wattrig::report {

// One phase of the table. Rows of one group differ in queue depth only: they are one line of a chart.
struct Row {
    const analysis::PhaseResult* phase = nullptr;  // lives as long as the result
    std::string group;                             // "randread 4 KiB"; empty when the phase stands alone
    std::string name;                              // "QD4", or the whole label when it stands alone
    std::optional<std::uint32_t> depth;            // in total, over all workers
};
// Groups in order of first appearance, their rows in order of execution; idle times and fills at the end. Cool-offs are left
// out: what they cost stands beside the phase before them.
std::vector<Row> rows_of(const analysis::RunResult& result);

struct Column {
    std::string name;  // "p99"
    std::string unit;  // "us"; empty when the name is the unit
    std::string hint;  // one sentence for who does not know the column
    int drop = 0;      // when the page is too narrow, higher ones go first; 0 never goes
    std::vector<std::string> cells;
};
struct Columns {
    std::vector<Row> rows;
    std::vector<Column> columns;
};
// `micro`: how to write the prefix, "u" or U+00B5. Columns in which nothing was measured at all are left out only when they are
// extras (cool-off, idle-subtracted); the others show "-".
Columns columns_of(const analysis::RunResult& result, const std::string& micro);

}  // namespace wattrig::report
