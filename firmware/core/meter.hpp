#pragma once
// The meter: everything the rig does that is not a register. Firmware and simulation both feed it, so a simulated run passes
// every ADC code through the very code that runs on the rig. No heap, no exceptions, no virtual calls, nothing of an OS.

#include <cstdint>
#include <span>

#include "firmware/protocol/protocol.hpp"

namespace wattrig::firmware {

// What an ADS131M04 frame holds once firmware/drivers has checked its CRC. Rail 0 is channels 0 (V) and 1 (I), rail 1 channels 2, 3.
struct AdcSample {
    std::int32_t v[protocol::maximum_rails];
    std::int32_t i[protocol::maximum_rails];
    std::uint8_t sideband;
};

// What the board is, set once by firmware/app or by the simulator.
struct MeterConfig {
    protocol::Info info;               // `now` and `streaming` are filled by the meter
    std::int32_t low_voltage_code;     // drive-side 3.135 V, as a code of rail 0's voltage channel
    std::int32_t peak_zero_reading;    // reading of the peak path at 0 A, x 256
    std::uint32_t always_flags;        // protocol::block_simulated in the simulator, 0 on a rig
};

// Sums over samples that were not fed one by one: host/sim's `aggregate` fidelity. Never called on a rig.
struct BulkSamples {
    std::uint32_t count;  // contiguous samples, following the last one
    std::int64_t sum_v, sum_i;
    protocol::Int128 sum_vi, sum_ii;
    protocol::RailExtremes extremes;
    std::int64_t slow_sum, slow_fast_sum;
    std::uint32_t slow_count, slow_fast_count;
    std::int32_t peak_maximum;
    std::uint16_t peak_minimum_reading, peak_maximum_reading;
    std::uint64_t peak_sum;
    std::uint32_t peak_readings;
    std::uint8_t sideband;
};
