#pragma once
// Energy and mean power of intervals, from the running sums of a stream of blocks: one pass, memory constant in the length of
// the recording (it grows with the number of intervals only).

#include <cstdint>
#include <memory>
#include <optional>
#include <string>
#include <vector>

#include "host/base/clock.hpp"
#include "host/base/units.hpp"
#include "host/io/outcome.hpp"
#include "host/power/calibration.hpp"
#include "host/power/trace.hpp"
#include "host/rig/block.hpp"
#include "host/rig/clock_map.hpp"

namespace wattrig::power {

// Standard uncertainty of a mean power, by cause, in watts; each line of the budget stands alone.
struct PowerUncertainty {
    double reference = 0;  // common to V and I: linear
    double v_gain = 0, i_gain = 0;
    double v_offset = 0, i_offset = 0;
    double temperature = 0;
    double noise = 0;                       // rms / sqrt(N): the only one that shrinks with time
    double alignment = 0;                   // clock bound x power step at the edges / duration
    double coverage = 0;                    // what the missing samples could have been
    [[nodiscard]] double standard() const;  // root of the sum of squares
    [[nodiscard]] double expanded() const;  // U, k = 2; from Monte Carlo where one rectangular part dominates
};

struct IntervalPower {
    io::Interval interval;
    std::uint64_t samples = 0;
    double coverage = 0;                    // share of the interval's time in sums, 0 .. 1
    std::optional<Joules> energy;           // nothing = not known (gap without sums, power off)
    std::optional<Joules> energy_at_least;  // where `energy` is not known: of the time in sums, less its own U
    std::optional<Watts> mean;
    PowerUncertainty u;
    std::optional<Watts> minimum, maximum;  // of single samples where codes exist, else bounds from extremes
    std::optional<Volts> mean_voltage, minimum_voltage;
    std::optional<Amperes> mean_current;
    std::optional<Watts> pcm1;  // highest 1 s mean
    std::optional<Watts> pcm2;  // highest 100 us mean, peak path
    double pcm1_coverage = 0, pcm2_coverage = 0;
    std::vector<double> batch_means;  // watts, equal times, for the spread: at most 256, merged pairwise as the interval grows
    Nanoseconds batch_length{0};
    std::vector<std::string> flags;  // "gap at the edge", "clipped", "low voltage", ...
    bool simulated = false;
};

// Feed blocks in order; then finish. Intervals may overlap and must be known beforehand. Edges are host times and are converted
// once; blocks stay on the device clock. A mean is over the time that the sums know; energy = mean x the interval's host time.
// No figure is given when the rig restarted inside an interval, or when the recording misses more than 1 % of it at its ends;
// smaller holes lower the coverage and widen `u`. Thread rule: one thread.
class EnergyPass {
  public:
    EnergyPass(const Calibration& calibration, const rig::ClockMap& clock, std::vector<io::Interval> intervals);
    // One map for each boot of the rig; blocks of a boot without one cannot be placed and are in no figure. A map of boot 0
    // takes any boot that no other map names.
    EnergyPass(const Calibration& calibration, std::vector<rig::ClockMap> clocks, std::vector<io::Interval> intervals);
    ~EnergyPass();
    EnergyPass(EnergyPass&&) noexcept;
    // Every stretch of the stream that can be placed on the host's clock is also handed to `sink`, from now on; without
    // `samples` its single samples are left out, and what it costs to work them out.
    void follow(TraceSink sink, bool samples);
    // For a pass over a part of a recording: the idle path's correction that a whole pass had there (TracePiece::idle_offset),
    // which a part is too short to learn. Before the first block.
    void hold_idle_offset(double amperes);
    void add(const rig::BlockView& block);
    std::vector<IntervalPower> finish();  // in the order of the intervals given; once

  private:
    struct State;
    std::unique_ptr<State> state_;
};

// Live figure for a terminal: mean power of the latest block.
std::optional<Watts> block_power(const rig::BlockView& previous, const rig::BlockView& block, const Calibration& calibration);

}  // namespace wattrig::power
