#pragma once
// A meter with the least around it, and its frames taken apart.

#include <gtest/gtest.h>

#include <cstdint>
#include <memory>
#include <span>
#include <vector>

#include "firmware/core/meter.hpp"
#include "firmware/protocol/frame.hpp"

namespace wattrig::firmware::test {

using Bytes = std::vector<std::uint8_t>;

// A frame of IN 1, checked and taken apart by the layout of PROTOCOL.md section 4.
struct Block {
    protocol::FrameHeader frame;
    protocol::BlockHeader header;
    std::vector<protocol::RailPart> rails;
    protocol::SlowSums slow;
    protocol::PeakSummary peak;
    std::vector<std::vector<std::int32_t>> v, i;  // [rail][sample], empty without codes
    Bytes sideband;

    [[nodiscard]] bool has(std::uint32_t flag) const { return (header.flags & flag) != 0; }
};

inline Block parse_block(std::span<const std::uint8_t> bytes) {
    using namespace protocol;
    Block block{};
    EXPECT_EQ(check_frame(bytes), FrameCheck::ok);
    block.frame = load<FrameHeader>(bytes.data());
    EXPECT_EQ(bytes.size(), frame_bytes(block.frame.payload_bytes));
    const std::uint8_t* at = bytes.data() + sizeof(FrameHeader);
    const auto take = [&at](auto& part) {
        std::memcpy(&part, at, sizeof part);
        at += sizeof part;
    };
    take(block.header);
    block.rails.resize(block.header.rails);
    for (RailPart& rail : block.rails) take(rail);
    take(block.slow);
    take(block.peak);
    std::uint32_t zeros = 1;
    take(zeros);
    EXPECT_EQ(zeros, 0u);
    if (block.frame.type == static_cast<std::uint8_t>(FrameType::summary)) {
        EXPECT_EQ(block.frame.payload_bytes, block_payload_bytes(block.header.rails, 0));
        return block;
    }
    EXPECT_EQ(block.frame.type, static_cast<std::uint8_t>(FrameType::block));
    EXPECT_EQ(block.frame.payload_bytes, block_payload_bytes(block.header.rails, block.header.count));
    const auto codes = [&] {
        std::vector<std::int32_t> result;
        for (std::uint32_t n = 0; n < block.header.count; ++n, at += 3) result.push_back(load_code(at));
        return result;
    };
    for (std::uint32_t rail = 0; rail < block.header.rails; ++rail) {
        block.v.push_back(codes());
        block.i.push_back(codes());
    }
    block.sideband.assign(at, at + block.header.count);
    at += block.header.count;
    while (at < bytes.data() + bytes.size() - crc_bytes) EXPECT_EQ(*at++, 0);
    return block;
}

template <class... Parts>
Bytes command_frame(protocol::CommandId id, std::uint16_t tag, const Parts&... parts) {
    Bytes frame(sizeof(protocol::FrameHeader));
    const auto append = [&frame](const auto& part) {
        frame.resize(frame.size() + sizeof part);
        protocol::store(frame.data() + frame.size() - sizeof part, part);
    };
    append(protocol::CommandHeader{static_cast<std::uint16_t>(id), tag, 0, 0});
    (append(parts), ...);
    const std::size_t payload = frame.size() - sizeof(protocol::FrameHeader);
    frame.resize(protocol::frame_bytes(payload));
    protocol::seal_frame(frame.data(), protocol::FrameType::command, payload, 0);
    return frame;
}

inline protocol::Int128 to_wire(__int128 value) {
    return {static_cast<std::uint64_t>(value), static_cast<std::int64_t>(value >> 64)};
}
inline __int128 from_wire(protocol::Int128 value) {
    return static_cast<__int128>((static_cast<unsigned __int128>(static_cast<std::uint64_t>(value.high)) << 64) | value.low);
}

class MeterTest : public testing::Test {
  protected:
    static MeterConfig usual_config() {
        MeterConfig config{};
        config.info.boot_id = 7;
        config.info.rails = 2;
        config.info.has_peak_path = 1;
        config.info.has_slow_path = 1;
        config.info.has_power_switch = 1;
        config.low_voltage_code = 1000;
        config.peak_zero_reading = 40 * 256;
        return config;
    }
    void make(const MeterConfig& config, const Port& port = {}) { meter_ = std::make_unique<Meter>(config, port); }

    void start(std::uint8_t rails = 1, protocol::Detail detail = protocol::Detail::full, std::uint64_t timer_us = 0) {
        meter_->on_command(timer_us, command_frame(protocol::CommandId::start_stream, 1,
                                                   protocol::StartStream{rails, static_cast<std::uint8_t>(detail), 0}));
        ASSERT_EQ(status_of_reply(timer_us), protocol::Status::ok);
    }
    void stop(std::uint64_t timer_us = 0) {
        meter_->on_command(timer_us, command_frame(protocol::CommandId::stop_stream, 2));
        ASSERT_EQ(status_of_reply(timer_us), protocol::Status::ok);
    }
    Bytes reply(std::uint64_t timer_us) {
        Bytes out(protocol::maximum_frame_bytes);
        out.resize(meter_->take_reply(timer_us, out));
        return out;
    }
    protocol::Status status_of_reply(std::uint64_t timer_us) {
        const Bytes frame = reply(timer_us);
        EXPECT_EQ(protocol::check_frame(frame), protocol::FrameCheck::ok);
        if (frame.empty()) return protocol::Status::not_available;
        return static_cast<protocol::Status>(
            protocol::load<protocol::CommandHeader>(frame.data() + sizeof(protocol::FrameHeader)).status);
    }
    protocol::Counters counters() {
        meter_->on_command(0, command_frame(protocol::CommandId::get_counters, 3));
        const Bytes frame = reply(0);
        return protocol::load<protocol::Counters>(frame.data() + sizeof(protocol::FrameHeader) +
                                                  sizeof(protocol::CommandHeader));
    }

    // DRDY of the sample with this number on the ADC's grid, as TIMER shows it `late_us` after.
    static std::uint64_t drdy_us(std::uint64_t number, std::uint64_t late_us = 0) {
        return origin_us + number * 768 / 25 + late_us;
    }
    void feed(std::uint64_t number, std::int32_t v = 5'000'000, std::int32_t i = 1'000'000,
              std::uint8_t sideband = protocol::sideband_power_on) {
        meter_->on_adc_sample(drdy_us(number), {{v, -v}, {i, -i}, sideband});
    }
    void feed_range(std::uint64_t first, std::uint64_t count) {
        for (std::uint64_t n = first; n < first + count; ++n) feed(n);
    }
    // All frames that wait.
    std::vector<Block> drain() {
        std::vector<Block> blocks;
        for (auto frame = meter_->front_frame(); !frame.empty(); frame = meter_->front_frame()) {
            blocks.push_back(parse_block(frame));
            const protocol::BlockHeader& header = blocks.back().header;
            // PROTOCOL.md section 5: every index is either in the sums or lost.
            EXPECT_EQ(blocks.back().rails[0].sums.count + header.lost_samples, header.first_index + header.span);
            meter_->pop_frame();
        }
        return blocks;
    }

    static constexpr std::uint64_t origin_us = 10'000;
    std::unique_ptr<Meter> meter_ = std::make_unique<Meter>(usual_config());
};

}  // namespace wattrig::firmware::test
