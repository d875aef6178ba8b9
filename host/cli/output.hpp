#pragma once
// A result on standard output, shared by run, analyze and report.

#include "host/analysis/result.hpp"
#include "host/recording/run_directory.hpp"

namespace wattrig::cli {

void print_text(const std::string& text);  // to standard output, as it is
void print_json(const nlohmann::json& value);
void print_result(const analysis::RunResult& result);
// The local time, by strftime's words.
std::string now_text(const char* format);
// "wattrig-runs/NAME-DATE-TIME", a name that is still free.
std::string default_directory(const std::string& name);
// What a refused run leaves of its own: an empty directory goes.
void remove_if_empty(const recording::RunDirectory& directory);
// From result.json when it is there; else worked out and written, as a run that was killed has none yet.
Result<analysis::RunResult> result_of(const recording::RunDirectory& directory);
// result.json, then report.html and the CSV files.
Result<void> write_result(const recording::RunDirectory& directory, const analysis::RunResult& result);

}  // namespace wattrig::cli
