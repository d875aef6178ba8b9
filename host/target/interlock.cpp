#include "host/target/interlock.hpp"

#include <blkid/blkid.h>
#include <fcntl.h>
#include <fmt/format.h>
#include <linux/fs.h>
#include <sys/ioctl.h>
#include <sys/stat.h>
#include <sys/sysmacros.h>

#include <algorithm>
#include <cassert>
#include <cerrno>
#include <filesystem>

#include "host/target/open_paths.hpp"
#include "host/target/sysfs.hpp"

namespace wattrig::target {
namespace {

namespace fs = std::filesystem;

Error refused(const std::string& name, const std::string& words) {
    return bad_input(fmt::format("refused: {}: {}", name, words));
}

struct Place {
    dev_t number = 0;
    std::string path;  // without links
    std::string disk;  // the whole disk
    bool partition = false;
};

Result<Place> resolve(const std::string& path, const std::string& root) {
    struct stat status{};
    if (stat(path.c_str(), &status) != 0) {
        if (lstat(path.c_str(), &status) == 0)
            return refused(path,
                           "path check: this link leads to nothing; is the drive plugged in? `wattrig list targets` shows "
                           "what is");
        return refused(path, "path check: there is no such device; `wattrig list targets` shows those of this machine");
    }
    if (!S_ISBLK(status.st_mode))
        return refused(path, "path check: this is not a block device; files are targets without --destroy");
    std::error_code error;
    Place place;
    place.number = status.st_rdev;
    place.path = fs::canonical(path, error).string();
    const fs::path node =
        fs::canonical(fmt::format("{}/sys/dev/block/{}:{}", root, major(status.st_rdev), minor(status.st_rdev)), error);
    if (error) return refused(path, "path check: the kernel does not show this device in /sys, so nothing can be checked");
    place.partition = fs::exists(node / "partition", error);
    const fs::path disk = place.partition ? node.parent_path() : node;
    place.disk = disk.filename().string();
    if (const auto below = sysfs::list_folder((disk / "slaves").string()); !below.empty())
        return refused(path,
                       fmt::format("path check: {} is made of other devices ({} and perhaps more), so no single drive would "
                                   "be written; give the drive itself",
                                   place.disk, below.front()));
    return place;
}

// The same drive seen twice (SAS or external multipath): a user of the other path is a user of this drive.
std::vector<std::string> paths_of_drive(const std::string& root, const std::string& disk) {
    std::vector<std::string> names{disk};
    const auto wwid = [&](const std::string& name) {
        const std::string base = root + "/sys/block/" + name;
        auto text = sysfs::read_text(base + "/wwid");
        return text ? text : sysfs::read_text(base + "/device/wwid");
    };
    const auto own = wwid(disk);
    if (!own) return names;
    for (const std::string& name : sysfs::list_folder(root + "/sys/block"))
        if (name != disk && wwid(name) == own && sysfs::list_folder(root + "/sys/block/" + name + "/slaves").empty())
            names.push_back(name);
    return names;
}

std::string identity(const Machine& machine, const std::string& disk) {
    return machine.identity ? machine.identity(disk) : identity_of(machine.root, disk);
}

Result<void> check_serial(const Machine& machine, const std::string& disk, const std::string& typed) {
    const std::string found = identity(machine, disk);
    if (found.empty())
        return refused(disk,
                       "serial check: this device reports no serial number, so it cannot be told from another one; it is "
                       "never written; use a file on it");
    if (typed.empty())
        return refused(disk,
                       "serial check: writing needs the drive's serial number typed with --destroy SERIAL; it stands on "
                       "the label and in `wattrig list targets`");
    if (typed != found)
        return refused(disk, fmt::format("serial check: '{}' was typed, but this drive is '{}'; check that this is the drive "
                                         "that may be lost",
                                         typed, found));
    return {};
}

Result<void> check_all_unused(const std::string& root, const std::string& disk) {
    for (const std::string& name : paths_of_drive(root, disk))
        if (auto free = check_unused(root, name); !free) {
            if (name == disk) return free;
            return refused(
                disk, fmt::format("multipath check: {} is the same drive by another path; {}", name, free.error().message));
        }
    return {};
}

struct FreeProbe {
    void operator()(blkid_probe probe) const { blkid_free_probe(probe); }
};

// What libblkid sees: "a GPT partition table", "an ext4 filesystem 'home'"; "" = nothing.
Result<std::string> contents_of(int descriptor, const std::string& name) {
    const std::unique_ptr<blkid_struct_probe, FreeProbe> probe(blkid_new_probe());
    if (!probe || blkid_probe_set_device(probe.get(), descriptor, 0, 0) != 0)
        return refused(name, "contents check: libblkid cannot look at the device, so what it holds is not known");
    blkid_probe_enable_superblocks(probe.get(), 1);
    blkid_probe_set_superblocks_flags(probe.get(),
                                      BLKID_SUBLKS_TYPE | BLKID_SUBLKS_LABEL | BLKID_SUBLKS_USAGE | BLKID_SUBLKS_BADCSUM);
    blkid_probe_enable_partitions(probe.get(), 1);
    blkid_probe_set_partitions_flags(probe.get(), BLKID_PARTS_FORCE_GPT);
    std::string found;
    const auto value = [&](const char* key) -> std::string {
        const char* text = nullptr;
        return blkid_probe_lookup_value(probe.get(), key, &text, nullptr) == 0 ? text : "";
    };
    // do_probe goes on from find to find; a device with two signatures holds two things. A bound, should it ever not end.
    for (int round = 0; round < 64; ++round) {
        const int came = blkid_do_probe(probe.get());
        if (came == 1) return found;
        if (came != 0)
            return refused(name, "contents check: the device could not be read, so what it holds is not known; see `dmesg`");
        std::string one;
        if (const std::string table = value("PTTYPE"); !table.empty()) one = fmt::format("a partition table ({})", table);
        if (const std::string type = value("TYPE"); !type.empty()) {
            const std::string label = value("LABEL");
            one = fmt::format("{}{}{}", value("USAGE") == "filesystem" ? "a filesystem: " : "data of ", type,
                              label.empty() ? "" : " '" + label + "'");
        }
        if (!one.empty() && found.find(one) == std::string::npos) found += (found.empty() ? "" : " and ") + one;
    }
    return found;
}

Error cannot_open(const std::string& path, int os_error) {
    if (os_error == EBUSY)
        return refused(path,
                       "exclusive check: the kernel says that another program or kernel driver holds it (a mount of another "
                       "namespace, zfs, a RAID, another test); `lsof` and `lsblk` may show who");
    if (os_error == EACCES || os_error == EPERM)
        return refused(path,
                       "permission check: this user may not open it; run as root, or as a member of the group that owns the "
                       "device (mostly `disk`)");
    if (os_error == EROFS) return refused(path, "read-only check: the kernel opens it only for reading");
    if (os_error == ENOMEDIUM || os_error == ENXIO) return refused(path, "path check: there is no medium behind this device");
    return system_error(fmt::format("refused: {}: cannot be opened", path), os_error);
}

// The only place of this program where a device is opened for writing. Not inlined: a test looks for it in object files.
[[gnu::noinline]] int open_device_for_writing(const std::string& path, bool direct) {
    return ::open(path.c_str(), O_RDWR | O_CLOEXEC | O_NOFOLLOW | (direct ? O_DIRECT : 0));
}

std::uint64_t size_of(int descriptor) {
    std::uint64_t size = 0;
    return ioctl(descriptor, BLKGETSIZE64, &size) == 0 ? size : 0;
}

bool is_device(int descriptor, dev_t number) {
    struct stat status{};
    return fstat(descriptor, &status) == 0 && S_ISBLK(status.st_mode) && status.st_rdev == number;
}

}  // namespace

struct WritePermit::State {
    WriteRequest request;
    Machine machine;
    Place place;
    std::uint64_t size = 0;
    Descriptor held;     // O_RDONLY | O_EXCL: the claim
    Descriptor writing;  // opened under the claim
};

WritePermit::WritePermit(std::unique_ptr<State> state) : state_(std::move(state)) {}
WritePermit::WritePermit(WritePermit&&) noexcept = default;
WritePermit& WritePermit::operator=(WritePermit&&) noexcept = default;
WritePermit::~WritePermit() = default;

int WritePermit::read_descriptor() const {
    assert(state_);
    return state_->held.get();
}
const std::string& WritePermit::disk() const {
    assert(state_);
    return state_->place.disk;
}

Result<WritePermit> WritePermit::ask(const WriteRequest& request, const Machine& machine) {
    auto place = resolve(request.path, machine.root);
    if (!place) return place.error();
    const std::string& disk = place->disk;
    if (auto same = check_serial(machine, disk, request.serial); !same) return same.error();
    if (sysfs::read_number(fmt::format("{}/sys/dev/block/{}:{}/ro", machine.root, major(place->number), minor(place->number)))
            .value_or(0) != 0)
        return refused(disk, "read-only check: the device is write-protected; `blockdev --setrw` undoes what was set by hand");
    if (auto free = check_all_unused(machine.root, disk); !free) return free.error();

    auto state = std::make_unique<State>();
    state->held = Descriptor(::open(place->path.c_str(), O_RDONLY | O_EXCL | O_CLOEXEC | O_NOFOLLOW));
    if (!state->held.valid()) return cannot_open(place->path, errno);
    if (!is_device(state->held.get(), place->number))
        return refused(place->path, "path check: another device took this name just now; look again which one is meant");
    // Under the claim nobody can mount it any more; what came between the first look and the claim shows now.
    if (auto free = check_all_unused(machine.root, disk); !free) return free.error();
    state->size = size_of(state->held.get());
    if (state->size == 0) return refused(disk, "path check: the device has a size of 0 bytes; is a medium in it?");
    auto contents = contents_of(state->held.get(), disk);
    if (!contents) return contents.error();
    if (!contents->empty() && !request.overwrite_data)
        return refused(disk, fmt::format("contents check: {} holds {}; pass --overwrite-data as well if that may be lost",
                                         place->path, *contents));
    state->request = request;
    state->machine = machine;
    state->place = std::move(*place);
    return WritePermit(std::move(state));
}

Result<void> WritePermit::confirm() const {
    assert(state_);
    const Place& place = state_->place;
    const std::string found = identity(state_->machine, place.disk);
    if (found != state_->request.serial)
        return refused(place.disk,
                       fmt::format("serial check before the first write: the drive was '{}' and is now '{}'; another "
                                   "drive took its place, nothing was written",
                                   state_->request.serial, found));
    if (!is_device(state_->held.get(), place.number) || size_of(state_->held.get()) != state_->size)
        return refused(place.disk,
                       "serial check before the first write: the device changed its size or is gone; nothing was "
                       "written");
    return check_all_unused(state_->machine.root, place.disk);
}

Result<int> WritePermit::begin_writing() {
    assert(state_);
    if (auto same = confirm(); !same) return same.error();
    if (state_->writing.valid()) return state_->writing.get();
    Descriptor writing(open_device_for_writing(state_->place.path, state_->request.direct));
    if (!writing.valid()) return cannot_open(state_->place.path, errno);
    if (!is_device(writing.get(), state_->place.number))
        return refused(state_->place.path, "path check: another device took this name just now; nothing was written");
    state_->writing = std::move(writing);
    return state_->writing.get();
}

Result<ControllerPermit> ControllerPermit::ask(const std::string& controller, const WriteRequest& request,
                                               const Machine& machine) {
    const auto disks = disks_of_controller(machine.root, controller);
    ControllerPermit permit;
    permit.controller_ = controller;
    permit.serial_ = request.serial;
    permit.root_ = machine.root;
    // Also where it has no namespace that could be looked at.
    if (auto same = permit.check_serial(); !same) return same.error();
    for (const std::string& disk : disks) {
        WriteRequest one = request;
        one.path = "/dev/" + disk;
        auto asked = WritePermit::ask(one, machine);
        if (!asked) return asked.error();
        permit.permits_.push_back(std::move(*asked));
    }
    return permit;
}

Result<void> ControllerPermit::check_serial() const {
    const std::string folder = root_ + "/sys/class/nvme/" + controller_;
    if (!fs::exists(folder))
        return refused(controller_, "path check: there is no such NVMe controller; `wattrig list targets` shows the drives");
    const std::string found = sysfs::read_text(folder + "/serial").value_or("");
    if (found.empty() || found != serial_)
        return refused(controller_,
                       fmt::format("serial check: '{}' was typed, but this controller is '{}'; check that this is the "
                                   "drive that is meant",
                                   serial_, found));
    return {};
}

Result<void> ControllerPermit::confirm() const {
    if (auto same = check_serial(); !same) return same;
    for (const WritePermit& permit : permits_)
        if (auto same = permit.confirm(); !same) return same;
    return {};
}

}  // namespace wattrig::target
