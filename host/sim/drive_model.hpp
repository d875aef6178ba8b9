#pragma once
// A drive as a set of queues: controller, link, flash units, write buffer, cache. When an operation is submitted, every queue
// it passes is known to its end, so its completion time and its power are known at once and no event is ever planned twice.
// Reads go before programs (which they suspend); both keep their order on a unit. Time is host time in nanoseconds.
// Thread rule: one thread.

#include <cstdint>
#include <optional>
#include <vector>

#include "host/io/operation.hpp"
#include "host/sim/drive_parameters.hpp"
#include "host/sim/energy_ledger.hpp"
#include "host/sim/flash_space.hpp"
#include "host/sim/power_trace.hpp"

namespace wattrig::sim {

// A change of what the drive does with writes or with its clock rate, and the host bytes written by then since the last format:
// the truth of a cliff's place.
struct Transition {
    enum class Kind { cache_full, folding, cache_open, collection, throttled, released };
    Kind kind;
    std::uint64_t host_bytes;
};
const char* name(Transition::Kind kind);

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
    [[nodiscard]] std::uint64_t events() const { return events_; }  // so many transitions, of all kinds
    [[nodiscard]] std::uint64_t host_bytes_written() const { return accepted_ - rounding_ + leapt_; }  // since the last format
    [[nodiscard]] const std::vector<Transition>& transitions() const { return transitions_; }          // the first 1000
    // Host bytes written when the cache was first found full; 0 = never.
    [[nodiscard]] std::uint64_t cache_left_at() const { return cache_left_at_; }

    // As fresh: nothing mapped, cache empty and open. Between phases.
    void format(std::int64_t now);
    [[nodiscard]] double celsius() const {
        return celsius_;
    }  // when last settled; the ambient when the model has no temperature
    [[nodiscard]] bool throttled() const { return throttled_; }
    // 0 = ready, k = idle_states[k - 1], if the host has been idle until `now`.
    [[nodiscard]] std::size_t idle_state(std::int64_t now) const;
    // Without drain, if the host has been idle until `now`.
    [[nodiscard]] double idle_watt(std::int64_t now) const;
    [[nodiscard]] bool folding() const { return folding_; }
    // Bytes moved by garbage collection for each byte written.
    [[nodiscard]] double copies_per_byte() const { return copies_per_byte_; }
    [[nodiscard]] FlashSpace* space() { return space_ ? &*space_ : nullptr; }
    // Bytes that the cache can hold: less than declared when the flash that it borrows holds data.
    [[nodiscard]] double cache_limit() const;
    [[nodiscard]] double folded_per_byte() const { return folding_ ? 1.0 / (p_.cache.borrowed_bits_per_cell - 1) : 0.0; }
    // Bytes to be mapped until the cache has to be folded; infinity when never.
    [[nodiscard]] double bytes_to_folding() const;

    // For leaps.
    // All that is under way happens `by` later at `watt`; the cache holds `cached` bytes more, the host has written `written`
    // more.
    void leap(std::int64_t by, double watt, double cached, std::uint64_t written);
    // After changes of space(): sees whether collection or folding has begun.
    void look_at_space();
    // `by` of idle time passes at `watt`, in which `drained` bytes left the cache.
    void pass_idle(std::int64_t by, double watt, double drained);
    // Until the temperature's next event if the power stays at `watt`; infinity when there is none.
    [[nodiscard]] double seconds_to_thermal_event(double watt) const;
    // Bytes a second that leave the cache at `now` if the drive is idle.
    [[nodiscard]] double idle_drain(std::int64_t now) const;
    // Cache, folding and temperature stay as they are from here on, and collection copies so much: for steady states.
    void hold(double copies_per_byte);
    [[nodiscard]] std::uint64_t programs() const { return programs_; }
    void attach(PowerTrace* trace, EnergyLedger* ledger) { trace_ = trace, ledger_ = ledger; }
    [[nodiscard]] const DriveParameters& parameters() const { return p_; }

