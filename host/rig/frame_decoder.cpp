#include "host/rig/frame_decoder.hpp"

#include <array>
#include <cstring>

#include "firmware/protocol/frame.hpp"

namespace wattrig::rig {
namespace {

using protocol::FrameCheck;
using protocol::FrameHeader;

constexpr std::array<std::uint8_t, 4> magic_bytes{protocol::frame_magic & 0xff, protocol::frame_magic >> 8 & 0xff,
                                                  protocol::frame_magic >> 16 & 0xff, protocol::frame_magic >> 24};

// First position at or after `from` where the magic stands, or, at the end of the data, what may become one.
std::size_t find_magic(std::span<const std::uint8_t> data, std::size_t from) {
    while (from < data.size()) {
        const void* hit = std::memchr(data.data() + from, magic_bytes[0], data.size() - from);
        if (hit == nullptr) return data.size();
        from = static_cast<std::size_t>(static_cast<const std::uint8_t*>(hit) - data.data());
        if (std::memcmp(data.data() + from, magic_bytes.data(), std::min(magic_bytes.size(), data.size() - from)) == 0) {
            return from;
        }
        ++from;
    }
    return data.size();
}

}  // namespace

void FrameDecoder::skip(std::size_t bytes) {
    if (bytes == 0) return;
    counters_.skipped_bytes += bytes;
    if (in_step_) ++counters_.resyncs;
    in_step_ = false;
}

bool FrameDecoder::take(std::span<const std::uint8_t> data, std::size_t& position, std::size_t limit, bool last, Frame& frame) {
    while (position < limit) {
        const std::size_t begin = std::min(find_magic(data, position), limit);
        skip(begin - position);
        position = begin;
        if (position == limit) return false;

        const FrameCheck check = protocol::check_frame(data.subspan(begin));
        if (check == FrameCheck::incomplete && !last) return false;
        if (check != FrameCheck::ok) {
            if (check == FrameCheck::bad_header) ++counters_.header_errors;
            if (check == FrameCheck::bad_crc) ++counters_.crc_errors;
            // The next whole frame may begin inside what a damaged one claims for itself, so nothing is trusted but a byte.
            skip(1);
            ++position;
            continue;
        }
        in_step_ = true;
        const auto header = protocol::load<FrameHeader>(data.data() + begin);
        const std::size_t size = protocol::frame_bytes(header.payload_bytes);
        position += size;
        if (header.version != protocol::protocol_version) {
            ++counters_.newer_version;
            continue;
        }
        ++counters_.frames;
        frame.header = header;
        frame.bytes = data.subspan(begin, size);
        frame.payload = frame.bytes.subspan(sizeof(FrameHeader), header.payload_bytes);
        frame.offset = consumed_ + begin;
        return true;
    }
    return false;
}

}  // namespace wattrig::rig
