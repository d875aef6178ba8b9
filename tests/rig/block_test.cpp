#include "host/rig/block.hpp"

#include <gtest/gtest.h>

#include <random>
#include <string>

#include "tests/rig/blocks.hpp"

namespace wattrig::rig {
namespace {

using test::BlockMaker;
using test::Bytes;

Bytes payload_of(const Bytes& frame) {
    return {frame.begin() + sizeof(protocol::FrameHeader), frame.end() - static_cast<std::ptrdiff_t>(protocol::crc_bytes)};
}

TEST(ParseBlock, ReadsCodesOfBothRails) {
    BlockMaker maker;
    maker.rails = 2;
    maker.block(31);
    const Bytes payload = payload_of(maker.block(33));
    const Result<BlockView> view = parse_block(payload);
    ASSERT_TRUE(view) << view.error().message;
    EXPECT_TRUE(view->has_codes());
    EXPECT_EQ(view->header.first_index, 31u);
    for (std::size_t k = 0; k < 33; ++k) {
        EXPECT_EQ(view->v_code(0, k), test::v_of(31 + k));
        EXPECT_EQ(view->i_code(0, k), test::i_of(31 + k));
        EXPECT_EQ(view->v_code(1, k), test::v_of(31 + k));
        EXPECT_EQ(view->i_code(1, k), test::i_of(31 + k) + 1);
        EXPECT_EQ(view->sideband[k], static_cast<std::uint8_t>(test::mix64(31 + k)));
    }
    std::int64_t sum = 0;
    for (std::size_t k = 0; k < 64; ++k) sum += test::i_of(k);
    EXPECT_EQ(view->rails[0].sums.sum_i, sum);
    EXPECT_EQ((view->end() - view->begin()).count(), 33 * 3840);
}

TEST(ParseBlock, SummariesAndSilentBlocksHaveNoCodes) {
    BlockMaker maker;
    const Bytes summary = payload_of(maker.summary(300, protocol::Detail::summary_10ms));
    const Result<BlockView> view = parse_block(summary);
    ASSERT_TRUE(view);
    EXPECT_FALSE(view->has_codes());
    const Bytes silent = payload_of(maker.silent(75));
    const Result<BlockView> none = parse_block(silent);
    ASSERT_TRUE(none);
    EXPECT_FALSE(none->has_codes());
    EXPECT_EQ(none->header.span, 75u);
}

TEST(ParseBlock, APayloadMayGrowAtItsEnd) {
    Bytes payload = payload_of(BlockMaker().block());
    payload.insert(payload.end(), 8, 0xee);
    EXPECT_TRUE(parse_block(payload));
}

template <class Change>
std::string refusal(Change&& change) {
    Bytes payload = payload_of(BlockMaker().block());
    auto header = protocol::load<protocol::BlockHeader>(payload.data());
    change(header, payload);
    if (payload.size() >= sizeof header) protocol::store(payload.data(), header);
    const Result<BlockView> view = parse_block(payload);
    if (view) return "";
    EXPECT_EQ(view.error().kind, ErrorKind::bad_input);
    return view.error().message;
}

TEST(ParseBlock, RefusesContradictions) {
    using H = protocol::BlockHeader;
    EXPECT_EQ(refusal([](H&, Bytes&) {}), "");
    EXPECT_NE(refusal([](H& h, Bytes&) { h.rails = 0; }), "");
    EXPECT_NE(refusal([](H& h, Bytes&) { h.rails = 3; }), "");
    EXPECT_NE(refusal([](H& h, Bytes&) { h.rails = 2; }), "") << "too short for a second rail";
    EXPECT_NE(refusal([](H& h, Bytes&) { h.detail = 3; }), "");
    EXPECT_NE(refusal([](H& h, Bytes&) { h.count = h.span = 76; }), "");
    EXPECT_NE(refusal([](H& h, Bytes&) { h.span = 74; }), "");
    EXPECT_NE(refusal([](H& h, Bytes&) { h.span = 76; }), "") << "a loss inside a block with codes";
    EXPECT_NE(refusal([](H& h, Bytes&) { h.count = h.span = 0xffffffff; }), "");
    EXPECT_NE(refusal([](H& h, Bytes&) { h.first_index = ~std::uint64_t{0}; }), "");
    EXPECT_NE(refusal([](H& h, Bytes&) { h.first_time = ~std::uint64_t{0}; }), "");
    EXPECT_NE(refusal([](H&, Bytes& p) { p.resize(p.size() - 4); }), "");
    EXPECT_NE(refusal([](H&, Bytes& p) { p.resize(71); }), "");
    EXPECT_NE(refusal([](H&, Bytes& p) { p.clear(); }), "");
    EXPECT_NE(refusal([](H&, Bytes& p) { p[sizeof(H)] = 0; }), "") << "running count below the block's own";
    EXPECT_NE(refusal([](H&, Bytes& p) { p[sizeof(H) + 7] = 1; }), "") << "running count beyond the index";
    EXPECT_NE(refusal([](H&, Bytes& p) { p[sizeof(H) + sizeof(protocol::RailSums) + 3] = 0x7f; }), "") << "extremes";
}

TEST(ParseBlock, NeverReadsBeyondItsBytes) {
    std::mt19937_64 random(3);
    const Bytes good = payload_of(BlockMaker().block());
    for (int trial = 0; trial < 20000; ++trial) {
        Bytes payload(good.begin(), good.begin() + static_cast<std::ptrdiff_t>(random() % (good.size() + 1)));
        for (std::uint64_t k = random() % 4; k > 0 && !payload.empty(); --k) {
            payload[random() % std::min<std::size_t>(payload.size(), 76)] = static_cast<std::uint8_t>(random());
        }
        const Result<BlockView> view = parse_block(payload);
        if (!view || !view->has_codes()) continue;
        for (std::size_t rail = 0; rail < view->header.rails; ++rail) {
            EXPECT_LE(view->i_codes[rail] + 3 * view->header.count, payload.data() + payload.size());
        }
        EXPECT_LE(view->sideband + view->header.count, payload.data() + payload.size());
    }
}

}  // namespace
}  // namespace wattrig::rig
