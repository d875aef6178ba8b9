#pragma once
// The peak path: the largest power over 100 us (PCM-2), from the MCU's own 12-bit readings each 4 us.
//
// A window is 25 consecutive readings and ends at any of them. Its value is (sum - 25 x zero) x V, shifted right by peak_shift,
// and rounded down once: zero is known to 1/256 of a reading, so what is computed is ((256 sum - 25 zero256) x V) >>
// (peak_shift + 8).
//
// Which V? A reading is 2.2 us late and a window's middle lies 48 us before its end: 50.2 us together. A sample measured what
// was 45.7 us before its DRDY. So the sample that was newest when the window ended fits within a sample's time, and that one is
// taken: for a reading with d more after it in the same call, the sample floor(d x 500 / 3840) before the newest. V is the same
// for the 7 or 8 readings between two samples, so of those only the largest sum is multiplied. A negative V (drive off, noise)
// counts as 0, which keeps the value monotonic in the sum.
//
// Thread rule: interrupt side only.

#include <array>
#include <cstdint>
#include <span>

#include "firmware/core/sample_history.hpp"
#include "firmware/protocol/protocol.hpp"

namespace wattrig::firmware {

class PeakWindow {
  public:
    // `zero_reading`: reading at 0 A, x 256.
    explicit PeakWindow(std::int32_t zero_reading) : zero_reading_(zero_reading) { start(); }

    void start();  // a new stream
    // Contiguous readings, the last of them taken just now; before the first sample they only fill the window.
    void add(std::span<const std::uint16_t> readings, const SampleHistory& history);
    void lose();  // a gap: no window reaches over it

    // Of the block that ends now; starts the next one. `blocks_before`: blocks of this stream before it, lost ones included.
    [[nodiscard]] protocol::PeakSummary finish_block(std::uint32_t blocks_before, bool position);
    // Readings that were evaluated elsewhere (Meter::add_bulk).
    void add_evaluated(std::int32_t maximum, std::uint16_t minimum_reading, std::uint16_t maximum_reading, std::uint32_t sum,
                       std::uint32_t readings);

  private:
    static constexpr std::uint32_t window = protocol::peak_window_readings;

    void clear_block();
    // `count` readings that stand at buffer_[end_], with `after` more behind them in the same call.
    void add_piece(std::uint32_t count, std::uint32_t after, const SampleHistory& history);
    // ... of which `count` at `run`, `offset` from the piece's start, share the voltage of the sample `back` before the newest.
    void add_run(const std::uint16_t* run, std::uint32_t count, std::uint32_t offset, const SampleHistory& history,
                 std::uint32_t back);

    std::int32_t zero_reading_;

    std::array<std::uint16_t, window + 640> buffer_{};  // the window's readings before end_, new ones from there
    std::uint32_t end_ = window;
    std::uint32_t filled_ = 0;  // readings in the window, at most `window`
    std::uint32_t sum_ = 0;     // of the window

    std::int32_t maximum_ = 0;
    std::uint32_t maximum_at_ = 0;
    std::uint32_t minimum_reading_ = 0;
    std::uint32_t maximum_reading_ = 0;
    std::uint32_t readings_ = 0;
    std::uint32_t reading_sum_ = 0;
    std::array<std::int32_t, protocol::peak_groups> groups_{};
};

}  // namespace wattrig::firmware
