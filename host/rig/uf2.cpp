#include "host/rig/uf2.hpp"

#include <cstddef>

#include "firmware/protocol/crc32c.hpp"
#include "firmware/protocol/frame.hpp"

namespace wattrig::rig {
namespace {

// Microsoft's UF2: blocks of 512 bytes, at most 476 of them data; the RP2040's boot loader wants 256.
struct Uf2Block {
    std::uint32_t magic_0, magic_1, flags, address, data_bytes, number, count, family;
};
constexpr std::size_t block_bytes = 512, data_bytes = 256, end_at = 508;
constexpr std::uint32_t magic_0 = 0x0a324655, magic_1 = 0x9e5d5157, magic_end = 0x0ab16f30;
constexpr std::uint32_t family_flag = 0x2000, not_main_flash = 1, rp2040_family = 0xe48bff56;
constexpr std::uint32_t flash_begin = 0x10000000;
constexpr std::size_t flash_bytes = std::size_t{2} << 20;

}  // namespace

std::string version_text(std::uint32_t version) {
    return std::to_string(version >> 16) + "." + std::to_string(version >> 8 & 0xff) + "." + std::to_string(version & 0xff);
}

Result<FirmwareImage> parse_uf2(std::span<const std::uint8_t> file) {
    if (file.empty() || file.size() % block_bytes != 0)
        return bad_input("expected a UF2 file of whole blocks of 512 bytes, came " + std::to_string(file.size()) + " bytes");
    const std::size_t blocks = file.size() / block_bytes;
    if (blocks * data_bytes > flash_bytes) return bad_input("the image is larger than the rig's flash of 2 MiB");
    FirmwareImage image{};
    for (std::size_t k = 0; k < blocks; ++k) {
        const std::uint8_t* at = file.data() + k * block_bytes;
        const auto block = protocol::load<Uf2Block>(at);
        const std::string where = "UF2 block " + std::to_string(k) + ": ";
        if (block.magic_0 != magic_0 || block.magic_1 != magic_1 || protocol::load<std::uint32_t>(at + end_at) != magic_end)
            return bad_input(where + "the magic words are missing; this is no UF2 file, or a damaged one");
        if ((block.flags & family_flag) == 0 || block.family != rp2040_family) return bad_input(where + "not for an RP2040");
        if ((block.flags & not_main_flash) != 0 || block.data_bytes != data_bytes || block.number != k ||
            block.count != blocks || block.address != flash_begin + k * data_bytes)
            return bad_input(where + "blocks are missing or out of order");
        image.bytes.insert(image.bytes.end(), at + sizeof(Uf2Block), at + sizeof(Uf2Block) + data_bytes);
    }
    using protocol::ImageRecord;
    constexpr std::size_t at = protocol::image_record_at;
    if (image.bytes.size() >= at + sizeof(ImageRecord)) image.record = protocol::load<ImageRecord>(image.bytes.data() + at);
    const ImageRecord& record = image.record;
    if (record.magic != protocol::image_magic || record.layout != protocol::image_layout)
        return bad_input(
            "the image does not say which board and version it is for: it is not wattrig's firmware, or of another age");
    if (record.image_bytes > image.bytes.size() || record.image_bytes < at + sizeof(ImageRecord))
        return bad_input("the image says that it has " + std::to_string(record.image_bytes) + " bytes, the file holds " +
                         std::to_string(image.bytes.size()) + ": it is damaged");
    std::vector<std::uint8_t> checked(image.bytes.begin(),
                                      image.bytes.begin() + static_cast<std::ptrdiff_t>(record.image_bytes));
    protocol::store(checked.data() + at + offsetof(ImageRecord, image_crc), std::uint32_t{0});
    if (protocol::crc32c(checked) != record.image_crc) return bad_input("the image's CRC is wrong: the file is damaged");
    return image;
}

}  // namespace wattrig::rig
