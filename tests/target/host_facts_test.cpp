// Facts come from a made-up /proc and /sys here, so that what is expected is known; once from the real one, for robustness.

#include "host/target/host_facts.hpp"

#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <sys/sysmacros.h>

#include "host/target/sysfs.hpp"
#include "tests/target/scratch.hpp"

namespace wattrig::target {
namespace {

using testing::AllOf;
using testing::Contains;
using testing::HasSubstr;
using testing::Not;

constexpr const char* controller = "/sys/devices/pci0000:00/0000:00:1d.0/0000:03:00.0";

// A laptop with an NVMe drive in a slot of half its width.
class Laptop : public testing::Test {
  protected:
    Laptop() {
        const std::string disk = std::string(controller) + "/nvme/nvme0/nvme0n1";
        write("/proc/cpuinfo", "processor : 0\nmodel name\t: Test CPU @ 3.00GHz\nflags\t\t: fpu sse2\n");
        write("/proc/meminfo", "MemTotal:       16384000 kB\n");
        write("/proc/loadavg", "0.42 0.30 0.20 1/200 4242\n");
        write("/proc/sys/kernel/osrelease", "6.9.1-test\n");
        write("/sys/devices/system/cpu/smt/active", "1\n");
        write("/sys/devices/system/cpu/cpufreq/policy0/scaling_governor", "powersave\n");
        write("/sys/devices/system/cpu/cpufreq/policy1/scaling_governor", "powersave\n");
        write("/sys/devices/system/cpu/cpuidle/current_driver", "intel_idle\n");
        for (const auto& [state, name, latency, disabled] :
             {std::tuple{"state0", "POLL", "0", "0"}, std::tuple{"state1", "C1", "2", "0"},
              std::tuple{"state2", "C6", "170", "0"}, std::tuple{"state3", "C10", "890", "1"}}) {
            const std::string folder = std::string("/sys/devices/system/cpu/cpu0/cpuidle/") + state;
            write(folder + "/name", name);
            write(folder + "/latency", latency);
            write(folder + "/disable", disabled);
        }
        write(std::string(controller) + "/current_link_speed", "8.0 GT/s PCIe\n");
        write(std::string(controller) + "/max_link_speed", "8.0 GT/s PCIe\n");
        write(std::string(controller) + "/current_link_width", "2\n");
        write(std::string(controller) + "/max_link_width", "4\n");
        write(std::string(controller) + "/link/l1_aspm", "1\n");
        write(std::string(controller) + "/nvme/nvme0/transport", "pcie\n");
        write(std::string(controller) + "/nvme/nvme0/model", "Fast SSD 1TB   \n");
        write(std::string(controller) + "/nvme/nvme0/serial", "S123\n");
        write(std::string(controller) + "/nvme/nvme0/firmware_rev", "1.0\n");
        write(std::string(controller) + "/nvme/nvme0/hwmon1/temp1_input", "38850\n");
        write(disk + "/size", "1953525168\n");
        write(disk + "/queue/logical_block_size", "512\n");
        write(disk + "/queue/physical_block_size", "4096\n");
        write(disk + "/queue/scheduler", "none [mq-deadline] kyber\n");
        write(disk + "/queue/nr_requests", "1023\n");
        write(disk + "/nvme0n1p2/partition", "2\n");
        write(disk + "/stat", "  10 1 80 5 20 2 160 6 3 7 8 4 0 32 1 9 2\n");
        write("/sys/module/nvme_core/parameters/default_ps_max_latency_us", "100000\n");
        write("/sys/module/pcie_aspm/parameters/policy", "default performance [powersave] powersupersave\n");
        link("/sys/block/nvme0n1", disk);
        link(disk + "/device", std::string(controller) + "/nvme/nvme0");
        link("/sys/dev/block/259:2", disk + "/nvme0n1p2");
        link("/sys/dev/block/259:0", disk);
    }
    void write(const std::string& path, const std::string& text) { folder_.write(path.substr(1), text); }
    void link(const std::string& from, const std::string& to) {
        const std::filesystem::path place = root() + from;
        std::filesystem::create_directories(place.parent_path());
        std::filesystem::create_directory_symlink(root() + to, place);
    }
    [[nodiscard]] std::string root() const { return folder_.file("").substr(0, folder_.file("").size() - 1); }
    [[nodiscard]] HostFacts facts() const {
        TargetInfo target;
        target.device = "nvme0n1";
        return read_host_facts(&target, root());
    }

