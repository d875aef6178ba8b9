#include "firmware/core/storage.hpp"

#include <gtest/gtest.h>

#include <algorithm>
#include <random>
#include <vector>

#include "tests/firmware/meter_fixture.hpp"

namespace {

using namespace wattrig;
using namespace wattrig::firmware;
using namespace wattrig::firmware::test;
using protocol::CommandId;
using protocol::Status;

// An EEPROM of 8 KiB that takes some polls for a page, like a real one.
struct Eeprom {
    std::vector<std::uint8_t> bytes = std::vector<std::uint8_t>(8192, 0xff);
    int busy_polls = 0;
    int writes = 0;
    int fail_after_writes = -1;  // power goes, or the part dies
    bool is_protected = false;
    bool is_mute = false;
    std::uint32_t flip = 0;  // address of a byte that does not keep its bits, 0: none

    Port port() {
        Port port;
        port.context = this;
        port.storage_read = [](void* context, std::uint32_t address, std::span<std::uint8_t> out) {
            auto* self = static_cast<Eeprom*>(context);
            EXPECT_LE(address + out.size(), self->bytes.size());
            EXPECT_EQ(self->busy_polls, 0) << "the part does not answer while it writes";
            if (self->is_mute) return false;
            std::copy_n(self->bytes.begin() + address, out.size(), out.begin());
            return true;
        };
        port.storage_write = [](void* context, std::uint32_t address, std::span<const std::uint8_t> in) {
            auto* self = static_cast<Eeprom*>(context);
            EXPECT_EQ(address / storage_page_bytes, (address + in.size() - 1) / storage_page_bytes)
                << "a write wraps within its page";
            EXPECT_EQ(self->busy_polls, 0);
            if (self->is_protected) return Status::storage_protected;
            if (self->fail_after_writes >= 0 && self->writes >= self->fail_after_writes) return Status::storage_failed;
            ++self->writes;
            std::copy(in.begin(), in.end(), self->bytes.begin() + address);
            if (self->flip != 0 && self->flip >= address && self->flip < address + in.size()) self->bytes[self->flip] ^= 0x10;
            self->busy_polls = 3;
            return Status::ok;
        };
        port.storage_ready = [](void* context) {
            auto* self = static_cast<Eeprom*>(context);
            if (self->busy_polls == 0) return true;
            --self->busy_polls;
            return false;
        };
        return port;
    }
};

class StorageTest : public MeterTest {
  protected:
    void SetUp() override { boot(); }
    void boot() {
        MeterConfig config = usual_config();
        config.info.serial = {'W', 'R', '1'};
        eeprom_.busy_polls = 0;
        make(config, eeprom_.port());
    }
    Bytes finish_job() {
        for (int n = 0; n < 5000 && !meter_->reply_pending(); ++n) meter_->poll(0);
        return reply(0);
    }
    static Status status_of(const Bytes& frame) {
        EXPECT_EQ(protocol::check_frame(frame), protocol::FrameCheck::ok);
        if (frame.size() < 24) return Status::not_available;
        return static_cast<Status>(protocol::load<protocol::CommandHeader>(frame.data() + 16).status);
    }
    Status write_chunk(const Bytes& payload, std::size_t offset, std::size_t length) {
        Bytes chunk(payload.begin() + static_cast<std::ptrdiff_t>(offset),
                    payload.begin() + static_cast<std::ptrdiff_t>(offset + length));
        chunk.resize(protocol::padded(length));
        const protocol::WriteStorage head{static_cast<std::uint16_t>(offset), static_cast<std::uint16_t>(length),
                                          static_cast<std::uint16_t>(payload.size()),
                                          static_cast<std::uint16_t>(offset + length == payload.size() ? 1 : 0)};
        Bytes frame = command_frame(CommandId::write_storage, 9, head);
        frame.resize(frame.size() - protocol::crc_bytes);
        frame.insert(frame.end(), chunk.begin(), chunk.end());
        const std::size_t size = frame.size() - sizeof(protocol::FrameHeader);
        frame.resize(frame.size() + protocol::crc_bytes);
        protocol::seal_frame(frame.data(), protocol::FrameType::command, size, 0);
        meter_->on_command(0, frame);
        return status_of(finish_job());
    }
    Status write(const Bytes& payload, std::size_t step = 256) {
        for (std::size_t offset = 0; offset < payload.size(); offset += step) {
            if (const Status status = write_chunk(payload, offset, std::min(step, payload.size() - offset));
                status != Status::ok) {
                return status;
            }
        }
        return Status::ok;
    }
    // The payload of the newest slot; empty when there is none.
    Bytes read_newest() {
        Bytes payload;
        for (std::size_t offset = 0;; offset += 200) {
            const auto length = static_cast<std::uint16_t>(std::min<std::size_t>(200, 4064 - offset));
            meter_->on_command(0, command_frame(CommandId::read_storage, 8,
                                                protocol::ReadStorage{0xffff, static_cast<std::uint16_t>(offset), length, 0}));
            const Bytes frame = finish_job();
            EXPECT_EQ(status_of(frame), Status::ok);
            slot_ = protocol::load<protocol::StorageSlot>(frame.data() + 24);
            if (slot_.magic == 0) return {};
            payload.insert(payload.end(), frame.begin() + 56, frame.begin() + 56 + length);
            if (payload.size() >= slot_.length) break;
        }
        payload.resize(slot_.length);
        EXPECT_EQ(protocol::crc32c(payload), slot_.payload_crc);
        return payload;
    }
    static Bytes payload_of(std::size_t size, std::uint32_t seed) {
        std::mt19937 random(seed);
        Bytes bytes(size);
        for (auto& byte : bytes) byte = static_cast<std::uint8_t>(random());
        return bytes;
    }

