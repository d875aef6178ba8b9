#include <csignal>
#include <exception>
#include <locale>
#include <new>

#include "host/cli/arguments.hpp"
#include "host/cli/commands.hpp"
#include "host/cli/console.hpp"

namespace wattrig::cli {

namespace {

struct Command {
    int operator()(const Ended& ended) const { return ended.exit_code; }
    int operator()(const RunArguments& arguments) const { return run(arguments); }
    int operator()(const AnalyzeArguments& arguments) const { return analyze(arguments); }
    int operator()(const ReportArguments& arguments) const { return report(arguments); }
    int operator()(const CompareArguments& arguments) const { return compare(arguments); }
    int operator()(const ExportArguments& arguments) const { return export_run(arguments); }
    int operator()(const ImportArguments& arguments) const { return import_file(arguments); }
    int operator()(const RecordArguments& arguments) const { return record(arguments); }
    int operator()(const MarkArguments& arguments) const { return mark(arguments); }
    int operator()(const ListArguments& arguments) const { return list(arguments); }
    int operator()(const DoctorArguments& arguments) const { return doctor(arguments); }
    int operator()(const ServeArguments& arguments) const { return serve_rig(arguments); }
    int operator()(const UpdateArguments& arguments) const { return update_rig(arguments); }
    int operator()(const RigCalibrationArguments& arguments) const { return rig_calibration(arguments); }
    int operator()(const PowerArguments& arguments) const { return power(arguments); }
    int operator()(const StatesArguments& arguments) const { return states(arguments); }
    int operator()(const LiveArguments& arguments) const { return live(arguments); }
};

}  // namespace
}  // namespace wattrig::cli

int main(int count, char** values) {
    using namespace wattrig::cli;
    // Numbers look the same everywhere: setlocale is never called, and streams are told so, too.
    std::locale::global(std::locale::classic());
    // A reader that goes away (`| head`) is an error of write, not the end of a run.
    std::signal(SIGPIPE, SIG_IGN);
    try {
        return std::visit(Command{}, parse_arguments(count, values));
    } catch (const std::bad_alloc&) {
        print_error("out of memory");
    } catch (const std::exception& exception) {
        print_error(std::string("internal error, please report it: ") + exception.what());
    }
    return exit_failed;
}
