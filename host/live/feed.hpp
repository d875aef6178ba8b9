#pragma once
// What viewers see of a stream: columns of about 10 ms, the last ten minutes of them.
//
// Thread rule: ColumnMaker on the capture's thread, History on the viewers' thread.

#include <cstdint>
#include <functional>
#include <memory>
#include <vector>

#include "host/base/clock.hpp"
#include "host/power/calibration.hpp"
#include "host/power/energy.hpp"
#include "host/rig/block.hpp"

namespace wattrig::live {

struct Column {
    HostTime begin, end;
    float mean = 0, lowest = 0, highest = 0;  // W; bounds from the extremes of each block
    float volts = 0;                          // mean of rail 0
};

// Blocks to columns. Times are those of arrival, good to some ms: a live view has no use for the clock map of the analysis.
class ColumnMaker {
  public:
    static constexpr Nanoseconds length{10'000'000};

    ColumnMaker(const power::Calibration& calibration, std::function<void(const Column&)> sink);
    void add(const rig::BlockView& block, HostTime arrival);

  private:
    void start(const rig::BlockView& block, HostTime arrival);
    void take(const power::TracePiece& piece);

    power::Calibration calibration_;
    std::function<void(const Column&)> sink_;
    std::unique_ptr<power::EnergyPass> pass_;
    std::uint32_t boot_id_ = 0;
    HostTime last_arrival_{};
    bool open_ = false;
    Column column_;
    double watts_ = 0, volts_ = 0, known_ = 0;  // sums over ns
};

// A ring; positions count all columns that ever came, so that a reader knows what it missed.
class History {
  public:
    static constexpr std::size_t capacity = 60'000;

    History() : columns_(capacity) {}
    void add(const Column& column) { columns_[end_++ % capacity] = column; }
    [[nodiscard]] std::uint64_t begin() const { return end_ > capacity ? end_ - capacity : 0; }
    [[nodiscard]] std::uint64_t end() const { return end_; }
    [[nodiscard]] const Column& at(std::uint64_t position) const { return columns_[position % capacity]; }

  private:
    std::vector<Column> columns_;
    std::uint64_t end_ = 0;
};

}  // namespace wattrig::live
