#include "host/recording/run_directory.hpp"

#include <fcntl.h>
#include <sys/stat.h>
#include <unistd.h>

#include <algorithm>
#include <cerrno>
#include <filesystem>
#include <nlohmann/json.hpp>
#include <optional>
#include <span>
#include <string_view>

#include "host/recording/io_file.hpp"
#include "host/recording/mapped_file.hpp"
#include "host/recording/phase_json.hpp"

namespace wattrig::recording {
namespace {

namespace fs = std::filesystem;

class File {
  public:
    File(const std::string& path, int flags)
        : path_(path), file_(::open(path.c_str(), flags | O_CLOEXEC, 0644)), error_(errno) {}
    ~File() {
        if (file_ >= 0) ::close(file_);
    }
    File(const File&) = delete;
    File& operator=(const File&) = delete;

    // Everything, and to the disk; on failure the file is as long as before.
    Result<std::uint64_t> append_synced(std::span<const std::uint8_t> bytes) {
        if (file_ < 0) return system_error("cannot open " + path_, error_);
        const off_t before = ::lseek(file_, 0, SEEK_END);
        if (before < 0) return system_error("cannot find the end of " + path_, errno);
        while (!bytes.empty()) {
            const ssize_t count = ::write(file_, bytes.data(), bytes.size());
            if (count < 0 && errno == EINTR) continue;
            if (count < 0) {
                const int os_error = errno;
                std::string message = "cannot write " + path_;
                if (::ftruncate(file_, before) != 0) message += " (and a partial entry stays at its end)";
                return system_error(message, os_error);
            }
            bytes = bytes.subspan(static_cast<std::size_t>(count));
        }
        if (::fdatasync(file_) != 0 && errno != EINVAL) return system_error("cannot bring " + path_ + " to the disk", errno);
        return static_cast<std::uint64_t>(before);
    }

  private:
    const std::string& path_;
    int file_;
    int error_;
};

std::span<const std::uint8_t> bytes_of(const std::string& text) {
    return {reinterpret_cast<const std::uint8_t*>(text.data()), text.size()};
}

void sync_directory(const std::string& path) {
    const int directory = ::open(path.c_str(), O_RDONLY | O_DIRECTORY | O_CLOEXEC);
    if (directory < 0) return;
    ::fsync(directory);  // without it a power cut may undo the rename, but never shows half a file
    ::close(directory);
}

Result<std::string> read_text(const std::string& path) {
    Result<MappedFile> file = MappedFile::open(path);
    if (!file) return file.error();
    const std::span<const std::uint8_t> bytes = file->bytes();
    return std::string(reinterpret_cast<const char*>(bytes.data()), bytes.size());
}

Result<void> append_line(const std::string& path, const std::string& line) {
    File file(path, O_WRONLY | O_CREAT | O_APPEND);
    const Result<std::uint64_t> done = file.append_synced(bytes_of(line + "\n"));
    if (!done) return done.error();
    return {};
}

}  // namespace

Result<RunDirectory> RunDirectory::create(const std::string& path) {
    std::error_code error;
    if (fs::exists(path, error)) {
        if (!fs::is_directory(path, error)) return bad_input(path + " exists and is no directory: choose another with --out");
        const bool empty = fs::is_empty(path, error);
        if (error) return system_error("cannot look into " + path, error.value());
        if (!empty) return bad_input(path + " is not empty, and nothing is ever overwritten: choose another with --out");
        return RunDirectory(path);
    }
    fs::create_directories(path, error);
    if (error) return system_error("cannot make the directory " + path, error.value());
    return RunDirectory(path);
}

Result<RunDirectory> RunDirectory::open(const std::string& path) {
    std::error_code error;
    if (!fs::is_directory(path, error)) {
        return bad_input(path + " is no directory (expected a run directory, as made by wattrig run or record)");
    }
    RunDirectory directory(path);
    const bool any = fs::exists(directory.file("run.json"), error) || fs::exists(directory.file("power.wrt"), error) ||
                     fs::exists(directory.file("phases.jsonl"), error);
    if (!any) return bad_input(path + " holds neither run.json, phases.jsonl nor power.wrt: it is no run directory");
    return directory;
}

Result<void> RunDirectory::write_json(const std::string& name, const nlohmann::json& value) const {
    return write_text(name, value.dump(2, ' ', false, nlohmann::json::error_handler_t::replace) + "\n");
}

Result<void> RunDirectory::write_text(const std::string& name, const std::string& text) const {
    const std::string path = file(name);
    const std::string fresh = path + ".new";
    {
        File out(fresh, O_WRONLY | O_CREAT | O_TRUNC);
        const Result<std::uint64_t> done = out.append_synced(bytes_of(text));
        if (!done) {
            ::unlink(fresh.c_str());
            return done.error();
        }
    }
    if (::rename(fresh.c_str(), path.c_str()) != 0) return system_error("cannot put " + path + " in its place", errno);
    sync_directory(path_);
    return {};
}

Result<nlohmann::json> RunDirectory::read_json(const std::string& name) const {
    const Result<std::string> text = read_text(file(name));
    if (!text) return text.error();
    nlohmann::json value = nlohmann::json::parse(*text, nullptr, false);
    if (value.is_discarded()) return bad_input(file(name) + " is no JSON");
    return Result<nlohmann::json>(boost::system::in_place_value, std::move(value));  // json converts to everything by itself
}

Result<void> RunDirectory::append_phase_begin(const PhaseRecord& phase) const {
    return append_line(file("phases.jsonl"), phase_begin_line(phase));
}

Result<void> RunDirectory::append_phase_end(const PhaseRecord& phase) const {
    IoPlace place;
    if (phase.has_io) {
        // First the large part, then the line that points at it: a line never points at what is not there.
        const std::vector<std::uint8_t> record = encode_io_record(phase.number, phase.outcome);
        const std::string path = file("io.bin");
        File out(path, O_WRONLY | O_CREAT | O_APPEND);
        const Result<std::uint64_t> offset = out.append_synced(record);
        if (!offset) return offset.error();
        place = {*offset, record.size()};
    }
    return append_line(file("phases.jsonl"), phase_end_line(phase, place));
}

Result<std::vector<PhaseRecord>> RunDirectory::read_phases() const {
    std::error_code error;
    if (!fs::exists(file("phases.jsonl"), error)) return std::vector<PhaseRecord>{};  // killed before the first, or `record`
    const Result<std::string> text = read_text(file("phases.jsonl"));
    if (!text) return text.error();
    Result<ParsedPhases> phases = parse_phases(*text, file("phases.jsonl"));
    if (!phases) return phases.error();

    std::optional<MappedFile> io_file;
    if (Result<MappedFile> opened = MappedFile::open(file("io.bin"))) io_file = std::move(*opened);
    const std::span<const std::uint8_t> io_bytes = io_file ? io_file->bytes() : std::span<const std::uint8_t>{};
    for (std::size_t k = 0; k < phases->records.size(); ++k) {
        PhaseRecord& record = phases->records[k];
        if (!record.complete || !record.has_io) continue;
        const std::uint64_t offset = std::min<std::uint64_t>(phases->places[k].offset, io_bytes.size());
        if (const Result<void> decoded = decode_io_record(io_bytes.subspan(offset), record.number, record.outcome); !decoded) {
            record.complete = false;  // without latencies and windows a phase has no figures
            record.warnings.push_back(decoded.error().message);
        }
    }
    return std::move(phases->records);
}

}  // namespace wattrig::recording
