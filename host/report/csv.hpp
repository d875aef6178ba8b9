#pragma once
// A result as CSV (RFC 4180, UTF-8, CRLF): units in the header, full precision, point as decimal mark in every locale, an empty
// field for what was not measured. Any thread.

#include <string>

#include "host/analysis/result.hpp"

namespace wattrig::report {

std::string phases_csv(const analysis::RunResult& result);  // one row a phase, cool-offs included
std::string scores_csv(const analysis::RunResult& result);  // one row a score

}  // namespace wattrig::report
