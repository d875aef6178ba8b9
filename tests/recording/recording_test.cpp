#include "host/recording/recording.hpp"

#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <sys/resource.h>

#include <csignal>
#include <random>

#include "tests/recording/files.hpp"
#include "tests/rig/blocks.hpp"

namespace wattrig::recording {
namespace {

using test::BlockMaker;
using test::Bytes;
using test::Folder;

HostTime at_ns(std::int64_t ns) { return HostTime(Nanoseconds(ns)); }

struct Seen final : RecordingVisitor {
    void on_start(const RecordingStart& s) override { starts.push_back(s); }
    void on_block_at(const rig::BlockView& block, std::uint64_t offset) override {
        blocks.push_back(block.header);
        offsets.push_back(offset);
        if (block.has_codes()) first_codes.push_back(block.i_code(0, 0));
    }
    void on_exchange(const rig::Exchange& e) override { exchanges.push_back(e); }
    void on_knot(const rig::ClockKnot& knot, std::uint32_t boot_id) override { knots.emplace_back(boot_id, knot); }
    void on_marker(const Marker& m) override { markers.push_back(m); }
    void on_trouble(const Marker& m) override { troubles.push_back(m); }

    std::vector<RecordingStart> starts;
    std::vector<protocol::BlockHeader> blocks;
    std::vector<std::uint64_t> offsets;
    std::vector<std::int32_t> first_codes;
    std::vector<rig::Exchange> exchanges;
    std::vector<std::pair<std::uint32_t, rig::ClockKnot>> knots;
    std::vector<Marker> markers, troubles;
};

RecordingStart some_start() {
    RecordingStart start;
    start.monotonic = at_ns(123'456'789);
    start.realtime_ns = 1'700'000'000'000'000'000;
    start.info.boot_id = 7;
    start.info.serial = {'W', '4', '2'};
    start.simulated = true;
    return start;
}

// `blocks` blocks with everything else between them; returns the frames of the rig.
std::vector<Bytes> record(const std::string& path, int blocks, bool finish = true) {
    Result<std::unique_ptr<RecordingWriter>> writer = RecordingWriter::create(path, some_start());
    EXPECT_TRUE(writer) << writer.error().message;
    BlockMaker maker;
    std::vector<Bytes> frames;
    for (int k = 0; k < blocks; ++k) {
        const HostTime now = at_ns(1'000'000'000 + k * 2'304'000ll);
        frames.push_back(maker.block());
        (*writer)->append_frame(frames.back(), now);
        if (k % 10 == 3)
            (*writer)->append_exchange({now, now + Nanoseconds(300), DeviceTime(Ticks(k * 1000)),
                                        DeviceTime(Ticks(k * 1000 + 5)), 7, static_cast<std::uint32_t>(k)});
        if (k % 20 == 5) (*writer)->append_knot({DeviceTime(Ticks(k * 1000)), now, Nanoseconds(60'000), 12.3456789}, 7);
        if (k % 50 == 7) (*writer)->append_marker(now, "phase begins: ä");
        if (k % 70 == 9) (*writer)->append_trouble(now, "lost 75 samples");
    }
    if (finish) {
        EXPECT_TRUE((*writer)->finish());
    } else {
        EXPECT_TRUE((*writer)->flush());
    }
    EXPECT_EQ((*writer)->dropped(), 0u);
    return frames;
}

TEST(Recording, GivesBackWhatWasWritten) {
    Folder folder;
    const std::string path = folder.file("power.wrt");
    const std::vector<Bytes> frames = record(path, 300);
    Seen seen;
    const Result<ReadReport> report = read_recording(path, seen);
    ASSERT_TRUE(report) << report.error().message;
    EXPECT_TRUE(report->clean_end);
    EXPECT_EQ(report->bad_records, 0u);
    EXPECT_EQ(report->first_problem, "");
    EXPECT_EQ(report->counters.skipped_bytes, 0u);
    EXPECT_EQ(report->bytes, std::filesystem::file_size(path));
    ASSERT_EQ(seen.starts.size(), 1u);
    EXPECT_EQ(seen.starts[0].monotonic, at_ns(123'456'789));
    EXPECT_EQ(seen.starts[0].realtime_ns, 1'700'000'000'000'000'000);
    EXPECT_EQ(seen.starts[0].info.serial, some_start().info.serial);
    EXPECT_TRUE(seen.starts[0].simulated);
    ASSERT_EQ(seen.blocks.size(), 300u);
    const Bytes bytes = test::read_file(path);
    for (std::size_t k = 0; k < 300; ++k) {
        EXPECT_EQ(seen.blocks[k].first_index, 75 * k);
        EXPECT_EQ(seen.first_codes[k], test::i_of(75 * k));
        // Bit by bit as received, and where the visitor says.
        ASSERT_LE(seen.offsets[k] + frames[k].size(), bytes.size());
        EXPECT_TRUE(
            std::equal(frames[k].begin(), frames[k].end(), bytes.begin() + static_cast<std::ptrdiff_t>(seen.offsets[k])));
    }
    ASSERT_EQ(seen.exchanges.size(), 30u);
    EXPECT_EQ(seen.exchanges[1].number, 13u);
    EXPECT_EQ(seen.exchanges[1].d3.time_since_epoch().count(), 13'005);
    ASSERT_EQ(seen.knots.size(), 15u);
    EXPECT_EQ(seen.knots[0].second.rate_ppm, 12.3456789) << "to the last bit";
    ASSERT_EQ(seen.markers.size(), 6u);
    EXPECT_EQ(seen.markers[0].text, "phase begins: ä");
    EXPECT_EQ(seen.troubles[0].text, "lost 75 samples");
}

TEST(Recording, NeverOverwrites) {
    Folder folder;
    const std::string path = folder.file("power.wrt");
    record(path, 1);
    const Bytes before = test::read_file(path);
    const auto again = RecordingWriter::create(path, some_start());
    ASSERT_FALSE(again);
    EXPECT_EQ(again.error().kind, ErrorKind::system);
    EXPECT_EQ(test::read_file(path), before);
}

TEST(Recording, IsReadableWhenCutAtAnyByteOfItsEnd) {
    Folder folder;
    const std::string path = folder.file("power.wrt");
    const std::vector<Bytes> frames = record(path, 40, false);
    const Bytes whole = test::read_file(path);
    Seen all;
    ASSERT_TRUE(read_recording(path, all));
    ASSERT_EQ(all.blocks.size(), 40u);
    for (std::size_t size = all.offsets[37]; size <= whole.size(); ++size) {
        Seen seen;
        const Result<ReadReport> report = read_recording(std::span(whole).first(size), "cut", seen);
        ASSERT_TRUE(report);
        EXPECT_FALSE(report->clean_end);
        EXPECT_EQ(report->bad_records, 0u);
        const std::size_t expected =
            37 + static_cast<std::size_t>(std::count_if(all.offsets.begin() + 37, all.offsets.end(), [&](std::uint64_t offset) {
                return offset + frames[0].size() <= size;
            }));
        EXPECT_EQ(seen.blocks.size(), expected) << size;
    }
}

TEST(Recording, DamageCostsWhatItHitsAndIsSaid) {
    Folder folder;
    const std::string path = folder.file("power.wrt");
    record(path, 100);
    Bytes bytes = test::read_file(path);
    Seen all;
    ASSERT_TRUE(read_recording(path, all));
    bytes[all.offsets[50] + 400] ^= 1;
    bytes.erase(bytes.begin() + static_cast<std::ptrdiff_t>(all.offsets[20]) + 30);
    Seen seen;
    const Result<ReadReport> report = read_recording(bytes, "damaged", seen);
    ASSERT_TRUE(report);
    EXPECT_EQ(seen.blocks.size(), 98u);
    EXPECT_EQ(report->counters.resyncs, 2u);
    EXPECT_NE(report->first_problem.find("damaged, byte"), std::string::npos) << report->first_problem;
    EXPECT_TRUE(report->clean_end);
}

TEST(Recording, FilesFromElsewhereAreRefusedInOneSentence) {
    Folder folder;
    Seen seen;
    EXPECT_FALSE(read_recording(folder.file("missing"), seen));
    EXPECT_FALSE(read_recording(folder.path(), seen)) << "a directory";
    test::write_file(folder.file("empty"), {});
    EXPECT_FALSE(read_recording(folder.file("empty"), seen));
    for (std::uint64_t seed = 0; seed < 200; ++seed) {
        std::mt19937_64 random(seed);
        Bytes noise(random() % 5000);
        for (std::uint8_t& byte : noise)
            byte = seed % 2 == 0 ? static_cast<std::uint8_t>(random()) : static_cast<std::uint8_t>("WTR1"[random() % 4]);
        const Result<ReadReport> report = read_recording(noise, "noise", seen);
        EXPECT_FALSE(report);
        EXPECT_NE(report.error().message.find("noise"), std::string::npos);
    }
    EXPECT_TRUE(seen.blocks.empty());
}

// Records with a good check and contents that cannot be.
TEST(Recording, ContradictionsAreCountedNotBelieved) {
    Bytes file;
    const auto add = [&](HostRecord type, const Bytes& payload) {
        const Bytes frame = test::frame_of(static_cast<protocol::FrameType>(type), payload, 0);
        file.insert(file.end(), frame.begin(), frame.end());
    };
    add(HostRecord::start, Bytes(8));
    Bytes text;
    test::put(text, rig::TextRecord{0, 0xffffffff, 0});
    add(HostRecord::marker, text);
    Bytes knot;
    test::put(knot, rig::KnotRecord{5, 5, 5, 0x7ff8000000000000, 7, 0});  // rate is no number
    add(HostRecord::knot, knot);
    Bytes exchange;
    test::put(exchange, rig::ExchangeRecord{10, 5, 1, 2, 7, 0});
    add(HostRecord::exchange, exchange);
    Bytes far;
    test::put(far, rig::ExchangeRecord{10, 15, 1, ~std::uint64_t{0}, 7, 0});
    add(HostRecord::exchange, far);
    Bytes block(400);
    const Bytes frame = test::frame_of(protocol::FrameType::block, block, 0);
    file.insert(file.end(), frame.begin(), frame.end());
    add(static_cast<HostRecord>(0xf0), Bytes(12));  // of a later program: no contradiction
    Seen seen;
    const Result<ReadReport> report = read_recording(file, "made", seen);
    ASSERT_TRUE(report);
    EXPECT_EQ(report->bad_records, 6u);
    EXPECT_TRUE(seen.starts.empty() && seen.knots.empty() && seen.exchanges.empty() && seen.markers.empty() &&
                seen.blocks.empty());
    EXPECT_NE(report->first_problem.find("byte 0"), std::string::npos) << report->first_problem;
}

TEST(Recording, KnotsThatGoBackAreRefused) {
    Folder folder;
    const std::string path = folder.file("power.wrt");
    auto writer = RecordingWriter::create(path, some_start());
    ASSERT_TRUE(writer);
    const auto knot = [&](std::int64_t device, std::int64_t host, std::uint32_t boot) {
        (*writer)->append_knot({DeviceTime(Ticks(device)), at_ns(host), Nanoseconds(1), 0}, boot);
    };
    knot(100, 1000, 7);
    knot(100, 2000, 7);
    knot(200, 900, 7);
    knot(200, 2000, 7);
    knot(50, 3000, 8);  // another boot: its clock begins anew
    ASSERT_TRUE((*writer)->finish());
    Seen seen;
    const auto report = read_recording(path, seen);
    ASSERT_TRUE(report);
    EXPECT_EQ(seen.knots.size(), 3u);
    EXPECT_EQ(report->bad_records, 2u);
}

TEST(Recording, LongTextsAreCutAtAWholeCharacter) {
    Folder folder;
    const std::string path = folder.file("power.wrt");
    auto writer = RecordingWriter::create(path, some_start());
    ASSERT_TRUE(writer);
    std::string text = "x";
    while (text.size() < 3000) text += "ä";  // two bytes each
    (*writer)->append_marker(at_ns(1), text);
    (*writer)->append_marker(at_ns(2), "");
    ASSERT_TRUE((*writer)->finish());
    Seen seen;
    const auto report = read_recording(path, seen);
    ASSERT_TRUE(report);
    EXPECT_EQ(report->bad_records, 0u);
    ASSERT_EQ(seen.markers.size(), 2u);
    EXPECT_EQ(seen.markers[0].text, text.substr(0, seen.markers[0].text.size()));
    EXPECT_GT(seen.markers[0].text.size(), 1200u);
    EXPECT_EQ(seen.markers[0].text.size() % 2, 1u);
    EXPECT_EQ(seen.markers[1].text, "");
}

// A limit on the file's size stands for the full disk: writes beyond it are refused, in part or whole.
int record_on_a_full_disk() {
    std::signal(SIGXFSZ, SIG_IGN);
    Folder folder;
    const std::string path = folder.file("power.wrt");
    auto writer = RecordingWriter::create(path, some_start());
    const rlimit limit{700'001, 700'001};
    ::setrlimit(RLIMIT_FSIZE, &limit);
    BlockMaker maker;
    for (int k = 0; k < 14'000; ++k)
        (*writer)->append_frame(maker.block(), at_ns(k * 2'304'000ll));  // 11 MB: more than is held
    const Result<void> flushed = (*writer)->flush();
    const Result<void> finished = (*writer)->finish();
    const bool told = !flushed && !finished && flushed.error().kind == ErrorKind::system &&
                      flushed.error().message.find("power.wrt") != std::string::npos && (*writer)->dropped() > 1000;
    const bool honest = (*writer)->bytes() == std::filesystem::file_size(path);
    (*writer).reset();
    Seen seen;
    const auto report = read_recording(path, seen);
    const bool whole = report && report->counters.skipped_bytes == 0 && !report->clean_end && seen.blocks.size() > 800 &&
                       report->bytes > 690'000 && report->bytes <= 700'001;
    return (told ? 0 : 1) + (honest ? 0 : 2) + (whole ? 0 : 4);
}

TEST(Recording, AFullDiskEndsTheFileAtAWholeFrame) {
    EXPECT_EXIT(std::_Exit(record_on_a_full_disk()), testing::ExitedWithCode(0), "");
}

// For a while the file may not grow; what came meanwhile is written when it may again.
int record_while_the_disk_is_full() {
    std::signal(SIGXFSZ, SIG_IGN);
    Folder folder;
    const std::string path = folder.file("power.wrt");
    auto writer = RecordingWriter::create(path, some_start());
    rlimit limit{700'001, RLIM_INFINITY};
    ::setrlimit(RLIMIT_FSIZE, &limit);
    BlockMaker maker;
    bool quiet = true;
    for (int k = 0; k < 9000; ++k) {
        (*writer)->append_frame(maker.block(), at_ns(k * 2'304'000ll));
        if (k % 400 == 0) quiet = quiet && (*writer)->flush();
    }
    const bool held = std::filesystem::file_size(path) <= 700'001;
    limit.rlim_cur = RLIM_INFINITY;
    ::setrlimit(RLIMIT_FSIZE, &limit);
    const bool written = (*writer)->finish().has_value() && (*writer)->dropped() == 0;
    (*writer).reset();
    Seen seen;
    const auto report = read_recording(path, seen);
    const bool whole = report && report->clean_end && report->counters.skipped_bytes == 0 && seen.blocks.size() == 9000;
    return (quiet ? 0 : 1) + (held ? 0 : 2) + (written ? 0 : 4) + (whole ? 0 : 8);
}

TEST(Recording, ADiskThatIsFullForAWhileCostsNothing) {
    EXPECT_EXIT(std::_Exit(record_while_the_disk_is_full()), testing::ExitedWithCode(0), "");
}

TEST(Recording, AFileThatIsDeletedIsToldAtTheNextFlush) {
    Folder folder;
    const std::string path = folder.file("power.wrt");
    auto writer = RecordingWriter::create(path, some_start());
    ASSERT_TRUE(writer);
    BlockMaker maker;
    (*writer)->append_frame(maker.block(), at_ns(0));
    ASSERT_TRUE((*writer)->flush());
    ASSERT_TRUE(std::filesystem::remove(path));
    const Result<void> flushed = (*writer)->flush();
    ASSERT_FALSE(flushed);
    EXPECT_THAT(flushed.error().message, testing::HasSubstr("power.wrt was deleted"));
}

}  // namespace
}  // namespace wattrig::recording
