#include "host/cli/arguments.hpp"

#include <CLI/CLI.hpp>
#include <iostream>

#include "host/cli/commands.hpp"
#include "host/cli/console.hpp"
#include "host/suites/text.hpp"

namespace wattrig::cli {
namespace {

constexpr const char* examples = R"(
Examples:
  wattrig run quick --target sim:client-1tb
      30 s tour on a simulated drive with a simulated rig, in virtual time: done in seconds
  wattrig run qd-sweep --target sim:client-1tb --set pattern=randwrite --set depth=1,4,16 --set runtime=10s
      the same with settings of the suite changed
  wattrig run quick --target /mnt/disk/scratch.bin --size 4GiB --rig tcp:192.168.7.2:4711
      a file on a real drive, power from a rig; the file is made, filled, and removed at the end
  wattrig run qd-sweep --target /mnt/disk/scratch.bin --plan
      what would be done, and how long it takes; nothing is touched
  wattrig list suites
  wattrig report wattrig-runs/quick-2026-01-31-120000
  wattrig compare runs/drive-a runs/drive-b -o comparison
  wattrig live --device /dev/nvme0n1
      power, MB/s and IOPS as they come: open the address that is printed
  wattrig live --replay wattrig-runs/quick-2026-01-31-120000
  wattrig export wattrig-runs/quick-2026-01-31-120000 --format csv --resolution 1ms -o power.csv

Exit codes:
  0  ok
  1  the run failed, or finished with I/O errors
  2  bad usage or bad input
  3  interrupted (Ctrl-C); what was measured is valid and the result says so
  4  a device or a rig refused or was lost

Figures from simulated drives and rigs are always called simulated.)";

std::vector<int> parse_cpus(const std::string& text) {
    std::vector<int> cpus;
    const auto number = [&](const std::string& word) {
        if (word.empty() || word.size() > 5 || word.find_first_not_of("0123456789") != std::string::npos)
            throw CLI::ValidationError("--cpus", "expected numbers such as 0,1 or 2-5, came '" + text + "'");
        return std::stoi(word);
    };
    for (std::size_t begin = 0; begin <= text.size();) {
        const std::size_t end = std::min(text.find(',', begin), text.size());
        const std::string part = text.substr(begin, end - begin);
        const std::size_t dash = part.find('-');
        const int first = number(part.substr(0, dash));
        const int last = dash == std::string::npos ? first : number(part.substr(dash + 1));
        if (last < first) throw CLI::ValidationError("--cpus", "'" + part + "' ends before it begins");
        for (int cpu = first; cpu <= last; ++cpu) cpus.push_back(cpu);
        begin = end + 1;
    }
    return cpus;
}

std::pair<std::string, std::string> parse_override(const std::string& text) {
    const std::size_t equals = text.find('=');
    if (equals == std::string::npos || equals == 0)
        throw CLI::ValidationError("--set", "expected KEY=VALUE such as runtime=10s, came '" + text + "'");
    return {text.substr(0, equals), text.substr(equals + 1)};
}

}  // namespace