  private:
    struct Unit {
        std::int64_t read_free = 0;
        std::int64_t program_free = 0;
        std::int64_t programs_since = 0;  // since then one program has followed the other
    };
    std::int64_t read(const io::Operation& operation, std::int64_t start);
    std::int64_t write(const io::Operation& operation, std::int64_t start, std::int64_t now);
    std::int64_t flush(std::int64_t start, std::int64_t now);
    std::int64_t read_unit(std::uint32_t unit, std::int64_t start, std::int64_t time);
    std::int64_t map_lookup(std::uint64_t offset, std::int64_t start, double& joule);
    void program(std::int64_t earliest, std::int64_t now);
    void drain(std::int64_t from, std::int64_t to, double rate);
    void take_from_cache(double bytes);
    void move_within(double bytes, std::int64_t earliest);
    void note(Transition::Kind kind);
    void set_times();
    // In turn where all programs take the same time, the one that is free first where they do not.
    Unit& unit_for_program() {
        if (p_.flash.program_spread <= 0) return units_[(programs_ + moves_) % units_.size()];
        Unit* first = &units_[0];
        for (Unit& unit : units_)
            if (unit.program_free < first->program_free) first = &unit;
        return *first;
    }
    // Of one program, as blocks and layers differ. Units that all took the same time would run in step for ever.
    std::int64_t spread(std::int64_t time) {
        if (p_.flash.program_spread <= 0) return time;
        jitter_ = jitter_ * 6364136223846793005u + 1442695040888963407u;
        const double place = static_cast<double>(static_cast<std::int64_t>(jitter_) >> 11) * 0x1p-52;  // -1 .. 1
        return time + static_cast<std::int64_t>(p_.flash.program_spread * place * static_cast<double>(time));
    }
    void heat(std::int64_t now);
    void heat_by(double seconds, double watt);
    [[nodiscard]] std::int64_t next_empty(std::int64_t from) const;
    void book_idle_states(std::int64_t from, std::int64_t to);
    [[nodiscard]] std::int64_t awake_at(std::int64_t now) const;
    void pulse(std::int64_t begin, std::int64_t end, double joule) {
        end = end_within_reason(begin, end, joule);
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
    std::vector<Unit> units_;
    std::uint64_t jitter_;

    std::uint64_t accepted_ = 0;              // bytes into the write buffer, since power on
    std::uint64_t leapt_ = 0;                 // ... and in leaps
    std::uint64_t programs_ = 0;              // issued
    std::vector<std::int64_t> program_done_;  // of the last ones, a ring by program number; never goes back
    std::int64_t all_done_ = 0;
    std::uint64_t padding_ = 0;                  // bytes that flushes added to fill a program
    std::uint64_t map_mask_ = 0, rounding_ = 0;  // bytes that made small writes whole units of the map

    std::int64_t cache_program_ns_ = 0, program_ns_ = 0, move_ns_ = 0;  // as the temperature allows
    std::optional<FlashSpace> space_;
    std::uint64_t moves_ = 0;  // programs for moving data within the drive, issued
    double copies_per_byte_ = 0, move_debt_ = 0;
    bool folding_ = false;
    std::vector<Transition> transitions_;

    double celsius_ = 0, thermal_joule_ = 0;
    std::int64_t thermal_at_ = 0;
    bool throttled_ = false;
    std::int64_t quiet_since_ = 0;  // no work, no drain

    double cache_used_ = 0;
    bool cache_open_ = true;
    bool held_ = false;
    std::int64_t drained_to_ = 0;
    std::uint64_t events_ = 0;
    std::uint64_t cache_left_at_ = 0;

    class MapCache {
      public:
        void resize(std::uint32_t all, std::uint32_t slots);
        bool touch(std::uint32_t segment, std::uint64_t& random);

      private:
        std::vector<std::int32_t> slot_of_;      // of each segment of the map, or -1
        std::vector<std::uint32_t> segment_of_;  // of each slot
        std::uint32_t used_ = 0;
    };
    bool has_map_cache_ = false;
    MapCache own_map_, host_map_;

    std::int64_t busy_until_ = 0;  // end of all that is under way
    std::int64_t settled_ = 0;
    bool active_ = false;  // as told to the trace
};

}  // namespace wattrig::sim
