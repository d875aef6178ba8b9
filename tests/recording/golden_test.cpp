// Bytes of each kind of file, as they stand in FORMAT.md. When a test here fails, change the code, not the test: recordings of
// others could not be read any more.
#include <gtest/gtest.h>

#include <string>

#include "host/recording/io_file.hpp"
#include "host/recording/phase_json.hpp"
#include "host/recording/recording.hpp"
#include "host/recording/summary.hpp"
#include "tests/recording/files.hpp"
#include "tests/rig/blocks.hpp"

namespace wattrig::recording {
namespace {

using Bytes = std::vector<std::uint8_t>;

HostTime at_ns(std::int64_t ns) { return HostTime(Nanoseconds(ns)); }

std::string hex(std::span<const std::uint8_t> bytes) {
    std::string text;
    for (const std::uint8_t byte : bytes) {
        text += "0123456789abcdef"[byte >> 4];
        text += "0123456789abcdef"[byte & 15];
    }
    return text;
}
std::string without_spaces(std::string text) {
    std::erase(text, ' ');
    return text;
}

// One frame a line.
const std::string golden_recording = without_spaces(
#include "tests/recording/golden_recording.inc"
);
const std::string golden_summary = without_spaces(
#include "tests/recording/golden_summary.inc"
);
const std::string golden_io = without_spaces(
#include "tests/recording/golden_io.inc"
);

std::string frames_of(const Bytes& bytes) {
    std::string frames;
    for (std::size_t at = 0; at < bytes.size();) {
        const std::size_t size = protocol::frame_bytes(bytes[at + 6] + 256u * bytes[at + 7]);
        frames += hex(std::span(bytes).subspan(at, size)) + "\n";
        at += size;
    }
    return frames;
}

Bytes one_of_each() {
    const test::Folder folder;
    const std::string path = folder.file("power.wrt");
    RecordingStart start;
    start.monotonic = at_ns(0x1122334455);
    start.realtime_ns = 0x17979cfe362a0000;
    start.info.boot_id = 7;
    start.info.serial = {'W', '1'};
    start.simulated = true;
    auto writer = RecordingWriter::create(path, start);
    (*writer)->append_frame(test::frame_of(protocol::FrameType::event, Bytes{1, 2, 3, 4}, 9), at_ns(0x2000));
    (*writer)->append_exchange({at_ns(1), at_ns(2), DeviceTime(Ticks(3)), DeviceTime(Ticks(4)), 5, 6});
    (*writer)->append_knot({DeviceTime(Ticks(0x0102030405060708)), at_ns(-2), Nanoseconds(60'000), -1.5}, 7);
    (*writer)->append_marker(at_ns(10), "hi");
    (*writer)->append_trouble(at_ns(11), "lost 1 sample");
    (*writer)->finish();
    return test::read_file(path);
}

TEST(GoldenRecording, OneOfEachRecord) { EXPECT_EQ(frames_of(one_of_each()), golden_recording); }

TEST(GoldenRecording, OldBytesAreRead) {
    // The reader against bytes that no present code wrote.
    std::string golden = golden_recording;
    std::erase(golden, '\n');
    Bytes bytes;
    for (std::size_t k = 0; k < golden.size(); k += 2)
        bytes.push_back(static_cast<std::uint8_t>(std::stoi(golden.substr(k, 2), nullptr, 16)));
    struct Seen final : RecordingVisitor {
        void on_start(const RecordingStart& s) override { start = s; }
        void on_exchange(const rig::Exchange& e) override { exchange = e; }
        void on_knot(const rig::ClockKnot& k, std::uint32_t boot) override {
            knot = k;
            boot_id = boot;
        }
        void on_marker(const Marker& m) override { marker = m.text; }
        void on_trouble(const Marker& m) override { trouble = m.text; }
        RecordingStart start;
        rig::Exchange exchange;
        rig::ClockKnot knot{};
        std::uint32_t boot_id = 0;
        std::string marker, trouble;
    } seen;
    const auto report = read_recording(bytes, "golden", seen);
    ASSERT_TRUE(report);
    EXPECT_TRUE(report->clean_end);
    EXPECT_EQ(report->bad_records, 0u);
    EXPECT_EQ(seen.start.monotonic, at_ns(0x1122334455));
    EXPECT_EQ(seen.start.info.boot_id, 7u);
    EXPECT_EQ(seen.exchange.h4, at_ns(2));
    EXPECT_EQ(seen.exchange.number, 6u);
    EXPECT_EQ(seen.knot.rate_ppm, -1.5);
    EXPECT_EQ(seen.knot.host, at_ns(-2));
    EXPECT_EQ(seen.boot_id, 7u);
    EXPECT_EQ(seen.marker, "hi");
    EXPECT_EQ(seen.trouble, "lost 1 sample");
}

TEST(GoldenRecording, Summary) {
    SummaryBuilder builder;
    test::BlockMaker maker;
    const Bytes frame = maker.block(2);
    const auto block = rig::parse_block(std::span(frame).subspan(16, frame.size() - 20));
    builder.add(*block, 0x5566);
    builder.finish(0x7788);
    EXPECT_EQ(frames_of(builder.frames()), golden_summary);
}

io::PhaseOutcome some_outcome() {
    io::PhaseOutcome outcome;
    outcome.begin = at_ns(1000);
    outcome.measured_begin = at_ns(1001);
    outcome.measured_end = at_ns(1002);
    outcome.end = at_ns(1003);
    outcome.stop = io::StopReason::operations;
    outcome.kinds[0].operations = 2;
    outcome.kinds[0].bytes = 8192;
    outcome.kinds[0].latency_sum = 300;
    outcome.kinds[0].latency_minimum = 100;
    outcome.kinds[0].latency_maximum = 200;
    outcome.kinds[0].latency.add(100);
    outcome.kinds[0].latency.add(200);
    outcome.kinds[1].latency.add(Histogram::top);
    outcome.windows = {{Nanoseconds(1), Nanoseconds(2), 3, 4, 5, 6, 7, 8, 9}};
    outcome.bursts = {{at_ns(10), at_ns(11)}};
    outcome.errors = {{io::OperationKind::write, 5, 1, 4096}};
    outcome.mean_depth = 1.5;
    outcome.engine = "e";
    return outcome;
}

TEST(GoldenRecording, IoRecord) { EXPECT_EQ(hex(encode_io_record(3, some_outcome())) + "\n", golden_io); }

TEST(GoldenRecording, PhaseLines) {
    PhaseRecord phase;
    phase.number = 3;
    phase.step = "s";
    phase.label = "l";
    phase.parameters = {{"depth", "4"}, {"block", "4096"}};
    phase.has_io = true;
    phase.warnings = {"w"};
    phase.outcome = some_outcome();
    EXPECT_EQ(
        phase_begin_line(phase),
        R"({"begin_ns":1000,"event":"begin","has_io":true,"kind":"io","label":"l","number":3,"parameters":[["depth","4"],)"
        R"(["block","4096"]],"scored":true,"step":"s","version":1})");
    const std::string none =
        R"({"bytes":0,"errors":0,"latency_maximum_ns":0,"latency_minimum_ns":18446744073709551615,"latency_sum_ns":0,"operations":0})";
    EXPECT_EQ(
        phase_end_line(phase, {40, 50}),
        R"({"begin_ns":1000,"cpu_seconds":0.0,"device_mean_depth":-1.0,"end_ns":1003,"engine":"e","errors":[{"count":1,"errno":5,)"
        R"("first_offset":4096,"kind":1}],"event":"end","has_io":true,"io_bytes":50,"io_offset":40,"kind":"io","kinds":[{"bytes":8192,)"
        R"("errors":0,"latency_maximum_ns":200,"latency_minimum_ns":100,"latency_sum_ns":300,"operations":2},)" +
            none + "," + none + "," + none + "," + none +
            R"(],"label":"l","log_dropped":0,"mean_depth":1.5,"measured_begin_ns":1001,"measured_end_ns":1002,"number":3,)"
            R"("parameters":[["depth","4"],["block","4096"]],"rate_error":0.0,"scored":true,"step":"s","stop":"operations",)"
            R"("verify_failures":0,"version":1,"warnings":["w"]})");
}

}  // namespace
}  // namespace wattrig::recording
