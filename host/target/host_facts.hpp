#pragma once
// What of this machine has an influence on a measurement, for run.json: read from /proc and /sys, nothing is changed.

#include <cstdint>
#include <optional>
#include <string>
#include <vector>

#include "host/target/target.hpp"

namespace wattrig::target {

struct Fact {
    std::string key;    // dotted: "cpu.governor", "pcie.link_width"
    std::string value;  // the kernel's own word where it has one; the key names the unit where there is one
};
struct HostFacts {
    std::vector<Fact> facts;            // in a fixed order; what this machine does not tell is absent
    std::vector<std::string> warnings;  // one sentence each, worth showing before a run

    [[nodiscard]] std::optional<std::string> find(const std::string& key) const;
};

// `target` may be null: then nothing of a drive is told. `root` is put before /proc and /sys, so that tests hand in a tree of
// their own; io_uring is asked of the kernel only when it is empty. Any thread; a few milliseconds.
HostFacts read_host_facts(const TargetInfo* target, const std::string& root = "");

// What decides which power states an NVMe controller ("nvme0") reaches and whether it stays there: keys `pcie.` (link, ASPM),
// `nvme.apst_maximum_latency_us` (us; 0 = APST off), `drive.polled_by` (services that read SMART on their own, also a warning).
// Reads nothing that reaches the drive. Any thread; `root` as above.
HostFacts read_controller_facts(const std::string& controller, const std::string& root = "");

// The block layer's counters of a whole disk, for telling foreign I/O from ours: the difference of two readings less what the
// engine did. Nothing when the disk is gone. Any thread.
struct DiskCounters {
    std::uint64_t reads = 0, writes = 0, discards = 0, flushes = 0;        // operations completed
    std::uint64_t read_bytes = 0, written_bytes = 0, discarded_bytes = 0;  // bytes
    std::uint64_t in_flight = 0;                                           // operations, now
    std::uint64_t busy_ms = 0, weighted_ms = 0;  // time with any operation in flight, and summed over operations: ms
};
std::optional<DiskCounters> read_disk_counters(const std::string& disk_name, const std::string& root = "");

// Temperature of the drive behind the target from its hwmon sensor. Degrees Celsius; nothing where there is none.
std::optional<double> read_drive_temperature(const std::string& disk_name, const std::string& root = "");

}  // namespace wattrig::target
