// Bytes that the emulated rig sent, through the host's own decoder and peak fit. Truth comes from the model's closed form,
// written beside the record by scenarios/peak.test.js; planted there: 5 % of gain and 20 mA of offset in the coarse path.

#include <gtest/gtest.h>

#include <cstdlib>
#include <fstream>
#include <iterator>
#include <string>
#include <vector>

#include "host/power/peak.hpp"
#include "host/power/segment.hpp"
#include "host/rig/frame_decoder.hpp"

namespace wattrig {
namespace {

struct Record {
    std::vector<std::uint8_t> bytes;
    std::vector<std::vector<std::uint8_t>> payloads;  // of blocks; views point into them
    rig::DecoderCounters counters;
};

std::string path_of(const std::string& name) {
    const char* const folder = std::getenv("WATTRIG_RECORDS");
    return std::string(folder != nullptr ? folder : ".") + "/" + name;
}

Record read_record(const std::string& name) {
    Record record;
    std::ifstream file(path_of(name), std::ios::binary);
    record.bytes.assign(std::istreambuf_iterator<char>(file), {});
    rig::FrameDecoder decoder;
    const auto keep = [&](const rig::Frame& frame) {
        record.payloads.emplace_back(frame.payload.begin(), frame.payload.end());
    };
    decoder.feed(record.bytes, keep);
    record.counters = decoder.counters();
    return record;
}

TEST(EmulatedRecord, stream_DecodesWithoutLoss) {
    const Record record = read_record("emulated_stream.bin");
    ASSERT_GT(record.payloads.size(), 5 * 32552 / 75 - 3);
    EXPECT_EQ(record.counters.skipped_bytes, 0);
    EXPECT_EQ(record.counters.crc_errors, 0);
    std::uint64_t next = 0;
    for (const auto& payload : record.payloads) {
        const auto block = rig::parse_block(payload);
        ASSERT_TRUE(block);
        EXPECT_EQ(block->header.first_index, next);
        next += block->header.span;
        EXPECT_EQ(block->header.lost_samples, 0);
    }
}

struct Spike {
    std::int64_t begin = 0, end = 0;  // ticks
    double watts = 0, volt = 0;
};

// Largest error of all spikes, in parts of what is allowed: 1 % and 20 mA.
double worst_error(bool fitted) {
    const power::FrontEnd parts;
    const power::RailCalibration rail = power::nominal_calibration(parts).rails[0];
    power::PeakPath path(rail, parts);
    const Record record = read_record("emulated_peak.bin");
    std::vector<rig::BlockView> blocks;
    for (const auto& payload : record.payloads) blocks.push_back(rig::parse_block(payload).value());
    std::vector<Spike> spikes;
    std::ifstream truth(path_of("emulated_peak.txt"));
    for (Spike spike; truth >> spike.begin >> spike.end >> spike.watts >> spike.volt;) spikes.push_back(spike);
    EXPECT_EQ(spikes.size(), 16);
    EXPECT_GT(blocks.size(), 500);

    std::vector<power::PeakMaximum> maxima(spikes.size());
    for (std::size_t k = 1; k < blocks.size(); ++k) {
        const rig::BlockView& block = blocks[k];
        const power::CodeSums sums = power::difference(block.rails[0].sums, blocks[k - 1].rails[0].sums);
        const auto count = static_cast<double>(sums.count);
        const double volt = static_cast<double>(sums.v) / count * parts.volt_per_v_code();
        if (fitted) path.learn(block.peak, static_cast<double>(sums.i) / count * parts.ampere_per_i_code());
        for (std::size_t s = 0; s < spikes.size(); ++s) {
            constexpr std::int64_t window = 25 * 500, slack = 12'500;  // ticks
            const std::int64_t begin = block.begin().time_since_epoch().count();
            const std::int64_t end = block.end().time_since_epoch().count();
            if (end < spikes[s].begin - slack || begin > spikes[s].end + window + slack) continue;
            maxima[s].add(path.window_watts(block.peak.maximum, volt, parts.volt_per_v_code()), path.noise_watts(volt),
                          block.peak.readings);
        }
    }
    double worst = 0;
    for (std::size_t s = 0; s < spikes.size(); ++s) {
        const double found = maxima[s].corrected().value_or(0);
        // The RC of 2.2 us moves that part of a spike as long as the window out of every window; shorter ones keep it inside
        // and longer ones do not need it. So at 100 us the claim of 1 % does not hold, and what does is said here.
        const double microseconds = static_cast<double>(spikes[s].end - spikes[s].begin) / 125;
        const double lost_to_rc = microseconds > 90 && microseconds < 110 ? 2.2 / 100 : 0;
        const double allowed = (0.01 + lost_to_rc) * spikes[s].watts + 0.020 * spikes[s].volt;
        const double part = std::abs(found - spikes[s].watts) / allowed;
        if (fitted)
            std::printf("spike of %6.2f ms: true %.3f W, emulated and fitted %.3f W, %.0f %% of what is allowed\n",
                        static_cast<double>(spikes[s].end - spikes[s].begin) / 125e3, spikes[s].watts, found, 100 * part);
        worst = std::max(worst, part);
    }
    return worst;
}

TEST(EmulatedRecord, peak_WithinOnePercentAnd20mA) { EXPECT_LE(worst_error(true), 1.0); }
// The planted error is large enough to be seen when nobody fits.
TEST(EmulatedRecord, peak_WithoutTheFitItFails) { EXPECT_GT(worst_error(false), 1.0); }

}  // namespace
}  // namespace wattrig
