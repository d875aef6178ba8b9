#pragma once
// One phase of I/O, as the engine understands it. Names follow fio where fio has a word. Suites are turned into these.

#include <cstdint>
#include <optional>
#include <string>
#include <vector>

#include "host/base/clock.hpp"
#include "host/base/result.hpp"

namespace wattrig::io {

enum class Pattern : std::uint8_t { sequential, random };

// Share of the operations that go to the next `span_percent` of the region: zones follow one another from its begin and both
// percentages add up to 100, as in fio's zoned distribution.
struct Zone {
    double access_percent;
    double span_percent;
};
struct BlockSizeShare {
    std::uint32_t bytes;  // > 0
    double percent;       // of the operations; all shares together 100
};

struct Bursts {
    std::uint64_t bytes = 0;       // each burst, over all workers together; rounded up to whole operations
    std::uint64_t operations = 0;  // or so many operations; exactly one of the two is set
    double duty = 1;               // busy / total in (0, 1]; idle after a burst = busy * (1 - duty) / duty, no catching up
};
struct FixedRate {  // open loop: operation k is due at start + k / rate, and latency counts from there
    double operations_per_second = 0;
    double bytes_per_second = 0;  // or so; exactly one is set
    bool poisson = false;         // exponential gaps instead of even ones
};

enum class SyncPolicy : std::uint8_t { none, at_end, every_n };

struct DataPattern {
    double compressibility = 0;  // 0 = incompressible .. 1 = all zero; from a pool made once per phase
    std::uint64_t pool_bytes = 32u << 20;
    bool verify = false;  // every 512 bytes of a write carry a stamp of (offset, generation, seed) that reads check
};

struct Limit {                           // the first one reached ends the phase; at least one is set
    std::optional<Nanoseconds> time;     // after the ramp
    std::optional<std::uint64_t> bytes;  // rounded up to whole operations
    std::optional<std::uint64_t> operations;
};

enum class Batching : std::uint8_t {
    natural,     // one merged submit-and-wait a turn, all ready completions reaped, all free slots refilled (default)
    throughput,  // as natural, but waits for several completions; waiting for all of them drains the drive's queue
    strict,      // submits one, reaps one: fio's way, for comparison
};

struct Workload {
    Pattern pattern = Pattern::random;
    double read_percent = 100;  // of the operations; 100 = only reads
    std::vector<BlockSizeShare> block_sizes{{4096, 100.0}};
    std::uint64_t offset = 0;   // region, bytes
    std::uint64_t span = 0;     // bytes; 0 = to the end of the target
    std::vector<Zone> zones;    // empty = uniform
    bool cover = false;         // random: visit every block once, in random order, before any twice
    bool discard = false;       // the phase discards instead of reading or writing
    std::uint32_t depth = 1;    // operations in flight per worker, 1 .. 1024
    std::uint32_t workers = 1;  // 1 .. 256; sequential: each gets its own part of the region
    Limit limit;
    Nanoseconds ramp{0};  // done but not counted, before the limit starts to run
    std::optional<Bursts> bursts;
    std::optional<FixedRate> rate;  // excludes bursts
    SyncPolicy sync = SyncPolicy::none;
    std::uint32_t sync_every = 0;  // operations, for every_n
    DataPattern data;
    Batching batching = Batching::natural;
    std::uint32_t batch = 0;  // throughput: completions to wait for, up to depth; 0 = a quarter of the depth
    std::uint64_t seed = 1;
    std::uint64_t maximum_errors = 0;  // the phase stops after more; the run goes on by the suite's rule
    bool operation_log = false;

    [[nodiscard]] bool writes() const { return discard || read_percent < 100; }
    [[nodiscard]] std::uint32_t largest_block() const;
    [[nodiscard]] std::uint32_t total_depth() const { return depth * workers; }
};

// Everything that can be said before any I/O: ranges, contradictions, alignment to `logical_block`, span against `target_size`
// (bytes both). The message names the field in fio's words, what was expected and what came.
Result<void> check(const Workload& workload, std::uint64_t target_size, std::uint32_t logical_block);

}  // namespace wattrig::io
