#include "host/target/extents.hpp"

#include <linux/fiemap.h>
#include <linux/fs.h>
#include <sys/ioctl.h>
#include <unistd.h>

#include <algorithm>
#include <cerrno>
#include <cstring>
#include <vector>

namespace wattrig::target {
namespace {

bool by_fiemap(int descriptor, std::uint64_t size, ExtentMap& map) {
    constexpr std::uint32_t batch = 256;
    // u64 storage: struct fiemap ends in a flexible array and wants 8-byte alignment.
    std::vector<std::uint64_t> storage((sizeof(fiemap) + batch * sizeof(fiemap_extent)) / sizeof(std::uint64_t));
    auto* request = reinterpret_cast<fiemap*>(storage.data());
    std::uint64_t position = 0, written = 0, next_physical = 0;
    std::uint32_t fragments = 0;
    bool last = false;
    while (!last && position < size) {
        std::memset(storage.data(), 0, storage.size() * sizeof(std::uint64_t));
        request->fm_start = position;
        request->fm_length = size - position;
        request->fm_flags = FIEMAP_FLAG_SYNC;
        request->fm_extent_count = batch;
        if (ioctl(descriptor, FS_IOC_FIEMAP, request) != 0) return false;
        if (request->fm_mapped_extents == 0) break;
        const std::uint64_t before = position;
        for (std::uint32_t i = 0; i < request->fm_mapped_extents; ++i) {
            const fiemap_extent& extent = request->fm_extents[i];
            const std::uint64_t begin = std::min<std::uint64_t>(extent.fe_logical, size);
            const std::uint64_t end = std::min<std::uint64_t>(extent.fe_logical + extent.fe_length, size);
            if ((extent.fe_flags & (FIEMAP_EXTENT_UNWRITTEN | FIEMAP_EXTENT_DELALLOC)) == 0) written += end - begin;
            if (fragments == 0 || extent.fe_physical != next_physical) ++fragments;
            next_physical = extent.fe_physical + extent.fe_length;
            position = extent.fe_logical + extent.fe_length;
            last = (extent.fe_flags & FIEMAP_EXTENT_LAST) != 0;
        }
        if (position <= before) break;  // a filesystem that does not advance must not hang us
    }
    map.known = true;
    map.unwritten_known = true;
    map.unmapped = size - std::min(size, written);
    map.fragments = fragments;
    return true;
}

bool by_seek(int descriptor, std::uint64_t size, ExtentMap& map) {
    std::uint64_t holes = 0;
    off_t position = 0;
    const auto end = static_cast<off_t>(size);
    while (position < end) {
        const off_t data = lseek(descriptor, position, SEEK_DATA);
        if (data < 0 && errno != ENXIO) return false;
        const off_t next = data < 0 ? end : std::min(data, end);
        holes += static_cast<std::uint64_t>(next - position);
        if (next >= end) break;
        const off_t hole = lseek(descriptor, next, SEEK_HOLE);
        if (hole < 0) return false;
        position = hole;
    }
    map.known = true;
    map.unmapped = holes;
    return true;
}

}  // namespace

ExtentMap map_extents(int descriptor, std::uint64_t size) {
    ExtentMap map;
    if (!by_fiemap(descriptor, size, map)) by_seek(descriptor, size, map);
    return map;
}

}  // namespace wattrig::target
