#include "host/nvme/settings.hpp"

#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <sys/wait.h>
#include <unistd.h>

#include <filesystem>
#include <fstream>

#include "tests/nvme/fake_drive.hpp"
#include "tests/target/scratch.hpp"

namespace wattrig::nvme {
namespace {

using target::ScratchFolder;
using testing::HasSubstr;

std::string folder_of(const ScratchFolder& folder) { return std::filesystem::path(folder.file("x")).parent_path().string(); }

class Shared final : public AdminDevice {  // doctor opens the same drive again
  public:
    explicit Shared(FakeDrive& drive) : drive_(drive) {}
    [[nodiscard]] std::string name() const override { return drive_.name(); }

  protected:
    Result<std::uint32_t> transmit(const AdminCommand& command, std::span<std::byte> data) override {
        return drive_.command(command, data);
    }

  private:
    FakeDrive& drive_;
};
OpenDevice opens(FakeDrive& drive) {
    return [&drive](const std::string&) -> Result<std::unique_ptr<AdminDevice>> {
        return std::unique_ptr<AdminDevice>(std::make_unique<Shared>(drive));
    };
}

TEST(Settings, AreReadBackAndPutBack) {
    ScratchFolder folder;
    FakeDrive drive;
    const auto table = drive.tables[12];
    {
        Settings settings(drive, "S1", folder_of(folder));
        auto state = settings.set(Feature::power_management, {3, {}});
        ASSERT_TRUE(state) << state.error().message;
        EXPECT_TRUE(state->taken());
        EXPECT_EQ(state->before.word, 0u);
        EXPECT_EQ(drive.words[2], 3u);
        ASSERT_TRUE(settings.set(Feature::power_management, {4, {}}));
        ASSERT_TRUE(settings.set(Feature::autonomous_transitions, {0, std::vector<std::byte>(256)}));
        EXPECT_TRUE(std::filesystem::exists(folder.file(restore_record_name)));
        ASSERT_TRUE(settings.restore());
        EXPECT_EQ(drive.words[2], 0u) << "the first value, not the last but one";
        EXPECT_EQ(drive.words[12], 1u);
        EXPECT_EQ(drive.tables[12], table);
        EXPECT_FALSE(std::filesystem::exists(folder.file(restore_record_name)));
    }
    EXPECT_EQ(drive.words[2], 0u);
}

TEST(Settings, DriveThatSaysYesAndDoesNothingIsNoticed) {
    ScratchFolder folder;
    FakeDrive drive;
    drive.ignores_settings = true;
    Settings settings(drive, "S1", folder_of(folder));
    const auto state = settings.set(Feature::power_management, {3, {}});
    ASSERT_TRUE(state);
    EXPECT_FALSE(state->taken());
    EXPECT_EQ(state->read_back.word, 0u);
}

TEST(Settings, RefusalIsASentence) {
    ScratchFolder folder;
    FakeDrive drive;
    drive.refuses_settings = true;
    Settings settings(drive, "S1", folder_of(folder));
    const auto state = settings.set(Feature::power_management, {3, {}});
    ASSERT_FALSE(state);
    EXPECT_THAT(state.error().message, HasSubstr("Feature Not Changeable"));
    drive.refuses_settings = false;
}

TEST(Settings, WhatAKilledRunLeftIsPutBack) {
    ScratchFolder folder;
    const std::string run = folder_of(folder);
    const pid_t child = fork();
    if (child == 0) {
        FakeDrive drive;
        Settings settings(drive, "S1", run);
        if (!settings.set(Feature::power_management, {4, {}}) || !settings.set(Feature::volatile_write_cache, {0, {}}))
            _exit(1);
        kill(getpid(), SIGKILL);
    }
    int status = 0;
    waitpid(child, &status, 0);
    ASSERT_TRUE(WIFSIGNALED(status));
    FakeDrive drive;  // as the killed run left it
    drive.words[2] = 4;
    drive.words[6] = 0;
    EXPECT_THAT(find_restore_records(std::filesystem::path(run).parent_path().string()), testing::Contains(run));
    const auto lines = restore_settings(run, opens(drive));
    ASSERT_TRUE(lines) << lines.error().message;
    EXPECT_EQ(lines->size(), 2u);
    EXPECT_EQ(drive.words[2], 0u);
    EXPECT_EQ(drive.words[6], 1u);
    EXPECT_TRUE(find_restore_records(run).empty());
    EXPECT_FALSE(restore_settings(run, opens(drive)));
}

TEST(Settings, AnotherDriveUnderTheSameNameIsLeftAlone) {
    ScratchFolder folder;
    folder.write(
        restore_record_name,
        R"({"schema":"wattrig.settings/1","device":"nvme0","serial":"S1","before":[{"feature":2,"word":0,"data":""}]})");
    FakeDrive drive("S2");
    drive.words[2] = 4;
    const auto lines = restore_settings(folder_of(folder), opens(drive));
    ASSERT_FALSE(lines);
    EXPECT_THAT(lines.error().message, HasSubstr("belong to the drive 'S1', but nvme0 is now 'S2'"));
    EXPECT_EQ(drive.words[2], 4u);
    EXPECT_EQ(find_restore_records(folder_of(folder)).size(), 1u);
}

TEST(Settings, BrokenRecordsAreRefused) {
    for (const char* text :
         {"", "{", "[]", R"({"schema":"wattrig.settings/1"})", R"({"schema":3,"device":"nvme0"})",
          R"({"schema":"wattrig.settings/1","device":"../sda","serial":"S","before":[]})",
          R"({"schema":"wattrig.settings/1","device":"nvme0","serial":"S","before":[{"feature":132,"word":0}]})",
          R"({"schema":"wattrig.settings/1","device":"nvme0","serial":"S","before":[{"feature":2,"word":-1}]})",
          R"({"schema":"wattrig.settings/1","device":"nvme0","serial":"S","before":[{"feature":12,"word":1,"data":"0g"}]})"}) {
        ScratchFolder folder;
        folder.write(restore_record_name, text);
        EXPECT_FALSE(read_restore_record(folder_of(folder))) << text;
    }
}

TEST(Settings, WithoutAPlaceForTheRecordNothingIsSet) {
    FakeDrive drive;
    Settings settings(drive, "S1", "/nonexistent/run");
    EXPECT_FALSE(settings.set(Feature::power_management, {3, {}}));
    EXPECT_EQ(drive.words[2], 0u);
}

TEST(Settings, HostMemoryIsHandedBackAsItWas) {
    ScratchFolder folder;
    FakeDrive drive;
    Settings settings(drive, "S1", folder_of(folder));
    ASSERT_TRUE(settings.set(Feature::host_memory_buffer, {0, {}})->taken());
    ASSERT_TRUE(settings.restore());
    const AdminCommand& on = *std::find_if(drive.sent.rbegin(), drive.sent.rend(), [](const auto& c) { return c.opcode == 9; });
    EXPECT_EQ(on.word11, 3u) << "enabled, memory returned";
    EXPECT_EQ(on.word12, 0x09090909u);
    EXPECT_EQ(on.word15, 0x09090909u);
}

TEST(AdminDevice, NothingThatMayDestroyPassesWithoutAPermit) {
    FakeDrive drive;
    for (unsigned opcode = 0; opcode < 256; ++opcode) {
        const auto done = drive.command({.opcode = static_cast<std::uint8_t>(opcode), .word10 = 2});
        EXPECT_EQ(bool(done), opcode == 0x02 || opcode == 0x06 || opcode == 0x09 || opcode == 0x0A) << opcode;
    }
    for (const AdminCommand& command : drive.sent) EXPECT_FALSE(may_destroy(command.opcode));
}

TEST(AdminDevice, FormatAndSanitizeAskTheInterlockAgain) {
    ScratchFolder folder;
    const std::string root = folder_of(folder);
    folder.write("sys/class/nvme/nvme0/serial", "S1\n");
    folder.write("sys/class/nvme/nvme1/serial", "S1\n");
    FakeDrive drive;
    EXPECT_FALSE(target::ControllerPermit::ask("nvme0", {.path = "", .serial = "S9"}, {.root = root}));
    auto permit = target::ControllerPermit::ask("nvme0", {.path = "", .serial = "S1"}, {.root = root});
    ASSERT_TRUE(permit) << permit.error().message;
    ASSERT_TRUE(format_namespace(drive, *permit, 1, 0x12, SecureErase::cryptographic));
    EXPECT_EQ(drive.sent.back().opcode, 0x80);
    EXPECT_EQ(drive.sent.back().word10, 2u | 2u << 9 | 1u << 12);
    ASSERT_TRUE(start_sanitize(drive, *permit, SanitizeAction::block_erase));
    EXPECT_EQ(drive.sent.back().opcode, 0x84);
    auto other = target::ControllerPermit::ask("nvme1", {.path = "", .serial = "S1"}, {.root = root});
    ASSERT_TRUE(other);
    const std::size_t before = drive.sent.size();
    EXPECT_FALSE(format_namespace(drive, *other, 1, 0, SecureErase::none)) << "a permit for another controller";
    folder.write("sys/class/nvme/nvme0/serial", "S2\n");
    EXPECT_FALSE(format_namespace(drive, *permit, 1, 0, SecureErase::none)) << "another drive took its place";
    EXPECT_EQ(drive.sent.size(), before);
}

}  // namespace
}  // namespace wattrig::nvme
