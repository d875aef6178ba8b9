#include "host/nvme/device.hpp"

#include <fmt/format.h>
#include <linux/fs.h>
#include <sys/ioctl.h>

#include <algorithm>
#include <array>
#include <cerrno>
#include <cstring>

namespace wattrig::nvme {
namespace {

enum Opcode : std::uint8_t {
    get_log_page = 0x02,
    identify = 0x06,
    set_features = 0x09,
    get_features = 0x0A,
    format_nvm = 0x80,
    sanitize = 0x84,
};
constexpr std::uint32_t every_namespace = 0xFFFFFFFF;

Result<std::vector<std::byte>> log_page(AdminDevice& device, std::uint8_t page, std::size_t bytes) {
    std::vector<std::byte> data(bytes);
    const auto words = static_cast<std::uint32_t>(bytes / 4 - 1);  // counted from 0
    AdminCommand command{.opcode = get_log_page, .namespace_id = every_namespace};
    command.word10 = page | (words & 0xFFFF) << 16;
    command.word11 = words >> 16;
    if (auto done = device.command(command, data); !done) return done.error();
    return data;
}

Result<std::vector<std::byte>> identify_page(AdminDevice& device, std::uint32_t structure, std::uint32_t namespace_id) {
    std::vector<std::byte> data(4096);
    const AdminCommand command{.opcode = identify, .namespace_id = namespace_id, .word10 = structure};
    if (auto done = device.command(command, data); !done) return done.error();
    return data;
}

std::uint32_t little(const std::vector<std::byte>& data, std::size_t offset) {
    std::uint32_t value = 0;
    for (std::size_t i = 0; i < 4; ++i) value |= std::to_integer<std::uint32_t>(data[offset + i]) << (8 * i);
    return value;
}

std::size_t data_of(Feature feature) {
    switch (feature) {
        case Feature::autonomous_transitions: return 256;
        case Feature::host_memory_buffer: return 4096;
        default: return 0;
    }
}

std::uint32_t meaning(Feature feature) {  // bits of the word that are not reserved
    switch (feature) {
        case Feature::power_management: return 0xFF;
        case Feature::thermal_management: return 0xFFFFFFFF;
        default: return 1;
    }
}

}  // namespace

bool may_destroy(std::uint8_t opcode) {
    switch (opcode) {
        case get_log_page:
        case identify:
        case set_features:
        case get_features: return false;
        default: return true;
    }
}

Result<std::uint32_t> AdminDevice::command(const AdminCommand& command, std::span<std::byte> data) {
    if (may_destroy(command.opcode))
        return bad_input(fmt::format("refused: {}: admin command 0x{:02x} may destroy data and needs a permit of the interlock",
                                     name(), command.opcode));
    ++commands_;
    return transmit(command, data);
}

Result<std::uint32_t> AdminDevice::destroy(const target::ControllerPermit& permit, const AdminCommand& command,
                                           std::span<std::byte> data) {
    if (permit.controller() != name())
        return bad_input(fmt::format("refused: the permit is for {}, the command for {}", permit.controller(), name()));
    if (auto same = permit.confirm(); !same) return same.error();
    ++commands_;
    return transmit(command, data);
}

Result<Controller> identify_controller(AdminDevice& device) {
    auto page = identify_page(device, 1, 0);
    if (!page) return page.error();
    return decode_controller(*page);
}

Result<Namespace> identify_namespace(AdminDevice& device, std::uint32_t namespace_id) {
    auto page = identify_page(device, 0, namespace_id);
    if (!page) return page.error();
    return decode_namespace(*page);
}

Result<Smart> read_smart(AdminDevice& device, bool power_measurement) {
    auto log = log_page(device, 0x02, 512);
    if (!log) return log.error();
    return decode_smart(*log, power_measurement);
}

Result<std::vector<ErrorEntry>> read_error_log(AdminDevice& device, std::uint16_t entries) {
    auto log = log_page(device, 0x01, std::size_t{64} * std::max<std::uint16_t>(entries, 1));
    if (!log) return log.error();
    return decode_error_log(*log);
}

Result<SanitizeStatus> read_sanitize_status(AdminDevice& device) {
    auto log = log_page(device, 0x81, 512);
    if (!log) return log.error();
    return decode_sanitize(*log);
}

const char* feature_name(Feature feature) {
    switch (feature) {
        case Feature::power_management: return "power state";
        case Feature::volatile_write_cache: return "volatile write cache";
        case Feature::autonomous_transitions: return "autonomous power state transitions";
        case Feature::host_memory_buffer: return "host memory buffer";
        case Feature::thermal_management: return "host controlled thermal management";
        case Feature::non_operational_permissive: return "non-operational power state permissive mode";
    }
    return "";
}

Result<FeatureValue> get_feature(AdminDevice& device, Feature feature) {
    FeatureValue value;
    value.data.resize(data_of(feature));
    const AdminCommand command{.opcode = get_features, .word10 = static_cast<std::uint8_t>(feature)};
    auto word = device.command(command, value.data);
    if (!word) return word.error();
    value.word = *word;
    if (feature == Feature::host_memory_buffer) value.data.resize(16);
    return value;
}

Result<void> set_feature(AdminDevice& device, Feature feature, const FeatureValue& value) {
    AdminCommand command{.opcode = set_features, .word10 = static_cast<std::uint8_t>(feature), .word11 = value.word};
    std::vector<std::byte> data;
    if (feature == Feature::autonomous_transitions) {
        data = value.data;
        data.resize(256);
    } else if (feature == Feature::host_memory_buffer && (value.word & 1) != 0) {
        if (value.data.size() < 16) return bad_input("host memory buffer: cannot be switched on without its attributes");
        // The kernel still owns the memory: the same pages are handed back (MR), in words instead of a buffer.
        command.word11 |= 2;
        command.word12 = little(value.data, 0);
        command.word13 = little(value.data, 4);
        command.word14 = little(value.data, 8);
        command.word15 = little(value.data, 12);
    }
    if (auto done = device.command(command, data); !done) return done.error();
    return {};
}

bool same_setting(Feature feature, const FeatureValue& a, const FeatureValue& b) {
    if ((a.word & meaning(feature)) != (b.word & meaning(feature))) return false;
    if (feature == Feature::autonomous_transitions) return a.data == b.data;
    // Where the buffer lies is of no interest while it is off.
    if (feature == Feature::host_memory_buffer && (a.word & 1) != 0) return a.data == b.data;
    return true;
}

Result<void> format_namespace(AdminDevice& device, const target::ControllerPermit& permit, std::uint32_t namespace_id,
                              std::uint8_t format, SecureErase erase) {
    AdminCommand command{.opcode = format_nvm, .namespace_id = namespace_id};
    command.word10 = (format & 0xFu) | static_cast<std::uint32_t>(erase) << 9 | (format >> 4 & 3u) << 12;
    command.timeout_ms = 600'000;  // a user data erase of a large drive takes minutes
    if (auto done = device.destroy(permit, command); !done) return done.error();
    return {};
}

Result<void> start_sanitize(AdminDevice& device, const target::ControllerPermit& permit, SanitizeAction action) {
    AdminCommand command{.opcode = sanitize};
    command.word10 = static_cast<std::uint32_t>(action);
    if (action == SanitizeAction::overwrite) command.word10 |= 1u << 4;  // one pass
    if (auto done = device.destroy(permit, command); !done) return done.error();
    return {};
}

Result<void> deallocate(target::WritePermit& permit, std::uint64_t offset, std::uint64_t length,
                        const std::function<void(double)>& progress) {
    auto descriptor = permit.begin_writing();
    if (!descriptor) return descriptor.error();
    // Steps of 1 GiB: often enough for a progress display, seldom enough to cost nothing.
    constexpr std::uint64_t step = 1u << 30;
    for (std::uint64_t done = 0; done < length;) {
        std::array<std::uint64_t, 2> range{offset + done, std::min(step, length - done)};
        if (ioctl(*descriptor, BLKDISCARD, range.data()) != 0) {
            if (errno == EOPNOTSUPP)
                return device_refused(fmt::format("{}: this device cannot deallocate (discard) blocks", permit.disk()));
            return system_error(fmt::format("{}: deallocating {} bytes at {} failed", permit.disk(), range[1], range[0]),
                                errno);
        }
        done += range[1];
        if (progress) progress(static_cast<double>(done) / static_cast<double>(length));
    }
    return {};
}

}  // namespace wattrig::nvme