Arguments parse_arguments(int count, const char* const* values) {
    CLI::App app{"wattrig measures how fast a drive is, how many watts it takes, and how sure that is.", "wattrig"};
    app.set_version_flag("--version", "wattrig " + program_version());
    app.require_subcommand(1);
    app.footer(examples);

    RunArguments run;
    std::string size, cpus;
    std::vector<std::string> overrides;
    CLI::App* run_command = app.add_subcommand("run", "carry out a suite and write a run directory");
    run_command->add_option("SUITE", run.suite, "name of a suite (wattrig list suites), or path of a suite's JSON")->required();
    run_command->add_option("--target", run.target, "file to test, or sim:MODEL for a simulated drive (wattrig list models)");
    run_command->add_option(
        "--rig", run.rig,
        "where power comes from: usb, usb:SERIAL, sim, none, replay:FILE, tcp:HOST:PORT (default: sim for a simulated drive, "
        "else none)");
    run_command->add_option("--out", run.out, "run directory, new or empty (default: wattrig-runs/SUITE-DATE-TIME)");
    run_command->add_option("--scale", run.scale, "less time and data, 0 < F <= 1; the result is marked not comparable")
        ->check(CLI::Range(1e-6, 1.0));
    run_command
        ->add_option(
            "--repeat", run.repeat,
            "carry the suite out so many times, into run-1, run-2, ... of the run directory, and give median and range")
        ->check(CLI::Range(1, 100));
    run_command->add_option("--seed", run.seed, "of everything drawn at random (default 1)");
    run_command
        ->add_option("--fidelity", run.fidelity, "of the simulated drive: exact (default) or aggregate, for long methods")
        ->check(CLI::IsMember({"exact", "aggregate"}));
    run_command->add_option("--set", overrides, "KEY=VALUE: change a setting of the suite; may be repeated")->take_all();
    run_command->add_option("--size", size, "of the file to be made, such as 1GiB or 16GB");
    run_command->add_option("--calibration", run.calibration,
                            "calibration of the rig, a JSON file (default: what the rig holds, else nominal parts)");
    run_command->add_option("--cpus", cpus, "CPUs for the I/O threads, such as 0,1 or 2-5");
    run_command->add_flag("--buffered", run.buffered, "through the page cache instead of O_DIRECT");
    run_command->add_flag("--keep", run.keep, "keep the file that was made for the run");
    run_command->add_option(
        "--destroy", run.destroy,
        "serial number of the drive whose contents a suite that writes may destroy; without it no device is "
        "ever written");
    run_command->add_flag("--overwrite-data", run.overwrite_data,
                          "let a suite that writes use a file that holds other data, or a device with a partition table or "
                          "filesystem");
    run_command->add_flag("--all-rounds", run.all_rounds, "repeat to the last round also after steady state is reached");
    run_command->add_flag("--plan", run.plan, "print what would be done and stop");
    run_command->add_flag("--json", run.json, "print the result as JSON on standard output, all else on standard error");
    run_command->add_flag("--quiet", run.quiet, "no progress and no notices");

    AnalyzeArguments analyze;
    CLI::App* analyze_command = app.add_subcommand("analyze", "make result.json of a run directory again");
    analyze_command->add_option("DIR", analyze.directory, "run directory")->required();
    analyze_command->add_flag("--json", analyze.json, "print the result as JSON");
    analyze_command->add_flag("--quiet", analyze.quiet, "print nothing");

    ReportArguments report;
    CLI::App* report_command =
        app.add_subcommand("report", "write report.html and CSV files of a run directory, print its table");
    report_command->add_option("DIR", report.directory, "run directory")->required();
    report_command->add_flag("--json", report.json, "print the result as JSON");
    report_command->add_flag("--quiet", report.quiet, "print nothing");

    CompareArguments compared;
    CLI::App* compare_command = app.add_subcommand("compare", "show runs of one suite side by side");
    compare_command->add_option("DIR", compared.directories, "run directories, at least two")->required();
    compare_command->add_option("-o,--out", compared.out, "new folder for compare.html and compare.csv");
    compare_command->add_flag(
        "--mixed", compared.mixed,
        "also runs that are not comparable, such as scaled or simulated beside measured; they are labelled");

    ExportArguments exported;
    std::string resolution, from, to;
    CLI::App* export_command = app.add_subcommand("export", "write a run in the format of another tool");
    export_command->add_option("DIR", exported.directory, "run directory")->required();
    export_command
        ->add_option("--format", exported.format, "csv, perfetto (power over time), fio (JSON), openmetrics (figures)")
        ->required()
        ->check(CLI::IsMember({"csv", "fio", "perfetto", "openmetrics"}));
    export_command->add_option("-o,--out", exported.out, "new file (default: standard output)");
    export_command->add_option("--resolution", resolution,
                               "time of a row such as 1ms, or `samples` for each of 30.72 us (default: samples, or what fits "
                               "1,048,575 rows; perfetto 50,000)");
    export_command->add_option("--from", from, "only from this time on, since the first phase, such as 10s");
    export_command->add_option("--to", to, "only up to this time");

    ImportArguments imported;
    CLI::App* import_command = app.add_subcommand(
        "import", "another instrument's recording as a run directory, for analyze, report, compare and export");
    import_command
        ->add_option("FORMAT", imported.format,
                     "quarch, joulescope, powersensor3, ppk2 (their CSV or text files), or csv: columns found by "
                     "their names and units, or as --mapping says")
        ->required()
        ->check(CLI::IsMember({"quarch", "joulescope", "powersensor3", "ppk2", "csv"}));
    import_command->add_option("FILE", imported.file, "the file")->required();
    import_command->add_option("-o,--out", imported.out, "run directory, new or empty");
    import_command->add_option("--mapping", imported.mapping,
                               "JSON file that says which column is what (host/exchange/IMPORT.md)");
    import_command->add_option("--volts", imported.volts, "voltage, where the file has none, such as 3.3")
        ->check(CLI::Range(1e-3, 1e3));
    import_command
        ->add_option("--accuracy", imported.accuracy_percent,
                     "of the instrument's power in percent (k = 2); without, no U is given")
        ->check(CLI::Range(1e-6, 100.0));
    import_command->add_option("--phases", imported.phases,
                               "CSV file of label,from,to in seconds: parts of the recording that get figures");
    import_command->add_option("--drive", imported.drive, "name of what was measured");
    import_command->add_flag("--json", imported.json, "the result as JSON");

    RecordArguments record;
    CLI::App* record_command = app.add_subcommand("record",
                                                  "power while another program runs; its exit code is passed on (125: the "
                                                  "recording failed, 126, 127: it could not be started)");
    record_command->add_option("COMMAND", record.command, "the program and its arguments, after --")->required();
    record_command->add_option("--rig", record.rig, "usb (default), usb:SERIAL, tcp:HOST:PORT, sim[:MODEL]");
    record_command->add_option("--calibration", record.calibration, "calibration of the rig (JSON)");
    record_command->add_option("--seed", record.seed, "of the simulated rig");
    record_command->add_option("-o,--out", record.out, "run directory, new or empty (default: wattrig-runs/record-DATE-TIME)");
    record_command->add_option("--label", record.label, "name of the phase (default: the command)");
    record_command->add_flag("--json", record.json, "after the command: the result as JSON instead of the table");
    record_command->add_flag("-q,--quiet", record.quiet, "no table after the command");

    MarkArguments mark;
    CLI::App* mark_command = app.add_subcommand("mark", "a mark in the recording that `wattrig record` makes of this program");
    mark_command->add_option("TEXT", mark.text, "what happens now")->required();
    mark_command->add_flag("--begin", mark.begin, "a phase of this name begins");
    mark_command->add_flag("--end", mark.end, "it ends");
    mark_command->add_option("--socket", mark.socket, "socket of the recording (default: WATTRIG_MARK_SOCKET)");

    ListArguments list;
    CLI::App* list_command = app.add_subcommand("list", "list rigs, targets, suites or models");
    list_command->add_option("WHAT", list.what, "rigs, targets, suites or models")
        ->required()
        ->check(CLI::IsMember({"rigs", "targets", "suites", "models"}));
    list_command->add_flag("--json", list.json, "as JSON");

    DoctorArguments doctor;
    CLI::App* doctor_command = app.add_subcommand("doctor", "say whether this machine is fit for measuring");
    doctor_command->add_flag("--json", doctor.json, "as JSON");
    doctor_command->add_flag("--install-udev-rule", doctor.install_udev_rule, "let users of this machine open rigs (as root)");
    doctor_command->add_option("--restore", doctor.restore,
                               "run directory (or folder of some): put back drive settings that a killed run left changed");

    ServeArguments serve;
    CLI::App* serve_command = app.add_subcommand("serve-rig", "share a rig of this machine over TCP");
    serve_command->add_option("--rig", serve.rig, "usb or usb:SERIAL (default: the only one)");
    serve_command->add_option("--listen", serve.listen,
                              "ADDRESS:PORT (default 127.0.0.1:4711); beyond loopback the token in WATTRIG_TOKEN is asked for");
    serve_command->add_flag("--allow-update", serve.allow_update, "let clients send the rig into its boot loader");

    UpdateArguments update;
    CLI::App* rig_command = app.add_subcommand("rig", "look after a rig");
    rig_command->require_subcommand(1);
    CLI::App* update_command = rig_command->add_subcommand("update", "put new firmware on a rig");
    update_command->add_option("FILE", update.file, "firmware image, UF2")->required();
    update_command->add_option("--rig", update.rig, "usb, usb:SERIAL or tcp:HOST:PORT (default: the only one on USB)");
    update_command->add_flag("--allow-remote", update.allow_remote, "also over TCP; somebody has to copy the file there");
    update_command->add_flag("--allow-older", update.allow_older, "also when the image is older than what the rig has");

    RigCalibrationArguments stored;
    CLI::App* calibration_command = rig_command->add_subcommand(
        "calibration", "print the calibration that a rig holds, sealed as a file; or store one on it");
    calibration_command->add_option("FILE", stored.file,
                                    "calibration of this rig, to be stored; the one before stays in the other slot");
    calibration_command->add_option("--rig", stored.rig, "usb, usb:SERIAL or tcp:HOST:PORT (default: the only one on USB)");

    PowerArguments power;
    CLI::App* power_command = app.add_subcommand("power", "switch the power of the drive in a rig");
    power_command->add_option("ACTION", power.action, "on, off or cycle")
        ->required()
        ->check(CLI::IsMember({"on", "off", "cycle"}));
    power_command->add_option("DEVICE", power.device, "the drive in the rig: /dev/nvme0, or a link of /dev/disk/by-id");
    power_command->add_option("--rig", power.rig, "whose switch: tcp:HOST:PORT or sim");
    power_command->add_option("--serial", power.serial, "serial number of the drive, as on its label");
    power_command->add_flag("--no-device", power.no_device, "the drive in the rig is not connected to this machine");

    StatesArguments states;
    CLI::App* states_command = app.add_subcommand("states", "power states: what the drive declares, set and read back each");
    states_command->add_option("DEVICE", states.device, "NVMe controller, such as /dev/nvme0")->required();
    states_command->add_option("--out", states.out, "folder for the record of changed settings (default: wattrig-runs/states)");

    LiveArguments live;
    std::string live_duration;
    CLI::App* live_command = app.add_subcommand("live", "watch power as it comes, on a page of this machine or as text");
    live_command->add_option("--rig", live.rig,
                             "where power comes from: usb, usb:SERIAL, sim, replay:FILE, tcp:HOST:PORT (default: usb)");
    live_command->add_option(
        "--listen", live.listen,
        "ADDRESS:PORT of the page (default 127.0.0.1:4712); beyond loopback the token in WATTRIG_TOKEN is asked for");
    live_command->add_option("--device", live.device,
                             "block device whose MB/s and IOPS are shown beside the power, such as /dev/nvme0n1");
    live_command->add_option("--calibration", live.calibration, "calibration of the rig, a JSON file");
    live_command->add_option("-o,--out", live.out,
                             "folder for the recordings that are started on the page (default: wattrig-runs)");
    live_command->add_option("--replay", live.replay, "run directory: look at an old recording, down to every sample");
    live_command->add_flag("--text", live.text, "no page: a line a second on standard output");
    live_command->add_option("--duration", live_duration, "with --text: end after this time, such as 10s");
    live_command->add_flag("--quiet", live.quiet, "no notices");

    try {
        app.parse(count, values);
        for (const std::string& text : overrides) run.overrides.push_back(parse_override(text));
        if (!cpus.empty()) run.cpus = parse_cpus(cpus);
        if (!size.empty()) {
            auto bytes = suites::parse_size(size, true);
            if (!bytes) throw CLI::ValidationError("--size", bytes.error().message);
            run.size = *bytes;
        }
        const auto time = [](const std::string& text, const char* option) -> std::optional<Nanoseconds> {
            if (text.empty()) return std::nullopt;
            auto parsed = suites::parse_time(text, false);
            if (!parsed) throw CLI::ValidationError(option, parsed.error().message);
            return *parsed;
        };
        live.duration = time(live_duration, "--duration");
        exported.every_sample = resolution == "samples";
        if (!exported.every_sample) exported.resolution = time(resolution, "--resolution");
        if (exported.resolution && exported.resolution->count() < 30'720)
            throw CLI::ValidationError(
                "--resolution", "expected `samples` or at least 30.72us, the time of a sample, came '" + resolution + "'");
        exported.from = time(from, "--from");
        exported.to = time(to, "--to");
        if (exported.to && *exported.to <= exported.from.value_or(Nanoseconds(0)))
            throw CLI::ValidationError("--to", "expected a time after --from, came '" + to + "'");
    } catch (const CLI::Success& success) {
        // --help and --version; CLI11 prints them.
        app.exit(success, std::cout, std::cerr);
        return Ended{exit_ok};
    } catch (const CLI::ParseError& error) {
        print_error(std::string(error.what()) + "; `wattrig --help` has examples");
        return Ended{exit_usage};
    }
    if (*run_command) {
        run.command_line.assign(values, values + count);
        return run;
    }
    if (*analyze_command) return analyze;
    if (*report_command) return report;
    if (*compare_command) return compared;
    if (*export_command) return exported;
    if (*import_command) return imported;
    if (*record_command) {
        record.command_line.assign(values, values + count);
        return record;
    }
    if (*mark_command) return mark;
    if (*list_command) return list;
    if (*serve_command) return serve;
    if (*update_command) return update;
    if (*calibration_command) return stored;
    if (*power_command) return power;
    if (*states_command) return states;
    if (*live_command) return live;
    return doctor;
}

}  // namespace wattrig::cli
