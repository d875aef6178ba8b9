// A week of summaries, and every counter driven over the edge where it would wrap or lose bits. The streams are written here by
// hand, with sums in closed form or by the compiler's own 128 bits.

#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <sys/resource.h>
#include <unistd.h>

#include <chrono>
#include <cmath>
#include <filesystem>
#include <fstream>
#include <string>

#include "firmware/core/meter.hpp"
#include "host/power/energy.hpp"
#include "host/recording/recording.hpp"
#include "host/recording/summary.hpp"
#include "host/rig/frame_decoder.hpp"
#include "host/rig/stream_account.hpp"
#include "tests/power/stream_builder.hpp"
#include "tests/rig/blocks.hpp"

namespace wattrig {
namespace {

using test::Bytes;
using test::Codes;
__extension__ using Wide = __int128;

constexpr std::int64_t cell = protocol::ticks_per_sample;
constexpr std::uint64_t second_samples = protocol::samples_per_summary_1s;

protocol::Int128 store(Wide value) {
    const auto bits = static_cast<unsigned __int128>(value);
    return {static_cast<std::uint64_t>(bits), static_cast<std::int64_t>(static_cast<std::uint64_t>(bits >> 64))};
}

// Codes of sample `index`: the level of its second, which is anything from idle to a spike.
Codes level_of(std::uint64_t second) {
    const std::uint64_t dice = test::mix64(second);
    return {static_cast<std::int32_t>(4'000'000 + dice % 200'000),
            static_cast<std::int32_t>(-2000 + dice / 200'000 % 4'000'000)};
}

struct Start {
    std::uint64_t index = 0, time = 1'000'000, count = 0;
    std::int64_t sum_v = 0, sum_i = 0;
    Wide sum_vi = 0, sum_ii = 0;
    std::uint32_t sequence = 0;
};

// Frames of one rail from a start of choice.
class Stream {
  public:
    explicit Stream(const Start& start) : at_(start) {}
    // All samples of the block have the same codes.
    Bytes summary(Codes codes, std::uint32_t count) {
        add(codes, count);
        return frame({codes.v, codes.v, codes.i, codes.i}, count, protocol::Detail::summary_1s, {});
    }
    template <class CodesOf>
    Bytes block(CodesOf&& codes_of) {
        protocol::RailExtremes extremes{INT32_MAX, INT32_MIN, INT32_MAX, INT32_MIN};
        Bytes v, i;
        for (std::uint32_t k = 0; k < protocol::samples_per_block; ++k) {
            const Codes c = codes_of(at_.index + k);
            add(c, 1);
            put_code(v, c.v);
            put_code(i, c.i);
            extremes = {std::min(extremes.v_minimum, c.v), std::max(extremes.v_maximum, c.v), std::min(extremes.i_minimum, c.i),
                        std::max(extremes.i_maximum, c.i)};
        }
        v.insert(v.end(), i.begin(), i.end());
        v.resize(v.size() + protocol::samples_per_block);
        return frame(extremes, protocol::samples_per_block, protocol::Detail::full, v);
    }
    [[nodiscard]] const Start& at() const { return at_; }

  private:
    void add(Codes c, std::int64_t times) {
        at_.count += static_cast<std::uint64_t>(times);
        at_.sum_v = static_cast<std::int64_t>(static_cast<std::uint64_t>(at_.sum_v) + static_cast<std::uint64_t>(times * c.v));
        at_.sum_i = static_cast<std::int64_t>(static_cast<std::uint64_t>(at_.sum_i) + static_cast<std::uint64_t>(times * c.i));
        at_.sum_vi += Wide{c.v} * c.i * times;
        at_.sum_ii += Wide{c.i} * c.i * times;
    }
    static void put_code(Bytes& to, std::int32_t code) {
        for (int shift = 0; shift < 24; shift += 8)
            to.push_back(static_cast<std::uint8_t>(static_cast<std::uint32_t>(code) >> shift));
    }
    Bytes frame(const protocol::RailExtremes& extremes, std::uint32_t count, protocol::Detail detail, const Bytes& codes) {
        protocol::BlockHeader header{};
        header.first_index = at_.index;
        header.first_time = at_.time;
        header.boot_id = 7;
        header.span = header.count = count;
        header.rails = 1;
        header.detail = static_cast<std::uint8_t>(detail);
        header.shunt_temperature = header.board_temperature = 2500;
        protocol::PeakSummary peak{};
        peak.maximum = INT32_MIN;
        peak.group_maximum.fill(INT32_MIN);
        Bytes payload;
        test::put(payload, header);
        test::put(payload,
                  protocol::RailPart{{at_.count, at_.sum_v, at_.sum_i, store(at_.sum_vi), store(at_.sum_ii)}, extremes});
        test::put(payload, protocol::SlowSums{});
        test::put(payload, peak);
        test::put(payload, std::uint32_t{0});
        payload.insert(payload.end(), codes.begin(), codes.end());
        payload.resize(protocol::padded(payload.size()));
        at_.index += count;
        at_.time += std::uint64_t{count} * cell;
        const auto type = detail == protocol::Detail::full ? protocol::FrameType::block : protocol::FrameType::summary;
        return test::frame_of(type, payload, at_.sequence++);
    }
    Start at_;
};

long anonymous_kib() {  // resident memory without mapped files
    std::ifstream status("/proc/self/status");
    for (std::string line; std::getline(status, line);)
        if (line.starts_with("RssAnon:")) return std::stol(line.substr(8));
    return 0;
}

// A clock that runs with the host's, knots as far apart as an energy allows: its bound is not what is tested.
rig::ClockMap even_clock(std::int64_t begin_ticks, std::int64_t ticks) {
    rig::ClockMap map({}, 7, "even");
    for (int k = 0; k <= 16; ++k) {
        const std::int64_t t = begin_ticks + ticks / 16 * k;
        map.append({DeviceTime(Ticks(t)), test::host_of(t), Nanoseconds(0), 0.0});
    }
    return map;
}

class TemporaryFolder {
  public:
    TemporaryFolder() {
        std::string pattern = (std::filesystem::temp_directory_path() / "wattrig-long-XXXXXX").string();
        path_ = ::mkdtemp(pattern.data());
    }
    ~TemporaryFolder() { std::filesystem::remove_all(path_); }
    [[nodiscard]] std::string file(const std::string& name) const { return path_ + "/" + name; }

  private:
    std::string path_;
};

class EnergyVisitor final : public recording::RecordingVisitor {
  public:
    explicit EnergyVisitor(power::EnergyPass& pass) : pass_(pass) {}
    void on_block(const rig::BlockView& block) override {
        pass_.add(block);
        if (++blocks == 86'400) after_a_day = anonymous_kib();
    }
    std::uint64_t blocks = 0;
    long after_a_day = 0;

  private:
    power::EnergyPass& pass_;
};

TEST(LongRuns, AWeekOfSummaries) {
    constexpr std::uint64_t seconds = 7 * 86'400;
    TemporaryFolder folder;
    const std::string path = folder.file("power.wrt");
    const power::Calibration calibration = test::test_calibration();
    const Start begin{};

    recording::RecordingStart start;
    start.info.boot_id = 7;
    start.simulated = true;
    auto writer = recording::RecordingWriter::create(path, start);
    ASSERT_TRUE(writer) << writer.error().message;
    Stream stream(begin);
    long double joules = 0;
    long written_after_a_day = 0;
    for (std::uint64_t k = 0; k < seconds; ++k) {
        const Codes codes = level_of(k);
        const HostTime arrival = test::host_of(static_cast<std::int64_t>(stream.at().time + second_samples * cell));
        (*writer)->append_frame(stream.summary(codes, second_samples), arrival);
        joules += static_cast<long double>(test::watts(calibration, codes)) * second_samples * cell * 8e-9L;
        if (k == 86'400) written_after_a_day = anonymous_kib();
    }
    const long written = anonymous_kib();
    ASSERT_TRUE((*writer)->finish());
    EXPECT_LT(written - written_after_a_day, 2048) << "KiB: writing takes memory with time";

    const auto first = static_cast<std::int64_t>(begin.time) - cell / 2;
    const auto last = static_cast<std::int64_t>(stream.at().time) - cell / 2;
    const std::int64_t day_three = first + static_cast<std::int64_t>(2 * 86'400 * second_samples) * cell;
    const std::int64_t day_four = day_three + static_cast<std::int64_t>(86'400 * second_samples) * cell;
    power::EnergyPass pass(calibration, even_clock(first, last - first),
                           {{test::host_of(first), test::host_of(last)}, {test::host_of(day_three), test::host_of(day_four)}});
    EnergyVisitor visitor(pass);
    const auto report = recording::read_recording(path, visitor);
    const long read = anonymous_kib();
    ASSERT_TRUE(report);
    EXPECT_TRUE(report->clean_end);
    EXPECT_EQ(visitor.blocks, seconds);
    EXPECT_LT(read - visitor.after_a_day, 2048) << "KiB: reading takes memory with time";
    const auto powers = pass.finish();
    ASSERT_TRUE(powers[0].energy && powers[1].energy);
    EXPECT_NEAR(static_cast<double>(static_cast<long double>(powers[0].energy->value()) / joules), 1, 1e-9);
    long double third_day = 0;
    for (std::uint64_t k = 2 * 86'400; k < 3 * 86'400; ++k)
        third_day += static_cast<long double>(test::watts(calibration, level_of(k))) * second_samples * cell * 8e-9L;
    EXPECT_NEAR(static_cast<double>(static_cast<long double>(powers[1].energy->value()) / third_day), 1, 1e-9);

    // Every level against a look at each second. A summary's extremes are those of its whole second.
    const auto summary = recording::PowerSummary::open(path);
    ASSERT_TRUE(summary) << summary.error().message;
    EXPECT_FALSE(summary->rebuilt());
    ASSERT_EQ(summary->epochs().size(), 1u);
    EXPECT_EQ(summary->epochs()[0].end_index, seconds * second_samples);
    for (std::size_t level = 1; level < recording::summary_levels; ++level) {
        const std::uint64_t size = recording::samples_of_level(level);
        const std::uint64_t points = std::min<std::uint64_t>(2000, seconds * second_samples / size);
        // From the end: what was written last stands furthest from its zero.
        const std::uint64_t from = (seconds * second_samples / size - points) * size;
        std::uint64_t at = from;
        for (const recording::SummaryPoint& point : summary->read(0, from, from + points * size, size)) {
            ASSERT_EQ(point.first_index, at);
            at += point.span;
            ASSERT_EQ(point.count, point.span);
            std::int32_t least = INT32_MAX, most = INT32_MIN;
            long double mean = 0;
            for (std::uint64_t k = point.first_index / second_samples; k * second_samples < point.first_index + point.span;
                 ++k) {
                const Codes c = level_of(k);
                least = std::min(least, c.i);
                most = std::max(most, c.i);
                const std::uint64_t begin_in = std::max(point.first_index, k * second_samples);
                const std::uint64_t end_in = std::min(point.first_index + point.span, (k + 1) * second_samples);
                mean += static_cast<long double>(end_in - begin_in) * c.i;
            }
            mean /= point.span;
            ASSERT_EQ(point.rails[0].i_minimum, least) << "level " << level << " at " << point.first_index;
            ASSERT_EQ(point.rails[0].i_maximum, most) << "level " << level << " at " << point.first_index;
            // A point shorter than a second takes the second's mean: the same here, as a second has one level.
            ASSERT_NEAR(point.rails[0].i_mean, static_cast<double>(mean), 1e-6 * 4e6) << "level " << level;
        }
        EXPECT_EQ(at, from + points * size);
    }
}

// ------------------------------------------------------------------------------------------------------------------ wraps
struct Edge {
    const char* name;
    Start start;
};
constexpr std::uint64_t samples_across = 10'000'050;  // whole blocks

// Every counter that can get there, so that it passes the power of two in the middle.
std::vector<Edge> edges() {
    std::vector<Edge> made;
    constexpr std::uint64_t half = samples_across / 2;
    for (const unsigned bits : {31u, 32u}) {
        const std::uint64_t edge = std::uint64_t{1} << bits;
        Start start;
        start.index = start.count = (edge - half) / 75 * 75;
        start.time = 1'000'000 + start.index * cell;
        made.push_back({bits == 31 ? "index and count 2^31" : "index and count 2^32", start});
        Start ticks;
        ticks.time = edge - 1'000'000;
        made.push_back({bits == 31 ? "time 2^31" : "time 2^32", ticks});
    }
    for (const unsigned bits : {31u, 32u, 53u, 63u}) {
        const Wide edge = Wide{1} << bits;
        Start start;
        start.sum_v = static_cast<std::int64_t>(edge - 1 - (bits > 50 ? Wide{4'100'000} * half : 1'000'000'000));
        start.sum_i = start.sum_v;
        start.sum_vi = edge - (bits > 50 ? Wide{1'000'000'000'000} : 1'000'000);
        start.sum_ii = start.sum_vi;
        made.push_back({bits == 31 ? "sums 2^31" : bits == 32 ? "sums 2^32" : bits == 53 ? "sums 2^53" : "sums 2^63", start});
    }
    Start days;
    days.time = (std::uint64_t{1} << 53) - half * cell;
    made.push_back({"time 2^53", days});
    Start words;  // the low word of the 128-bit sums
    words.sum_vi = words.sum_ii = (Wide{1} << 64) - 1'000'000'000'000;
    made.push_back({"sums 2^64", words});
    Start far;  // where a double no longer holds what one block adds
    far.sum_vi = far.sum_ii = (Wide{1} << 100) - 1'000'000'000'000;
    made.push_back({"sums 2^100", far});
    Start frames;
    frames.sequence = 0xffff'ffff - 60'000;
    made.push_back({"frames 2^32", frames});
    return made;
}

class LongRunsEdge : public testing::TestWithParam<std::size_t> {};

TEST_P(LongRunsEdge, TenMillionSamplesAcrossIt) {
    const Edge edge = edges()[GetParam()];
    SCOPED_TRACE(edge.name);
    const power::Calibration calibration = test::test_calibration();
    Stream stream(edge.start);
    const auto codes_of = [](std::uint64_t index) { return level_of(index / 1000); };

    const auto first = static_cast<std::int64_t>(edge.start.time) - cell / 2;
    const auto last = first + static_cast<std::int64_t>(samples_across) * cell;
    power::EnergyPass pass(calibration, even_clock(first, last - first), {{test::host_of(first), test::host_of(last)}});
    std::size_t told = 0;
    rig::StreamAccount account([&](const std::string&, HostTime) { ++told; });
    rig::FrameDecoder decoder;
    std::uint64_t seen = 0;
    Wide product = 0;
    long double joules = 0;
    while (seen < samples_across) {
        const bool lost = seen > 0 && seen / 75 % 1009 == 0;  // a hole now and then, also near the edge
        const Bytes frame = stream.block(codes_of);
        for (std::uint64_t k = 0; k < 75; ++k) {
            const Codes c = codes_of(stream.at().index - 75 + k);
            product += Wide{c.v} * c.i;
            joules += static_cast<long double>(test::watts(calibration, c)) * cell * 8e-9L;
        }
        seen += 75;
        if (lost) continue;
        decoder.feed(frame, [&](const rig::Frame& whole) {
            const auto block = rig::parse_block(whole.payload);
            ASSERT_TRUE(block);
            account.add(*block, HostTime{});
            pass.add(*block);
        });
    }
    ASSERT_TRUE(stream.at().sum_vi - edge.start.sum_vi == product);
    EXPECT_EQ(account.samples() + account.lost_samples(), edge.start.index + samples_across);
    const auto power = pass.finish().front();
    ASSERT_TRUE(power.energy);
    EXPECT_NEAR(static_cast<double>(static_cast<long double>(power.energy->value()) / joules), 1, 1e-9);
    EXPECT_DOUBLE_EQ(power.coverage, 1);
}

INSTANTIATE_TEST_SUITE_P(All, LongRunsEdge, testing::Range<std::size_t>(0, edges().size()));

// The rig's own side: its microsecond timer across the same edges, every sample indexed, none lost.
TEST(LongRuns, TheRigsTimerAcrossEachEdge) {
    for (const unsigned bits : {31u, 32u, 53u}) {
        firmware::MeterConfig config{};
        config.info.rails = 1;
        config.info.boot_id = 9;
        auto meter = std::make_unique<firmware::Meter>(config);
        // 5 million samples of 30.72 us before the edge.
        const std::uint64_t begin = (std::uint64_t{1} << bits) - 153'600'000;
        Bytes payload;
        test::put(payload, protocol::CommandHeader{static_cast<std::uint16_t>(protocol::CommandId::start_stream), 1, 0, 0});
        test::put(payload, protocol::StartStream{1, static_cast<std::uint8_t>(protocol::Detail::full), 0});
        meter->on_command(begin, test::frame_of(protocol::FrameType::command, payload, 0));
        std::uint64_t next_index = 0, next_time = 0;
        std::uint32_t segment = 0;
        for (std::uint64_t k = 0; k < 10'000'050; ++k) {
            // 30.72 us in hundredths, exactly.
            const std::uint64_t timer = begin + 100 + k * 3072 / 100;
            firmware::AdcSample sample{};
            const Codes codes = level_of(k / 1000);
            sample.v[0] = codes.v;
            sample.i[0] = codes.i;
            meter->on_adc_sample(timer, sample);
            if (k % 32 == 0) meter->poll(timer);
            for (auto bytes = meter->front_frame(); !bytes.empty(); bytes = meter->front_frame()) {
                const auto header = protocol::load<protocol::BlockHeader>(bytes.data() + sizeof(protocol::FrameHeader));
                if (next_index > 0) {
                    ASSERT_EQ(header.first_index, next_index) << bits;
                    ASSERT_EQ(header.first_time, next_time) << bits;
                    ASSERT_EQ(header.segment, segment) << bits;
                }
                ASSERT_EQ(header.count, header.span);
                next_index = header.first_index + header.span;
                next_time = header.first_time + std::uint64_t{header.span} * cell;
                segment = header.segment;
                meter->pop_frame();
            }
        }
        EXPECT_GE(next_index, 10'000'000u);
    }
}

}  // namespace
}  // namespace wattrig