    Eeprom eeprom_;
    protocol::StorageSlot slot_{};
};

TEST_F(StorageTest, AnEmptyEepromSaysSo) { EXPECT_TRUE(read_newest().empty()); }

TEST_F(StorageTest, WritesGoToTheOlderSlotAndSurviveABoot) {
    for (std::uint32_t n = 1; n <= 5; ++n) {
        const Bytes payload = payload_of(n == 3 ? 4064 : 100 * n + n % 3, n);
        ASSERT_EQ(write(payload, n % 2 == 0 ? 37 : 256), Status::ok);
        EXPECT_EQ(read_newest(), payload);
        EXPECT_EQ(slot_.sequence, n);
        EXPECT_EQ(slot_.serial[2], '1');
        boot();
        EXPECT_EQ(read_newest(), payload);
        const std::size_t slot = n % 2 == 1 ? 0 : 1;
        EXPECT_EQ(protocol::load<protocol::StorageSlot>(eeprom_.bytes.data() + 4096 * slot).sequence, n);
    }
}

TEST_F(StorageTest, APowerFailureAtAnyPageKeepsTheLastGoodPayload) {
    const Bytes first = payload_of(600, 1);
    const Bytes second = payload_of(700, 2);
    ASSERT_EQ(write(first), Status::ok);
    ASSERT_EQ(write(second), Status::ok);
    const auto good = eeprom_;
    const Bytes third = payload_of(500, 3);
    for (int pages = 0; pages < 17; ++pages) {  // 16 pages of payload, one of header
        eeprom_ = good;
        boot();
        eeprom_.writes = 0;
        eeprom_.fail_after_writes = pages;
        EXPECT_EQ(write(third), Status::storage_failed) << pages;
        eeprom_.fail_after_writes = -1;
        EXPECT_EQ(read_newest(), second) << pages << ", without a boot";
        boot();
        EXPECT_EQ(read_newest(), second) << pages;
        EXPECT_EQ(write(third), Status::ok);
        EXPECT_EQ(read_newest(), third);
    }
}

TEST_F(StorageTest, WhatDoesNotReadBackIsRefused) {
    ASSERT_EQ(write(payload_of(100, 1)), Status::ok);
    eeprom_.flip = 4096 + 32 + 50;
    EXPECT_EQ(write(payload_of(100, 2)), Status::storage_failed);
    EXPECT_EQ(read_newest(), payload_of(100, 1));
}

TEST_F(StorageTest, ProtectedMuteOrAbsent) {
    eeprom_.is_protected = true;
    EXPECT_EQ(write(payload_of(40, 1)), Status::storage_protected);
    eeprom_.is_protected = false;
    eeprom_.is_mute = true;
    meter_->on_command(0, command_frame(CommandId::read_storage, 8, protocol::ReadStorage{0, 0, 16, 0}));
    EXPECT_EQ(status_of(finish_job()), Status::storage_failed);
    make(usual_config());
    meter_->on_command(0, command_frame(CommandId::read_storage, 8, protocol::ReadStorage{0, 0, 16, 0}));
    EXPECT_EQ(status_of(finish_job()), Status::not_available);
    EXPECT_EQ(write(payload_of(40, 1)), Status::not_available);
}

TEST_F(StorageTest, ChunksMustComeInOrder) {
    const Bytes payload = payload_of(600, 1);
    EXPECT_EQ(write_chunk(payload, 256, 256), Status::wrong_state) << "no write is under way";
    EXPECT_EQ(write_chunk(payload, 0, 256), Status::ok);
    EXPECT_EQ(write_chunk(payload, 512, 88), Status::wrong_state) << "one left out";
    EXPECT_EQ(write_chunk(payload, 256, 256), Status::ok);
    EXPECT_EQ(write_chunk(payload_of(601, 1), 512, 89), Status::wrong_state) << "another payload";
    EXPECT_EQ(write_chunk(payload, 512, 88), Status::ok);
    EXPECT_EQ(read_newest(), payload);
}

TEST_F(StorageTest, ArgumentsOutOfRange) {
    const auto refused = [this](const Bytes& frame) {
        meter_->on_command(0, frame);
        return status_of(finish_job());
    };
    using protocol::ReadStorage;
    using protocol::WriteStorage;
    EXPECT_EQ(refused(command_frame(CommandId::read_storage, 1, ReadStorage{2, 0, 16, 0})), Status::bad_argument);
    EXPECT_EQ(refused(command_frame(CommandId::read_storage, 1, ReadStorage{0, 0, 257, 0})), Status::bad_argument);
    EXPECT_EQ(refused(command_frame(CommandId::read_storage, 1, ReadStorage{0, 4000, 100, 0})), Status::bad_argument);
    EXPECT_EQ(refused(command_frame(CommandId::read_storage, 1, std::uint32_t{0})), Status::bad_length);
    EXPECT_EQ(refused(command_frame(CommandId::write_storage, 1, WriteStorage{0, 8, 8, 1}, std::uint32_t{0})),
              Status::bad_length);
    EXPECT_EQ(refused(command_frame(CommandId::write_storage, 1, WriteStorage{0, 4, 5000, 0}, std::uint32_t{0})),
              Status::bad_argument);
    EXPECT_EQ(refused(command_frame(CommandId::write_storage, 1, WriteStorage{0, 4, 4, 0}, std::uint32_t{0})),
              Status::bad_argument);
    EXPECT_EQ(refused(command_frame(CommandId::write_storage, 1, WriteStorage{0, 4, 8, 1}, std::uint32_t{0})),
              Status::bad_argument);
    EXPECT_EQ(refused(command_frame(CommandId::write_storage, 1, WriteStorage{0, 0, 8, 0}, std::uint32_t{0})),
              Status::bad_argument);
}

TEST_F(StorageTest, TheStreamAndOtherCommandsGoOnMeanwhile) {
    start();
    meter_->on_command(0, command_frame(CommandId::read_storage, 21, protocol::ReadStorage{0xffff, 0, 16, 0}));
    EXPECT_FALSE(meter_->reply_pending());
    meter_->on_command(0, command_frame(CommandId::read_storage, 22, protocol::ReadStorage{0, 0, 16, 0}));
    EXPECT_EQ(status_of_reply(0), Status::busy);
    meter_->on_command(0, command_frame(CommandId::get_info, 23));
    EXPECT_EQ(status_of_reply(0), Status::ok);
    feed_range(0, 75);
    EXPECT_EQ(drain().size(), 1u);
    const Bytes late = finish_job();
    EXPECT_EQ(protocol::load<protocol::CommandHeader>(late.data() + 16).tag, 21);
}

}  // namespace
