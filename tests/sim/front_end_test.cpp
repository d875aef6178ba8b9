// The analog front end against the formulas of its parts.

#include <gtest/gtest.h>

#include <cmath>
#include <memory>

#include <cstring>

#include "firmware/protocol/frame.hpp"
#include "host/rig/block.hpp"
#include "host/sim/front_end.hpp"
#include "host/sim/meter_feed.hpp"

namespace wattrig::sim {
namespace {

using namespace std::chrono_literals;

struct Statistics {
    double n = 0, sum = 0, squares = 0;
    void add(double x) { n += 1, sum += x, squares += x * x; }
    [[nodiscard]] double mean() const { return sum / n; }
    [[nodiscard]] double rms() const { return std::sqrt(std::max(0.0, squares / n - mean() * mean())); }
};

TEST(Sinc3, WeightsSumToOneAndAreSymmetric) {
    const auto filter = sinc3_by_bin();
    double sum = 0;
    for (std::size_t k = 0; k < filter.size(); ++k) {
        sum += static_cast<double>(filter[k]);
        EXPECT_FLOAT_EQ(filter[k], filter[filter.size() - 1 - k]);
    }
    EXPECT_NEAR(sum, 1, 1e-6);
    // A zero at the sampling rate: alternating groups of 8 bins cancel to first order of the grid.
    double zero = 0;
    for (std::size_t k = 0; k < filter.size(); ++k)
        zero += static_cast<double>(filter[k]) * std::cos(2 * std::numbers::pi * (static_cast<double>(k) + 0.5) / 8);
    EXPECT_NEAR(zero, 0, 1e-3);
}

TEST(FrontEnd, NoiseOfEachPathIsThatOfItsParts) {
    FrontEnd front_end(11);
    const power::Calibration& calibration = front_end.calibration();
    std::array<float, bins_per_chunk> watts;
    watts.fill(2.0F);
    CodeChunk chunk;
    Statistics v, i, reading, slow;
    for (int k = 0; k < 6000; ++k) {
        front_end.run(watts, chunk);
        if (k < 10) continue;
        for (const std::int32_t code : chunk.v) v.add(code);
        for (const std::int32_t code : chunk.i) i.add(code);
        for (const std::uint16_t code : chunk.readings) reading.add(code);
        if (chunk.slow_after != -2) slow.add(chunk.slow_code);
    }
    const power::RailCalibration& rail = calibration.rails[0];
    // The supply's ripple, at most 1 mV, adds to the voltage's noise.
    EXPECT_NEAR(v.rms() * rail.v_gain, calibration.front_end.v_noise_volt, 0.8e-3);
    EXPECT_NEAR(i.rms() * rail.i_gain, calibration.front_end.i_noise_ampere, 0.03 * calibration.front_end.i_noise_ampere);
    EXPECT_NEAR(reading.rms(), std::hypot(calibration.front_end.peak_noise_lsb, 0.29), 0.05);
    EXPECT_NEAR(static_cast<double>(6000 * 25) * 3840 / 515000, slow.n, 4);
    // Means: within five standard uncertainties of the calibration (drift of the offset included).
    const double ampere = rail.i_offset + rail.i_gain * i.mean(), volt = rail.v_offset + rail.v_gain * v.mean();
    EXPECT_NEAR((volt - ampere * rail.shunt_ohm) * ampere, 2.0, 5 * (2.0 * 2.3e-4 + 3.3 * 50e-6));
    EXPECT_NEAR(rail.slow_offset + rail.slow_gain * slow.mean(), ampere, 4e-4);
}

TEST(FrontEnd, ConsumesWhatItIsGivenOverTheWholeRange) {
    for (const double watt : {0.002, 0.5, 5.0, 12.0}) {
        FrontEnd front_end(3);
        const power::RailCalibration& rail = front_end.calibration().rails[0];
        std::array<float, bins_per_chunk> watts;
        watts.fill(static_cast<float>(watt));
        CodeChunk chunk;
        Statistics power;
        for (int k = 0; k < 2000; ++k) {
            front_end.run(watts, chunk);
            if (k == 0) continue;
            for (std::size_t s = 0; s < samples_per_chunk; ++s) {
                const double ampere = rail.i_offset + rail.i_gain * chunk.i[s], volt = rail.v_offset + rail.v_gain * chunk.v[s];
                power.add((volt - ampere * rail.shunt_ohm) * ampere);
            }
        }
        EXPECT_NEAR(power.mean(), watt, 5 * (watt * 2.3e-4 + 3.3 * 50e-6)) << watt;
    }
}

TEST(FrontEnd, ClipsAtTheEndOfItsRangeAndThePeakPathWithIt) {
    FrontEnd front_end(3);
    std::array<float, bins_per_chunk> watts;
    watts.fill(24.0F);  // 7.7 A or so: more than the converter's 6 A
    CodeChunk chunk;
    for (int k = 0; k < 10; ++k) front_end.run(watts, chunk);
    EXPECT_EQ(chunk.i[0], protocol::code_maximum);
    EXPECT_LE(chunk.readings[0], 4095);
}

// A step of power in time that is known on the host's clock comes out of the samples at that time, once the filter's delay is
// taken off: by the middle of the step's edge, interpolated between samples.
TEST(MeterFeed, AStepOfPowerAppearsAtItsTrueTime) {
    PowerParameters power;
    power.idle_watt = 0.5;
    power.active_time_constant_ns = 1'000'000;
    for (std::uint64_t seed = 1; seed <= 20; ++seed) {
        MeterFeed feed(seed, HostTime{}, power);
        std::vector<std::vector<std::uint8_t>> frames;
        feed.on_frame = [&](std::span<const std::uint8_t> frame, HostTime) {
            frames.emplace_back(frame.begin(), frame.end());
            return true;
        };
        // Streams from the begin.
        std::array<std::uint8_t, 64> command{};
        const protocol::CommandHeader header{static_cast<std::uint16_t>(protocol::CommandId::start_stream), 1, 0, 0};
        const protocol::StartStream arguments{1, 0, 0};
        std::memcpy(command.data() + sizeof(protocol::FrameHeader), &header, sizeof header);
        std::memcpy(command.data() + sizeof(protocol::FrameHeader) + sizeof header, &arguments, sizeof arguments);
        const std::size_t size =
            protocol::seal_frame(command.data(), protocol::FrameType::command, sizeof header + sizeof arguments, 0);
        feed.meter().on_command(feed.clock().timer_us(HostTime{}), {command.data(), size});
        ASSERT_TRUE(feed.meter().streaming());
        const HostTime step(Nanoseconds(9'000'000 + static_cast<std::int64_t>(seed) * 1'237));
        feed.anchor(HostTime{});
        feed.trace().add(step.time_since_epoch().count(), 100'000'000, 6.0);
        feed.advance(HostTime(20ms));
        double below = 0, crossing = 0;
        const double half = feed.front_end().current_of(3.5);
        const power::RailCalibration& rail = feed.front_end().calibration().rails[0];
        for (const auto& frame : frames) {
            const auto block = rig::parse_block(
                std::span(frame).subspan(sizeof(protocol::FrameHeader), frame.size() - sizeof(protocol::FrameHeader) - 4));
            ASSERT_TRUE(block.has_value());
            for (std::size_t k = 0; k < block->header.count && crossing == 0; ++k) {
                const double ampere = rail.i_offset + rail.i_gain * block->i_code(0, k);
                const double time = static_cast<double>(block->header.first_time) + 3840.0 * static_cast<double>(k);
                if (ampere > half && below > 0) crossing = time - 3840.0 * (ampere - half) / (ampere - below);
                below = ampere;
            }
        }
        // The curve between samples is not straight: 1.5 us. TIMER's anchor may be 1 us off.
        const double error_us = (crossing - feed.clock().to_device_ticks(step)) / 125;
        EXPECT_NEAR(error_us, 0, 3) << "seed " << seed;
    }
}

TEST(FrontEnd, BulkSumsAreThoseOfSingleCodes) {
    // The same rig, once code by code, once at once; differences by drifts and noise only.
    for (const double watt : {0.5, 3.0}) {
        FrontEnd one_by_one(21), at_once(21);
        std::array<float, bins_per_chunk> watts;
        watts.fill(static_cast<float>(watt));
        constexpr std::uint32_t chunks = 1302;
        CodeChunk chunk;
        long double v = 0, i = 0, vi = 0, ii = 0, n = 0;
        double slow = 0, slow_count = 0, readings = 0;
        one_by_one.run(watts, chunk);
        at_once.run(watts, chunk);
        for (std::uint32_t k = 0; k < chunks; ++k) {
            one_by_one.run(watts, chunk);
            for (std::size_t s = 0; s < samples_per_chunk; ++s) {
                n += 1;
                v += chunk.v[s];
                i += chunk.i[s];
                vi += static_cast<long double>(chunk.v[s]) * chunk.i[s];
                ii += static_cast<long double>(chunk.i[s]) * chunk.i[s];
            }
            for (const std::uint16_t reading : chunk.readings) readings += reading;
            if (chunk.slow_after != -2) slow += chunk.slow_code, slow_count += 1;
        }
        CurrentStatistics current;
        current.watt = current.window_maximum = watt;
        current.mean = current.minimum = current.maximum = at_once.current_of(watt);
        const firmware::BulkSamples bulk = at_once.bulk(chunks * 25, current);
        const auto wide = [](const protocol::Int128& x) {
            return static_cast<long double>(x.high) * 0x1p64L + static_cast<long double>(x.low);
        };
        EXPECT_EQ(bulk.count, static_cast<std::uint32_t>(n));
        EXPECT_NEAR(static_cast<double>(bulk.sum_v / v), 1, 3e-6);
        EXPECT_NEAR(static_cast<double>(bulk.sum_i / i), 1, 3e-4);  // offset drift
        const long double bulk_n = bulk.count;
        // Second moments about the means, which is what is left when drifts are taken off.
        const auto variance = static_cast<double>(ii / n - i / n * i / n);
        const long double bulk_i = static_cast<long double>(bulk.sum_i) / bulk_n,
                          bulk_v = static_cast<long double>(bulk.sum_v) / bulk_n;
        EXPECT_NEAR(static_cast<double>(wide(bulk.sum_ii) / bulk_n - bulk_i * bulk_i), variance, 0.05 * variance);
        const auto covariance = static_cast<double>(vi / n - v / n * i / n);
        EXPECT_NEAR(static_cast<double>(wide(bulk.sum_vi) / bulk_n - bulk_v * bulk_i), covariance, 0.05 * variance);
        EXPECT_NEAR(static_cast<double>(bulk.slow_count), slow_count, 2);
        EXPECT_NEAR(static_cast<double>(bulk.slow_sum) / bulk.slow_count, slow / slow_count, 3);
        EXPECT_NEAR(static_cast<double>(bulk.peak_sum) / bulk.peak_readings, readings / (chunks * 192.0), 0.1);
        EXPECT_EQ(bulk.peak_readings, chunks * 192);
    }
}

}  // namespace
}  // namespace wattrig::sim
