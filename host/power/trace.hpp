#pragma once
// The stream as calibrated power over time, for those who draw or export it: the very segments, with the very calibration and
// idle correction, that the energies come from.

#include <array>
#include <cstdint>
#include <functional>
#include <optional>
#include <span>

#include "firmware/protocol/protocol.hpp"
#include "host/base/clock.hpp"

namespace wattrig::power {

// One ADC sample: host-side voltage of each rail, current, and the power at the drive's side of the shunt over all rails.
// `side_band` was read 45.72 us after the middle of the sample.
struct TraceSample {
    std::array<double, protocol::maximum_rails> volts{}, amperes{};
    double watts = 0;
    std::uint8_t side_band = 0;
};

// A stretch without a hole in it, or a hole. Pieces come in order, each begins no earlier than the last one ended.
struct TracePiece {
    HostTime begin, end;
    std::int64_t span = 0, count = 0;  // samples that should be there, samples that are in the sums
    std::size_t rails = 1;
    // Means over `count`; nothing when count is 0. A hole whose blocks were lost but whose sums are known has a mean, and no
    // extremes.
    std::optional<TraceSample> mean;
    std::optional<double> lowest_watts, highest_watts;  // of single samples where they are handed out, else bounds
    double idle_offset = 0;  // ampere: the idle path's correction, part of rail 0's current; see EnergyPass::hold_idle_offset
    std::span<const TraceSample> samples;  // `count` of them, evenly over [begin, end); empty without codes
};
// The views are valid during the call.
using TraceSink = std::function<void(const TracePiece&)>;

}  // namespace wattrig::power
