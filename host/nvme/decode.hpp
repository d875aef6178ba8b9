#pragma once
// What an NVMe drive says of itself: pure functions over the byte buffers of the NVMe Base Specification 2.0 (section numbers
// beside each). "Not reported" is an empty optional, never 0. Any thread.

#include <array>
#include <cstddef>
#include <cstdint>
#include <optional>
#include <span>
#include <string>
#include <vector>

#include "host/base/result.hpp"
#include "host/base/units.hpp"

namespace wattrig::nvme {

using Bytes = std::span<const std::byte>;

struct PowerState {  // figure "Identify - Power State Descriptor Data Structure", 32 bytes
    std::optional<Watts> maximum_power;
    bool operational = true;                                         // false: no I/O without leaving the state
    std::optional<std::uint32_t> entry_latency_us, exit_latency_us;  // worst case as declared
    std::uint8_t relative_read_throughput = 0, relative_read_latency = 0;
    std::uint8_t relative_write_throughput = 0, relative_write_latency = 0;  // ranks, 0 is best
    std::optional<Watts> idle_power;                                         // typical over 30 s
    std::optional<Watts> active_power;                                       // highest mean of 10 s under the workload below
    std::uint8_t active_workload = 0;  // APW: 0 = not named, 1, 2 as the specification has them
};

struct Controller {  // "Identify - Identify Controller Data Structure", CNS 01h
    std::string serial, model, firmware;
    std::uint16_t vendor = 0, controller_id = 0;
    std::uint32_t version = 0;  // 0x00010400 = 1.4
    std::vector<PowerState> states;
    bool autonomous_transitions = false;  // APSTA
    bool volatile_write_cache = false;
    bool can_format = false, can_deallocate = false;
    bool sanitize_crypto = false, sanitize_block = false, sanitize_overwrite = false;
    bool format_covers_all_namespaces = false;                                         // FNA bit 0
    bool power_measurement = false;                                                    // CTRATT bit 21
    std::uint32_t host_memory_preferred_4k = 0, host_memory_minimum_4k = 0;            // units of 4 KiB, 0 = wants none
    std::optional<std::uint16_t> warning_temperature_k, critical_temperature_k;        // kelvin
    bool host_thermal_management = false;                                              // HCTMA
    std::uint16_t thermal_management_minimum_k = 0, thermal_management_maximum_k = 0;  // 0 = not reported
    std::uint32_t namespaces = 0;
    std::uint16_t error_log_entries = 0;
};

struct BlockFormat {
    std::uint32_t block_bytes = 0;  // 0 = format not available
    std::uint16_t metadata_bytes = 0;
    std::uint8_t relative_performance = 0;  // 0 is best
};
struct Namespace {  // CNS 00h
    std::uint64_t size_blocks = 0, capacity_blocks = 0, used_blocks = 0;
    std::vector<BlockFormat> formats;
    std::uint8_t format = 0;  // index in use
};

struct PowerManagement {  // feature 02h
    std::uint8_t state = 0, workload_hint = 0;
};
struct AutonomousTransition {  // one entry of feature 0Ch
    std::uint8_t to_state = 0;
    std::uint32_t idle_ms = 0;  // 0 = no transition
};
struct HostMemoryBuffer {  // feature 0Dh
    bool enabled = false;
    std::uint32_t size_pages = 0;  // of the controller's memory page size
    std::uint64_t descriptor_list = 0;
    std::uint32_t descriptors = 0;
};
struct ThermalManagement {  // feature 10h, kelvin, 0 = off
    std::uint16_t light_k = 0, heavy_k = 0;
};

struct Smart {  // log page 02h
    std::uint8_t critical_warning = 0;
    std::optional<std::uint16_t> temperature_k;
    std::uint8_t spare_percent = 0, spare_threshold_percent = 0, used_percent = 0;
    // The specification has 128 bits; what does not fit in 64 is given as the largest value.
    std::uint64_t units_read = 0, units_written = 0;  // of 512,000 bytes
    std::uint64_t host_reads = 0, host_writes = 0, busy_minutes = 0, power_cycles = 0, power_on_hours = 0;
    std::uint64_t unsafe_shutdowns = 0, media_errors = 0, error_entries = 0;
    std::uint32_t warning_minutes = 0, critical_minutes = 0;
    std::array<std::optional<std::uint16_t>, 8> sensors_k;
    std::uint32_t light_transitions = 0, heavy_transitions = 0, light_seconds = 0, heavy_seconds = 0;
    std::optional<std::uint64_t> lifetime_energy_wh;  // drives with power measurement
    std::optional<Watts> interval_power;              // likewise, the drive's own figure
};

struct ErrorEntry {  // log page 01h
    std::uint64_t count = 0;
    std::uint16_t queue = 0, command = 0, status = 0, parameter = 0;
    std::uint64_t block = 0;
    std::uint32_t namespace_id = 0;
};

enum class SanitizeState { never, completed, in_progress, failed, completed_deallocated };
struct SanitizeStatus {  // log page 81h
    SanitizeState state = SanitizeState::never;
    double done = 0;  // 0 .. 1
};

// Buffers that are too short are refused as such: a cut reply is never read as zeros.
Result<PowerState> decode_power_state(Bytes descriptor);
Result<Controller> decode_controller(Bytes identify);
Result<Namespace> decode_namespace(Bytes identify);
PowerManagement decode_power_management(std::uint32_t word);
Result<std::vector<AutonomousTransition>> decode_autonomous_transitions(Bytes table);  // 256 bytes, one a state
std::vector<std::byte> encode_autonomous_transitions(std::span<const AutonomousTransition> table);
Result<HostMemoryBuffer> decode_host_memory_buffer(std::uint32_t word, Bytes attributes);
ThermalManagement decode_thermal_management(std::uint32_t word);
// `power_measurement` from the controller: without it the last fields are reserved and mean nothing.
Result<Smart> decode_smart(Bytes log, bool power_measurement);
std::vector<ErrorEntry> decode_error_log(Bytes log);  // entries with count 0 are left out
Result<SanitizeStatus> decode_sanitize(Bytes log);

// "Invalid Field in Command (status 0x2)": type and code of a completion's status.
std::string status_text(std::uint16_t status);

}  // namespace wattrig::nvme
