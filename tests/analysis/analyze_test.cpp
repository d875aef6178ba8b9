// Whole run directories: written with the recording's own writer, analyzed, and damaged.

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <cstring>
#include <filesystem>
#include <fstream>
#include <nlohmann/json.hpp>

#include "firmware/protocol/crc32c.hpp"
#include "host/analysis/result.hpp"
#include "host/power/calibration.hpp"
#include "host/recording/recording.hpp"
#include "tests/power/stream_builder.hpp"

namespace wattrig::analysis {
namespace {

using testing::Contains;
using testing::HasSubstr;

// The frame of a block, as a rig would send it.
std::vector<std::uint8_t> frame_of(const rig::BlockView& view, std::uint32_t sequence) {
    const std::size_t payload = protocol::block_payload_bytes(1, view.header.count);
    std::vector<std::uint8_t> bytes(protocol::frame_bytes(payload), 0);
    protocol::FrameHeader header{};
    header.magic = protocol::frame_magic;
    header.version = protocol::protocol_version;
    header.type = static_cast<std::uint8_t>(protocol::FrameType::block);
    header.payload_bytes = static_cast<std::uint16_t>(payload);
    header.sequence = sequence;
    header.header_check = static_cast<std::uint16_t>(
        protocol::crc32c(std::span(reinterpret_cast<const std::uint8_t*>(&header), protocol::header_checked_bytes)));
    std::uint8_t* out = bytes.data();
    const auto put = [&](const void* from, std::size_t size) {
        std::memcpy(out, from, size);
        out += size;
    };
    put(&header, sizeof header);
    put(&view.header, sizeof view.header);
    put(&view.rails[0], sizeof view.rails[0]);
    put(&view.slow, sizeof view.slow);
    put(&view.peak, sizeof view.peak);
    out += 4;
    put(view.v_codes[0], std::size_t{3} * view.header.count);
    put(view.i_codes[0], std::size_t{3} * view.header.count);
    const std::uint32_t crc = protocol::crc32c(std::span(bytes.data(), bytes.size() - protocol::crc_bytes));
    std::memcpy(bytes.data() + bytes.size() - protocol::crc_bytes, &crc, sizeof crc);
    return bytes;
}

class Analyze : public testing::Test {
  protected:
    void SetUp() override {
        char name[] = "/tmp/wattrig-analyze-XXXXXX";
        ASSERT_NE(mkdtemp(name), nullptr);
        root_ = name;
    }
    void TearDown() override { std::filesystem::remove_all(root_); }

