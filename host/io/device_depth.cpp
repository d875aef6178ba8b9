#include "host/io/device_depth.hpp"

#include <fmt/format.h>
#include <sys/stat.h>
#include <sys/sysmacros.h>

#include <fstream>

namespace wattrig::io {

std::string block_statistics_path(int descriptor) {
    struct stat status{};
    if (descriptor < 0 || fstat(descriptor, &status) != 0) return {};
    dev_t device = 0;
    if (S_ISBLK(status.st_mode))
        device = status.st_rdev;
    else if (S_ISREG(status.st_mode))
        device = status.st_dev;
    if (major(device) == 0) return {};
    const std::string folder = fmt::format("/sys/dev/block/{}:{}", major(device), minor(device));
    // A partition has no queue of its own; its disk's is one level up.
    for (const char* place : {"/queue/iostats", "/../queue/iostats"}) {
        int on = 1;
        if (std::ifstream(folder + place) >> on && on == 0) return {};
    }
    std::string path = folder + "/stat";
    return weighted_time(path) ? path : std::string();
}

std::optional<std::uint64_t> weighted_time(const std::string& path) {
    if (path.empty()) return std::nullopt;
    std::ifstream file(path);
    std::uint64_t value = 0;
    for (int field = 0; field < 11; ++field)
        if (!(file >> value)) return std::nullopt;
    return value;
}

}  // namespace wattrig::io
