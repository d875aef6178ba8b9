#pragma once
// What a drive does under a constant load once it has settled: found by playing the load on a copy of the event model, never
// declared. The base of the `aggregate` fidelity.
// Thread rule: any thread, one at a time per model.

#include <array>
#include <cstdint>

#include "host/base/histogram.hpp"
#include "host/io/workload.hpp"
#include "host/sim/drive_model.hpp"
#include "host/sim/front_end.hpp"

namespace wattrig::sim {

struct SteadyState {
    struct Kind {
        double operations_per_second = 0;
        double bytes_per_operation = 0;
        double mean_latency_ns = 0;
        std::uint64_t minimum_ns = UINT64_MAX, maximum_ns = 0;
        Histogram latency;  // of the operations played
    };
    std::array<Kind, 2> kinds;  // read, write
    std::uint64_t played = 0;   // operations
    double watt = 0;            // without cache drain
    double programmed_bytes_per_second = 0;
    CurrentStatistics current;  // only with a front end
};

// `model` is copied as it stands at `now` (ns); its cache's mode is held, and so is what collection copies. `front_end` may be
// null.
SteadyState play_steady_state(const DriveModel& model, const io::Workload& workload, std::int64_t now,
                              const FrontEnd* front_end, double copies_per_byte = 0);

}  // namespace wattrig::sim
