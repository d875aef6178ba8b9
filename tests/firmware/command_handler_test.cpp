#include "firmware/core/command_handler.hpp"

#include <gtest/gtest.h>

#include <algorithm>
#include <cmath>
#include <vector>

#include "tests/firmware/meter_fixture.hpp"

namespace {

using namespace wattrig;
using namespace wattrig::firmware;
using namespace wattrig::firmware::test;
using protocol::CommandId;
using protocol::Status;

class CommandTest : public MeterTest {
  protected:
    template <class... Parts>
    Status send(CommandId id, const Parts&... parts) {
        meter_->on_command(50, command_frame(id, 77, parts...));
        const Bytes frame = reply(50);
        EXPECT_EQ(protocol::check_frame(frame), protocol::FrameCheck::ok);
        if (frame.size() < 24) return Status::not_available;
        const auto header = protocol::load<protocol::CommandHeader>(frame.data() + 16);
        EXPECT_EQ(header.id, static_cast<std::uint16_t>(id));
        EXPECT_EQ(header.tag, 77);
        if (header.status != 0) {
            EXPECT_EQ(frame.size(), protocol::frame_bytes(sizeof header)) << "nothing more after an error";
        }
        return static_cast<Status>(header.status);
    }
};

TEST_F(CommandTest, InfoTellsWhatTheRigIs) {
    MeterConfig config = usual_config();
    config.info.board_id = 1;
    config.info.serial = {'A', 'B'};
    make(config);
    for (const bool streaming : {false, true}) {
        if (streaming) start();
        meter_->on_command(123, command_frame(CommandId::get_info, 5));
        const Bytes frame = reply(123);
        ASSERT_EQ(frame.size(), protocol::frame_bytes(sizeof(protocol::CommandHeader) + sizeof(protocol::Info)));
        const auto info = protocol::load<protocol::Info>(frame.data() + 24);
        EXPECT_EQ(info.board_id, 1u);
        EXPECT_EQ(info.boot_id, 7u);
        EXPECT_EQ(info.serial[1], 'B');
        EXPECT_EQ(info.now, 123u * 125);
        EXPECT_EQ(info.protocol_version, protocol::protocol_version);
        EXPECT_EQ(info.streaming, streaming ? 1 : 0);
    }
}

TEST_F(CommandTest, StartAndStop) {
    using protocol::StartStream;
    EXPECT_EQ(send(CommandId::start_stream), Status::bad_length);
    EXPECT_EQ(send(CommandId::start_stream, StartStream{0, 0, 0}), Status::bad_argument);
    EXPECT_EQ(send(CommandId::start_stream, StartStream{3, 0, 0}), Status::bad_argument);
    EXPECT_EQ(send(CommandId::start_stream, StartStream{1, 3, 0}), Status::bad_argument);
    EXPECT_EQ(send(CommandId::set_detail, protocol::SetDetail{1, {}}), Status::wrong_state);
    EXPECT_EQ(send(CommandId::stop_stream), Status::ok);
    EXPECT_FALSE(meter_->streaming());
    EXPECT_EQ(send(CommandId::start_stream, StartStream{2, 2, 0}, std::uint32_t{0xffffffff}), Status::ok)
        << "longer: a newer host";
    EXPECT_TRUE(meter_->streaming());
    EXPECT_EQ(send(CommandId::start_stream, StartStream{1, 0, 0}), Status::wrong_state);
    EXPECT_EQ(send(CommandId::set_detail, protocol::SetDetail{3, {}}), Status::bad_argument);
    EXPECT_EQ(send(CommandId::set_detail), Status::bad_length);
    EXPECT_EQ(send(CommandId::stop_stream), Status::ok);

    MeterConfig one_rail = usual_config();
    one_rail.info.rails = 1;
    make(one_rail);
    EXPECT_EQ(send(CommandId::start_stream, StartStream{2, 0, 0}), Status::bad_argument) << "this rig has one";
}

TEST_F(CommandTest, WhatIsAbsentIsNotAvailable) {
    EXPECT_EQ(send(CommandId::self_test), Status::not_available);
    EXPECT_EQ(send(CommandId::set_sync_out, protocol::SetSyncOut{1, {}}), Status::not_available);
    EXPECT_EQ(send(CommandId::set_drive_power, protocol::SetDrivePower{1, {}, protocol::power_key}), Status::not_available);
    EXPECT_EQ(send(CommandId::enter_bootloader, protocol::BootloaderKey{protocol::bootloader_key}), Status::not_available);
    EXPECT_EQ(send(static_cast<CommandId>(999)), Status::unknown_command);
    EXPECT_EQ(send(static_cast<CommandId>(0)), Status::unknown_command);
}

struct Board {
    int power = -1;
    int sync_out = -1;
    int bootloader = 0;
    static Port port(Board& board) {
        Port port;
        port.context = &board;
        port.set_drive_power = [](void* context, bool on) {
            static_cast<Board*>(context)->power = on ? 1 : 0;
            return Status::ok;
        };
        port.set_sync_out = [](void* context, bool level) {
            static_cast<Board*>(context)->sync_out = level ? 1 : 0;
            return Status::ok;
        };
        port.enter_bootloader = [](void* context) {
            ++static_cast<Board*>(context)->bootloader;
            return Status::ok;
        };
        port.self_test = [](void*, protocol::SelfTestReport& report) {
            report.done = protocol::self_test_adc_id;
            return Status::ok;
        };
        port.longest_masked_ticks = [](void*) -> std::uint32_t { return 321; };
        return port;
    }
};

TEST_F(CommandTest, PowerNeedsItsKey) {
    Board board;
    make(usual_config(), Board::port(board));
    using protocol::SetDrivePower;
    EXPECT_EQ(send(CommandId::set_drive_power, SetDrivePower{0, {}, 0}), Status::bad_key);
    EXPECT_EQ(send(CommandId::set_drive_power, SetDrivePower{2, {}, protocol::power_key}), Status::bad_argument);
    EXPECT_EQ(send(CommandId::set_drive_power, std::uint32_t{0}), Status::bad_length);
    EXPECT_EQ(board.power, -1) << "nothing above may touch the drive's power";
    EXPECT_EQ(send(CommandId::set_drive_power, SetDrivePower{0, {}, protocol::power_key}), Status::ok);
    EXPECT_EQ(board.power, 0);
    EXPECT_EQ(send(CommandId::set_drive_power, SetDrivePower{1, {}, protocol::power_key}), Status::ok);
    EXPECT_EQ(board.power, 1);

    MeterConfig config = usual_config();
    config.info.has_power_switch = 0;
    board.power = -1;
    make(config, Board::port(board));
    EXPECT_EQ(send(CommandId::set_drive_power, SetDrivePower{0, {}, protocol::power_key}), Status::not_available);
    EXPECT_EQ(board.power, -1);
}

TEST_F(CommandTest, TheOtherPartsOfTheBoard) {
    Board board;
    make(usual_config(), Board::port(board));
    EXPECT_EQ(send(CommandId::set_sync_out), Status::bad_length);
    EXPECT_EQ(send(CommandId::set_sync_out, protocol::SetSyncOut{2, {}}), Status::bad_argument);
    EXPECT_EQ(send(CommandId::set_sync_out, protocol::SetSyncOut{1, {}}), Status::ok);
    EXPECT_EQ(board.sync_out, 1);
    meter_->on_command(0, command_frame(CommandId::self_test, 1));
    EXPECT_EQ(protocol::load<protocol::SelfTestReport>(reply(0).data() + 24).done, std::uint32_t{protocol::self_test_adc_id});
    EXPECT_EQ(counters().longest_masked_ticks, 321u);

    start();
    EXPECT_EQ(send(CommandId::self_test), Status::wrong_state);
    EXPECT_EQ(send(CommandId::enter_bootloader, protocol::BootloaderKey{protocol::bootloader_key}), Status::wrong_state);
    stop();
    EXPECT_EQ(send(CommandId::enter_bootloader, protocol::BootloaderKey{1}), Status::bad_key);
    EXPECT_EQ(send(CommandId::enter_bootloader), Status::bad_length);
    EXPECT_EQ(board.bootloader, 0);
    EXPECT_EQ(send(CommandId::enter_bootloader, protocol::BootloaderKey{protocol::bootloader_key}), Status::ok);
    EXPECT_EQ(board.bootloader, 1);
}

TEST_F(CommandTest, BrokenFramesAreCountedAndGetNoReply) {
    const Bytes good = command_frame(CommandId::get_info, 1);
    std::uint32_t broken = 0;
    const auto refuse = [&](const Bytes& frame) {
        meter_->on_command(0, frame);
        ++broken;
        EXPECT_FALSE(meter_->reply_pending()) << broken;
        EXPECT_EQ(counters().command_errors, broken);
    };
    for (std::size_t bit = 0; bit < 8 * good.size(); bit += 5) {
        Bytes frame = good;
        frame[bit / 8] ^= static_cast<std::uint8_t>(1u << bit % 8);
        refuse(frame);
    }
    for (std::size_t size = 0; size < good.size(); ++size)
        refuse(Bytes(good.begin(), good.begin() + static_cast<std::ptrdiff_t>(size)));
    Bytes reply_type = good;
    protocol::seal_frame(reply_type.data(), protocol::FrameType::reply, 8, 0);
    refuse(reply_type);
    Bytes headless(protocol::frame_bytes(4));
    protocol::seal_frame(headless.data(), protocol::FrameType::command, 4, 0);
    refuse(headless);
    // Another version, sound in itself.
    Bytes newer = good;
    auto header = protocol::load<protocol::FrameHeader>(newer.data());
    header.version = 2;
    protocol::store(newer.data(), header);
    header.header_check = protocol::header_check_of(newer.data());
    protocol::store(newer.data(), header);
    protocol::store(newer.data() + newer.size() - 4, protocol::crc32c(std::span(newer).first(newer.size() - 4)));
    refuse(newer);
    EXPECT_EQ(send(CommandId::get_info), Status::ok);
    EXPECT_EQ(send(static_cast<CommandId>(999)), Status::unknown_command);
    EXPECT_EQ(counters().command_errors, broken + 1) << "a refusal is an error, too";
}

TEST_F(CommandTest, RepliesKeepTheirOrderAndNumbers) {
    for (std::uint16_t tag = 0; tag < 4; ++tag) meter_->on_command(0, command_frame(CommandId::get_info, tag));
    meter_->on_command(0, command_frame(CommandId::get_info, 4));  // no room: counted
    for (std::uint16_t tag = 0; tag < 4; ++tag) {
        const Bytes frame = reply(0);
        EXPECT_EQ(protocol::load<protocol::CommandHeader>(frame.data() + 16).tag, tag);
        EXPECT_EQ(protocol::load<protocol::FrameHeader>(frame.data()).sequence, tag);
    }
    EXPECT_FALSE(meter_->reply_pending());
    EXPECT_TRUE(reply(0).empty());
    EXPECT_EQ(counters().command_errors, 1u);
}

TEST_F(CommandTest, SyncStampsEncloseTheExchange) {
    meter_->on_frame_start(900, 12);
    meter_->on_command(1'000, command_frame(CommandId::sync, 1, protocol::SyncRequest{5, 0}));
    const std::uint64_t ready = meter_->reply_ready_at();
    if (ready > 1'000) {
        EXPECT_TRUE(reply(ready - 1).empty()) << "not before the dither has passed";
    }
    const Bytes frame = reply(ready + 3);
    const auto sync = protocol::load<protocol::SyncReply>(frame.data() + 24);
    EXPECT_EQ(protocol::check_frame(frame), protocol::FrameCheck::ok);
    EXPECT_EQ(sync.exchange, 5u);
    EXPECT_GE(sync.received, 1'000u * 125);
    EXPECT_LT(sync.received, 1'001u * 125) << "within the microsecond that was read";
    EXPECT_EQ(sync.armed, (ready + 3) * 125);
    EXPECT_EQ(sync.frame_time, 900u * 125);
    EXPECT_EQ(sync.frame_number, 12u);
    EXPECT_EQ(send(CommandId::sync), Status::bad_length);
}

TEST_F(CommandTest, SyncDitherIsUniformOverAMillisecond) {
    constexpr int exchanges = 20'000;
    std::vector<int> histogram(20);
    double previous = 0;
    double mean = 0;
    double products = 0;
    for (int n = 0; n < exchanges; ++n) {
        meter_->on_command(1'000, command_frame(CommandId::sync, 1, protocol::SyncRequest{}));
        const auto delay = meter_->reply_ready_at() - 1'000;
        ASSERT_LE(delay, 1'000u);
        ++histogram[std::min<std::size_t>(delay / 50, 19)];
        const double centred = static_cast<double>(delay) - 500;
        mean += centred / exchanges;
        products += centred * previous / exchanges;
        previous = centred;
        ASSERT_FALSE(reply(2'000).empty());
    }
    // Fixed seed (boot_id), so these either hold or not: 4.5 sigma of a uniform distribution.
    EXPECT_LT(std::abs(mean), 4.5 * 289 / std::sqrt(exchanges));
    EXPECT_LT(std::abs(products), 4.5 * 289 * 289 / std::sqrt(exchanges)) << "consecutive delays are correlated";
    for (const int count : histogram) EXPECT_NEAR(count, exchanges / 20, 4.5 * std::sqrt(exchanges / 20));

    MeterConfig other = usual_config();
    other.info.boot_id = 8;
    const auto first = [this](const MeterConfig& config) {
        make(config);
        meter_->on_command(0, command_frame(CommandId::sync, 1, protocol::SyncRequest{}));
        return meter_->reply_ready_at();
    };
    EXPECT_NE(first(usual_config()), first(other)) << "each boot has its own sequence";
}

}  // namespace
