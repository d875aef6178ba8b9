#pragma once
// What a firmware image says of itself, at a fixed place: the firmware's start code holds it, the build's last step fills in
// size and CRC, and a host looks at it before it sends a rig into its boot loader.

#include <cstdint>
#include <type_traits>

namespace wattrig::protocol {

struct ImageRecord {
    std::uint32_t magic;             // image_magic
    std::uint32_t layout;            // of this struct: image_layout
    std::uint32_t board_id;          // as in Info
    std::uint32_t firmware_version;  // as in Info
    std::uint32_t image_bytes;       // of the whole image from its first byte
    std::uint32_t image_crc;         // CRC32C over them, with this field taken as 0
};
static_assert(sizeof(ImageRecord) == 24 && std::has_unique_object_representations_v<ImageRecord>);

inline constexpr std::uint32_t image_magic = 0x4d495457;  // "WTIM"
inline constexpr std::uint32_t image_layout = 1;
inline constexpr std::uint32_t image_record_at = 0x108;  // bytes from the image's begin: behind boot2 and two start vectors

}  // namespace wattrig::protocol
