#include "host/runner/recorder.hpp"

#include <gtest/gtest.h>

#include <chrono>
#include <filesystem>
#include <string>
#include <vector>

#include "tests/runner/temporary_directory.hpp"

namespace wattrig::runner {
namespace {

using namespace std::chrono_literals;

struct Seen final : recording::RecordingVisitor {
    bool started = false;
    std::vector<std::string> markers, troubles;
    std::uint32_t exchanges = 0;
    void on_start(const recording::RecordingStart& start) override { started = start.simulated; }
    void on_marker(const recording::Marker& marker) override { markers.push_back(marker.text); }
    void on_trouble(const recording::Marker& marker) override { troubles.push_back(marker.text); }
    void on_exchange(const rig::Exchange&) override { ++exchanges; }
};

recording::RecordingStart simulated_start() {
    recording::RecordingStart start;
    start.simulated = true;
    return start;
}

void put_some(Recorder& recorder) {
    recorder.put(simulated_start());
    recorder.put(text_record(false, HostTime(1s), "begin"));
    for (std::uint32_t k = 0; k < 100; ++k) {
        rig::Exchange exchange{};
        exchange.number = k;
        recorder.put(exchange);
    }
    recorder.put(text_record(true, HostTime(2s), std::string(2000, 'x')));
}

void expect_some(const std::string& path) {
    Seen seen;
    const auto report = recording::read_recording(path, seen);
    ASSERT_TRUE(report) << report.error().message;
    EXPECT_TRUE(report->clean_end);
    EXPECT_TRUE(seen.started);
    EXPECT_EQ(seen.markers, std::vector<std::string>{"begin"});
    EXPECT_EQ(seen.exchanges, 100u);
    ASSERT_EQ(seen.troubles.size(), 1u);
    EXPECT_EQ(seen.troubles[0], std::string(500, 'x'));  // longer texts are cut
}

TEST(Recorder, DirectWritesAtOnce) {
    TemporaryDirectory folder;
    auto recorder = make_direct_recorder(folder.file("power.wrt"));
    put_some(*recorder);
    ASSERT_TRUE(recorder->finish());
    expect_some(folder.file("power.wrt"));
}

TEST(CaptureRecorder, ThreadWritesEverythingInOrder) {
    TemporaryDirectory folder;
    auto recorder = make_threaded_recorder(folder.file("power.wrt"));
    put_some(*recorder);
    ASSERT_TRUE(recorder->finish());
    EXPECT_EQ(recorder->dropped(), 0u);
    expect_some(folder.file("power.wrt"));
}

TEST(CaptureRecorder, AFullRingDropsAndCountsAndNeverWaits) {
    TemporaryDirectory folder;
    auto recorder = make_threaded_recorder(folder.file("power.wrt"));
    recorder->put(simulated_start());
    constexpr std::uint32_t many = 200'000;
    for (std::uint32_t k = 0; k < many; ++k) recorder->put(rig::Exchange{});
    ASSERT_TRUE(recorder->finish());
    Seen seen;
    ASSERT_TRUE(recording::read_recording(folder.file("power.wrt"), seen));
    EXPECT_EQ(seen.exchanges + recorder->dropped(), many);
}

TEST(CaptureRecorder, AnUnwritablePlaceIsAnErrorAtTheEnd) {
    auto recorder = make_threaded_recorder("/nonexistent/power.wrt");
    put_some(*recorder);
    EXPECT_FALSE(recorder->finish());
}

TEST(Recorder, WithoutARigThereIsNoFile) {
    TemporaryDirectory folder;
    auto recorder = make_threaded_recorder(folder.file("power.wrt"));
    ASSERT_TRUE(recorder->finish());
    EXPECT_FALSE(std::filesystem::exists(folder.file("power.wrt")));
}

}  // namespace
}  // namespace wattrig::runner
