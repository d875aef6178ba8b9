#include <fcntl.h>
#include <unistd.h>

#include <cerrno>
#include <cstdio>
#include <string_view>

#include "host/cli/commands.hpp"
#include "host/cli/console.hpp"
#include "host/exchange/export.hpp"

namespace wattrig::cli {
namespace {

// Standard output or a new file. A file that exists is never written over; one that could not be finished is removed.
class Output {
  public:
    explicit Output(std::string path) : path_(std::move(path)) {}
    ~Output() {
        if (file_ > 2) {
            ::close(file_);
            ::unlink(path_.c_str());
        }
    }
    Output(const Output&) = delete;
    Output& operator=(const Output&) = delete;

    Result<void> write(std::string_view text) {
        if (file_ < 0) {
            if (path_ == "-") {
                file_ = STDOUT_FILENO;
            } else {
                file_ = ::open(path_.c_str(), O_WRONLY | O_CREAT | O_EXCL | O_CLOEXEC, 0666);
                if (file_ < 0 && errno == EEXIST)
                    return bad_input(path_ + ": expected the name of a new file, this one exists; remove it or choose another");
                if (file_ < 0) return system_error("cannot write " + path_, errno);
            }
        }
        while (!text.empty()) {
            const ssize_t written = ::write(file_, text.data(), text.size());
            if (written < 0 && errno == EINTR) continue;
            if (written < 0) return system_error("cannot write " + path_, errno);
            text.remove_prefix(static_cast<std::size_t>(written));
        }
        return {};
    }
    Result<void> finish() {
        if (file_ > 2) {
            const int file = file_;
            file_ = -1;
            if (::close(file) != 0) return system_error("cannot write " + path_, errno);
        }
        return {};
    }

  private:
    std::string path_;
    int file_ = -1;
};

Result<void> write_export(const ExportArguments& arguments, const recording::RunDirectory& directory,
                          const exchange::TextSink& sink) {
    exchange::TraceOptions options;
    options.every_sample = arguments.every_sample;
    options.resolution = arguments.resolution;
    options.from = arguments.from;
    options.to = arguments.to;
    if (arguments.format == "csv") return exchange::export_csv(directory, options, sink);
    if (arguments.format == "perfetto") return exchange::export_perfetto(directory, options, sink);
    auto result = analysis::analyze(directory);
    if (!result) return result.error();
    return sink(arguments.format == "fio" ? exchange::fio_json(*result, program_version()) : exchange::openmetrics(*result));
}

}  // namespace

int export_run(const ExportArguments& arguments) {
    auto directory = recording::RunDirectory::open(arguments.directory);
    if (!directory) return refuse(directory.error());
    Output output(arguments.out);
    if (auto written = write_export(arguments, *directory, [&](std::string_view text) { return output.write(text); }); !written)
        return refuse(written.error());
    if (auto finished = output.finish(); !finished) return refuse(finished.error());
    return exit_ok;
}

}  // namespace wattrig::cli
