#pragma once
// Where a drive's speed changes for good while it is written: the end of its cache, folding, garbage collection. Change points
// of the logarithm of speed, found by binary segmentation on samples without dips, then moved to their best place between their
// neighbours. A speed that only dips (1 s each half a minute) or is noisy has one region.
//
// Thread rule: free functions, any thread.

#include <cstdint>
#include <optional>
#include <span>
#include <string>
#include <vector>

namespace wattrig::analysis {

struct SpeedSample {
    double seconds = 0;  // length, above 0
    double bytes = 0;    // transferred in it
};

struct SpeedLevel {  // bytes a second
    double value = 0;
    std::optional<double> low, high;  // 95 % interval; none below 10 samples
};

// Samples [first, last) of the input.
struct SpeedRegion {
    std::size_t first = 0, last = 0;
    double begin_bytes = 0, end_bytes = 0;  // host bytes since the begin of the phase
    double begin_seconds = 0, end_seconds = 0;
    SpeedLevel level;  // typical speed: geometric mean outside dips
    double mean = 0;   // bytes / time, dips included
    [[nodiscard]] double bytes() const { return end_bytes - begin_bytes; }
};

struct SpeedChange {                       // between two regions
    double bytes = 0;                      // host bytes at which it happened
    double low_bytes = 0, high_bytes = 0;  // 95 % interval, at least one sample wide to either side
    double ratio = 0;                      // level after / level before
};

struct CliffFigures {
    std::vector<SpeedRegion> regions;  // at least one, unless there are fewer than 10 samples
    std::vector<SpeedChange> changes;  // regions - 1
    std::size_t dips = 0;              // samples left out as dips or spikes
    double noise = 0;                  // standard deviation of the logarithm of a sample's speed
};

struct CliffOptions {
    double smallest_change = 0.15;       // of the logarithm: below this it is no cliff
    double shortest_region_seconds = 3;  // shorter is a dip
};

CliffFigures find_cliffs(std::span<const SpeedSample> samples, const CliffOptions& options = {});

// "cache exhausted at 20.3 GB" or "no cache, or not exhausted within 50.0 GB": a speed that never changes is that of the flash
// or that of a cache larger than what was written, and no figure of one run tells which.
std::string cliff_verdict(const CliffFigures& figures);

}  // namespace wattrig::analysis
