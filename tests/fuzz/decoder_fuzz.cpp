// Any bytes in any chunks: the decoder's answer depends on the bytes alone, every byte is either in a frame or skipped, and no
// frame makes the parser of blocks read beyond it. The first byte seeds the chunks.
#include <cstdint>
#include <cstdlib>
#include <optional>
#include <vector>

#include "firmware/protocol/frame.hpp"
#include "host/rig/block.hpp"
#include "host/rig/frame_decoder.hpp"

namespace {

using wattrig::rig::DecoderCounters;
using wattrig::rig::Frame;
using wattrig::rig::FrameDecoder;

void expect(bool condition) {
    if (!condition) std::abort();
}

struct Outcome {
    std::vector<std::uint64_t> offsets;
    std::uint64_t bytes_in_frames = 0;
    DecoderCounters counters;
};

// Without a seed in one piece.
Outcome decode(std::span<const std::uint8_t> bytes, std::optional<std::uint32_t> seed) {
    Outcome out;
    FrameDecoder decoder;
    const auto on_frame = [&](const Frame& frame) {
        out.offsets.push_back(frame.offset);
        out.bytes_in_frames += frame.bytes.size();
        const std::vector<std::uint8_t> payload(frame.payload.begin(), frame.payload.end());  // exact, for the sanitizer
        const auto block = wattrig::rig::parse_block(payload);
        if (!block || !block->has_codes()) return;
        std::int64_t sum = 0;
        for (std::size_t rail = 0; rail < block->header.rails; ++rail) {
            for (std::size_t k = 0; k < block->header.count; ++k) sum += block->v_code(rail, k) - block->i_code(rail, k);
        }
        for (std::size_t k = 0; k < block->header.count; ++k) sum += block->sideband[k];
        expect(block->begin() < block->end() && sum != INT64_MIN);
    };
    while (!bytes.empty()) {
        if (seed) seed = *seed * 1664525 + 1013904223;
        const std::size_t size = seed ? std::min<std::size_t>(1 + (*seed >> 16) % 900, bytes.size()) : bytes.size();
        decoder.feed(bytes.first(size), on_frame);
        expect(decoder.pending() <= wattrig::protocol::maximum_frame_bytes);
        bytes = bytes.subspan(size);
    }
    decoder.finish(on_frame);
    expect(decoder.pending() == 0);
    out.counters = decoder.counters();
    return out;
}

}  // namespace

// Damaged checks are made good first, or no mutated frame would ever get past them.
extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t* data, std::size_t size) {
    if (size < 1) return 0;
    std::vector<std::uint8_t> bytes(data + 1, data + size);
    if (data[0] % 2 == 0) {
        for (std::size_t at = 0; at + sizeof(wattrig::protocol::FrameHeader) + 4 <= bytes.size();) {
            auto header = wattrig::protocol::load<wattrig::protocol::FrameHeader>(bytes.data() + at);
            const std::size_t frame = wattrig::protocol::frame_bytes(header.payload_bytes);
            if (header.magic != wattrig::protocol::frame_magic || frame > bytes.size() - at) {
                ++at;
                continue;
            }
            header.header_check = wattrig::protocol::header_check_of(bytes.data() + at);
            wattrig::protocol::store(bytes.data() + at, header);
            wattrig::protocol::store(bytes.data() + at + frame - 4, wattrig::protocol::crc32c({bytes.data() + at, frame - 4}));
            at += frame;
        }
    }
    const Outcome whole = decode(bytes, std::nullopt);
    const Outcome pieces = decode(bytes, data[0]);
    expect(whole.offsets == pieces.offsets && whole.counters == pieces.counters);
    expect(whole.counters.newer_version > 0 || whole.bytes_in_frames + whole.counters.skipped_bytes == bytes.size());
    return 0;
}
