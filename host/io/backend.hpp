#pragma once
// Where operations go. A real backend waits; a virtual one is asked when its next event is. Both take spans: at depth there is
// no virtual call per operation.

#include <array>
#include <cstdint>
#include <memory>
#include <optional>
#include <span>
#include <string>

#include "host/base/clock.hpp"
#include "host/base/histogram.hpp"
#include "host/base/result.hpp"
#include "host/io/operation.hpp"
#include "host/io/outcome.hpp"
#include "host/io/workload.hpp"

namespace wattrig::io {

struct Capabilities {
    bool discard = false;
    bool write_zeroes = false;
    bool registered_buffers = false;
    std::string description;  // what the result's "engine" says
};

// One worker's way to a target. Thread rule: created, used and destroyed on the worker's own thread.
class Backend {
  public:
    virtual ~Backend() = default;
    [[nodiscard]] virtual Capabilities capabilities() const = 0;
    // Submits all of `operations`, then waits until `want` completions are there or `deadline` has come, and reaps up to
    // out.size(). One system call where the kernel allows. Returns how many were reaped, possibly fewer than `want`: after
    // about 100 ms it returns whatever the deadline, so that the driver can look around. The driver stamps the completions. An
    // error is the ring's, not an operation's.
    virtual Result<std::size_t> exchange(std::span<const Operation> operations, std::size_t want, HostTime deadline,
                                         std::span<Completion> out) = 0;
    // Asks for everything in flight to be cancelled; the completions still come through exchange.
    virtual void cancel() = 0;
};

// What a virtual backend did in one leap of the `aggregate` fidelity: goes through the same accounting as single completions.
struct Batch {
    HostTime until;
    struct Kind {
        std::uint64_t operations = 0, bytes = 0, errors = 0;
        std::uint64_t latency_sum = 0, latency_minimum = UINT64_MAX, latency_maximum = 0;
        Histogram latency;
    };
    std::array<Kind, 2> kinds;  // read, write
    double mean_depth = 0;
};

// A drive in virtual time, shared by all workers of a phase. Thread rule: the event loop's thread.
class VirtualBackend {
  public:
    virtual ~VirtualBackend() = default;
    [[nodiscard]] virtual Capabilities capabilities() const = 0;
    // Told at the begin and end of each phase, so that the model may prepare what it caches.
    virtual void begin_phase(const Workload& workload, HostTime now) = 0;
    virtual void end_phase(HostTime now) = 0;
    // `worker` tells workers apart; a completion carries it back in its slot's upper 16 bits: slot | worker << 16.
    virtual void submit(std::uint32_t worker, std::span<const Operation> operations, HostTime now) = 0;
    // Earliest completion or event of the model; HostTime::max() when nothing will happen by itself.
    [[nodiscard]] virtual HostTime next_event() const = 0;
    // Advances the model to `now` and returns completions due by then, in order; call again while it fills `out`.
    virtual std::size_t reap(HostTime now, std::span<Completion> out) = 0;
    // `aggregate` only: leaps from `now` to at most `until` under the load of begin_phase at its full depth, never past the
    // model's next event. Nothing when this model wants exact treatment now (first 20,000 operations, right after an event).
    // The operations in flight stay in flight.
    virtual std::optional<Batch> leap(HostTime now, HostTime until) = 0;
};

}  // namespace wattrig::io
