#pragma once
// One function a command; each returns the program's exit code.

#include <string>
#include <vector>

#include "host/base/result.hpp"
#include "host/cli/arguments.hpp"

namespace wattrig::cli {

// Documented in --help and in host/cli/README.md.
enum ExitCode : int {
    exit_ok = 0,
    exit_failed = 1,       // the run failed, or finished with I/O errors
    exit_usage = 2,        // bad usage or bad input
    exit_interrupted = 3,  // stopped by the user; the result is valid
    exit_device = 4,       // a device or a rig refused or was lost
};
int exit_code_of(const Error& error);
int refuse(const Error& error);  // says it in one line; its exit code

int run(const RunArguments& arguments);
int analyze(const AnalyzeArguments& arguments);
int report(const ReportArguments& arguments);
int compare(const CompareArguments& arguments);
int export_run(const ExportArguments& arguments);
int import_file(const ImportArguments& arguments);
int record(const RecordArguments& arguments);
int mark(const MarkArguments& arguments);
int list(const ListArguments& arguments);
int doctor(const DoctorArguments& arguments);
int install_rule();  // doctor --install-udev-rule
int serve_rig(const ServeArguments& arguments);
int update_rig(const UpdateArguments& arguments);
int rig_calibration(const RigCalibrationArguments& arguments);
int power(const PowerArguments& arguments);
int states(const StatesArguments& arguments);
int live(const LiveArguments& arguments);

// For doctor: a line for each drive below `folder` that a killed run left with changed settings; and putting them back.
std::vector<std::string> drive_settings_left_changed(const std::string& folder);
int restore_drive_settings(const std::string& folder);

std::string program_version();  // "0.1.0"

}  // namespace wattrig::cli
