#include "host/rig/frame_decoder.hpp"

#include <gtest/gtest.h>

#include <cstring>
#include <random>
#include <string>
#include <utility>

#include "tests/rig/blocks.hpp"

namespace wattrig::rig {
namespace {

using test::BlockMaker;
using test::Bytes;

struct Decoded {
    std::vector<std::pair<std::uint64_t, Bytes>> frames;  // offset, bytes
    DecoderCounters counters;
    friend bool operator==(const Decoded&, const Decoded&) = default;
};

template <class NextSize>
Decoded decode(const Bytes& stream, NextSize&& next_size) {
    FrameDecoder decoder;
    Decoded out;
    const auto on_frame = [&](const Frame& frame) {
        out.frames.emplace_back(frame.offset, Bytes(frame.bytes.begin(), frame.bytes.end()));
        EXPECT_EQ(frame.payload.data(), frame.bytes.data() + sizeof(protocol::FrameHeader));
    };
    for (std::size_t at = 0; at < stream.size();) {
        const std::size_t size = std::min<std::size_t>(next_size(), stream.size() - at);
        const auto from = stream.begin() + static_cast<std::ptrdiff_t>(at);
        // A copy of its own, so that a view that outlives its chunk is seen by the address sanitizer.
        const Bytes chunk(from, from + static_cast<std::ptrdiff_t>(size));
        decoder.feed(chunk, on_frame);
        EXPECT_LE(decoder.pending(), protocol::maximum_frame_bytes);
        at += size;
    }
    decoder.finish(on_frame);
    out.counters = decoder.counters();
    return out;
}
Decoded decode_whole(const Bytes& stream) {
    return decode(stream, [&] { return stream.size(); });
}

std::vector<Bytes> some_frames(std::size_t count) {
    BlockMaker maker;
    std::vector<Bytes> frames;
    for (std::size_t k = 0; k < count; ++k) {
        if (k % 5 == 3) {
            frames.push_back(maker.summary(300, protocol::Detail::summary_10ms));
        } else if (k % 7 == 2) {
            frames.push_back(maker.block(static_cast<std::uint32_t>(1 + k % 74)));
        } else {
            frames.push_back(maker.block());
        }
    }
    return frames;
}
Bytes joined(const std::vector<Bytes>& frames) {
    Bytes all;
    for (const Bytes& frame : frames) all.insert(all.end(), frame.begin(), frame.end());
    return all;
}
// Checks made good after a change: what another program would have sent.
void seal_again(Bytes& frame) {
    protocol::store(frame.data() + protocol::header_checked_bytes, protocol::header_check_of(frame.data()));
    const std::size_t checked = frame.size() - protocol::crc_bytes;
    protocol::store(frame.data() + checked, protocol::crc32c({frame.data(), checked}));
}

TEST(FrameDecoder, GivesEveryFrameOfACleanStream) {
    const std::vector<Bytes> frames = some_frames(40);
    const Decoded out = decode_whole(joined(frames));
    ASSERT_EQ(out.frames.size(), frames.size());
    std::uint64_t offset = 0;
    for (std::size_t k = 0; k < frames.size(); ++k) {
        EXPECT_EQ(out.frames[k].second, frames[k]);
        EXPECT_EQ(out.frames[k].first, offset);
        offset += frames[k].size();
    }
    EXPECT_EQ(out.counters.skipped_bytes, 0u);
    EXPECT_EQ(out.counters.resyncs, 0u);
}

// A stream with everything in it: noise, magics without frames, damaged frames, a newer version, a cut end.
Bytes difficult_stream() {
    std::mt19937_64 random(5);
    Bytes stream;
    const std::vector<Bytes> frames = some_frames(24);
    for (std::size_t k = 0; k < frames.size(); ++k) {
        Bytes frame = frames[k];
        switch (k % 8) {
            case 1:
                for (std::uint64_t n = random() % 40; n > 0; --n) stream.push_back(static_cast<std::uint8_t>(random()));
                break;
            case 2: stream.insert(stream.end(), {'W', 'T', 'R', '1', 'W', 'W', 'T'}); break;
            case 3: frame[6] ^= 0x10; break;
            case 4: frame[frame.size() / 2] ^= 1; break;
            case 5: frame.erase(frame.begin() + 100, frame.begin() + 103); break;
            case 6:
                frame[4] = 2;
                seal_again(frame);
                break;
            default: break;
        }
        stream.insert(stream.end(), frame.begin(), frame.end());
    }
    stream.resize(stream.size() - 11);
    return stream;
}

TEST(FrameDecoder, DoesNotDependOnChunks) {
    const Bytes stream = difficult_stream();
    const Decoded expected = decode_whole(stream);
    ASSERT_GE(expected.frames.size(), 10u);
    ASSERT_GE(expected.counters.newer_version, 2u);
    for (std::size_t size = 1; size <= 257; ++size) {
        ASSERT_EQ(decode(stream, [&] { return size; }), expected) << "chunks of " << size;
    }
    for (std::uint64_t seed = 0; seed < 300; ++seed) {
        std::mt19937_64 random(seed);
        ASSERT_EQ(decode(stream, [&] { return 1 + random() % (seed % 3 == 0 ? 20 : 3000); }), expected) << "seed " << seed;
    }
}

// Whatever happens to the middle one of five frames, the other four come.
void expect_in_step(const std::vector<Bytes>& frames, const Bytes& damaged, const std::string& what) {
    std::vector<Bytes> changed = frames;
    changed[2] = damaged;
    const Bytes stream = joined(changed);
    const Decoded out = decode_whole(stream);
    std::vector<bool> came(frames.size());
    std::uint64_t good = 0;
    for (const auto& [offset, bytes] : out.frames) {
        const auto at = std::find(frames.begin(), frames.end(), bytes);
        ASSERT_NE(at, frames.end()) << what << ": a frame that nobody sent";
        came[static_cast<std::size_t>(at - frames.begin())] = true;
        good += bytes.size();
    }
    EXPECT_TRUE(came[0] && came[1] && came[3] && came[4]) << what;
    EXPECT_EQ(out.counters.skipped_bytes, stream.size() - good) << what;
    EXPECT_EQ(out.counters.resyncs, out.counters.skipped_bytes > 0 ? 1u : 0u) << what;
}

TEST(FrameDecoder, IsInStepAgainAfterAnyDamageAtAnyByte) {
    BlockMaker maker;
    std::vector<Bytes> frames;
    for (int k = 0; k < 5; ++k) frames.push_back(maker.block());
    std::mt19937_64 random(17);
    for (std::size_t at = 0; at < frames[2].size(); ++at) {
        const auto here = static_cast<std::ptrdiff_t>(at);
        Bytes flipped = frames[2];
        flipped[at] ^= static_cast<std::uint8_t>(1u << random() % 8);
        expect_in_step(frames, flipped, "flipped at " + std::to_string(at));
        Bytes deleted = frames[2];
        deleted.erase(deleted.begin() + here);
        expect_in_step(frames, deleted, "deleted at " + std::to_string(at));
        Bytes inserted = frames[2];
        inserted.insert(inserted.begin() + here, static_cast<std::uint8_t>(random()));
        expect_in_step(frames, inserted, "inserted at " + std::to_string(at));
        const Bytes cut(frames[2].begin(), frames[2].begin() + here);
        expect_in_step(frames, cut, "cut at " + std::to_string(at));
    }
}

TEST(FrameDecoder, SurvivesRandomDamage) {
    const std::vector<Bytes> frames = some_frames(30);
    const Bytes clean = joined(frames);
    for (std::uint64_t seed = 1; seed <= 400; ++seed) {
        std::mt19937_64 random(seed);
        Bytes stream = clean;
        for (std::uint64_t faults = 1 + random() % 6; faults > 0; --faults) {
            const std::size_t at = random() % stream.size();
            const auto here = stream.begin() + static_cast<std::ptrdiff_t>(at);
            const std::size_t length = random() % 900;
            switch (random() % 3) {
                case 0: stream[at] ^= static_cast<std::uint8_t>(1 + random() % 255); break;
                case 1: stream.erase(here, here + static_cast<std::ptrdiff_t>(std::min(length, stream.size() - at))); break;
                default: stream.insert(here, length, static_cast<std::uint8_t>(random())); break;
            }
        }
        const Decoded out = decode_whole(stream);
        // Every frame that stands whole in the stream is found, and nothing that was not sent.
        std::size_t whole = 0;
        for (const Bytes& frame : frames) {
            if (std::search(stream.begin(), stream.end(), frame.begin(), frame.end()) != stream.end()) ++whole;
        }
        EXPECT_EQ(out.frames.size(), whole) << "seed " << seed;
        for (const auto& [offset, bytes] : out.frames) {
            EXPECT_NE(std::find(frames.begin(), frames.end(), bytes), frames.end()) << "seed " << seed;
        }
    }
}

TEST(FrameDecoder, SeesABrokenLengthAtOnce) {
    BlockMaker maker;
    Bytes broken = maker.block();
    broken[6] = 0xf8;  // a length that is possible: only the header's own check can tell
    broken[7] = 0x04;
    const Bytes good = maker.summary(300, protocol::Detail::summary_10ms);
    FrameDecoder decoder;
    int frames = 0;
    decoder.feed(std::span(broken).first(sizeof(protocol::FrameHeader)), [&](const Frame&) { ++frames; });
    EXPECT_EQ(decoder.counters().header_errors, 1u);
    EXPECT_EQ(decoder.pending(), 0u);
    decoder.feed(good, [&](const Frame&) { ++frames; });
    EXPECT_EQ(frames, 1);
}

TEST(FrameDecoder, NeverWaitsForMoreThanOneFrame) {
    // Headers whose checks hold and whose lengths lie, as many as may be.
    Bytes stream;
    for (int k = 0; k < 500; ++k) {
        test::put(stream, protocol::make_header(protocol::FrameType::block, protocol::maximum_payload_bytes, 0));
    }
    const Bytes good = BlockMaker().block();
    stream.insert(stream.end(), good.begin(), good.end());
    stream.insert(stream.end(), protocol::maximum_frame_bytes, 0);
    FrameDecoder decoder;
    int frames = 0;
    decoder.feed(stream, [&](const Frame&) { ++frames; });
    EXPECT_EQ(frames, 1);
    // Lengths that no frame has are refused before anything is waited for.
    Bytes too_long;
    test::put(too_long, protocol::make_header(protocol::FrameType::block, protocol::maximum_payload_bytes + 4, 0));
    FrameDecoder other;
    other.feed(too_long, [](const Frame&) {});
    EXPECT_EQ(other.counters().header_errors, 1u);
    EXPECT_EQ(other.pending(), 0u);
}

TEST(FrameDecoder, FramesInsideTheChunkAreNotCopied) {
    const Bytes stream = joined(some_frames(3));
    FrameDecoder decoder;
    decoder.feed(stream, [&](const Frame& frame) {
        EXPECT_GE(frame.bytes.data(), stream.data());
        EXPECT_LE(frame.bytes.data() + frame.bytes.size(), stream.data() + stream.size());
    });
    EXPECT_EQ(decoder.counters().frames, 3u);
}

TEST(FrameDecoder, FinishHandsOutWhatAPartialFrameHadSwallowed) {
    BlockMaker maker;
    Bytes stream = maker.block();
    stream.resize(60);  // its length promises more than will come
    const Bytes small = test::frame_of(protocol::FrameType::event, Bytes(8), 1);
    stream.insert(stream.end(), small.begin(), small.end());
    FrameDecoder decoder;
    int frames = 0;
    const auto count = [&](const Frame&) { ++frames; };
    decoder.feed(stream, count);
    EXPECT_EQ(frames, 0);
    decoder.finish(count);
    EXPECT_EQ(frames, 1);
    EXPECT_EQ(decoder.counters().skipped_bytes, 60u);
    EXPECT_EQ(decoder.pending(), 0u);
}

TEST(FrameDecoder, SkipsFramesOfANewerVersionAndSaysSo) {
    Bytes frame = BlockMaker().block();
    frame[4] = 9;
    seal_again(frame);
    FrameDecoder decoder;
    decoder.feed(frame, [](const Frame&) { FAIL(); });
    EXPECT_EQ(decoder.counters().newer_version, 1u);
    EXPECT_EQ(decoder.counters().skipped_bytes, 0u);
}

}  // namespace
}  // namespace wattrig::rig