  private:
    ScratchFolder folder_;
};

TEST_F(Laptop, FactsAreTheKernelsOwnWords) {
    const HostFacts host = facts();
    EXPECT_EQ(host.find("cpu.model"), "Test CPU @ 3.00GHz");
    EXPECT_EQ(host.find("cpu.governor"), "powersave");
    EXPECT_EQ(host.find("cpu.smt"), "on");
    EXPECT_EQ(host.find("cpu.idle_driver"), "intel_idle");
    EXPECT_EQ(host.find("cpu.deepest_idle_state"), "C6") << "C10 is disabled";
    EXPECT_EQ(host.find("cpu.deepest_idle_exit_us"), "170");
    EXPECT_EQ(host.find("machine.virtual"), "no");
    EXPECT_EQ(host.find("memory.total"), "16384000 kB");
    EXPECT_EQ(host.find("kernel.release"), "6.9.1-test");
    EXPECT_EQ(host.find("load.average_1min"), "0.42");
    EXPECT_EQ(host.find("queue.scheduler"), "mq-deadline");
    EXPECT_EQ(host.find("queue.nr_requests"), "1023");
    EXPECT_EQ(host.find("pcie.address"), "0000:03:00.0");
    EXPECT_EQ(host.find("pcie.link_width"), "2");
    EXPECT_EQ(host.find("pcie.l1_aspm"), "1");
    EXPECT_EQ(host.find("pcie.aspm_policy"), "powersave");
    EXPECT_EQ(host.find("nvme.apst_maximum_latency_us"), "100000");
    EXPECT_EQ(host.find("drive.temperature_c"), "38.9");
}

TEST_F(Laptop, WhatThisMachineDoesNotTellIsAbsent) {
    const HostFacts host = facts();
    EXPECT_FALSE(host.find("cpu.isolated"));
    EXPECT_FALSE(host.find("machine.product"));
    EXPECT_FALSE(host.find("queue.wbt_lat_usec"));
    for (const auto& fact : host.facts) EXPECT_FALSE(fact.value.empty()) << fact.key;
    EXPECT_FALSE(read_host_facts(nullptr, root()).find("queue.scheduler"));
}

TEST_F(Laptop, WhatDisturbsAMeasurementIsWarnedOf) {
    const HostFacts host = facts();
    EXPECT_THAT(host.warnings, Contains(HasSubstr("governor is 'powersave'")));
    EXPECT_THAT(host.warnings, Contains(HasSubstr("scheduler of nvme0n1 is 'mq-deadline'")));
    EXPECT_THAT(host.warnings, Contains(HasSubstr("runs at 8.0 GT/s PCIe x2, the drive can do 8.0 GT/s PCIe x4")));
    EXPECT_THAT(host.warnings, Not(Contains(HasSubstr("virtual machine"))));
    EXPECT_THAT(host.warnings, Not(Contains(HasSubstr("APST is off"))));
}

TEST_F(Laptop, APoisedMachineHasNoWarnings) {
    write("/sys/devices/system/cpu/cpufreq/policy0/scaling_governor", "performance\n");
    write("/sys/devices/system/cpu/cpufreq/policy1/scaling_governor", "performance\n");
    write("/sys/block/nvme0n1/queue/scheduler", "[none] mq-deadline\n");
    write(std::string(controller) + "/current_link_width", "4\n");
    EXPECT_THAT(facts().warnings, testing::IsEmpty());
}

TEST_F(Laptop, VirtualMachinesAndDisabledApstAreWarnedOf) {
    write("/proc/cpuinfo", "model name : X\nflags : fpu hypervisor\n");
    write("/sys/module/nvme_core/parameters/default_ps_max_latency_us", "0\n");
    EXPECT_THAT(facts().warnings, Contains(HasSubstr("virtual machine")));
    EXPECT_THAT(facts().warnings, Contains(HasSubstr("APST is off")));
    EXPECT_EQ(facts().find("machine.virtual"), "yes");
}

TEST_F(Laptop, ServicesThatWakeTheDriveAreWarnedOf) {
    write("/proc/812/comm", "smartd\n");
    write("/proc/900/comm", "udisksd\n");
    write("/proc/self/comm", "udisksd\n");
    write("/proc/901/comm", "smartdog\n");
    EXPECT_EQ(facts().find("drive.polled_by"), "smartd,udisksd");
    EXPECT_THAT(facts().warnings, Contains(AllOf(HasSubstr("smartd is running"), HasSubstr("systemctl stop smartmontools"))));
    EXPECT_THAT(facts().warnings, Contains(AllOf(HasSubstr("udisksd is running"), HasSubstr("systemctl stop udisks2"))));
    EXPECT_FALSE(read_host_facts(nullptr, root()).find("drive.polled_by")) << "no drive is measured";
    std::filesystem::remove_all(root() + "/proc/812");
    EXPECT_EQ(facts().find("drive.polled_by"), "udisksd");
    std::filesystem::remove_all(root() + "/proc/900");
    EXPECT_FALSE(facts().find("drive.polled_by")) << "only what has a number is a process, and a whole name counts";
}

TEST_F(Laptop, WhatDecidesThePowerStatesOfAController) {
    link("/sys/class/nvme/nvme0", std::string(controller) + "/nvme/nvme0");
    link(std::string(controller) + "/nvme/nvme0/device", controller);
    write("/proc/812/comm", "smartd\n");
    write("/sys/module/nvme_core/parameters/default_ps_max_latency_us", "0\n");
    const HostFacts host = read_controller_facts("nvme0", root());
    EXPECT_EQ(host.find("pcie.address"), "0000:03:00.0");
    EXPECT_EQ(host.find("pcie.aspm_policy"), "powersave");
    EXPECT_EQ(host.find("pcie.l1_aspm"), "1");
    EXPECT_EQ(host.find("nvme.apst_maximum_latency_us"), "0");
    EXPECT_THAT(host.warnings, Contains(HasSubstr("smartd is running")));
    EXPECT_THAT(host.warnings, Contains(HasSubstr("APST is off")));
    const HostFacts other = read_controller_facts("nvme7", root());
    EXPECT_FALSE(other.find("pcie.address")) << "another controller's link must not be told";
}

TEST_F(Laptop, TheDiskIsDescribedAndFoundFromItsPartition) {
    EXPECT_EQ(sysfs::disk_of(root(), makedev(259, 2)), "nvme0n1");
    EXPECT_EQ(sysfs::disk_of(root(), makedev(259, 0)), "nvme0n1");
    EXPECT_FALSE(sysfs::disk_of(root(), makedev(0, 42)));
    const auto disk = sysfs::describe_disk(root(), "nvme0n1");
    ASSERT_TRUE(disk);
    EXPECT_EQ(disk->model, "Fast SSD 1TB");
    EXPECT_EQ(disk->serial, "S123");
    EXPECT_EQ(disk->firmware, "1.0");
    EXPECT_EQ(disk->transport, "pcie");
    EXPECT_EQ(disk->scheduler, "mq-deadline");
    EXPECT_EQ(disk->size, 1953525168ull * 512);
    EXPECT_EQ(disk->physical_block, 4096u);
    EXPECT_FALSE(disk->is_virtual);
    EXPECT_FALSE(sysfs::describe_disk(root(), "nvme9n9"));
}

TEST_F(Laptop, AnEncryptedVolumeLeadsToTheDriveBelow) {
    link("/sys/devices/virtual/block/dm-0/slaves/nvme0n1p2", std::string(controller) + "/nvme/nvme0/nvme0n1/nvme0n1p2");
    link("/sys/dev/block/253:0", "/sys/devices/virtual/block/dm-0");
    EXPECT_EQ(sysfs::disk_of(root(), makedev(253, 0)), "nvme0n1");
    link("/sys/devices/virtual/block/dm-0/slaves/sdb1", std::string(controller) + "/nvme/nvme0/nvme0n1");
    EXPECT_FALSE(sysfs::disk_of(root(), makedev(253, 0))) << "two members: no single drive";
}

TEST_F(Laptop, CountersOfTheBlockLayer) {
    const auto counters = read_disk_counters("nvme0n1", root());
    ASSERT_TRUE(counters);
    EXPECT_EQ(counters->reads, 10u);
    EXPECT_EQ(counters->read_bytes, 80u * 512);
    EXPECT_EQ(counters->writes, 20u);
    EXPECT_EQ(counters->written_bytes, 160u * 512);
    EXPECT_EQ(counters->in_flight, 3u);
    EXPECT_EQ(counters->busy_ms, 7u);
    EXPECT_EQ(counters->weighted_ms, 8u);
    EXPECT_EQ(counters->discards, 4u);
    EXPECT_EQ(counters->discarded_bytes, 32u * 512);
    EXPECT_EQ(counters->flushes, 9u);
    EXPECT_FALSE(read_disk_counters("nvme9n9", root()));
    EXPECT_FALSE(read_disk_counters("", root()));
}

TEST(HostFacts, ThisMachineHasAKernelAndSaysWhetherIoUringWorks) {
    const HostFacts host = read_host_facts(nullptr);
    EXPECT_TRUE(host.find("kernel.release"));
    EXPECT_TRUE(host.find("io_uring.available"));
}

}  // namespace
}  // namespace wattrig::target
