#include "host/target/sysfs.hpp"

#include <fmt/format.h>
#include <sys/sysmacros.h>

#include <algorithm>
#include <array>
#include <charconv>
#include <filesystem>
#include <fstream>

namespace wattrig::target::sysfs {
namespace {

namespace fs = std::filesystem;

bool contains(const std::string& text, const char* word) { return text.find(word) != std::string::npos; }

std::string transport_of(const std::string& root, const std::string& name) {
    const std::string device = root + "/sys/block/" + name + "/device";
    if (const auto nvme = read_text(device + "/transport")) return *nvme;  // nvme: pcie, tcp, rdma, loop
    if (name.starts_with("nvme")) {
        // With native multipath the disk hangs below the subsystem, in /virtual/, and the controllers beside it.
        for (const auto& controller : list_folder(device))
            if (const auto nvme = read_text(fmt::format("{}/{}/transport", device, controller))) return *nvme;
        return "nvme";
    }
    std::error_code error;
    const std::string place = fs::canonical(root + "/sys/block/" + name, error).string();
    if (error) return "";
    if (contains(place, "/virtio")) return "virtio";
    if (contains(place, "/usb")) return "usb";
    if (contains(place, "/ata")) return "sata";
    if (contains(place, "/mmc")) return "mmc";
    if (contains(place, "/virtual/")) return "virtual";
    return "";
}

bool looks_virtual(const Disk& disk) {
    if (disk.transport == "virtio" || disk.transport == "virtual") return true;
    static constexpr std::array<const char*, 8> makers{"QEMU", "VBOX", "VMware",         "Virtual",
                                                       "Msft", "Xen",  "Amazon Elastic", "PersistentDisk"};
    return std::any_of(makers.begin(), makers.end(), [&](const char* maker) { return contains(disk.model, maker); });
}

}  // namespace

std::optional<std::string> read_text(const std::string& path) {
    std::ifstream in(path, std::ios::binary);
    if (!in) return std::nullopt;
    std::string text(64u << 10, '\0');
    in.read(text.data(), static_cast<std::streamsize>(text.size()));
    text.resize(static_cast<std::size_t>(std::max<std::streamsize>(in.gcount(), 0)));
    const auto last = text.find_last_not_of(" \t\r\n\0");
    if (last == std::string::npos) return std::nullopt;
    text.resize(last + 1);
    return text.substr(text.find_first_not_of(" \t\r\n"));
}

std::optional<std::uint64_t> read_number(const std::string& path) {
    const auto text = read_text(path);
    if (!text) return std::nullopt;
    std::uint64_t value = 0;
    const auto [end, error] = std::from_chars(text->data(), text->data() + text->size(), value);
    if (error != std::errc() || end != text->data() + text->size()) return std::nullopt;
    return value;
}

std::optional<std::string> link_name(const std::string& path) {
    std::error_code error;
    const fs::path place = fs::read_symlink(path, error);
    if (error) return std::nullopt;
    return place.filename().string();
}

std::vector<std::string> list_folder(const std::string& path) {
    std::vector<std::string> names;
    std::error_code error;
    for (fs::directory_iterator it(path, error), end; !error && it != end; it.increment(error))
        names.push_back(it->path().filename().string());
    std::sort(names.begin(), names.end());
    return names;
}

std::string selected_word(const std::string& text) {
    const auto open = text.find('[');
    const auto close = text.find(']', open);
    if (open == std::string::npos || close == std::string::npos) return text;
    return text.substr(open + 1, close - open - 1);
}

std::optional<std::string> disk_of(const std::string& root, dev_t number) {
    std::error_code error;
    fs::path place = fs::canonical(fmt::format("{}/sys/dev/block/{}:{}", root, major(number), minor(number)), error);
    if (error) return std::nullopt;
    if (fs::exists(place / "partition", error)) place = place.parent_path();
    // dm-crypt on LVM on a partition is three levels; more than eight is a loop in a broken tree.
    for (int level = 0; level < 8; ++level) {
        const auto members = list_folder((place / "slaves").string());
        if (members.empty()) return place.filename().string();
        if (members.size() > 1) return std::nullopt;
        place = fs::canonical(place / "slaves" / members.front(), error);
        if (error) return std::nullopt;
        if (fs::exists(place / "partition", error)) place = place.parent_path();
    }
    return std::nullopt;
}

std::optional<Disk> describe_disk(const std::string& root, const std::string& name) {
    const std::string base = root + "/sys/block/" + name;
    std::error_code error;
    if (!fs::is_directory(base, error)) return std::nullopt;
    const auto text = [&](const char* file) { return read_text(base + file).value_or(""); };
    Disk disk;
    disk.name = name;
    disk.model = text("/device/model");
    if (const auto vendor = text("/device/vendor"); !vendor.empty() && vendor != "ATA" && !vendor.starts_with("0x"))
        disk.model = disk.model.empty() ? vendor : vendor + " " + disk.model;
    disk.serial = text("/device/serial");
    if (disk.serial.empty()) disk.serial = text("/serial");
    disk.firmware = text("/device/firmware_rev");
    if (disk.firmware.empty()) disk.firmware = text("/device/rev");
    disk.transport = transport_of(root, name);
    disk.scheduler = selected_word(text("/queue/scheduler"));
    disk.size = read_number(base + "/size").value_or(0) * 512;  // always in units of 512 bytes, whatever the block
    disk.logical_block = static_cast<std::uint32_t>(read_number(base + "/queue/logical_block_size").value_or(0));
    disk.physical_block = static_cast<std::uint32_t>(read_number(base + "/queue/physical_block_size").value_or(0));
    disk.rotational = read_number(base + "/queue/rotational").value_or(0) != 0;
    disk.is_virtual = looks_virtual(disk);
    return disk;
}

}  // namespace wattrig::target::sysfs
