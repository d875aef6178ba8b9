#include "host/target/target.hpp"

#include <fmt/format.h>
#include <sys/stat.h>
#include <unistd.h>

#include <cassert>
#include <cerrno>
#include <filesystem>

#include "host/target/open_paths.hpp"
#include "host/target/sysfs.hpp"

namespace wattrig::target {

Descriptor::~Descriptor() {
    if (number_ >= 0) close(number_);
}

std::string bytes_text(std::uint64_t bytes) {
    const auto value = static_cast<double>(bytes);
    if (bytes >= 1'000'000'000) return fmt::format("{:.1f} GB", value / 1e9);
    if (bytes >= 1'000'000) return fmt::format("{:.1f} MB", value / 1e6);
    return fmt::format("{} bytes", bytes);
}

Error open_error(const TargetRequest& request, int os_error) {
    const std::string& path = request.path;
    switch (os_error) {
        case EINVAL:
            if (request.direct)
                return {
                    ErrorKind::system,
                    fmt::format("{}: this filesystem has no direct I/O (O_DIRECT), without which the page cache is measured "
                                "instead of the drive; give a file on another filesystem, or accept that with --buffered",
                                path),
                    os_error};
            break;
        case EACCES:
        case EPERM:
            return system_error(fmt::format("{}: no permission to {} it; run as a user who may, or give another path", path,
                                            request.write ? "write" : "read"),
                                os_error);
        case EROFS:
            return system_error(
                fmt::format("{}: the filesystem is mounted read-only; give a path on one that can be written", path), os_error);
        default: break;
    }
    return system_error(fmt::format("{}: cannot be opened", path), os_error);
}

void describe_device(TargetInfo& info, const std::string& disk_name) {
    info.device = disk_name;
    const auto disk = sysfs::describe_disk("", disk_name);
    if (!disk) return;
    info.model = disk->model;
    info.serial = disk->serial;
    info.firmware = disk->firmware;
    info.transport = disk->transport;
    info.scheduler = disk->scheduler;
    if (disk->is_virtual)
        info.warnings.push_back(fmt::format("{} is a virtual disk{}: speed and latency are the host's, not those of a drive",
                                            disk_name, disk->transport.empty() ? "" : " (" + disk->transport + ")"));
    if (disk->rotational && !disk->is_virtual) info.warnings.push_back(disk_name + " is a rotating disk, not an SSD");
}

struct Target::State {
    OpenTarget open;
    std::string remove_path;  // absolute: the working directory may change; "" = stays
};

Target::Target(std::unique_ptr<State> state) : state_(std::move(state)) {}
Target::Target(Target&&) noexcept = default;

Target& Target::operator=(Target&& other) noexcept {
    std::swap(state_, other.state_);
    return *this;
}

Target::~Target() {
    if (!state_ || state_->remove_path.empty()) return;
    // Only the very file that was made here: somebody may have put another in its place meanwhile.
    struct stat here{}, there{};
    const std::string& path = state_->remove_path;
    if (fstat(state_->open.descriptor.get(), &here) == 0 && lstat(path.c_str(), &there) == 0 && here.st_dev == there.st_dev &&
        here.st_ino == there.st_ino)
        unlink(path.c_str());
}

int Target::descriptor() const {
    assert(state_);
    const OpenTarget& open = state_->open;
    if (open.written >= 0) return open.written;
    return open.permit ? open.permit->read_descriptor() : open.descriptor.get();
}
const TargetInfo& Target::info() const {
    assert(state_);
    return state_->open.info;
}

Result<void> Target::begin_writing() {
    assert(state_);
    if (!state_->open.permit) return {};
    auto descriptor = state_->open.permit->begin_writing();
    if (!descriptor) return descriptor.error();
    state_->open.written = *descriptor;
    return {};
}

Result<Target> Target::open(const TargetRequest& request) {
    if (request.path.empty()) return bad_input("no target given: expected the path of a file or of a block device");
    struct stat status{};
    const bool missing = stat(request.path.c_str(), &status) != 0;
    if (missing && errno != ENOENT) {
        if (errno == ENOTDIR)
            return system_error(fmt::format("{}: a part of this path is a file, not a directory", request.path), errno);
        return open_error(request, errno);
    }
    Result<OpenTarget> opened = [&]() -> Result<OpenTarget> {
        if (missing) return open_new_file(request);
        if (S_ISREG(status.st_mode)) return open_existing_file(request);
        if (S_ISBLK(status.st_mode)) return open_block_device(request);
        if (S_ISDIR(status.st_mode))
            return bad_input(fmt::format("{0}: is a directory; give a file in it, such as {0}{1}wattrig-scratch.bin",
                                         request.path, request.path.ends_with('/') ? "" : "/"));
        if (S_ISCHR(status.st_mode))
            return bad_input(fmt::format(
                "{}: is a character device; expected a regular file or a block device{}", request.path,
                request.path.starts_with("/dev/nvme") ? ", such as the namespace " + request.path + "n1" : std::string()));
        return bad_input(fmt::format("{}: is neither a regular file nor a block device (a pipe or a socket)", request.path));
    }();
    if (!opened) return opened.error();
    auto state = std::make_unique<State>();
    state->open = std::move(*opened);
    std::error_code error;
    if (state->open.info.created && !request.keep) state->remove_path = std::filesystem::absolute(request.path, error).string();
    return Target(std::move(state));
}

std::vector<TargetInfo> list_block_devices() {
    std::vector<TargetInfo> devices;
    for (const auto& name : sysfs::list_folder("/sys/block")) {
        const auto disk = sysfs::describe_disk("", name);
        if (!disk || disk->size == 0) continue;  // empty loop devices and card readers
        TargetInfo info;
        info.kind = TargetKind::block_device;
        info.path = "/dev/" + name;
        info.size = disk->size;
        info.logical_block = disk->logical_block;
        info.physical_block = disk->physical_block;
        describe_device(info, name);
        devices.push_back(std::move(info));
    }
    return devices;
}

}  // namespace wattrig::target
