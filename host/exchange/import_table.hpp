#pragma once
// Text tables of other instruments, read a row at a time: which columns hold time, voltage, current and power, in which unit.
//
// Thread rule: free functions, any thread.

#include <cstdint>
#include <functional>
#include <limits>
#include <optional>
#include <string>
#include <vector>

#include "host/base/result.hpp"

namespace wattrig::exchange {

// One quantity of a table: its column by the header's name (or its number from 1 as text, where a table has no header), and
// what one unit of it is in SI.
struct ImportColumn {
    std::string name;
    double scale = 1;
};
struct ImportMapping {
    std::string instrument;              // as it shall stand in the result
    char delimiter = 0;                  // 0: found out: tab, semicolon, comma, or spaces
    char decimal = 0;                    // 0: found out
    std::optional<std::string> comment;  // rows that start so are left out
    bool header = true;
    std::size_t skip_lines = 0;  // before the header
    ImportColumn time;
    std::optional<ImportColumn> volts, amperes, watts;  // at least one of amperes and watts
    std::optional<double> fixed_volts;                  // where no column has it
    std::optional<double> accuracy;                     // relative, k = 2, of power: as the instrument's maker states it
};
// NaN: the cell was empty.
struct ImportRow {
    std::int64_t time_ns = 0;  // since the table's own zero
    double volts = std::numeric_limits<double>::quiet_NaN();
    double amperes = std::numeric_limits<double>::quiet_NaN();
    double watts = std::numeric_limits<double>::quiet_NaN();
    std::size_t line = 0;
};

// The formats with a mapping of their own: "quarch", "joulescope", "powersensor3", "ppk2"; "csv" takes one from a file or finds
// the columns by their names and units.
const std::vector<std::string>& import_formats();
// From the text of a mapping file (JSON, see host/exchange/IMPORT.md); `where` names it in messages.
Result<ImportMapping> parse_mapping(const std::string& text, const std::string& where);

// Reads `path` from begin to end. Without a mapping its columns are found by the header, as `format` names them. Returns the
// mapping that was used. bad_input names file, line, what was expected and what came. Memory: one line.
Result<ImportMapping> read_table(const std::string& path, const std::string& format,
                                 const std::optional<ImportMapping>& mapping,
                                 const std::function<Result<void>(const ImportRow&)>& sink);

}  // namespace wattrig::exchange
