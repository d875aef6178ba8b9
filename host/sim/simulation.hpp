#pragma once
// The simulated drive and the simulated rig, wired together: a virtual backend for the engine, a link for the capture, and the
// real firmware core between the analog model and the wire. What comes out is always flagged simulated.

#include <cstdint>
#include <memory>
#include <string>
#include <vector>

#include "host/base/clock.hpp"
#include "host/base/result.hpp"
#include "host/io/backend.hpp"
#include "host/io/engine.hpp"
#include "host/power/calibration.hpp"
#include "host/rig/link.hpp"

namespace wattrig::sim {

struct ModelSummary {
    std::string name;         // "sim:NAME" on the command line
    std::string description;  // one line
    std::uint64_t capacity;   // bytes
    std::uint32_t logical_block;
};
// Models that come with the program.
std::vector<ModelSummary> list_models();

struct SimulationOptions {
    std::string model = "client-1tb";  // a name of list_models, or a path of a model's JSON; with options, see load_model
    std::uint64_t seed = 1;            // of everything drawn: parts of the rig, noise, latencies of the link
    bool aggregate = false;            // fidelity; exact otherwise
    bool rig = true;                   // false: only the drive
};

// A place where the drive changes what it does, as truth: host bytes written since the last format.
struct DriveTransition {
    std::string what;  // "cache full", "folding", "cache open", "collection", "throttled", "released"
    std::uint64_t host_bytes;
};

// Of the drive alone, between phases.
struct DriveCondition {
    double celsius;  // the ambient when the model has no temperature
    bool has_temperature;
    bool throttled;
    std::size_t idle_state;  // 0 = ready, k = the k-th idle state of the model
    double idle_watt;        // in that state
    double cache_bytes_used;
    double write_amplification;        // of what is written now
    std::uint64_t host_bytes_written;  // since the last format
};

// Drive and rig in virtual time.
class VirtualSimulation {
  public:
    static Result<std::unique_ptr<VirtualSimulation>> create(const SimulationOptions& options);
    virtual ~VirtualSimulation() = default;
    virtual io::VirtualBackend& drive() = 0;
    virtual io::VirtualActor& rig_actor() = 0;                                // add to the loop
    virtual rig::Link& link() = 0;                                            // delivers inside the loop
    [[nodiscard]] virtual const power::Calibration& calibration() const = 0;  // as calibrated: near the drawn truth, not equal
    [[nodiscard]] virtual ModelSummary model() const = 0;
    // Truth for tests: energy at the drive since time 0, by the model's own book-keeping, not through any code or sample.
    [[nodiscard]] virtual double true_energy(HostTime t) const = 0;

    // Between phases, `now` being the loop's time.
    // Makes the drive fresh, as a format or secure erase does; takes no time.
    virtual void format(HostTime now) = 0;
    [[nodiscard]] virtual DriveCondition condition(HostTime now) = 0;
    // Since the last format, in order; the first 1000.
    [[nodiscard]] virtual std::vector<DriveTransition> true_transitions() const = 0;
};

// What the live simulation has seen; any thread. Late: issued before a watermark that had promised none; its energy is booked
// where the power stood by then. Dropped: the tap's ring was full; that energy is missing.
struct LiveCounters {
    std::uint64_t operations = 0;
    std::uint64_t late = 0;
    std::uint64_t dropped = 0;
};

// The rig beside real I/O: power is made from the operations that the workers put on their taps, up to the lowest watermark and
// at least 50 ms behind the real clock. Its link is polled by the capture thread in real time.
class LiveSimulation {
  public:
    static Result<std::unique_ptr<LiveSimulation>> create(const SimulationOptions& options);
    virtual ~LiveSimulation() = default;
    virtual rig::Link& link() = 0;
    // Main thread, between phases. While no taps are set the drive is idle.
    virtual void set_taps(std::vector<io::OperationTap*> taps) = 0;
    [[nodiscard]] virtual LiveCounters counters() const = 0;
    [[nodiscard]] virtual const power::Calibration& calibration() const = 0;
    [[nodiscard]] virtual ModelSummary model() const = 0;
};

}  // namespace wattrig::sim
