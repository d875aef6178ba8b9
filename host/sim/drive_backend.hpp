#pragma once
// The drive model as the engine's virtual backend: operations in, completions out in order of time.
// Thread rule: the event loop's thread.

#include <cstdint>
#include <functional>
#include <optional>
#include <vector>

#include "host/io/backend.hpp"
#include "host/sim/drive_model.hpp"

namespace wattrig::sim {

class Leaper {  // what decides on leaps; see aggregate.hpp
  public:
    virtual ~Leaper() = default;
    virtual void begin_phase(const io::Workload& workload, HostTime now) = 0;
    virtual void on_submitted(std::size_t operations) = 0;
    virtual std::optional<io::Batch> leap(HostTime now, HostTime until) = 0;
};

class DriveBackend final : public io::VirtualBackend {
  public:
    // `catch_up` is called before operations are submitted when the codes are far behind; may be empty.
    DriveBackend(DriveModel& model, std::function<void(HostTime)> catch_up) : model_(model), catch_up_(std::move(catch_up)) {}

    void set_leaper(Leaper* leaper) { leaper_ = leaper; }
    // Host time from which on codes are too far behind for more operations.
    void set_catch_up_at(HostTime t) { catch_up_at_ = t; }
    // All completions come so much later.
    void shift(Nanoseconds by);
    [[nodiscard]] std::size_t in_flight() const { return pending_.size() - head_; }

    [[nodiscard]] io::Capabilities capabilities() const override;
    void begin_phase(const io::Workload& workload, HostTime now) override;
    void end_phase(HostTime now) override;
    void submit(std::uint32_t worker, std::span<const io::Operation> operations, HostTime now) override;
    [[nodiscard]] HostTime next_event() const override;
    std::size_t reap(HostTime now, std::span<io::Completion> out) override;
    std::optional<io::Batch> leap(HostTime now, HostTime until) override;

  private:
    struct Pending {
        std::int64_t completed;
        std::uint32_t slot;
        std::int32_t result;
    };
    void insert(const Pending& pending);

    DriveModel& model_;
    std::function<void(HostTime)> catch_up_;
    Leaper* leaper_ = nullptr;
    HostTime catch_up_at_ = HostTime::max();
    // Up to `sorted_limit` in order of time from head_ on (a new operation mostly completes after those in flight, so its place
    // is near the end); a heap from 0 on beyond that.
    static constexpr std::size_t sorted_limit = 96;
    bool is_heap_ = false;
    std::size_t head_ = 0;
    std::vector<Pending> pending_;
};

}  // namespace wattrig::sim
