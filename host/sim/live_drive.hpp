#pragma once
// Power of a drive that somebody else is: made from the records of operations that really happened. Each record is its energy
// spread over [issued, completed), by kind and size as in the model; the active floor and the cache's drain follow from when
// there was work.
// Thread rule: one thread.

#include <cstdint>
#include <vector>

#include "host/io/operation.hpp"
#include "host/sim/drive_parameters.hpp"
#include "host/sim/energy_ledger.hpp"
#include "host/sim/power_trace.hpp"

namespace wattrig::sim {

class LiveDrive {
  public:
    LiveDrive(const DriveParameters& parameters, PowerTrace& trace, EnergyLedger& ledger)
        : p_(parameters), trace_(trace), ledger_(ledger) {}

    // Times in nanoseconds of the simulation's own axis. In any order, but none issued before the time settled to: such a late
    // one is counted, and its energy is booked from there on, so that it is displaced but not lost.
    void add(io::OperationKind kind, std::uint64_t bytes, std::int64_t issued, std::int64_t completed);
    // No record issued before `until` will come any more.
    void settle(std::int64_t until);

    [[nodiscard]] std::int64_t settled() const { return settled_; }
    [[nodiscard]] std::uint64_t late() const { return late_; }
    [[nodiscard]] std::uint64_t operations() const { return operations_; }

  private:
    struct Record {
        std::int64_t issued, completed;
        double joule;
    };
    [[nodiscard]] double energy_of(io::OperationKind kind, std::uint64_t bytes);
    void advance(std::int64_t until);
    void pulse(std::int64_t begin, std::int64_t end, double joule);

    const DriveParameters p_;
    PowerTrace& trace_;
    EnergyLedger& ledger_;
    std::vector<Record> waiting_;  // a heap by issue time
    double cache_used_ = 0;
    bool cache_open_ = true;
    bool active_ = false;
    std::int64_t busy_until_ = 0, settled_ = 0;
    std::uint64_t late_ = 0, operations_ = 0;
};

}  // namespace wattrig::sim
