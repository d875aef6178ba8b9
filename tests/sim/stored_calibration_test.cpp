// A calibration on the rig: through the host's commands into the firmware's own storage, with the simulated EEPROM behind it.
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <algorithm>
#include <array>
#include <string>
#include <thread>
#include <vector>

#include "firmware/protocol/crc32c.hpp"
#include "firmware/protocol/frame.hpp"
#include "host/power/calibration_file.hpp"
#include "host/rig/rig_storage.hpp"
#include "host/sim/simulation.hpp"

namespace wattrig {
namespace {

using namespace std::chrono_literals;
using testing::HasSubstr;
using Bytes = std::vector<std::uint8_t>;

rig::CommandClient client_of(rig::Link& link) {
    return {link, real_host_time, [] { std::this_thread::sleep_for(1ms); }};
}
Bytes bytes_of(const std::string& text) { return {text.begin(), text.end()}; }

TEST(StoredCalibration, ComesBackToTheLetter) {
    auto simulation = sim::LiveSimulation::create({});
    ASSERT_TRUE(simulation) << simulation.error().message;
    auto client = client_of((*simulation)->link());
    auto before = rig::read_stored(client);
    ASSERT_TRUE(before) << before.error().message;
    EXPECT_TRUE(before->empty());
    power::Calibration calibration = (*simulation)->calibration();
    for (const char* date : {"2026-12-01T10:00:00Z", "2026-12-02T10:00:00Z", "2026-12-03T10:00:00Z"}) {
        calibration.date = date;
        const std::string text = power::calibration_file_text(calibration);
        const auto stored = rig::write_stored(client, bytes_of(text));
        ASSERT_TRUE(stored) << stored.error().message;
        const auto back = rig::read_stored(client);
        ASSERT_TRUE(back) << back.error().message;
        EXPECT_EQ(std::string(back->begin(), back->end()), text);
        const auto file = power::calibration_from_file_text(std::string(back->begin(), back->end()), "rig");
        ASSERT_TRUE(file) << file.error().message;
        EXPECT_TRUE(file->sealed);
        EXPECT_EQ(file->calibration.date, date);
    }
}

TEST(StoredCalibration, RefusesWhatDoesNotFit) {
    auto simulation = sim::LiveSimulation::create({});
    ASSERT_TRUE(simulation);
    auto client = client_of((*simulation)->link());
    EXPECT_TRUE(rig::write_stored(client, Bytes(rig::most_stored_bytes, 7)));
    const auto big = rig::write_stored(client, Bytes(rig::most_stored_bytes + 1, 7));
    ASSERT_FALSE(big);
    EXPECT_THAT(big.error().message, HasSubstr("expected a record of 1 to 4064 bytes"));
    EXPECT_FALSE(rig::write_stored(client, {}));
}

// Answers read_storage from `memory` by PROTOCOL.md, without any check of its own; the newest slot is what `newest` says.
class PaperRig final : public rig::Link {
  public:
    void attach(rig::LinkHandler& handler) override { handler_ = &handler; }
    Result<HostTime> send(std::span<const std::uint8_t> frame) override {
        const std::uint8_t* at = frame.data() + sizeof(protocol::FrameHeader);
        const auto command = protocol::load<protocol::CommandHeader>(at);
        const auto read = protocol::load<protocol::ReadStorage>(at + sizeof command);
        const int slot = read.slot == 0xffff ? newest : read.slot;
        protocol::StorageSlot header{};
        Bytes data;
        if (slot >= 0) {
            header = slots[static_cast<std::size_t>(slot)];
            data.assign(record.begin() + read.offset, record.begin() + read.offset + read.length);
        }
        const std::size_t payload = protocol::padded(sizeof command + sizeof header + data.size());
        reply_.assign(protocol::frame_bytes(payload), 0);
        protocol::store(reply_.data() + sizeof(protocol::FrameHeader), command);
        protocol::store(reply_.data() + sizeof(protocol::FrameHeader) + sizeof command, header);
        std::copy(data.begin(), data.end(), reply_.begin() + sizeof(protocol::FrameHeader) + sizeof command + sizeof header);
        protocol::seal_frame(reply_.data(), protocol::FrameType::reply, payload, 0);
        return real_host_time();
    }
    void poll(HostTime now) override {
        if (!reply_.empty()) handler_->on_reply(reply_, now);
        reply_.clear();
    }
    [[nodiscard]] HostTime next_event() const override { return HostTime::max(); }
    [[nodiscard]] std::string description() const override { return "paper rig"; }
    [[nodiscard]] bool simulated() const override { return true; }

    std::array<protocol::StorageSlot, 2> slots{};
    Bytes record = Bytes(700, 3);
    int newest = -1;

  private:
    rig::LinkHandler* handler_ = nullptr;
    Bytes reply_;
};

TEST(StoredCalibration, DamageIsNotTakenForNothing) {
    PaperRig rig;
    auto client = client_of(rig);
    const auto answer = [&] {
        const auto read = rig::read_stored(client);
        return read ? std::to_string(read->size()) + " bytes" : read.error().message;
    };
    EXPECT_EQ(answer(), "0 bytes");
    rig.slots[1] = {protocol::storage_magic, 1, 700, 4, 0x12345678, {}};
    EXPECT_THAT(answer(), HasSubstr("damaged, and there is no older one"));
    rig.newest = 1;
    EXPECT_THAT(answer(), HasSubstr("wrong CRC"));
    rig.slots[1].payload_crc = protocol::crc32c_by_table(rig.record);
    EXPECT_EQ(answer(), "700 bytes");
    rig.record[333] ^= 4;
    EXPECT_THAT(answer(), HasSubstr("wrong CRC"));
    rig.slots[1].version = 2;
    EXPECT_THAT(answer(), HasSubstr("version 2, this program reads version 1"));
}

}  // namespace
}  // namespace wattrig
