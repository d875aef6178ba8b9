// What is said about rigs on USB, the udev rule, firmware files, and single questions.
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <cstring>
#include <filesystem>
#include <fstream>
#include <iterator>

#include "host/rig/command_client.hpp"
#include "host/rig/uf2.hpp"
#include "host/rig/usb_discovery.hpp"
#include "tests/rig/fake_rig.hpp"

namespace wattrig::rig {
namespace {

using testing::HasSubstr;
using Bytes = std::vector<std::uint8_t>;

UsbSurvey survey_of(UsbAccess access, bool rule = false) {
    UsbSurvey survey;
    survey.rule_installed = rule;
    survey.rigs.emplace_back();
    survey.rigs[0].serial = "W0042";
    survey.rigs[0].place = "bus 1, port 2";
    survey.rigs[0].access = access;
    survey.rigs[0].access_text = "Input/Output Error";
    return survey;
}
UsbFinding only(const UsbSurvey& survey) {
    const auto findings = explain(survey);
    EXPECT_EQ(findings.size(), 1u);
    return findings.at(0);
}

TEST(UsbWords, EachCauseHasItsOwn) {
    EXPECT_EQ(only(survey_of(UsbAccess::free)).verdict, UsbVerdict::ok);
    EXPECT_EQ(only(survey_of(UsbAccess::free)).serial, "W0042");
    const UsbFinding denied = only(survey_of(UsbAccess::no_permission));
    EXPECT_EQ(denied.verdict, UsbVerdict::failed);
    EXPECT_TRUE(denied.serial.empty());
    EXPECT_THAT(denied.words, HasSubstr("--install-udev-rule"));
    EXPECT_THAT(only(survey_of(UsbAccess::no_permission, true)).words, HasSubstr("plugdev"));
    EXPECT_THAT(only(survey_of(UsbAccess::busy)).words, HasSubstr("another process"));
    EXPECT_THAT(only(survey_of(UsbAccess::failed)).words, HasSubstr("Input/Output Error"));
    EXPECT_THAT(only(UsbSurvey{}).words, HasSubstr("cable"));
    UsbSurvey blind;
    blind.bus_visible = false;
    EXPECT_THAT(only(blind).words, HasSubstr("container"));
    UsbSurvey boot = survey_of(UsbAccess::free);
    boot.rigs[0].boot_loader = true;
    EXPECT_THAT(only(boot).words, HasSubstr("RPI-RP2"));
}

TEST(UsbWords, TheRuleIsWrittenWhole) {
    const auto root = std::filesystem::temp_directory_path() / ("wattrig-rule-" + std::to_string(getpid()));
    auto written = install_udev_rule(root.string());
    ASSERT_TRUE(written) << written.error().message;
    std::ifstream file(root.string() + udev_rule_path);
    const std::string text{std::istreambuf_iterator<char>(file), {}};
    EXPECT_EQ(text, udev_rule());
    EXPECT_THAT(text, HasSubstr("ID_MM_DEVICE_IGNORE"));
    EXPECT_THAT(text, HasSubstr("ATTR{idProduct}==\"0001\""));
    std::filesystem::remove_all(root);
    EXPECT_FALSE(install_udev_rule("/proc/nothing"));
}

// CRC32C of Castagnoli's polynomial by the bit, not the project's own.
std::uint32_t crc_by_bit(const Bytes& bytes) {
    std::uint32_t crc = ~0u;
    for (const std::uint8_t byte : bytes) {
        crc ^= byte;
        for (int k = 0; k < 8; ++k) crc = crc >> 1 ^ (crc & 1 ? 0x82f63b78u : 0);
    }
    return ~crc;
}
void put(Bytes& bytes, std::size_t at, std::uint32_t value) { std::memcpy(bytes.data() + at, &value, 4); }

Bytes uf2_of(const Bytes& image, std::uint32_t family = 0xe48bff56) {
    Bytes file(image.size() / 256 * 512);
    for (std::size_t k = 0; k < image.size() / 256; ++k) {
        const std::size_t at = k * 512;
        const std::uint32_t words[]{0x0a324655,
                                    0x9e5d5157,
                                    0x2000,
                                    static_cast<std::uint32_t>(0x10000000 + k * 256),
                                    256,
                                    static_cast<std::uint32_t>(k),
                                    static_cast<std::uint32_t>(image.size() / 256),
                                    family};
        std::memcpy(file.data() + at, words, sizeof words);
        std::memcpy(file.data() + at + 32, image.data() + k * 256, 256);
        put(file, at + 508, 0x0ab16f30);
    }
    return file;
}
Bytes image_with_record() {
    Bytes image(1024);
    for (std::size_t k = 0; k < image.size(); ++k) image[k] = static_cast<std::uint8_t>(k * 7);
    const std::uint32_t record[]{0x4d495457, 1, 1, 0x10203, 1000, 0};
    std::memcpy(image.data() + 0x108, record, sizeof record);
    put(image, 0x108 + 20, crc_by_bit(Bytes(image.begin(), image.begin() + 1000)));
    return image;
}

TEST(Uf2, TakesASoundImageAndRefusesEachFault) {
    const Bytes image = image_with_record();
    const auto good = parse_uf2(uf2_of(image));
    ASSERT_TRUE(good) << good.error().message;
    EXPECT_EQ(good->record.board_id, 1u);
    EXPECT_EQ(version_text(good->record.firmware_version), "1.2.3");
    EXPECT_EQ(good->bytes, image);

    const auto refused = [&](Bytes file) {
        const auto result = parse_uf2(file);
        return result ? std::string("taken") : result.error().message;
    };
    EXPECT_THAT(refused({}), HasSubstr("512"));
    EXPECT_THAT(refused(Bytes(100)), HasSubstr("512"));
    EXPECT_THAT(refused(Bytes(512)), HasSubstr("magic"));
    EXPECT_THAT(refused(uf2_of(image, 0xe48bff59)), HasSubstr("RP2040"));  // another chip of the family
    Bytes cut = uf2_of(image);
    cut.resize(cut.size() - 512);
    EXPECT_THAT(refused(cut), HasSubstr("missing"));
    Bytes turned = uf2_of(image);
    std::swap_ranges(turned.begin(), turned.begin() + 512, turned.begin() + 512);
    EXPECT_THAT(refused(turned), HasSubstr("order"));
    for (std::size_t at = 0; at < 1000; at += 13) {  // any byte that the CRC covers
        Bytes bad = uf2_of(image);
        bad[at / 256 * 512 + 32 + at % 256] ^= 1;
        EXPECT_NE(refused(bad), "taken") << at;
    }
    EXPECT_THAT(refused(uf2_of(Bytes(1024))), HasSubstr("which board"));
}

TEST(CommandClient, AsksAndSaysWhatTheRigAnswers) {
    test::FakeRig rig;
    HostTime now = test::at_ns(1'000'000'000);
    CommandClient client(rig, [&] { return now; }, [&] { now += Nanoseconds(1'000'000); });
    const auto info = client.info();
    ASSERT_TRUE(info) << info.error().message;
    EXPECT_EQ(info->boot_id, 7u);
    const Bytes wrong_key{1, 2, 3, 4};
    const auto refused = client.ask(protocol::CommandId::enter_bootloader, wrong_key, Nanoseconds(100'000'000));
    ASSERT_FALSE(refused);
    EXPECT_EQ(refused.error().kind, ErrorKind::device_refused);
    EXPECT_THAT(refused.error().message, HasSubstr("key"));
    rig.deaf = true;
    const auto silent = client.info();
    ASSERT_FALSE(silent);
    EXPECT_THAT(silent.error().message, HasSubstr("does not answer"));
}

}  // namespace
}  // namespace wattrig::rig
