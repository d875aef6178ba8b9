#pragma once
// Counters over time. Windows tile [measured_begin, measured_end) without a hole, so their sums are the totals of the phase.
//
// Thread rule: io thread, or the event loop.

#include <atomic>
#include <cstdint>
#include <span>
#include <vector>

#include "host/io/backend.hpp"
#include "host/io/outcome.hpp"

namespace wattrig::io {

// Until when (ns since the begin of measuring) coarse windows stay split because of an error; shared by the workers of a phase,
// so that their windows can be added.
using FineUntil = std::atomic<std::int64_t>;

class WindowCounter {
  public:
    static constexpr std::int64_t fine = 1'000'000;  // ns
    static constexpr std::int64_t coarse = 100 * fine;
    static constexpr std::int64_t coarsest = 1000 * fine;
    static constexpr std::int64_t fine_end = 10'000 * fine;     // after 10 s: 100 ms
    static constexpr std::int64_t coarse_end = 600'000 * fine;  // after 10 min: 1 s
    static constexpr std::int64_t after_error = 1000 * fine;    // split for so long after an error
    static constexpr std::size_t most_split = 500;              // coarse windows split by errors; the list stays bounded

    explicit WindowCounter(FineUntil& fine_until) : fine_until_(fine_until) {}
    // `ramp`: measured_begin - begin; `expected`: of the measured part, 0 = unknown; only to reserve memory. `leaping`: time
    // passes in leaps that end with each window, so those of 1 ms end after the first second: ten thousand leaps a phase would
    // be most of its cost.
    void start(Nanoseconds ramp, Nanoseconds expected, bool leaping = false);

    // `at`: ns since measured_begin, never before the last one's window.
    void add(OperationKind kind, std::int64_t at, std::uint32_t bytes, std::uint64_t latency) {
        if (at >= cell_end_) [[unlikely]]
            move_to(at);
        switch (kind) {
            case OperationKind::read:
                ++cell_.reads;
                cell_.read_bytes += bytes;
                break;
            case OperationKind::flush: break;
            default: ++cell_.writes; cell_.write_bytes += bytes;
        }
        cell_.latency_sum += latency;
        if (latency > cell_.latency_maximum) cell_.latency_maximum = latency;
    }
    void add_error(std::int64_t at);
    void add(const Batch& batch, std::int64_t at);
    // End of the window that `at` lies in: a leap must not go past it.
    [[nodiscard]] std::int64_t window_end(std::int64_t at) const;
    // Closes the last window, which may be shorter, at `end` and hands out the list.
    std::vector<Window> finish(std::int64_t end);

  private:
    [[nodiscard]] std::int64_t step_at(std::int64_t at) const;
    void move_to(std::int64_t at);
    void store_cell();
    void close_window();

    FineUntil& fine_until_;
    std::int64_t ramp_ = 0;
    std::int64_t fine_end_ = fine_end;
    std::int64_t begin_ = 0, end_ = fine;  // the window being filled
    std::int64_t cell_end_ = fine;         // of the 1 ms cell in it
    bool error_ = false;
    std::size_t split_ = 0;
    Window cell_{};                // begin: ns since measured_begin
    std::vector<Window> cells_;    // of the window being filled, only those with something in them
    std::vector<Window> windows_;  // done
};

// Adds the windows of workers that share a begin. Where one worker's window is split and another's is not, the split is lost.
std::vector<Window> merge_windows(std::vector<std::vector<Window>> parts);

}  // namespace wattrig::io
