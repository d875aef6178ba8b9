#include "host/recording/run_directory.hpp"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <cmath>
#include <nlohmann/json.hpp>
#include <random>

#include "host/recording/io_file.hpp"
#include "host/recording/phase_json.hpp"
#include "tests/recording/files.hpp"

namespace wattrig::recording {
namespace {

using test::Folder;
using testing::HasSubstr;
using Bytes = std::vector<std::uint8_t>;

HostTime at_ns(std::int64_t ns) { return HostTime(Nanoseconds(ns)); }

PhaseRecord some_phase(std::uint32_t number) {
    PhaseRecord phase;
    phase.number = number;
    phase.step = "sustained-read";
    phase.label = "randread QD" + std::to_string(1u << number) + " \"ä\"\n";
    phase.parameters = {{"pattern", "randread"}, {"depth", std::to_string(1u << number)}, {"block", "4096"}};
    phase.scored = number % 2 == 0;
    phase.has_io = true;
    phase.warnings = {"the drive was warm"};
    io::PhaseOutcome& o = phase.outcome;
    o.begin = at_ns(1'000'000'000ll * (number + 1));
    o.measured_begin = o.begin + std::chrono::milliseconds(5);
    o.measured_end = o.begin + std::chrono::milliseconds(900);
    o.end = o.begin + std::chrono::milliseconds(901);
    o.stop = io::StopReason::bytes;
    std::mt19937_64 random(number);
    for (std::size_t k = 0; k < o.kinds.size(); ++k) {
        io::KindOutcome& kind = o.kinds[k];
        if (k == 3) continue;  // one that did nothing: its minimum stays at its largest value
        kind.operations = 1000 + k;
        kind.bytes = ~std::uint64_t{0} - k;
        kind.errors = k;
        kind.latency_minimum = 10;
        kind.latency_maximum = std::uint64_t{1} << 41;
        kind.latency_sum = 12345678901234567ull;
        for (int n = 0; n < 500; ++n) kind.latency.add(random() % (std::uint64_t{1} << (10 + random() % 31)));
        kind.latency.add(std::uint64_t{1} << 41);
        kind.service.add(77, 3);
    }
    o.errors = {{io::OperationKind::write, 5, 3, 4096}, {io::OperationKind::read, 61, 1, ~std::uint64_t{0}}};
    for (int n = 0; n < 100; ++n) {
        o.windows.push_back({std::chrono::milliseconds(n), std::chrono::milliseconds(1), static_cast<std::uint32_t>(n), 2, 0,
                             4096ull * static_cast<std::uint64_t>(n), 5, 6, 7});
    }
    o.bursts = {{o.begin, o.begin + Nanoseconds(7)}, {o.begin + Nanoseconds(9), o.end}};
    o.mean_depth = 3.9876543210123;
    o.device_mean_depth = -1;
    o.verify_failures = 2;
    o.log_dropped = 1;
    o.rate_error = std::nan("");
    o.cpu_seconds = 0.125;
    o.engine = "io_uring, fixed buffers";
    return phase;
}

void expect_same(const Histogram& a, const Histogram& b) {
    EXPECT_EQ(a.total(), b.total());
    EXPECT_EQ(a.overflow(), b.overflow());
    for (std::size_t k = 0; k < Histogram::buckets; ++k) ASSERT_EQ(a.count(k), b.count(k));
}

void expect_same(const PhaseRecord& a, const PhaseRecord& b) {
    EXPECT_EQ(a.number, b.number);
    EXPECT_EQ(a.step, b.step);
    EXPECT_EQ(a.label, b.label);
    EXPECT_EQ(a.kind, b.kind);
    EXPECT_EQ(a.parameters, b.parameters);
    EXPECT_EQ(a.scored, b.scored);
    EXPECT_EQ(a.has_io, b.has_io);
    EXPECT_EQ(a.warnings, b.warnings);
    const io::PhaseOutcome& x = a.outcome;
    const io::PhaseOutcome& y = b.outcome;
    EXPECT_EQ(x.begin, y.begin);
    EXPECT_EQ(x.measured_begin, y.measured_begin);
    EXPECT_EQ(x.measured_end, y.measured_end);
    EXPECT_EQ(x.end, y.end);
    EXPECT_EQ(x.stop, y.stop);
    for (std::size_t k = 0; k < x.kinds.size(); ++k) {
        EXPECT_EQ(x.kinds[k].operations, y.kinds[k].operations);
        EXPECT_EQ(x.kinds[k].bytes, y.kinds[k].bytes);
        EXPECT_EQ(x.kinds[k].errors, y.kinds[k].errors);
        EXPECT_EQ(x.kinds[k].latency_sum, y.kinds[k].latency_sum);
        EXPECT_EQ(x.kinds[k].latency_minimum, y.kinds[k].latency_minimum);
        EXPECT_EQ(x.kinds[k].latency_maximum, y.kinds[k].latency_maximum);
        expect_same(x.kinds[k].latency, y.kinds[k].latency);
        expect_same(x.kinds[k].service, y.kinds[k].service);
    }
    ASSERT_EQ(x.errors.size(), y.errors.size());
    for (std::size_t k = 0; k < x.errors.size(); ++k) {
        EXPECT_EQ(x.errors[k].kind, y.errors[k].kind);
        EXPECT_EQ(x.errors[k].os_error, y.errors[k].os_error);
        EXPECT_EQ(x.errors[k].count, y.errors[k].count);
        EXPECT_EQ(x.errors[k].first_offset, y.errors[k].first_offset);
    }
    ASSERT_EQ(x.windows.size(), y.windows.size());
    for (std::size_t k = 0; k < x.windows.size(); ++k) {
        EXPECT_EQ(x.windows[k].begin, y.windows[k].begin);
        EXPECT_EQ(x.windows[k].reads, y.windows[k].reads);
        EXPECT_EQ(x.windows[k].read_bytes, y.windows[k].read_bytes);
        EXPECT_EQ(x.windows[k].latency_maximum, y.windows[k].latency_maximum);
    }
    ASSERT_EQ(x.bursts.size(), y.bursts.size());
    for (std::size_t k = 0; k < x.bursts.size(); ++k) {
        EXPECT_EQ(x.bursts[k].begin, y.bursts[k].begin);
        EXPECT_EQ(x.bursts[k].end, y.bursts[k].end);
    }
    EXPECT_EQ(x.mean_depth, y.mean_depth);
    EXPECT_EQ(x.device_mean_depth, y.device_mean_depth);
    EXPECT_EQ(x.verify_failures, y.verify_failures);
    EXPECT_EQ(x.log_dropped, y.log_dropped);
    EXPECT_EQ(std::isnan(x.rate_error), std::isnan(y.rate_error));
    EXPECT_EQ(x.cpu_seconds, y.cpu_seconds);
    EXPECT_EQ(x.engine, y.engine);
}

std::string text_of(const std::string& path) {
    const Bytes bytes = test::read_file(path);
    return {bytes.begin(), bytes.end()};
}

// Three phases that ended and one that has begun.
Result<RunDirectory> made(const Folder& folder) {
    Result<RunDirectory> run = RunDirectory::create(folder.file("run"));
    EXPECT_TRUE(run) << run.error().message;
    EXPECT_TRUE(run->write_json("run.json", {{"schema", "test"}}));
    for (std::uint32_t k = 0; k < 4; ++k) {
        EXPECT_TRUE(run->append_phase_begin(some_phase(k)));
        if (k < 3) {
            EXPECT_TRUE(run->append_phase_end(some_phase(k)));
        }
    }
    return run;
}

TEST(RunDirectory, GivesBackItsPhases) {
    Folder folder;
    ASSERT_TRUE(made(folder));
    const Result<RunDirectory> run = RunDirectory::open(folder.file("run"));
    ASSERT_TRUE(run);
    const Result<std::vector<PhaseRecord>> phases = run->read_phases();
    ASSERT_TRUE(phases) << phases.error().message;
    ASSERT_EQ(phases->size(), 4u);
    for (std::uint32_t k = 0; k < 3; ++k) {
        EXPECT_TRUE((*phases)[k].complete);
        expect_same((*phases)[k], some_phase(k));
    }
    EXPECT_FALSE((*phases)[3].complete);
    EXPECT_EQ((*phases)[3].label, some_phase(3).label);
    EXPECT_EQ((*phases)[3].outcome.begin, some_phase(3).outcome.begin);
}

TEST(RunDirectory, PhasesWithoutIoNeedNoIoFile) {
    Folder folder;
    const Result<RunDirectory> run = RunDirectory::create(folder.file("a/b/c"));
    ASSERT_TRUE(run);
    PhaseRecord idle;
    idle.label = "idle";
    idle.kind = "idle";
    idle.outcome.begin = at_ns(-5);
    ASSERT_TRUE(run->append_phase_begin(idle));
    ASSERT_TRUE(run->append_phase_end(idle));
    const auto phases = run->read_phases();
    ASSERT_TRUE(phases);
    EXPECT_TRUE(phases->at(0).complete);
    EXPECT_EQ(phases->at(0).outcome.begin, at_ns(-5));
    EXPECT_FALSE(std::filesystem::exists(run->file("io.bin")));
}

TEST(RunDirectory, IsReadableWhenPhasesAreCutAtAnyByte) {
    Folder folder;
    const Result<RunDirectory> run = made(folder);
    const std::string whole = text_of(run->file("phases.jsonl"));
    std::size_t last_size = 0;
    for (std::size_t size = 0; size <= whole.size(); ++size) {
        const auto phases = parse_phases(std::string(whole.begin(), whole.begin() + static_cast<std::ptrdiff_t>(size)), "cut");
        ASSERT_TRUE(phases) << size << ": " << phases.error().message;
        const std::vector<PhaseRecord>& records = phases->records;
        ASSERT_GE(records.size(), last_size);
        last_size = records.size();
        for (std::size_t k = 0; k + 1 < records.size(); ++k) EXPECT_TRUE(records[k].complete);
    }
    EXPECT_EQ(last_size, 4u);
}

TEST(RunDirectory, IsReadableWhenTheIoFileIsCutAtAnyByte) {
    Folder folder;
    const Result<RunDirectory> run = made(folder);
    const Bytes whole = test::read_file(run->file("io.bin"));
    const std::size_t second = encode_io_record(0, some_phase(0).outcome).size();
    const std::size_t third = second + encode_io_record(1, some_phase(1).outcome).size();
    for (std::size_t size = third - 40; size <= whole.size(); size += size < third + 60 ? 1 : 997) {
        test::write_file(run->file("io.bin"), Bytes(whole.begin(), whole.begin() + static_cast<std::ptrdiff_t>(size)));
        const auto phases = run->read_phases();
        ASSERT_TRUE(phases);
        EXPECT_TRUE((*phases)[0].complete);
        EXPECT_EQ((*phases)[1].complete, size >= third) << size;
        EXPECT_EQ((*phases)[2].complete, size >= whole.size()) << size;
        if (!(*phases)[2].complete) {
            EXPECT_THAT((*phases)[2].warnings.back(), HasSubstr("io.bin"));
        }
    }
    std::filesystem::remove(run->file("io.bin"));
    const auto phases = run->read_phases();
    ASSERT_TRUE(phases);
    EXPECT_FALSE((*phases)[0].complete);
}

TEST(RunDirectory, EveryFlippedByteOfAnIoRecordIsSeen) {
    io::PhaseOutcome outcome = some_phase(1).outcome;
    const Bytes good = encode_io_record(1, outcome);
    ASSERT_TRUE(decode_io_record(good, 1, outcome));
    EXPECT_FALSE(decode_io_record(good, 2, outcome)) << "of another phase";
    for (std::size_t at = 0; at < good.size(); at += at < 60 ? 1 : 61) {
        Bytes bad = good;
        bad[at] ^= 0x20;
        EXPECT_FALSE(decode_io_record(bad, 1, outcome)) << at;
    }
}

TEST(RunDirectory, LinesThatAreNoPhasesAreRefusedByNumber) {
    const std::string begin = phase_begin_line(some_phase(0)) + "\n";
    const std::string end = phase_end_line(some_phase(0), {}) + "\n";
    EXPECT_TRUE(parse_phases(begin + end, "p"));
    const auto refusal = [](const std::string& text) {
        const auto phases = parse_phases(text, "p");
        return phases ? std::string() : phases.error().message;
    };
    EXPECT_THAT(refusal(begin + "{}\n"), HasSubstr("p, line 2"));
    EXPECT_THAT(refusal("nonsense\n"), HasSubstr("line 1 is no JSON"));
    EXPECT_THAT(refusal("[1]\n"), HasSubstr("line 1"));
    EXPECT_THAT(refusal("null\n"), HasSubstr("line 1"));
    EXPECT_THAT(refusal(end), HasSubstr("has not begun"));
    EXPECT_THAT(refusal(begin + end + end), HasSubstr("second time"));
    // Each member of the end line, missing or of another type.
    const nlohmann::json good = nlohmann::json::parse(end);
    for (const auto& [key, value] : good.items()) {
        nlohmann::json bad = good;
        bad.erase(key);
        EXPECT_NE(refusal(begin + bad.dump() + "\n"), "") << key;
        for (const nlohmann::json& other : {nlohmann::json("x"), nlohmann::json(-1e300), nlohmann::json::array({1}),
                                            nlohmann::json(true), nlohmann::json::object()}) {
            bad = good;
            bad[key] = other;
            const std::string what = refusal(begin + bad.dump() + "\n");  // some are possible values; none may crash
            if (other.is_object()) {
                EXPECT_NE(what, "") << key;
            }
        }
    }
    nlohmann::json later = good;
    later["version"] = 2;
    EXPECT_THAT(refusal(begin + later.dump() + "\n"), HasSubstr("version 2"));
}

TEST(RunDirectory, NothingIsOverwritten) {
    Folder folder;
    ASSERT_TRUE(made(folder));
    const auto again = RunDirectory::create(folder.file("run"));
    ASSERT_FALSE(again);
    EXPECT_EQ(again.error().kind, ErrorKind::bad_input);
    EXPECT_THAT(again.error().message, HasSubstr("not empty"));
    std::filesystem::create_directories(folder.file("empty"));
    EXPECT_TRUE(RunDirectory::create(folder.file("empty")));
    test::write_file(folder.file("file"), {1});
    EXPECT_FALSE(RunDirectory::create(folder.file("file")));
    EXPECT_FALSE(RunDirectory::open(folder.file("file")));
    EXPECT_FALSE(RunDirectory::open(folder.file("missing")));
    EXPECT_FALSE(RunDirectory::open(folder.file("empty"))) << "no run directory";
}

TEST(RunDirectory, JsonIsReplacedAsAWhole) {
    Folder folder;
    const Result<RunDirectory> run = RunDirectory::create(folder.file("run"));
    ASSERT_TRUE(run->write_json("result.json", {{"a", 1}}));
    ASSERT_TRUE(run->write_json("result.json", {{"a", std::string("not UTF-8: \xff")}}));
    const auto value = run->read_json("result.json");
    ASSERT_TRUE(value);
    EXPECT_TRUE((*value)["a"].is_string());
    EXPECT_EQ(std::distance(std::filesystem::directory_iterator(run->path()), {}), 1) << "no file left over";
    test::write_file(run->file("bad.json"), {'{'});
    EXPECT_FALSE(run->read_json("bad.json"));
    EXPECT_FALSE(run->read_json("missing.json"));
    EXPECT_FALSE(run->write_json("no/such/folder.json", {}));
}

TEST(RunDirectory, EachEventIsOneLine) {
    Folder folder;
    const Result<RunDirectory> run = made(folder);
    const std::string text = text_of(run->file("phases.jsonl"));
    EXPECT_EQ(std::count(text.begin(), text.end(), '\n'), 7) << "newlines in a label are escaped";
}

}  // namespace
}  // namespace wattrig::recording
