#pragma once
// How much a block device does, by the kernel's counters: whoever does it. Any thread, one at a time.

#include <cstdint>
#include <optional>
#include <string>

#include "host/base/clock.hpp"
#include "host/base/result.hpp"

namespace wattrig::live {

class DeviceCounters {
  public:
    struct Rate {
        double megabytes_per_second = 0, iops = 0;  // reads and writes; MB = 10^6 bytes
    };
    // `path`: a block device or a link to one. `sysfs`: "" = this machine. bad_input when the kernel has no counters for it.
    static Result<DeviceCounters> open(const std::string& path, const std::string& sysfs = "");
    // Since the last call; nothing at the first one, and when the device went away.
    std::optional<Rate> rate(HostTime now);

  private:
    explicit DeviceCounters(std::string file) : file_(std::move(file)) {}
    struct Count {
        std::uint64_t operations = 0, sectors = 0;
    };
    [[nodiscard]] std::optional<Count> read() const;

    std::string file_;
    std::optional<Count> last_;
    HostTime last_time_{};
};

}  // namespace wattrig::live
