#include "host/target/host_facts.hpp"

#include <fmt/format.h>
#include <linux/io_uring.h>
#include <sys/syscall.h>
#include <unistd.h>

#include <algorithm>
#include <array>
#include <cerrno>
#include <filesystem>
#include <fstream>
#include <set>
#include <sstream>

#include "host/target/sysfs.hpp"

namespace wattrig::target {
namespace {

namespace fs = std::filesystem;

class Collector {
  public:
    Collector(HostFacts& out, std::string root) : out_(out), root_(std::move(root)) {}

    void add(const std::string& key, const std::optional<std::string>& value) {
        if (value && !value->empty()) out_.facts.push_back({key, *value});
    }
    void warn(std::string text) { out_.warnings.push_back(std::move(text)); }
    [[nodiscard]] std::optional<std::string> text(const std::string& path) const { return sysfs::read_text(root_ + path); }
    [[nodiscard]] std::vector<std::string> list(const std::string& path) const { return sysfs::list_folder(root_ + path); }
    [[nodiscard]] const std::string& root() const { return root_; }

  private:
    HostFacts& out_;
    std::string root_;
};

std::optional<std::string> cpuinfo_line(const std::string& text, const std::string& key) {
    std::istringstream lines(text);
    for (std::string line; std::getline(lines, line);) {
        if (!line.starts_with(key)) continue;
        const auto colon = line.find(':');
        if (colon == std::string::npos) continue;
        const auto begin = line.find_first_not_of(" \t", colon + 1);
        return begin == std::string::npos ? std::string() : line.substr(begin);
    }
    return std::nullopt;
}

std::optional<std::string> joined(const std::set<std::string>& words) {
    if (words.empty()) return std::nullopt;
    return fmt::format("{}", fmt::join(words, ","));
}

void add_processor(Collector& out) {
    const std::string cpuinfo = out.text("/proc/cpuinfo").value_or("");
    out.add("cpu.model", cpuinfo_line(cpuinfo, "model name"));
    out.add("cpu.online", out.text("/sys/devices/system/cpu/online"));
    const auto smt = out.text("/sys/devices/system/cpu/smt/active");
    if (smt) out.add("cpu.smt", *smt == "1" ? "on" : "off");
    out.add("cpu.isolated", out.text("/sys/devices/system/cpu/isolated"));

    std::set<std::string> governors, drivers;
    for (const auto& policy : out.list("/sys/devices/system/cpu/cpufreq")) {
        if (!policy.starts_with("policy")) continue;
        const std::string folder = "/sys/devices/system/cpu/cpufreq/" + policy;
        if (auto governor = out.text(folder + "/scaling_governor")) governors.insert(*governor);
        if (auto driver = out.text(folder + "/scaling_driver")) drivers.insert(*driver);
    }
    out.add("cpu.governor", joined(governors));
    out.add("cpu.frequency_driver", joined(drivers));
    for (const auto& governor : governors)
        if (governor != "performance")
            out.warn(
                fmt::format("the CPU governor is '{}': latency at low queue depth varies with the clock rate; 'performance' "
                            "is steadier",
                            governor));

    out.add("cpu.idle_driver", out.text("/sys/devices/system/cpu/cpuidle/current_driver"));
    std::optional<std::string> deepest;
    std::uint64_t deepest_latency = 0;
    for (const auto& state : out.list("/sys/devices/system/cpu/cpu0/cpuidle")) {
        const std::string folder = "/sys/devices/system/cpu/cpu0/cpuidle/" + state;
        if (!state.starts_with("state") || out.text(folder + "/disable").value_or("0") != "0") continue;
        const auto latency = sysfs::read_number(out.root() + folder + "/latency").value_or(0);
        if (deepest && latency < deepest_latency) continue;
        deepest = out.text(folder + "/name");
        deepest_latency = latency;
    }
    out.add("cpu.deepest_idle_state", deepest);
    if (deepest) out.add("cpu.deepest_idle_exit_us", std::to_string(deepest_latency));

    const bool hypervisor = cpuinfo.find(" hypervisor") != std::string::npos;
    const auto product = out.text("/sys/class/dmi/id/product_name");
    out.add("machine.product", product);
    if (!cpuinfo.empty()) out.add("machine.virtual", hypervisor ? "yes" : "no");
    if (hypervisor) out.warn("this is a virtual machine: its host adds latency and takes time away, unseen by any figure here");
}

void add_kernel(Collector& out) {
    out.add("kernel.release", out.text("/proc/sys/kernel/osrelease"));
    out.add("kernel.version", out.text("/proc/sys/kernel/version"));
    out.add("kernel.command_line", out.text("/proc/cmdline"));
    out.add("clock.source", out.text("/sys/devices/system/clocksource/clocksource0/current_clocksource"));
    if (const auto memory = out.text("/proc/meminfo")) {
        const auto total = cpuinfo_line(*memory, "MemTotal");
        if (total) out.add("memory.total", total);
    }
    std::size_t nodes = 0;
    for (const auto& name : out.list("/sys/devices/system/node"))
        if (name.starts_with("node")) ++nodes;
    if (nodes > 0) out.add("memory.numa_nodes", std::to_string(nodes));
    const auto load = out.text("/proc/loadavg");
    if (load) out.add("load.average_1min", load->substr(0, load->find(' ')));
}

void add_io_uring(Collector& out) {
    const auto disabled = out.text("/proc/sys/kernel/io_uring_disabled");
    if (!out.root().empty()) return;
    io_uring_params parameters{};
    const long ring = syscall(__NR_io_uring_setup, 1, &parameters);
    if (ring >= 0) close(static_cast<int>(ring));
    out.add("io_uring.available", ring >= 0 ? "yes" : "no");
    if (ring < 0)
        out.warn(fmt::format("io_uring is not available{}: real I/O cannot run",
                             disabled && *disabled != "0" ? " (kernel.io_uring_disabled = " + *disabled + ")" : ""));
}

// The PCI function that a device's folder lies in: the nearest one upwards that has a link speed.
std::optional<fs::path> pci_function_above(const std::string& folder) {
    std::error_code error;
    fs::path from = fs::canonical(folder, error);
    if (error) return std::nullopt;
    for (int level = 0; level < 12 && from.has_relative_path(); ++level, from = from.parent_path())
        if (fs::exists(from / "current_link_speed", error)) return from;
    return std::nullopt;
}

std::optional<fs::path> pci_function_of_disk(const std::string& root, const std::string& disk) {
    const std::string place = root + "/sys/block/" + disk + "/device";
    if (auto found = pci_function_above(place)) return found;
    // Native multipath: the subsystem lies in /virtual/, its controllers are links beside the disk.
    for (const auto& name : sysfs::list_folder(place)) {
        if (!name.starts_with("nvme")) continue;
        if (auto found = pci_function_above(fmt::format("{}/{}", place, name))) return found;
    }
    return std::nullopt;
}

void add_pcie(Collector& out, const std::optional<fs::path>& function) {
    const auto policy = out.text("/sys/module/pcie_aspm/parameters/policy");
    if (policy) out.add("pcie.aspm_policy", sysfs::selected_word(*policy));
    if (!function) return;
    const auto read = [&](const char* name) { return sysfs::read_text((*function / name).string()); };
    out.add("pcie.address", function->filename().string());
    const auto speed = read("current_link_speed"), width = read("current_link_width");
    const auto top_speed = read("max_link_speed"), top_width = read("max_link_width");
    out.add("pcie.link_speed", speed);
    out.add("pcie.link_speed_maximum", top_speed);
    out.add("pcie.link_width", width);
    out.add("pcie.link_width_maximum", top_width);
    out.add("pcie.numa_node", read("numa_node"));
    for (const char* state : {"l0s_aspm", "l1_aspm", "l1_1_aspm", "l1_2_aspm"})
        out.add(fmt::format("pcie.{}", state), sysfs::read_text((*function / "link" / state).string()));
    if (speed && top_speed && width && top_width && (*speed != *top_speed || *width != *top_width))
        out.warn(
            fmt::format("the PCIe link runs at {} x{}, the drive can do {} x{}: slot, riser or interposer may be the limit",
                        *speed, *width, *top_speed, *top_width));
}

void add_transitions(Collector& out) {
    const auto latency = out.text("/sys/module/nvme_core/parameters/default_ps_max_latency_us");
    out.add("nvme.apst_maximum_latency_us", latency);
    if (latency && *latency == "0")
        out.warn("APST is off (nvme_core.default_ps_max_latency_us = 0): idle power is that of the active state");
}

// Services that read SMART of every drive on their own; any command wakes a drive that sleeps.
void add_pollers(Collector& out) {
    struct Poller {
        const char *process, *service;
    };
    constexpr std::array pollers{Poller{"smartd", "smartmontools"}, Poller{"udisksd", "udisks2"}};
    std::set<std::string> running;
    for (const auto& process : out.list("/proc")) {
        if (process.find_first_not_of("0123456789") != std::string::npos) continue;
        if (auto name = out.text("/proc/" + process + "/comm")) running.insert(*std::move(name));
    }
    std::set<std::string> found;
    for (const auto& [process, service] : pollers) {
        if (!running.contains(process)) continue;
        found.insert(process);
        out.warn(
            fmt::format("{} is running and reads SMART of the drives from time to time, which wakes an idle drive; stop it "
                        "while measuring: `systemctl stop {}`",
                        process, service));
    }
    out.add("drive.polled_by", joined(found));
}

void add_drive(Collector& out, const TargetInfo& target) {
    const std::string& disk = target.device;
    if (disk.empty()) return;
    const std::string queue = "/sys/block/" + disk + "/queue/";
    for (const char* name : {"scheduler", "nr_requests", "max_sectors_kb", "max_hw_sectors_kb", "nomerges", "rq_affinity",
                             "wbt_lat_usec", "io_poll", "write_cache", "read_ahead_kb", "discard_max_bytes", "zoned"}) {
        auto value = out.text(queue + name);
        if (value && std::string_view(name) == "scheduler") value = sysfs::selected_word(*value);
        out.add(fmt::format("queue.{}", name), value);
    }
    const auto queues = out.list("/sys/block/" + disk + "/mq");
    if (!queues.empty()) out.add("queue.hardware_queues", std::to_string(queues.size()));
    const auto scheduler = out.text(queue + "scheduler");
    if (scheduler && sysfs::selected_word(*scheduler) != "none")
        out.warn(fmt::format("the I/O scheduler of {} is '{}': it delays and reorders; 'none' shows the drive itself", disk,
                             sysfs::selected_word(*scheduler)));
    add_pcie(out, pci_function_of_disk(out.root(), disk));
    if (disk.starts_with("nvme")) add_transitions(out);
    add_pollers(out);
    if (const auto degrees = read_drive_temperature(disk, out.root()))
        out.add("drive.temperature_c", fmt::format("{:.1f}", *degrees));
}

}  // namespace

std::optional<std::string> HostFacts::find(const std::string& key) const {
    for (const auto& fact : facts)
        if (fact.key == key) return fact.value;
    return std::nullopt;
}

HostFacts read_host_facts(const TargetInfo* target, const std::string& root) {
    HostFacts result;
    Collector out(result, root);
    add_kernel(out);
    add_processor(out);
    add_io_uring(out);
    if (target) add_drive(out, *target);
    return result;
}

HostFacts read_controller_facts(const std::string& controller, const std::string& root) {
    HostFacts result;
    Collector out(result, root);
    add_pcie(out, pci_function_above(root + "/sys/class/nvme/" + controller + "/device"));
    add_transitions(out);
    add_pollers(out);
    return result;
}

std::optional<DiskCounters> read_disk_counters(const std::string& disk_name, const std::string& root) {
    if (disk_name.empty()) return std::nullopt;
    const auto text = sysfs::read_text(root + "/sys/block/" + disk_name + "/stat");
    if (!text) return std::nullopt;
    // Documentation/block/stat.rst; kernels before 4.18 end after the 11th, before 5.5 after the 15th.
    std::array<std::uint64_t, 17> field{};
    std::istringstream words(*text);
    std::size_t count = 0;
    while (count < field.size() && words >> field[count]) ++count;
    if (count < 11) return std::nullopt;
    constexpr std::uint64_t sector = 512;  // always, whatever the block size
    DiskCounters counters;
    counters.reads = field[0];
    counters.read_bytes = field[2] * sector;
    counters.writes = field[4];
    counters.written_bytes = field[6] * sector;
    counters.in_flight = field[8];
    counters.busy_ms = field[9];
    counters.weighted_ms = field[10];
    counters.discards = field[11];
    counters.discarded_bytes = field[13] * sector;
    counters.flushes = field[15];
    return counters;
}

std::optional<double> read_drive_temperature(const std::string& disk_name, const std::string& root) {
    if (disk_name.empty()) return std::nullopt;
    const std::string device = root + "/sys/block/" + disk_name + "/device";
    // NVMe: the controller's hwmon lies in the controller's folder; SCSI and SATA (drivetemp): in device/hwmon.
    std::vector<std::string> folders{device, device + "/hwmon", device + "/device/hwmon"};
    for (const auto& name : sysfs::list_folder(device))
        if (name.starts_with("nvme")) folders.push_back(fmt::format("{}/{}", device, name));
    for (const auto& folder : folders)
        for (const auto& name : sysfs::list_folder(folder)) {
            if (!name.starts_with("hwmon")) continue;
            const auto milli = sysfs::read_text(fmt::format("{}/{}/temp1_input", folder, name));
            if (!milli) continue;
            char* end = nullptr;
            const double value = std::strtod(milli->c_str(), &end);
            if (end != milli->c_str()) return value / 1000;
        }
    return std::nullopt;
}

}  // namespace wattrig::target
