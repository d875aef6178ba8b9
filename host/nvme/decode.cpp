#include "host/nvme/decode.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <limits>

namespace wattrig::nvme {
namespace {

std::uint64_t little(Bytes bytes, std::size_t offset, std::size_t count) {
    std::uint64_t value = 0;
    for (std::size_t i = 0; i < count; ++i) value |= std::to_integer<std::uint64_t>(bytes[offset + i]) << (8 * i);
    return value;
}
std::uint8_t u8(Bytes b, std::size_t offset) { return std::to_integer<std::uint8_t>(b[offset]); }
std::uint16_t u16(Bytes b, std::size_t offset) { return static_cast<std::uint16_t>(little(b, offset, 2)); }
std::uint32_t u32(Bytes b, std::size_t offset) { return static_cast<std::uint32_t>(little(b, offset, 4)); }
std::uint64_t u64(Bytes b, std::size_t offset) { return little(b, offset, 8); }

std::uint64_t u128_clamped(Bytes b, std::size_t offset) {
    return u64(b, offset + 8) != 0 ? std::numeric_limits<std::uint64_t>::max() : u64(b, offset);
}

// Fixed fields of ASCII, filled up with spaces; bytes that no terminal should see become '?'.
std::string text(Bytes b, std::size_t offset, std::size_t length) {
    std::string out;
    for (std::size_t i = 0; i < length; ++i) {
        const auto c = u8(b, offset + i);
        if (c == 0) break;
        out += c >= 0x20 && c < 0x7F ? static_cast<char>(c) : '?';
    }
    const auto last = out.find_last_not_of(' ');
    out.resize(last == std::string::npos ? 0 : last + 1);
    const auto first = out.find_first_not_of(' ');
    return first == std::string::npos ? "" : out.substr(first);
}

template <class T>
std::optional<T> unless_zero(T value) {
    if (value == 0) return std::nullopt;
    return value;
}

// Scale as in IPS and APS: 0 = not reported, 1 = 0.0001 W, 2 = 0.01 W, 3 reserved.
std::optional<Watts> scaled(std::uint16_t value, unsigned scale) {
    if (scale == 1) return Watts(value * 0.0001);
    if (scale == 2) return Watts(value * 0.01);
    return std::nullopt;
}

Error too_short(const char* what, std::size_t wanted, std::size_t came) {
    return device_refused(fmt::format("{}: expected {} bytes, came {}", what, wanted, came));
}

}  // namespace

Result<PowerState> decode_power_state(Bytes b) {
    if (b.size() < 32) return too_short("power state descriptor", 32, b.size());
    PowerState state;
    const std::uint8_t flags = u8(b, 3);
    if (const auto power = u16(b, 0)) state.maximum_power = Watts(power * ((flags & 1) != 0 ? 0.0001 : 0.01));
    state.operational = (flags & 2) == 0;
    state.entry_latency_us = unless_zero(u32(b, 4));
    state.exit_latency_us = unless_zero(u32(b, 8));
    state.relative_read_throughput = u8(b, 12) & 0x1F;
    state.relative_read_latency = u8(b, 13) & 0x1F;
    state.relative_write_throughput = u8(b, 14) & 0x1F;
    state.relative_write_latency = u8(b, 15) & 0x1F;
    state.idle_power = scaled(u16(b, 16), u8(b, 18) >> 6);
    state.active_power = scaled(u16(b, 20), u8(b, 22) >> 6);
    state.active_workload = u8(b, 22) & 7;
    return state;
}

Result<Controller> decode_controller(Bytes b) {
    if (b.size() < 4096) return too_short("Identify Controller", 4096, b.size());
    Controller c;
    c.vendor = u16(b, 0);
    c.serial = text(b, 4, 20);
    c.model = text(b, 24, 40);
    c.firmware = text(b, 64, 8);
    c.controller_id = u16(b, 78);
    c.version = u32(b, 80);
    c.power_measurement = (u32(b, 96) >> 21 & 1) != 0;
    c.can_format = (u16(b, 256) & 2) != 0;
    c.error_log_entries = static_cast<std::uint16_t>(u8(b, 262) + 1);
    c.autonomous_transitions = (u8(b, 265) & 1) != 0;
    c.warning_temperature_k = unless_zero(u16(b, 266));
    c.critical_temperature_k = unless_zero(u16(b, 268));
    c.host_memory_preferred_4k = u32(b, 272);
    c.host_memory_minimum_4k = u32(b, 276);
    c.host_thermal_management = (u16(b, 322) & 1) != 0;
    c.thermal_management_minimum_k = u16(b, 324);
    c.thermal_management_maximum_k = u16(b, 326);
    const std::uint32_t sanitize = u32(b, 328);
    c.sanitize_crypto = (sanitize & 1) != 0;
    c.sanitize_block = (sanitize & 2) != 0;
    c.sanitize_overwrite = (sanitize & 4) != 0;
    c.namespaces = u32(b, 516);
    c.can_deallocate = (u16(b, 520) & 4) != 0;
    c.format_covers_all_namespaces = (u8(b, 524) & 1) != 0;
    c.volatile_write_cache = (u8(b, 525) & 1) != 0;
    // NPSS counts from 0, and there is room for 32.
    const std::size_t states = std::min<std::size_t>(u8(b, 263) + 1u, 32);
    for (std::size_t i = 0; i < states; ++i) {
        auto state = decode_power_state(b.subspan(2048 + 32 * i, 32));
        if (!state) return state.error();
        c.states.push_back(*state);
    }
    return c;
}

Result<Namespace> decode_namespace(Bytes b) {
    if (b.size() < 4096) return too_short("Identify Namespace", 4096, b.size());
    Namespace n;
    n.size_blocks = u64(b, 0);
    n.capacity_blocks = u64(b, 8);
    n.used_blocks = u64(b, 16);
    const std::size_t formats = std::min<std::size_t>(u8(b, 25) + 1u, 64);
    for (std::size_t i = 0; i < formats; ++i) {
        const std::size_t at = 128 + 4 * i;
        const unsigned shift = u8(b, at + 2);
        // Below 512 bytes the format does not exist.
        n.formats.push_back(
            {shift >= 9 && shift < 32 ? 1u << shift : 0u, u16(b, at), static_cast<std::uint8_t>(u8(b, at + 3) & 3)});
    }
    const std::uint8_t flbas = u8(b, 26);
    n.format = static_cast<std::uint8_t>((flbas & 0xF) | (formats > 16 ? (flbas >> 5 & 3) << 4 : 0));
    return n;
}

PowerManagement decode_power_management(std::uint32_t word) {
    return {static_cast<std::uint8_t>(word & 0x1F), static_cast<std::uint8_t>(word >> 5 & 7)};
}

Result<std::vector<AutonomousTransition>> decode_autonomous_transitions(Bytes b) {
    if (b.size() < 256) return too_short("table of autonomous transitions", 256, b.size());
    std::vector<AutonomousTransition> table;
    for (std::size_t i = 0; i < 32; ++i) {
        const std::uint64_t entry = u64(b, 8 * i);
        table.push_back({static_cast<std::uint8_t>(entry >> 3 & 0x1F), static_cast<std::uint32_t>(entry >> 8 & 0xFFFFFF)});
    }
    return table;
}

std::vector<std::byte> encode_autonomous_transitions(std::span<const AutonomousTransition> table) {
    std::vector<std::byte> bytes(256);
    for (std::size_t i = 0; i < std::min<std::size_t>(table.size(), 32); ++i) {
        const std::uint64_t entry = (static_cast<std::uint64_t>(table[i].to_state & 0x1F) << 3) |
                                    (static_cast<std::uint64_t>(table[i].idle_ms & 0xFFFFFF) << 8);
        for (std::size_t k = 0; k < 8; ++k) bytes[8 * i + k] = static_cast<std::byte>(entry >> (8 * k) & 0xFF);
    }
    return bytes;
}

Result<HostMemoryBuffer> decode_host_memory_buffer(std::uint32_t word, Bytes b) {
    if (b.size() < 16) return too_short("host memory buffer attributes", 16, b.size());
    return HostMemoryBuffer{(word & 1) != 0, u32(b, 0), u64(b, 4), u32(b, 12)};
}

ThermalManagement decode_thermal_management(std::uint32_t word) {
    return {static_cast<std::uint16_t>(word >> 16), static_cast<std::uint16_t>(word & 0xFFFF)};
}

Result<Smart> decode_smart(Bytes b, bool power_measurement) {
    if (b.size() < 512) return too_short("SMART log", 512, b.size());
    Smart s;
    s.critical_warning = u8(b, 0);
    s.temperature_k = unless_zero(u16(b, 1));
    s.spare_percent = u8(b, 3);
    s.spare_threshold_percent = u8(b, 4);
    s.used_percent = u8(b, 5);
    s.units_read = u128_clamped(b, 32);
    s.units_written = u128_clamped(b, 48);
    s.host_reads = u128_clamped(b, 64);
    s.host_writes = u128_clamped(b, 80);
    s.busy_minutes = u128_clamped(b, 96);
    s.power_cycles = u128_clamped(b, 112);
    s.power_on_hours = u128_clamped(b, 128);
    s.unsafe_shutdowns = u128_clamped(b, 144);
    s.media_errors = u128_clamped(b, 160);
    s.error_entries = u128_clamped(b, 176);
    s.warning_minutes = u32(b, 192);
    s.critical_minutes = u32(b, 196);
    for (std::size_t i = 0; i < s.sensors_k.size(); ++i) s.sensors_k[i] = unless_zero(u16(b, 200 + 2 * i));
    s.light_transitions = u32(b, 216);
    s.heavy_transitions = u32(b, 220);
    s.light_seconds = u32(b, 224);
    s.heavy_seconds = u32(b, 228);
    if (power_measurement) {
        s.lifetime_energy_wh = unless_zero(u64(b, 232));
        const std::uint32_t power = u32(b, 240);
        s.interval_power = scaled(static_cast<std::uint16_t>(power & 0xFFFF), power >> 16 & 3);
    }
    return s;
}

std::vector<ErrorEntry> decode_error_log(Bytes b) {
    std::vector<ErrorEntry> entries;
    for (std::size_t at = 0; at + 64 <= b.size(); at += 64) {
        if (u64(b, at) == 0) continue;
        entries.push_back(
            {u64(b, at), u16(b, at + 8), u16(b, at + 10), u16(b, at + 12), u16(b, at + 14), u64(b, at + 16), u32(b, at + 24)});
    }
    return entries;
}

Result<SanitizeStatus> decode_sanitize(Bytes b) {
    if (b.size() < 20) return too_short("sanitize status log", 20, b.size());
    SanitizeStatus status;
    switch (u16(b, 2) & 7) {
        case 0: status.state = SanitizeState::never; break;
        case 1: status.state = SanitizeState::completed; break;
        case 2: status.state = SanitizeState::in_progress; break;
        case 3: status.state = SanitizeState::failed; break;
        case 4: status.state = SanitizeState::completed_deallocated; break;
        default: return device_refused(fmt::format("sanitize status {} is not known to the specification", u16(b, 2) & 7));
    }
    status.done = status.state == SanitizeState::in_progress ? u16(b, 0) / 65536.0 : 1.0;
    if (status.state == SanitizeState::never) status.done = 0;
    return status;
}

std::string status_text(std::uint16_t status) {
    // Type in bits 10:8, code in bits 7:0; only what a user of this program can meet.
    const char* words = "refused";
    switch (status & 0x7FF) {
        case 0x001: words = "Invalid Command Opcode: this drive does not have the command"; break;
        case 0x002: words = "Invalid Field in Command: this drive does not have the setting or the value"; break;
        case 0x006: words = "Internal Error"; break;
        case 0x00B: words = "Invalid Namespace or Format"; break;
        case 0x00C: words = "Command Sequence Error"; break;
        case 0x01D: words = "Sanitize In Progress"; break;
        case 0x109: words = "Invalid Log Page: this drive does not have it"; break;
        case 0x10A: words = "Invalid Format"; break;
        case 0x10D: words = "Feature Identifier Not Saveable"; break;
        case 0x10E: words = "Feature Not Changeable"; break;
        case 0x10F: words = "Feature Not Namespace Specific"; break;
        default: break;
    }
    return fmt::format("{} (status 0x{:x})", words, status & 0x7FF);
}

}  // namespace wattrig::nvme
