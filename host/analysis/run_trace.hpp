#pragma once
// Power against time for the pages that draw it: the whole run in bins of one length, and the single samples around what is
// worth a closer look. The bins are of the very pieces that the phases' energies come from.

#include <cstdint>
#include <string>
#include <vector>

#include "host/analysis/power_source.hpp"
#include "host/base/clock.hpp"
#include "host/base/result.hpp"
#include "host/power/trace.hpp"

namespace wattrig::analysis {

// Watts and volts are those of the drive's rail 0 and of power over all rails, as in power::TraceSample.
struct TraceBin {
    float mean = 0, lowest = 0, highest = 0;  // W; NaN = nothing known. Extremes of single samples, or bounds from summaries
    float volts = 0;                          // mean, V; NaN = nothing known
    std::uint8_t side_band = 0;               // bits that were high at least once
};
struct TraceWindow {
    HostTime begin;
    Nanoseconds length{0};
    std::vector<float> watts;  // single samples, evenly over the window; NaN = lost
    std::string why;           // "begin of ...", "peak", "side-band"
};
struct RunTrace {
    HostTime begin;
    Nanoseconds bin{0};  // length of each bin; 0: nothing was recorded
    std::vector<TraceBin> bins;
    std::vector<TraceWindow> windows;  // in order, apart from each other
    std::size_t windows_left_out = 0;  // beyond most_trace_windows
};

inline constexpr std::size_t most_trace_bins = 24'000;
inline constexpr std::size_t most_trace_windows = 300;
inline constexpr Nanoseconds trace_window{20'000'000};

// Makes the bins while the pieces go by. Memory: fixed; when a run outgrows its bins, they become twice as long.
// Thread rule: one thread.
class TraceCollector {
  public:
    void add(const power::TracePiece& piece);
    // Times that deserve single samples: the ten highest peaks, at least a window apart, and changes of the side-band lines.
    struct Event {
        HostTime when;
        std::string why;
    };
    [[nodiscard]] std::vector<Event> events() const;
    RunTrace finish();  // without windows; once

  private:
    struct Bin {
        double watts = 0, volts = 0, known = 0;  // watt ns, volt ns, ns
        double lowest = 0, highest = 0;
        std::uint8_t side_band = 0;
    };
    struct Peak {
        HostTime when;
        double watts;
    };
    void spread(HostTime from, HostTime to, const power::TracePiece& piece);
    void halve();
    void note_peak(const power::TracePiece& piece);

    HostTime begin_{};
    Nanoseconds bin_{2'500'000};  // a block has 2.304 ms
    std::vector<Bin> bins_;
    std::vector<Peak> peaks_;
    std::vector<Event> changes_;
    std::size_t side_band_ = 256;  // of the last piece; 256: none yet
};

// The single samples around `events`, read from their places in the recording. An error when the recording cannot be read.
Result<std::vector<TraceWindow>> read_trace_windows(const PowerSource& source, std::vector<TraceCollector::Event> events);

}  // namespace wattrig::analysis
