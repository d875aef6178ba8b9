// Who uses a disk: mounts, swap, stacked devices. Everything here only reads /proc and /sys.

#include <fmt/format.h>
#include <sys/stat.h>
#include <sys/sysmacros.h>

#include <algorithm>
#include <cctype>
#include <filesystem>
#include <fstream>
#include <set>
#include <sstream>
#include <utility>

#include "host/target/interlock.hpp"
#include "host/target/sysfs.hpp"

namespace wattrig::target {
namespace {

namespace fs = std::filesystem;

struct Part {  // the disk itself or a partition of it
    std::string name;
    std::string number;  // "259:1"
    std::string folder;  // in sysfs
};

std::vector<Part> parts_of(const std::string& root, const std::string& disk) {
    const std::string base = root + "/sys/block/" + disk;
    std::vector<Part> parts{{disk, sysfs::read_text(base + "/dev").value_or(""), base}};
    std::error_code error;
    for (const std::string& name : sysfs::list_folder(base))
        if (fs::exists(base + "/" + name + "/partition", error))
            parts.push_back({name, sysfs::read_text(base + "/" + name + "/dev").value_or(""), base + "/" + name});
    return parts;
}

std::string number_of_node(const std::string& path) {
    struct stat status{};
    if (!path.starts_with("/") || stat(path.c_str(), &status) != 0 || !S_ISBLK(status.st_mode)) return "";
    return fmt::format("{}:{}", major(status.st_rdev), minor(status.st_rdev));
}

// mountinfo writes space, tab, newline and backslash as \ooo.
std::string unescaped(const std::string& text) {
    std::string out;
    for (std::size_t i = 0; i < text.size(); ++i) {
        if (text[i] == '\\' && i + 3 < text.size() && std::isdigit(static_cast<unsigned char>(text[i + 1]))) {
            out += static_cast<char>((text[i + 1] - '0') * 64 + (text[i + 2] - '0') * 8 + (text[i + 3] - '0'));
            i += 3;
        } else {
            out += text[i];
        }
    }
    return out;
}

struct Mount {
    std::string number, point, source;
};

std::vector<Mount> mounts_of(const std::string& file) {
    std::vector<Mount> mounts;
    std::ifstream in(file);
    std::string line, skipped, word;
    while (std::getline(in, line)) {
        std::istringstream words(line);
        Mount mount;
        words >> skipped >> skipped >> mount.number >> skipped >> mount.point;
        while (words >> word && word != "-") {
        }
        words >> skipped >> mount.source;
        mount.point = unescaped(mount.point);
        mount.source = unescaped(mount.source);
        mounts.push_back(std::move(mount));
    }
    return mounts;
}

Error refused(const std::string& disk, const std::string& words) {
    return bad_input(fmt::format("refused: {}: {}", disk, words));
}

Result<void> check_mounts(const std::string& root, const std::string& disk, const std::vector<Part>& parts) {
    std::set<std::string> seen;  // a namespace is looked at once
    for (const std::string& process : sysfs::list_folder(root + "/proc")) {
        if (!std::all_of(process.begin(), process.end(), [](unsigned char c) { return std::isdigit(c); })) continue;
        const std::string folder = root + "/proc/" + process;
        // A namespace that may not be named may still be read, and then counts as one of its own.
        std::error_code error;
        const std::string space = fs::read_symlink(folder + "/ns/mnt", error).string();
        if (!space.empty() && !seen.insert(space).second) continue;
        for (const Mount& mount : mounts_of(folder + "/mountinfo"))
            for (const Part& part : parts)
                // btrfs and overlays have a number of their own: their source names the device. Device nodes are looked up
                // in this namespace, and compared by number, so links and other names do not hide one.
                if (mount.number == part.number || mount.source == "/dev/" + part.name ||
                    (!part.number.empty() && number_of_node(mount.source) == part.number))
                    return refused(disk, fmt::format("mount check: {} is mounted at {} (seen by process {}); unmount it with "
                                                     "`umount {}` if its contents may be lost",
                                                     part.name, mount.point, process, mount.point));
    }
    return {};
}

Result<void> check_swap(const std::string& root, const std::string& disk, const std::vector<Part>& parts) {
    std::ifstream in(root + "/proc/swaps");
    std::string line;
    std::getline(in, line);  // headings
    while (std::getline(in, line)) {
        const std::string area = unescaped(line.substr(0, line.find_first_of(" \t")));
        for (const Part& part : parts)
            if (area == "/dev/" + part.name || (!part.number.empty() && number_of_node(area) == part.number))
                return refused(disk,
                               fmt::format("swap check: {} is swap space in use; end that with `swapoff {}`", part.name, area));
    }
    return {};
}

// What stacks on a device: "the LVM volume vg-data (dm-0)", with the command that takes it away.
std::pair<std::string, std::string> describe_holder(const std::string& root, const std::string& holder) {
    const std::string base = root + "/sys/block/" + holder;
    if (holder.starts_with("dm-")) {
        const std::string name = sysfs::read_text(base + "/dm/name").value_or(holder);
        const std::string kind = sysfs::read_text(base + "/dm/uuid").value_or("");
        if (kind.starts_with("LVM-"))
            return {fmt::format("the LVM volume {} ({})", name, holder), fmt::format("`lvchange -an /dev/mapper/{}`", name)};
        if (kind.starts_with("CRYPT-"))
            return {fmt::format("the encrypted volume {} ({})", name, holder), fmt::format("`cryptsetup close {}`", name)};
        if (kind.starts_with("mpath-"))
            return {fmt::format("the multipath device {} ({})", name, holder), fmt::format("`multipath -f {}`", name)};
        return {fmt::format("the device-mapper device {} ({})", name, holder), fmt::format("`dmsetup remove {}`", name)};
    }
    if (holder.starts_with("md"))
        return {fmt::format("the RAID array {}", holder), fmt::format("`mdadm --stop /dev/{}`", holder)};
    if (holder.starts_with("bcache"))
        return {fmt::format("the cache device {}", holder), fmt::format("`echo 1 > /sys/block/{}/bcache/stop`", holder)};
    return {fmt::format("the device {}", holder), "with the tool that made it"};
}

Result<void> check_holders(const std::string& root, const std::string& disk, const std::vector<Part>& parts) {
    for (const Part& part : parts)
        for (const std::string& holder : sysfs::list_folder(part.folder + "/holders")) {
            const auto [what, remedy] = describe_holder(root, holder);
            return refused(disk,
                           fmt::format("holder check: {} belongs to {}; take that down first: {}", part.name, what, remedy));
        }
    for (const std::string& name : sysfs::list_folder(root + "/sys/block")) {
        const auto file = sysfs::read_text(root + "/sys/block/" + name + "/loop/backing_file");
        if (!file) continue;
        for (const Part& part : parts)
            if (*file == "/dev/" + part.name || (!part.number.empty() && number_of_node(*file) == part.number))
                return refused(disk, fmt::format("holder check: {} is behind the loop device {}; detach that with `losetup "
                                                 "--detach /dev/{}`",
                                                 part.name, name, name));
    }
    return {};
}

}  // namespace

Result<void> check_unused(const std::string& root, const std::string& disk) {
    const std::vector<Part> parts = parts_of(root, disk);
    if (auto free = check_mounts(root, disk, parts); !free) return free;
    if (auto free = check_swap(root, disk, parts); !free) return free;
    return check_holders(root, disk, parts);
}

std::string identity_of(const std::string& root, const std::string& disk) {
    const std::string base = root + "/sys/block/" + disk;
    for (const char* file : {"/device/serial", "/serial", "/wwid", "/device/wwid"})
        if (const auto text = sysfs::read_text(base + file)) return *text;
    // SATA and SAS disks show their serial only in vital product data page 80h: 4 bytes of header, then text.
    if (const auto page = sysfs::read_text(base + "/device/vpd_pg80"); page && page->size() > 4) {
        const auto first = page->find_first_not_of(" ", 4);
        if (first != std::string::npos) return page->substr(first);
    }
    if (const auto file = sysfs::read_text(base + "/loop/backing_file")) return "loop:" + *file;
    return "";
}

std::vector<std::string> disks_of_controller(const std::string& root, const std::string& controller) {
    const std::string base = root + "/sys/class/nvme/" + controller;
    std::set<std::string> disks;
    std::error_code error;
    for (const std::string& name : sysfs::list_folder(base)) {
        unsigned instance = 0, path = 0, space = 0;
        char end = 0;
        if (std::sscanf(name.c_str(), "nvme%uc%un%u%c", &instance, &path, &space, &end) == 3) {
            disks.insert(fmt::format("nvme{}n{}", instance, space));  // one path of a shared disk
        } else if (std::sscanf(name.c_str(), "nvme%un%u%c", &instance, &space, &end) == 2) {
            disks.insert(name);
        }
    }
    return {disks.begin(), disks.end()};
}

std::vector<std::string> controllers_of_disk(const std::string& root, const std::string& disk) {
    std::vector<std::string> controllers;
    for (const std::string& controller : sysfs::list_folder(root + "/sys/class/nvme")) {
        const auto disks = disks_of_controller(root, controller);
        if (std::find(disks.begin(), disks.end(), disk) != disks.end()) controllers.push_back(controller);
    }
    return controllers;
}

std::optional<std::string> controller_of_path(const std::string& root, const std::string& path) {
    std::error_code error;
    std::string name = fs::canonical(path, error).filename().string();
    if (error) return std::nullopt;
    if (fs::is_directory(root + "/sys/class/nvme/" + name, error)) return name;
    struct stat status{};
    if (stat(path.c_str(), &status) != 0 || !S_ISBLK(status.st_mode)) return std::nullopt;
    const auto disk = sysfs::disk_of(root, status.st_rdev);
    if (!disk) return std::nullopt;
    const auto controllers = controllers_of_disk(root, *disk);
    if (controllers.empty()) return std::nullopt;
    return controllers.front();
}

}  // namespace wattrig::target