    // 6 s of recording: idle at 0.1 A to 2 s, load at 1 A to 4 s, 0.1 A again. Exchanges each 50 ms, +-20 us.
    recording::RunDirectory make(const std::function<void(nlohmann::json&)>& change = {}) {
        const std::string path = root_ + "/run" + std::to_string(runs_++);
        auto directory = recording::RunDirectory::create(path);
        EXPECT_TRUE(directory) << directory.error().message;
        nlohmann::json run = {
            {"schema", "wattrig.run/1"},
            {"suite", {{"name", "test"}, {"scale", 1.0}}},
            {"scores", {{{"name", "one"}, {"steps", {"load"}}}, {{"name", "none"}, {"steps", {"load", "other"}}}}},
            {"target", {{"description", "a file"}}},
            {"drive", {{"name", "a drive"}, {"simulated", true}}},
            {"rig", {{"present", true}, {"description", "a rig"}, {"simulated", true}}},
            {"calibration", power::to_json(calibration_)},
            {"fidelity", "exact"},
            {"complete", true},
            {"warnings", {"a warning"}}};
        if (change) change(run);
        EXPECT_TRUE(directory->write_json("run.json", run));
        phase(*directory, 0, "idle", "rest", 0.5, 1.9, 0);
        phase(*directory, 1, "io", "load", 2.0, 4.0, 100'000);
        phase(*directory, 2, "cool_off", "cool", 4.0, 5.5, 0);
        recording::RecordingStart start;
        start.simulated = true;
        auto writer = recording::RecordingWriter::create(directory->file("power.wrt"), start);
        EXPECT_TRUE(writer);
        test::StreamBuilder builder;
        double exchange = 0;
        std::uint32_t sequence = 0;
        for (int k = 0; k < 2600; ++k) {
            const double now = 8e-9 * static_cast<double>(builder.edge(75LL * k));
            for (; exchange < now; exchange += 0.05) {
                const auto ticks = Ticks(std::llround(exchange * 125e6));
                const HostTime host{Nanoseconds(ticks.count() * 8)};
                (*writer)->append_exchange({host - Nanoseconds(20'000), host + Nanoseconds(20'000), DeviceTime(ticks),
                                            DeviceTime(ticks), 7, sequence++});
            }
            const double ampere = now < 2 || now >= 4 ? 0.1 : 1.0;
            const auto codes = test::codes_for(calibration_, 3.3, ampere);
            (*writer)->append_frame(
                frame_of(builder.block(std::vector<test::Codes>(75, codes)).view, static_cast<std::uint32_t>(k)),
                HostTime(from_seconds(now)));
        }
        EXPECT_TRUE((*writer)->finish());
        return *directory;
    }

    power::Calibration calibration_ = test::test_calibration();

  private:
    static void phase(const recording::RunDirectory& directory, std::uint32_t number, const char* kind, const char* label,
                      double begin, double end, std::uint64_t operations) {
        recording::PhaseRecord record;
        record.number = number;
        record.kind = kind;
        record.step = record.label = label;
        record.has_io = operations > 0;
        record.outcome.begin = record.outcome.measured_begin = HostTime(from_seconds(begin));
        record.outcome.end = record.outcome.measured_end = HostTime(from_seconds(end));
        record.outcome.kinds[0].operations = operations;
        record.outcome.kinds[0].bytes = operations * 4096;
        EXPECT_TRUE(directory.append_phase_begin(record));
        record.complete = true;
        EXPECT_TRUE(directory.append_phase_end(record));
    }
    std::string root_;
    int runs_ = 0;
};

TEST_F(Analyze, JoinsPhasesWithPower) {
    const auto result = analyze(make());
    ASSERT_TRUE(result) << result.error().message;
    EXPECT_TRUE(result->complete);
    EXPECT_TRUE(result->power_measured);
    EXPECT_TRUE(result->power_simulated);
    EXPECT_TRUE(result->drive_simulated);
    EXPECT_THAT(result->warnings, testing::ElementsAre("a warning", HasSubstr("score \"none\"")));
    EXPECT_THAT(result->clock.map, HasSubstr("two-sided"));
    EXPECT_LT(*result->clock.bound_us, 30);
    EXPECT_EQ(result->samples, 2600U * 75);
    EXPECT_EQ(result->lost_samples, 0U);
    ASSERT_EQ(result->phases.size(), 3U);
    const double idle = test::watts(calibration_, test::codes_for(calibration_, 3.3, 0.1));
    const double load = test::watts(calibration_, test::codes_for(calibration_, 3.3, 1.0));
    EXPECT_NEAR(*result->phases[0].watts.value, idle, 1e-6);
    EXPECT_NEAR(*result->phases[1].watts.value, load, 2.4e-3 / 2 * load);  // blocks step at 2.304 ms
    EXPECT_NEAR(*result->phases[1].microjoules_per_operation.value, load * 2 / 100'000 * 1e6, 0.1);
    EXPECT_NEAR(*result->phases[1].cool_off_joules, 0, 0.01);
    EXPECT_TRUE(result->scores[0].mean_of_ratios.value);
    EXPECT_FALSE(result->scores[1].mean_of_ratios.value);
    const auto again = result_from_json(to_json(*result), "r");
    ASSERT_TRUE(again) << again.error().message;
    EXPECT_EQ(again->phases[1].watts.value, result->phases[1].watts.value);
}

TEST_F(Analyze, ACutRecordingIsMarkedAndStillUsed) {
    const auto directory = make();
    const std::string path = directory.file("power.wrt");
    std::filesystem::resize_file(path, std::filesystem::file_size(path) * 3 / 4);
    const auto result = analyze(directory);
    ASSERT_TRUE(result);
    EXPECT_FALSE(result->complete);
    EXPECT_THAT(result->warnings, Contains(HasSubstr("cut off")));
    EXPECT_TRUE(result->phases[1].watts.value);
    EXPECT_FALSE(result->phases[2].watts.value);  // the last second is missing
    EXPECT_FALSE(result->phases[1].cool_off_joules);
}

TEST_F(Analyze, ALostBlockCostsNoEnergy) {
    const auto directory = make();
    const auto whole = analyze(directory);
    // One byte of a block in the middle of the load.
    std::fstream file(directory.file("power.wrt"), std::ios::in | std::ios::out | std::ios::binary);
    file.seekp(static_cast<std::streamoff>(std::filesystem::file_size(directory.file("power.wrt")) / 2));
    file.put('\x5a');
    file.close();
    const auto result = analyze(directory);
    ASSERT_TRUE(whole && result);
    EXPECT_FALSE(result->complete);
    EXPECT_THAT(result->warnings, Contains(HasSubstr("damaged")));
    EXPECT_NEAR(*result->phases[1].watts.value, *whole->phases[1].watts.value, 1e-12);
}

TEST_F(Analyze, WithoutARecordingPowerIsNull) {
    auto directory = make();
    std::filesystem::remove(directory.file("power.wrt"));
    auto result = analyze(directory);
    ASSERT_TRUE(result);
    EXPECT_FALSE(result->complete);
    EXPECT_FALSE(result->phases[1].watts.value);
    EXPECT_TRUE(result->phases[1].iops);
    // A run without a rig is whole.
    directory = make([](nlohmann::json& run) { run["rig"] = {{"present", false}}; });
    std::filesystem::remove(directory.file("power.wrt"));
    result = analyze(directory);
    EXPECT_TRUE(result->complete);
    EXPECT_FALSE(result->power_measured);
}

TEST_F(Analyze, ABrokenCalibrationIsRefusedNeverReplaced) {
    for (const bool missing : {true, false}) {
        const auto result = analyze(make([&](nlohmann::json& run) {
            if (missing)
                run.erase("calibration");
            else
                run["calibration"]["rails"][0]["i_gain"] = 3e27;
        }));
        ASSERT_TRUE(result);
        EXPECT_FALSE(result->complete);
        EXPECT_FALSE(result->phases[1].watts.value);
        EXPECT_THAT(result->warnings, Contains(HasSubstr("no power figures")));
    }
}

TEST_F(Analyze, ToleratesAnyRunJson) {
    for (const char* text :
         {"{}", "[]", "3", R"({"suite":3,"rig":[],"scores":{"a":1},"warnings":"x","target":null})", "not json"}) {
        const auto directory = make();
        std::ofstream(directory.file("run.json")) << text;
        const auto result = analyze(directory);
        ASSERT_TRUE(result) << text;
        EXPECT_TRUE(result->phases[1].iops);
        EXPECT_FALSE(result->phases[1].watts.value);
    }
}

}  // namespace
}  // namespace wattrig::analysis
