#pragma once
// Which blocks of a file have been written: a read of a hole or of an unwritten extent never reaches the drive.

#include <cstdint>

namespace wattrig::target {

struct ExtentMap {
    bool known = false;            // the filesystem told (FIEMAP, or SEEK_HOLE, which knows holes only)
    bool unwritten_known = false;  // FIEMAP: allocated but never written is told apart
    std::uint64_t unmapped = 0;    // bytes in holes and unwritten extents, within the first `size` bytes
    std::uint32_t fragments = 0;   // runs that are contiguous on the device; 0 = cannot tell
};
// Any thread. Writes back dirty pages first, so that delayed allocation does not look like a hole. Bytes.
ExtentMap map_extents(int descriptor, std::uint64_t size);

}  // namespace wattrig::target
