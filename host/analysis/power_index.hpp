#pragma once
// The power of a whole run in bins of equal length, and where in the recording the samples of each bin are: what draws a day as
// fast as a minute, and still reaches every sample. One pass over power.wrt; memory constant in its length.
//
// Thread rule: build on any thread; const calls from any thread.

#include <cstdint>
#include <memory>
#include <string>
#include <vector>

#include "host/analysis/power_source.hpp"
#include "host/base/clock.hpp"
#include "host/base/result.hpp"
#include "host/power/trace.hpp"

namespace wattrig::analysis {

// [begin of the index + k x length, ...). Where `known` is 0 nothing else means anything: not received is not zero.
struct PowerBin {
    double known = 0;                          // ns of it whose energy is known
    double watts = 0, volts = 0;               // means over the known time; rail 0's voltage at the host's side of the shunt
    double lowest = 0, highest = 0;            // watt: bounds, from the extremes of voltage and current of each block in it
    bool extremes_known = false;               // false where a gap with known sums gave a part of the mean
    std::uint8_t side_low = 0, side_high = 0;  // side-band bits that were 0, that were 1 at least once
};

struct PowerPeak {
    HostTime when;     // begin of the block that holds it
    double watts = 0;  // bound, as PowerBin::highest
};
struct PowerGap {
    HostTime begin, end;
    bool energy_known = false;  // the running sums bridge it
};
struct PowerMarker {
    HostTime when;
    std::string text;
};
struct SideBandChange {
    HostTime when;  // within a block
    std::uint8_t bits = 0;
};

class PowerIndex {
  public:
    static constexpr std::size_t most_peaks = 10, most_gaps = 200, most_markers = 1000, most_changes = 200;
    static constexpr Nanoseconds peak_distance{20'000'000};

    // At most `most_bins` bins, at least half as many for a run that is long enough: the length doubles from 1 ms on. bad_input
    // when the recording cannot be read or holds no power that can be placed in time.
    static Result<PowerIndex> build(const PowerSource& source, std::size_t most_bins);
    PowerIndex(PowerIndex&&) noexcept;
    PowerIndex& operator=(PowerIndex&&) noexcept;
    ~PowerIndex();

    [[nodiscard]] HostTime begin() const;
    [[nodiscard]] HostTime end() const;
    [[nodiscard]] Nanoseconds bin_length() const;
    [[nodiscard]] const std::vector<PowerBin>& bins() const;
    [[nodiscard]] const std::vector<PowerPeak>& peaks() const;  // highest first, apart by peak_distance at least
    [[nodiscard]] const std::vector<PowerGap>& gaps() const;    // the first most_gaps
    [[nodiscard]] std::uint64_t gap_count() const;
    [[nodiscard]] const std::vector<PowerMarker>& markers() const;     // the first most_markers
    [[nodiscard]] const std::vector<SideBandChange>& changes() const;  // the first most_changes, of lines that are no lamp
    [[nodiscard]] std::uint64_t change_count() const;
    [[nodiscard]] std::size_t rails() const;

    // Pieces that touch [from, to), in order, with their single samples where the recording has them: the very values that a
    // pass over the whole recording gives. Reads only what the range needs.
    Result<void> read(HostTime from, HostTime to, const power::TraceSink& sink) const;

  private:
    struct State;
    explicit PowerIndex(std::unique_ptr<State> state);
    std::unique_ptr<State> s_;
};

}  // namespace wattrig::analysis
