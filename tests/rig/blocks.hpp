#pragma once
// Blocks as a rig would send them, written here by hand: no code of the firmware or of what is tested, but the frame's seal.

#include <algorithm>
#include <array>
#include <cstdint>
#include <vector>

#include "firmware/protocol/frame.hpp"

namespace wattrig::test {

using Bytes = std::vector<std::uint8_t>;

inline std::uint64_t mix64(std::uint64_t z) {  // of SplitMix64: any index to its own random bits
    z += 0x9e3779b97f4a7c15u;
    z = (z ^ z >> 30) * 0xbf58476d1ce4e5b9u;
    z = (z ^ z >> 27) * 0x94d049bb133111ebu;
    return z ^ z >> 31;
}
inline std::int32_t v_of(std::uint64_t index) { return 7'000'000 + static_cast<std::int32_t>(mix64(index) % 4001) - 2000; }
inline std::int32_t i_of(std::uint64_t index) {
    return static_cast<std::int32_t>(mix64(index * 3 + 1) % 2'000'001) - 300'000 +
           static_cast<std::int32_t>(index / 1000 % 7) * 50'000;
}

inline Bytes frame_of(protocol::FrameType type, const Bytes& payload, std::uint32_t sequence) {
    Bytes frame(protocol::frame_bytes(payload.size()));
    std::copy(payload.begin(), payload.end(), frame.begin() + sizeof(protocol::FrameHeader));
    protocol::seal_frame(frame.data(), type, payload.size(), sequence);
    return frame;
}

template <class T>
void put(Bytes& to, const T& value) {
    const std::size_t at = to.size();
    to.resize(at + sizeof value);
    protocol::store(to.data() + at, value);
}

class BlockMaker {
  public:
    std::uint32_t boot_id = 7;
    std::uint8_t rails = 1;
    std::uint32_t flags = 0;
    std::uint64_t lost_on_device = 0;
    std::uint64_t anchor = 125'000'000;  // ticks at index 0
    std::uint64_t next_index = 0;
    std::uint32_t sequence = 0;
    std::uint32_t segment = 0;

    // Samples that never reach a block: the device lost them.
    void lose_on_device(std::uint64_t samples) {
        next_index += samples;
        lost_on_device += samples;
    }
    // A whole frame of `count` samples with codes.
    Bytes block(std::uint32_t count = protocol::samples_per_block) { return make(count, count, protocol::Detail::full); }
    Bytes summary(std::uint32_t count, protocol::Detail detail) { return make(count, count, detail); }
    Bytes silent(std::uint32_t span) { return make(span, 0, protocol::Detail::full); }
    // As if `count` samples had been sent in frames that nobody got. Their sums are not kept; index and count are.
    void skip(std::uint64_t count) {
        next_index += count;
        for (protocol::RailPart& rail : parts_) rail.sums.count += count;
        sequence += static_cast<std::uint32_t>((count + protocol::samples_per_block - 1) / protocol::samples_per_block);
    }

  private:
    Bytes make(std::uint32_t span, std::uint32_t count, protocol::Detail detail) {
        protocol::BlockHeader header{};
        header.first_index = next_index;
        header.first_time = anchor + next_index * protocol::ticks_per_sample;
        header.lost_samples = lost_on_device;
        header.boot_id = boot_id;
        header.segment = segment;
        header.span = span;
        header.count = count;
        header.flags = flags | (count == 0 ? std::uint32_t{protocol::block_adc_silent} : 0);
        header.rails = rails;
        header.detail = static_cast<std::uint8_t>(detail);
        for (std::size_t rail = 0; rail < rails; ++rail) {
            protocol::RailPart& part = parts_[rail];
            part.extremes = {};
            for (std::uint32_t k = 0; k < count; ++k) {
                const std::int32_t v = v_of(next_index + k);
                const std::int32_t i = i_of(next_index + k) + static_cast<std::int32_t>(rail);
                part.sums.count += 1;
                part.sums.sum_v += v;
                part.sums.sum_i += i;
                add(part.sums.sum_vi, std::int64_t{v} * i);
                add(part.sums.sum_ii, std::int64_t{i} * i);
                protocol::RailExtremes& e = part.extremes;
                if (k == 0) e = {v, v, i, i};
                e = {std::min(e.v_minimum, v), std::max(e.v_maximum, v), std::min(e.i_minimum, i), std::max(e.i_maximum, i)};
            }
        }
        Bytes payload;
        put(payload, header);
        for (std::size_t rail = 0; rail < rails; ++rail) put(payload, parts_[rail]);
        put(payload, protocol::SlowSums{});
        put(payload, protocol::PeakSummary{});
        put(payload, std::uint32_t{0});
        const bool full = detail == protocol::Detail::full;
        if (full) {
            for (std::size_t rail = 0; rail < rails; ++rail) {
                for (std::uint32_t k = 0; k < count; ++k) put_code(payload, v_of(next_index + k));
                for (std::uint32_t k = 0; k < count; ++k) {
                    put_code(payload, i_of(next_index + k) + static_cast<std::int32_t>(rail));
                }
            }
            for (std::uint32_t k = 0; k < count; ++k) payload.push_back(static_cast<std::uint8_t>(mix64(next_index + k)));
        }
        while (payload.size() % 4 != 0) payload.push_back(0);
        next_index += span;
        return frame_of(full ? protocol::FrameType::block : protocol::FrameType::summary, payload, sequence++);
    }
    static void put_code(Bytes& to, std::int32_t code) {
        for (int shift = 0; shift < 24; shift += 8) {
            to.push_back(static_cast<std::uint8_t>(static_cast<std::uint32_t>(code) >> shift));
        }
    }
    static void add(protocol::Int128& to, std::int64_t value) {
        const std::uint64_t before = to.low;
        to.low += static_cast<std::uint64_t>(value);
        to.high += (value < 0 ? -1 : 0) + (to.low < before ? 1 : 0);
    }
    std::array<protocol::RailPart, protocol::maximum_rails> parts_{};
};

}  // namespace wattrig::test
