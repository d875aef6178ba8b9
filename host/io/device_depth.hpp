#pragma once
// The depth the block layer saw, which is what the drive saw: asked depth can lie in a ring, unreaped, while the drive idles.

#include <cstdint>
#include <optional>
#include <string>

namespace wattrig::io {

// Path of the counters of the block device behind a descriptor (the device itself, or the one its file lies on); empty where
// there is none (tmpfs, overlay, network) or statistics are switched off.
std::string block_statistics_path(int descriptor);

// Time-weighted requests in flight so far, in request x ms (field 11 of the kernel's Documentation/block/stat.rst).
std::optional<std::uint64_t> weighted_time(const std::string& path);

}  // namespace wattrig::io
