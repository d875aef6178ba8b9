#include "host/base/clock.hpp"

#include <ctime>

namespace wattrig {

HostTime real_host_time() {
    timespec t;
    clock_gettime(CLOCK_MONOTONIC_RAW, &t);
    return HostTime(Nanoseconds(std::int64_t{t.tv_sec} * 1'000'000'000 + t.tv_nsec));
}

}  // namespace wattrig
