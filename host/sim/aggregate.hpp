#pragma once
// The `aggregate` fidelity: exact for the first 20,000 operations of a phase and after every event of the model, leaps of at
// most a second in between; idle time passes in summary blocks of about a second. Decides, keeps the books, and feeds the
// meter. Thread rule: the event loop's thread.

#include <functional>
#include <map>
#include <memory>
#include <string>

#include "host/sim/drive_backend.hpp"
#include "host/sim/meter_feed.hpp"
#include "host/sim/steady_state.hpp"

namespace wattrig::sim {

class Aggregate final : public Leaper {
  public:
    // `feed` may be null (no rig). `produce` brings drive and codes up to a time, exactly.
    Aggregate(DriveModel& drive, EnergyLedger& ledger, MeterFeed* feed, DriveBackend& backend,
              std::function<void(HostTime)> produce);

    void begin_phase(const io::Workload& workload, HostTime now) override;
    void on_submitted(std::size_t operations) override { exact_left_ -= static_cast<std::int64_t>(operations); }
    std::optional<io::Batch> leap(HostTime now, HostTime until) override;

    // Whether nothing but cache drain goes on, so that codes need not be made before somebody asks.
    [[nodiscard]] bool idle() const;
    // Passes idle time up to `until` in stretches of at most a second; what is left is for exact codes.
    void pass_idle(HostTime until);
    // Whether what is left up to `t` after pass_idle is the same idle state, and short.
    [[nodiscard]] bool may_wait(HostTime t) const;
    // No idle stretch begins before `t`: a stream that has just begun needs real samples to set its time base by.
    void hold_until(HostTime t) { exact_until_ = t.time_since_epoch().count(); }
    [[nodiscard]] std::uint64_t leaps() const { return leaps_; }

  private:
    static constexpr std::int64_t exact_operations = 20'000;
    struct Carried {  // so that many leaps give together what one long one would
        double operations = 0;
        double fraction = 0;
        std::uint64_t issued = 0;
    };
    const SteadyState& steady_state(HostTime now);
    [[nodiscard]] double seconds_to_event(const SteadyState& steady) const;
    io::Batch make_batch(const SteadyState& steady, double seconds);
    [[nodiscard]] double busy_drain() const;
    const SteadyState& played(HostTime now, const std::string& state, double copies_per_byte);
    void write_to_space(double host_bytes, double programmed_bytes);

    DriveModel& drive_;
    EnergyLedger& ledger_;
    MeterFeed* feed_;
    DriveBackend& backend_;
    std::function<void(HostTime)> produce_;
    io::Workload workload_;
    std::string load_key_;
    bool eligible_ = false;
    std::int64_t exact_left_ = exact_operations;
    std::uint64_t events_seen_ = 0;
    std::uint64_t leaps_ = 0;
    std::int64_t exact_until_ = 0;
    std::array<Carried, 2> carried_;
    const SteadyState* current_ = nullptr;
    double current_copies_ = 0;
    SteadyState blended_;
    std::map<std::string, std::unique_ptr<SteadyState>> cache_;
};

}  // namespace wattrig::sim
