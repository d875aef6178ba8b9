#pragma once
// A firmware image in UF2, checked before a rig is sent into its boot loader: a wrong one would leave it there.
//
// The image names itself: somewhere on a 4-byte boundary lies an ImageRecord, so that a file for another board or of an older
// version is refused before anything happens. Without one nothing can be checked and the image is refused.

#include <cstdint>
#include <span>
#include <string>
#include <vector>

#include "host/base/result.hpp"

namespace wattrig::rig {

struct ImageRecord {
    std::uint32_t magic;             // image_magic
    std::uint32_t board_id;          // as protocol::Info
    std::uint32_t firmware_version;  // as protocol::Info
    std::uint32_t image_bytes;       // of the whole image from its first byte
    std::uint32_t image_crc;         // CRC32C over them, with this field taken as 0
};
static_assert(sizeof(ImageRecord) == 20);
inline constexpr std::uint32_t image_magic = 0x4d495457;  // "WTIM"

struct FirmwareImage {
    ImageRecord record;
    std::vector<std::uint8_t> bytes;  // from the beginning of flash
};
// All of: magic words, RP2040's family, contiguous blocks from the beginning of flash, the record and its CRC.
Result<FirmwareImage> parse_uf2(std::span<const std::uint8_t> file);

std::string version_text(std::uint32_t version);  // "1.2.3"

}  // namespace wattrig::rig
