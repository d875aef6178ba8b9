#include "host/live/device_counters.hpp"

#include <filesystem>
#include <sstream>

#include "host/target/sysfs.hpp"

namespace wattrig::live {

Result<DeviceCounters> DeviceCounters::open(const std::string& path, const std::string& sysfs) {
    std::error_code error;
    const std::filesystem::path real = std::filesystem::canonical(path, error);
    if (error) return bad_input(path + ": expected a block device, there is nothing of that name");
    DeviceCounters counters(sysfs + "/sys/class/block/" + real.filename().string() + "/stat");
    if (!counters.read())
        return bad_input(path + ": expected a block device such as /dev/nvme0n1; the kernel has no counters for it");
    return counters;
}

// Documentation/block/stat.rst: reads, reads merged, sectors read, ms, writes, writes merged, sectors written, ...; a sector is
// 512 bytes whatever the device's block.
std::optional<DeviceCounters::Count> DeviceCounters::read() const {
    const auto text = target::sysfs::read_text(file_);
    if (!text) return std::nullopt;
    std::istringstream in(*text);
    std::uint64_t field[7] = {};
    for (std::uint64_t& value : field)
        if (!(in >> value)) return std::nullopt;
    return Count{field[0] + field[4], field[2] + field[6]};
}

std::optional<DeviceCounters::Rate> DeviceCounters::rate(HostTime now) {
    const auto count = read();
    std::optional<Rate> rate;
    const double seconds = to_seconds(now - last_time_);
    if (count && last_ && seconds > 0 && count->operations >= last_->operations && count->sectors >= last_->sectors)
        rate = Rate{static_cast<double>(count->sectors - last_->sectors) * 512 / 1e6 / seconds,
                    static_cast<double>(count->operations - last_->operations) / seconds};
    last_ = count;
    last_time_ = now;
    return rate;
}

}  // namespace wattrig::live
