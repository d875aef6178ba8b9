#pragma once
// Admin commands to one NVMe controller. The wall between what asks and what destroys is here: a command that can destroy data
// passes only with the interlock's permit for that controller. Any one thread at a time.

#include <cstdint>
#include <memory>
#include <string>
#include <vector>

#include "host/base/result.hpp"
#include "host/nvme/decode.hpp"
#include "host/target/interlock.hpp"

namespace wattrig::nvme {

struct AdminCommand {
    std::uint8_t opcode = 0;
    std::uint32_t namespace_id = 0;
    std::uint32_t word10 = 0, word11 = 0, word12 = 0, word13 = 0, word14 = 0, word15 = 0;
    std::uint32_t timeout_ms = 10'000;
};

// Format, sanitize, firmware, namespace management, security send, and every vendor's own command: what is not known to be
// harmless is not sent without a permit.
bool may_destroy(std::uint8_t opcode);

class AdminDevice {
  public:
    virtual ~AdminDevice() = default;
    // Result word 0 of the completion. `data` is sent or received as the opcode says. Commands that may destroy are refused.
    Result<std::uint32_t> command(const AdminCommand& command, std::span<std::byte> data = {});
    // The interlock looks at serial and users once more before the command goes out.
    Result<std::uint32_t> destroy(const target::ControllerPermit& permit, const AdminCommand& command,
                                  std::span<std::byte> data = {});
    // Commands sent through this object: shows that none reached the drive while it was to be left alone.
    [[nodiscard]] std::uint64_t commands() const { return commands_; }
    [[nodiscard]] virtual std::string name() const = 0;  // "nvme0"

  protected:
    virtual Result<std::uint32_t> transmit(const AdminCommand& command, std::span<std::byte> data) = 0;

  private:
    std::uint64_t commands_ = 0;
};

// The character device of a controller, such as /dev/nvme0. Errors say in a sentence which right is missing.
Result<std::unique_ptr<AdminDevice>> open_controller(const std::string& controller);

Result<Controller> identify_controller(AdminDevice& device);
Result<Namespace> identify_namespace(AdminDevice& device, std::uint32_t namespace_id);
Result<Smart> read_smart(AdminDevice& device, bool power_measurement);
Result<std::vector<ErrorEntry>> read_error_log(AdminDevice& device, std::uint16_t entries);
Result<SanitizeStatus> read_sanitize_status(AdminDevice& device);

enum class Feature : std::uint8_t {
    power_management = 0x02,
    volatile_write_cache = 0x06,
    autonomous_transitions = 0x0C,
    host_memory_buffer = 0x0D,
    thermal_management = 0x10,
    non_operational_permissive = 0x11,
};
const char* feature_name(Feature feature);

struct FeatureValue {
    std::uint32_t word = 0;
    std::vector<std::byte> data;  // 256 bytes of transitions, 16 of host memory attributes, else empty
};
Result<FeatureValue> get_feature(AdminDevice& device, Feature feature);
// Only until the next reset of the drive: never saved in it.
Result<void> set_feature(AdminDevice& device, Feature feature, const FeatureValue& value);
// Do both mean the same? Bits that the specification reserves do not count.
bool same_setting(Feature feature, const FeatureValue& a, const FeatureValue& b);

enum class SecureErase : std::uint8_t { none = 0, user_data = 1, cryptographic = 2 };
Result<void> format_namespace(AdminDevice& device, const target::ControllerPermit& permit, std::uint32_t namespace_id,
                              std::uint8_t format, SecureErase erase);
enum class SanitizeAction : std::uint8_t { block_erase = 2, overwrite = 3, crypto_erase = 4 };
// Starts it; progress is asked with read_sanitize_status.
Result<void> start_sanitize(AdminDevice& device, const target::ControllerPermit& permit, SanitizeAction action);
// Discards bytes [offset, offset + length) of a device that may be written, in steps; `progress` 0 .. 1, in the caller's
// thread.
Result<void> deallocate(target::WritePermit& permit, std::uint64_t offset, std::uint64_t length,
                        const std::function<void(double)>& progress = {});

}  // namespace wattrig::nvme
