#pragma once
// A firmware image in UF2, checked before a rig is sent into its boot loader: a wrong one would leave it there.
//
// The image names itself (firmware/protocol/image.hpp), so that a file for another board or of an older version is refused
// before anything happens. Without its record nothing can be checked and the image is refused.

#include <cstdint>
#include <span>
#include <string>
#include <vector>

#include "firmware/protocol/image.hpp"
#include "host/base/result.hpp"

namespace wattrig::rig {

struct FirmwareImage {
    protocol::ImageRecord record;
    std::vector<std::uint8_t> bytes;  // from the beginning of flash
};
// All of: magic words, RP2040's family, contiguous blocks from the beginning of flash, the record and its CRC.
Result<FirmwareImage> parse_uf2(std::span<const std::uint8_t> file);

std::string version_text(std::uint32_t version);  // "1.2.3"

}  // namespace wattrig::rig
