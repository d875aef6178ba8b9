#pragma once
// A drive as a set of queues: controller, link, flash units, write buffer, cache. When an operation is submitted, every queue
// it passes is known to its end, so its completion time and its power are known at once and no event is ever planned twice.
// Reads go before programs (which they suspend); both keep their order on a unit. Time is host time in nanoseconds.
// Thread rule: one thread.

#include <cstdint>
#include <vector>

#include "host/io/operation.hpp"
#include "host/sim/drive_parameters.hpp"
#include "host/sim/energy_ledger.hpp"
#include "host/sim/power_trace.hpp"

namespace wattrig::sim {

class DriveModel {
  public:
    // `trace` may be null (nobody looks at the power). `seed` is of small variations of latency and of what the map cache
    // drops.
    DriveModel(const DriveParameters& parameters, std::uint64_t seed, PowerTrace* trace, EnergyLedger* ledger);

    // Completion time of an operation submitted now. Calls go forward in time.
    std::int64_t submit(const io::Operation& operation, std::int64_t now);
    // Books activity, cache drain and idle time up to `now`: nothing before it will change any more.
    void settle(std::int64_t now);

    // When the cache's mode or the power changes by itself if the host stays idle from `now` on; INT64_MAX when never.
    [[nodiscard]] std::int64_t next_idle_event(std::int64_t now) const;
    [[nodiscard]] bool idle(std::int64_t now) const { return now >= busy_until_; }

    [[nodiscard]] double cache_used() const { return cache_used_; }
    [[nodiscard]] bool cache_open() const { return cache_open_; }
    [[nodiscard]] std::uint64_t events() const { return events_; }  // of the cache: filled, opened again
    [[nodiscard]] std::uint64_t host_bytes_written() const { return accepted_ + leapt_; }
    // Host bytes written when the cache was first found full; 0 = never. The truth of a cliff's place.
    [[nodiscard]] std::uint64_t cache_left_at() const { return cache_left_at_; }

    // For leaps.
    // All that is under way happens `by` later; the cache holds `cached` bytes more, the host has written `written` more.
    void leap(std::int64_t by, double cached, std::uint64_t written);
    // `by` of idle time passes, in which `drained` bytes left the cache.
    void pass_idle(std::int64_t by, double drained);
    // Bytes a second that leave the cache at `now` if the drive is idle.
    [[nodiscard]] double idle_drain(std::int64_t now) const;
    // The cache keeps its mode and content from here on, and drains without power: for steady states.
    void hold_cache() { held_ = true; }
    [[nodiscard]] std::uint64_t programs() const { return programs_; }
    void attach(PowerTrace* trace, EnergyLedger* ledger) { trace_ = trace, ledger_ = ledger; }
    [[nodiscard]] const DriveParameters& parameters() const { return p_; }

  private:
    std::int64_t read(const io::Operation& operation, std::int64_t start);
    std::int64_t write(const io::Operation& operation, std::int64_t start, std::int64_t now);
    std::int64_t flush(std::int64_t start, std::int64_t now);
    std::int64_t read_unit(std::uint32_t unit, std::int64_t start, std::int64_t time);
    std::int64_t map_lookup(std::uint64_t offset, std::int64_t start, double& joule);
    void program(std::int64_t earliest, std::int64_t now);
    void drain(std::int64_t from, std::int64_t to, double rate);
    void take_from_cache(double bytes);
    void pulse(std::int64_t begin, std::int64_t end, double joule) {
        if (end <= begin) end = begin + 1;
        if (trace_) trace_->add(begin, end, joule * 1e9 / static_cast<double>(end - begin));
        ledger_->add(begin, end, joule);
    }
    [[nodiscard]] std::uint32_t unit_of(std::uint64_t page) const;

    DriveParameters p_;
    PowerTrace* trace_;
    EnergyLedger* ledger_;
    double link_ns_per_byte_;
    std::uint32_t page_shift_ = 0;
    int units_shift_ = -1;                     // log2 of the units, -1 when they are no power of two
    std::vector<std::int32_t> read_times_;     // 256 of them, spread evenly
    std::vector<std::int32_t> channel_times_;  // by blocks of 512 bytes

    std::int64_t controller_free_ = 0;
    double link_read_free_ = 0, link_write_free_ = 0;  // ns with fractions: a block at 7 GB/s takes 0.6 us
    struct Unit {
        std::int64_t read_free = 0;
        std::int64_t program_free = 0;
        std::int64_t programs_since = 0;  // since then one program has followed the other
    };
    std::vector<Unit> units_;
    std::uint64_t jitter_;

    std::uint64_t accepted_ = 0;              // bytes into the write buffer, since power on
    std::uint64_t leapt_ = 0;                 // ... and in leaps
    std::uint64_t programs_ = 0;              // issued
    std::vector<std::int64_t> program_done_;  // of the last ones, a ring by program number; never goes back
    std::int64_t all_done_ = 0;
    std::uint64_t padding_ = 0;  // bytes that flushes added to fill a program

    double cache_used_ = 0;
    bool cache_open_ = true;
    bool held_ = false;
    std::int64_t drained_to_ = 0;
    std::uint64_t events_ = 0;
    std::uint64_t cache_left_at_ = 0;

    std::vector<std::int32_t> segment_slot_;   // of each segment of the map: its place in the cache, or -1
    std::vector<std::uint32_t> slot_segment_;  // + 1; 0 = free
    std::uint32_t slots_used_ = 0;

    std::int64_t busy_until_ = 0;  // end of all that is under way
    std::int64_t settled_ = 0;
    bool active_ = false;  // as told to the trace
};

}  // namespace wattrig::sim
