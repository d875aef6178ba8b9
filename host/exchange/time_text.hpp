#pragma once
// Times as decimal text from integers: a double would lose the nanoseconds of a long run. Any thread.

#include <fmt/format.h>

#include <cstdint>
#include <string>

#include "host/base/clock.hpp"

namespace wattrig::exchange {

// In units of 10^decimals ns, with so many decimals: 9 for seconds, 3 for microseconds.
inline std::string decimal_time(Nanoseconds time, int decimals) {
    std::uint64_t unit = 1;
    for (int k = 0; k < decimals; ++k) unit *= 10;
    const std::int64_t ns = time.count();
    const std::uint64_t size = ns < 0 ? 0 - static_cast<std::uint64_t>(ns) : static_cast<std::uint64_t>(ns);
    return fmt::format("{}{}.{:0{}}", ns < 0 ? "-" : "", size / unit, size % unit, decimals);
}

}  // namespace wattrig::exchange
