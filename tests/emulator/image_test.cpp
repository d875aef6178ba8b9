// The image that the firmware's build makes, as `wattrig rig update` looks at it.
#include <gtest/gtest.h>

#include <cstdlib>
#include <fstream>
#include <iterator>
#include <vector>

#include "firmware/rp2040/board.hpp"
#include "host/rig/uf2.hpp"

namespace wattrig::rig {
namespace {

std::vector<std::uint8_t> built() {
    const char* path = std::getenv("WATTRIG_UF2");
    std::ifstream file(path == nullptr ? "" : path, std::ios::binary);
    return {std::istreambuf_iterator<char>(file), {}};
}

TEST(Image, TheBuiltOneIsTakenAndSaysWhatItIs) {
    const auto image = parse_uf2(built());
    ASSERT_TRUE(image) << image.error().message;
    EXPECT_EQ(image->record.board_id, rp2040::board_id);
    EXPECT_EQ(image->record.firmware_version, rp2040::firmware_version);
}

TEST(Image, OneFlippedBitInItsCodeIsSeen) {
    std::vector<std::uint8_t> file = built();
    ASSERT_GT(file.size(), 100u * 512);
    file[100 * 512 + 32] ^= 1;
    EXPECT_FALSE(parse_uf2(file));
}

}  // namespace
}  // namespace wattrig::rig
