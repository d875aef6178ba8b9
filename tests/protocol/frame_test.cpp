#include "firmware/protocol/frame.hpp"

#include <gtest/gtest.h>

#include <random>
#include <vector>

namespace {

using namespace wattrig::protocol;

std::vector<std::uint8_t> sample_frame(std::size_t payload_bytes) {
    std::vector<std::uint8_t> frame;
    for (std::size_t n = 0; n < frame_bytes(payload_bytes); ++n) frame.push_back(static_cast<std::uint8_t>(n * 7));
    EXPECT_EQ(seal_frame(frame.data(), FrameType::event, payload_bytes, 99), frame.size());
    return frame;
}

TEST(Frame, CodesSurvive) {
    std::uint8_t bytes[3];
    for (std::int32_t code = code_minimum; code <= code_maximum; code += 1021) {
        store_code(bytes, code);
        ASSERT_EQ(load_code(bytes), code);
    }
    for (const std::int32_t code : {code_minimum, code_minimum + 1, -1, 0, 1, code_maximum}) {
        store_code(bytes, code);
        EXPECT_EQ(load_code(bytes), code);
    }
    store_code(bytes, -2);
    EXPECT_EQ(bytes[0], 0xfe);
    EXPECT_EQ(bytes[2], 0xff);
}

TEST(Frame, StructsNeedNoAlignment) {
    std::uint8_t bytes[sizeof(RailSums) + 1];
    const RailSums sums{1, -2, 3, {4, -5}, {6, 7}};
    store(bytes + 1, sums);
    const auto back = load<RailSums>(bytes + 1);
    EXPECT_EQ(back.sum_v, -2);
    EXPECT_EQ(back.sum_vi.high, -5);
}

TEST(Frame, GoodOnesPass) {
    for (const std::size_t payload : {std::size_t{0}, std::size_t{4}, maximum_payload_bytes}) {
        auto frame = sample_frame(payload);
        EXPECT_EQ(check_frame(frame), FrameCheck::ok);
        frame.push_back(0x55);
        EXPECT_EQ(check_frame(frame), FrameCheck::ok) << "what follows is of no concern";
    }
}

TEST(Frame, ShortOnesAreIncomplete) {
    const auto frame = sample_frame(24);
    for (std::size_t size = 0; size < frame.size(); ++size) {
        EXPECT_EQ(check_frame(std::span(frame).first(size)), FrameCheck::incomplete) << size;
    }
}

TEST(Frame, EveryFlippedBitIsSeenWhereItIs) {
    const auto good = sample_frame(40);
    for (std::size_t bit = 0; bit < 8 * good.size(); ++bit) {
        auto frame = good;
        frame[bit / 8] ^= static_cast<std::uint8_t>(1u << (bit % 8));
        const FrameCheck expected = bit < 32 ? FrameCheck::bad_magic : bit < 128 ? FrameCheck::bad_header : FrameCheck::bad_crc;
        EXPECT_EQ(check_frame(frame), expected) << bit;
    }
}

TEST(Frame, RefusesLengthsThatCannotBe) {
    for (const std::uint16_t length :
         {std::uint16_t{6}, static_cast<std::uint16_t>(maximum_payload_bytes + 4), std::uint16_t{0xffff}}) {
        const FrameHeader header = make_header(FrameType::block, length, 0);
        std::uint8_t bytes[sizeof header];
        store(bytes, header);
        EXPECT_EQ(check_header(bytes), FrameCheck::bad_header) << length;
    }
}

}  // namespace
