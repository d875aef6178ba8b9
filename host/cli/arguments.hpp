#pragma once
// The command line, understood. CLI11 is included by arguments.cpp alone.

#include <cstdint>
#include <optional>
#include <string>
#include <utility>
#include <variant>
#include <vector>

#include "host/base/clock.hpp"

namespace wattrig::cli {

struct RunArguments {
    std::string suite;
    std::string target;       // a path, or "sim:MODEL"; may be empty with `plan`
    std::string rig;          // empty: sim for sim:MODEL, else none
    std::string out;          // empty: wattrig-runs/SUITE-DATE-TIME
    std::string calibration;  // path; empty = the rig's own, or nominal
    std::string destroy;      // serial of the device that may be written
    double scale = 1;
    unsigned repeat = 1;
    std::uint64_t seed = 1;
    std::string fidelity = "exact";
    std::vector<std::pair<std::string, std::string>> overrides;
    std::optional<std::uint64_t> size;  // bytes
    std::vector<int> cpus;
    bool all_rounds = false, buffered = false, keep = false, overwrite_data = false, plan = false, json = false, quiet = false;
    std::vector<std::string> command_line;  // as typed, for run.json
};
struct AnalyzeArguments {
    std::string directory;
    bool json = false, quiet = false;
};
struct ReportArguments {
    std::string directory;
    bool json = false, quiet = false;
};
struct CompareArguments {
    std::vector<std::string> directories;
    std::string out;  // folder for compare.html and compare.csv; empty = neither
    bool mixed = false;
};
struct ExportArguments {
    std::string directory;
    std::string format;     // csv, fio, perfetto, openmetrics
    std::string out = "-";  // a new file; "-" = standard output
    bool every_sample = false;
    std::optional<Nanoseconds> resolution, from, to;
};
struct ImportArguments {
    std::string format, file;
    std::string out;      // run directory; empty = wattrig-runs/DATE-TIME-import
    std::string mapping;  // JSON file
    std::string phases;   // CSV file
    std::string drive;
    std::optional<double> volts, accuracy_percent;
    bool json = false;
};
struct RecordArguments {
    std::vector<std::string> command;
    std::string rig = "usb";
    std::string calibration, out, label;
    std::uint64_t seed = 1;
    bool json = false, quiet = false;
    std::vector<std::string> command_line;
};
struct MarkArguments {
    std::string text, socket;
    bool begin = false, end = false;
};
struct ListArguments {
    std::string what;  // rigs, targets, suites, models
    bool json = false;
};
struct DoctorArguments {
    bool json = false;
    bool install_udev_rule = false;
    std::string restore;  // run directory, or a folder of some, whose changed drive settings are put back
};
struct ServeArguments {
    std::string rig = "usb";
    std::string listen = "127.0.0.1:4711";
    bool allow_update = false;
};
struct UpdateArguments {
    std::string file;
    std::string rig = "usb";
    bool allow_remote = false, allow_older = false;
};
struct RigCalibrationArguments {
    std::string file;  // to be stored; empty: print what the rig holds
    std::string rig = "usb";
};
struct PowerArguments {
    std::string action;  // on, off, cycle
    std::string device;  // /dev/nvme0, a namespace, a by-id link
    std::string rig, serial;
    bool no_device = false;
};
struct StatesArguments {
    std::string device;
    std::string out;  // run directory for the restore record
};
struct LiveArguments {
    std::string rig = "usb";
    std::string listen = "127.0.0.1:4712";
    std::string replay;                   // run directory to look at instead of a rig
    std::string device;                   // block device whose counters are shown beside the power
    std::string calibration;              // path; empty = the rig's own, or nominal
    std::string out;                      // folder for recordings; empty: wattrig-runs
    std::optional<Nanoseconds> duration;  // of --text
    bool text = false, quiet = false;
};
// The command line was answered already (--help, --version) or refused; the program ends with this.
struct Ended {
    int exit_code = 0;
};

using Arguments = std::variant<Ended, RunArguments, AnalyzeArguments, ReportArguments, CompareArguments, ExportArguments,
                               ImportArguments, RecordArguments, MarkArguments, ListArguments, DoctorArguments, ServeArguments,
                               UpdateArguments, RigCalibrationArguments, PowerArguments, StatesArguments, LiveArguments>;
Arguments parse_arguments(int count, const char* const* values);

}  // namespace wattrig::cli
