#pragma once
// Watches how fast the device's clock changes its rate, against the starts of USB frames: every 1 ms the host controller's own
// crystal marks a moment that no latency touches. It knows no offset and no absolute rate, but it sees a drift long before the
// hulls of host/rig/clock_sync could contradict each other: an interval that has lost the truth looks like any other.
//
// Thread rule: one thread.

#include <cstdint>
#include <deque>
#include <optional>

#include "host/base/clock.hpp"

namespace wattrig::rig {

struct RateAlarm {
    enum class Kind { drift, step } kind;
    double size;  // ppm/s for a drift, ppm for a step
};

class RateGuard {
  public:
    // `number` counts starts of frame and wraps at 2^32. Frames in order; repeats are ignored.
    std::optional<RateAlarm> add(DeviceTime time, std::uint32_t number);
    void clear() { stamps_.clear(); }

  private:
    struct Stamp {
        double frame_s;    // by the count, since the first in the list
        double excess_us;  // device time beyond it
    };
    struct Raw {
        std::int64_t ticks;
        std::int64_t number;
    };
    std::deque<Raw> stamps_;
    double last_checked_s_ = 0;
    std::int64_t unwrapped_ = 0;
    std::uint32_t last_number_ = 0;
};

}  // namespace wattrig::rig
