// From the bytes of a recording to the energy of its phases: decoding (CRC included), calibration, sums. Bytes per second count
// what lies on disk. `peak_rss_growth` shows that the memory does not depend on the length.

#include <benchmark/benchmark.h>
#include <sys/resource.h>

#include <cstring>
#include <random>

#include "firmware/protocol/crc32c.hpp"
#include "host/power/energy.hpp"
#include "host/rig/frame_decoder.hpp"
#include "tests/power/stream_builder.hpp"

namespace {

using namespace wattrig;

constexpr int blocks_in_memory = 8192;  // 6.3 MB: more than a second-level cache holds

// Load that steps between idle and full each 40 ms, with noise, so that extremes differ from block to block.
std::vector<std::uint8_t> recording(const power::Calibration& calibration, std::uint32_t first, test::StreamBuilder& builder) {
    static std::mt19937_64 random(1);
    std::normal_distribution<double> noise(0, 0.01);
    std::vector<std::uint8_t> bytes;
    for (std::uint32_t k = first; k < first + blocks_in_memory; ++k) {
        std::vector<test::Codes> codes;
        for (int j = 0; j < 75; ++j) {
            const double ampere = ((k / 17) % 2 == 0 ? 0.3 : 2.0) + noise(random);
            codes.push_back(test::codes_for(calibration, 3.3 - 0.03 * ampere, ampere));
        }
        builder.peak.readings = 576;
        builder.peak.sum_low = 576 * 1800;
        builder.peak.maximum = 4000;
        builder.slow.count = k / 2;
        const rig::BlockView view = builder.block(codes).view;
        const std::size_t payload = protocol::block_payload_bytes(1, 75), at = bytes.size();
        bytes.resize(at + protocol::frame_bytes(payload), 0);
        protocol::FrameHeader header{};
        header.magic = protocol::frame_magic;
        header.version = protocol::protocol_version;
        header.type = static_cast<std::uint8_t>(protocol::FrameType::block);
        header.payload_bytes = static_cast<std::uint16_t>(payload);
        header.sequence = k;
        header.header_check = static_cast<std::uint16_t>(
            protocol::crc32c(std::span(reinterpret_cast<const std::uint8_t*>(&header), protocol::header_checked_bytes)));
        std::uint8_t* out = bytes.data() + at;
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
        put(view.v_codes[0], 225);
        put(view.i_codes[0], 225);
        const std::uint32_t crc = protocol::crc32c(std::span(bytes.data() + at, bytes.size() - at - protocol::crc_bytes));
        std::memcpy(bytes.data() + bytes.size() - protocol::crc_bytes, &crc, sizeof crc);
    }
    return bytes;
}

long peak_rss_kib() {
    rusage usage{};
    getrusage(RUSAGE_SELF, &usage);
    return usage.ru_maxrss;
}

// `range(0)`: intervals that lie over the stream; one long phase, the others short.
void decode_and_integrate(benchmark::State& state) {
    power::Calibration calibration = test::test_calibration();
    calibration.rails[0].slow_gain = calibration.front_end.slow_lsb_volt / calibration.front_end.shunt_ohm;
    test::StreamBuilder builder;
    const std::vector<std::uint8_t> bytes = recording(calibration, 0, builder);
    std::vector<io::Interval> intervals = {
        {test::host_of(builder.edge(100)), test::host_of(builder.edge(75LL * blocks_in_memory - 100))}};
    for (std::int64_t k = 1; k < state.range(0); ++k)
        intervals.push_back({test::host_of(builder.edge(500 * k)), test::host_of(builder.edge(500 * k + 400))});
    const rig::ClockMap clock = test::plain_clock();
    const long before = peak_rss_kib();
    double joules = 0;
    for (auto _ : state) {
        power::EnergyPass pass(calibration, clock, intervals);
        rig::FrameDecoder decoder;
        constexpr std::size_t chunk = 1 << 16;
        for (std::size_t at = 0; at < bytes.size(); at += chunk)
            decoder.feed(std::span(bytes).subspan(at, std::min(chunk, bytes.size() - at)), [&](const rig::Frame& frame) {
                if (const auto block = rig::parse_block(frame.payload)) pass.add(*block);
            });
        joules += pass.finish()[0].energy->value();
    }
    benchmark::DoNotOptimize(joules);
    state.SetBytesProcessed(static_cast<std::int64_t>(bytes.size()) * static_cast<std::int64_t>(state.iterations()));
    state.counters["peak_rss_growth_KiB"] = static_cast<double>(peak_rss_kib() - before);
}
BENCHMARK(decode_and_integrate)->Arg(1)->Arg(100)->Arg(1000)->Unit(benchmark::kMillisecond);

// The energy pass alone, on one block over and over as if the stream were `range(0)` blocks long.
void memory_over_length(benchmark::State& state) {
    const power::Calibration calibration = test::test_calibration();
    const rig::ClockMap clock = test::plain_clock();
    for (auto _ : state) {
        test::StreamBuilder builder;
        const long before = peak_rss_kib();
        power::EnergyPass pass(calibration, clock,
                               {{test::host_of(builder.edge(0)), test::host_of(builder.edge(75 * state.range(0)))}});
        const std::vector<test::Codes> codes(75, test::codes_for(calibration, 3.3, 1.0));
        for (std::int64_t k = 0; k < state.range(0); ++k) pass.add(builder.block(codes).view);
        benchmark::DoNotOptimize(pass.finish()[0].energy);
        state.counters["peak_rss_growth_KiB"] = static_cast<double>(peak_rss_kib() - before);
    }
}
BENCHMARK(memory_over_length)->Arg(1'000)->Arg(20'000)->Iterations(1)->Unit(benchmark::kMillisecond);

}  // namespace

BENCHMARK_MAIN();
