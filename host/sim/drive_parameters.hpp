#pragma once
// A drive as declared: physical inputs only. What a review published about such a drive has to come out of them.
// Thread rule: plain data and const functions, any thread.

#include <cstdint>
#include <string>
#include <vector>

#include "host/base/result.hpp"

namespace wattrig::sim {

struct ControllerParameters {
    std::int64_t command_ns = 0;         // the controller takes one command in each such time, whatever its depth
    std::int64_t read_overhead_ns = 0;   // fixed part of a read's latency outside the flash
    std::int64_t write_overhead_ns = 0;  // of a write into the buffer
    std::int64_t flush_ns = 0;
    std::int64_t discard_ns = 0;
    std::int64_t discard_ns_per_gib = 0;  // holds up the commands that come after
    double link_bytes_per_second = 0;     // each direction
};

struct FlashParameters {
    std::uint32_t units = 0;       // dies or planes that work side by side
    std::uint32_t page_bytes = 0;  // read at once from one unit
    std::int64_t read_ns = 0;      // tR, mean over the page types
    double read_spread = 0;        // half-width of tR over the page types, relative
    double channel_bytes_per_second = 0;
    std::uint32_t program_bytes = 0;    // programmed at once on one unit
    std::int64_t cache_program_ns = 0;  // for program_bytes, into the SLC cache
    std::int64_t program_ns = 0;        // past it
    double program_spread = 0;          // half-width over blocks and layers, relative
    std::int64_t suspend_ns = 0;        // what a read waits for a program to be suspended, and the program for its resumption
};

struct CacheParameters {                     // SLC cache; bytes 0 = none
    std::uint64_t bytes = 0;                 // of user data
    double drain_bytes_per_second = 0;       // moved to its final place while the host is idle
    double busy_drain_bytes_per_second = 0;  // while the host is at work
    std::int64_t idle_before_drain_ns = 0;
    double reopen_fraction = 0;  // once full, writes pass it by until no more than this share is used
    // Above 1 the cache borrows cells of so many bits. When no other erased flash is left, each byte written makes the drive
    // fold 1 / (bits - 1) bytes of the cache, which frees the room for it. Wants "space".
    std::uint32_t borrowed_bits_per_cell = 0;
};

struct SpaceParameters {                  // spare_fraction 0 = flash without end: nothing is ever collected
    double spare_fraction = 0;            // flash beyond the capacity, relative to it
    double reserve_fraction = 0;          // of all flash: kept erased; collection begins when no more is left
    std::string victim;                   // "greedy": the segment with the fewest valid bytes; "oldest"
    std::uint32_t map_unit_bytes = 4096;  // smaller writes take a whole one
};

struct MapCacheParameters {  // segments 0 = the whole map is in DRAM
    std::uint32_t segments = 0;
    std::uint64_t segment_bytes = 0;  // of user data, that one cached piece of the map covers
    std::int64_t miss_ns = 0;         // one more flash read, of the map
    double miss_joule = 0;
    std::uint64_t host_buffer_bytes = 0;  // of the host's memory, for entries of 4 bytes for each 4 KiB; 0 = none
    std::int64_t host_buffer_ns = 0;      // to fetch an entry from there
    [[nodiscard]] std::uint32_t host_segments() const {
        return static_cast<std::uint32_t>(host_buffer_bytes * 1024 / (segment_bytes == 0 ? 1 : segment_bytes));
    }
};

struct ThermalParameters {  // kelvin_per_watt 0 = temperature does not matter
    double ambient_celsius = 0;
    double kelvin_per_watt = 0;
    double time_constant_seconds = 0;  // first order
    double throttle_celsius = 0;       // from here on the flash works `throttled_duty` of the time ...
    double release_celsius = 0;        // ... down to here
    double throttled_duty = 1;
};

struct IdleState {  // entered by itself, from the state before it in the list
    double watt = 0;
    std::int64_t idle_ns = 0;   // so long after the last work, cache drain included
    std::int64_t entry_ns = 0;  // at the power of the state before
    std::int64_t exit_ns = 0;   // until the first command is looked at
};

struct PowerParameters {  // at the drive's side of the shunt
    double idle_watt = 0;
    double active_watt = 0;                    // more than idle while anything is in flight
    std::int64_t active_time_constant_ns = 0;  // first order, rising and falling
    double read_joule = 0, read_joule_per_byte = 0;
    double write_joule = 0, write_joule_per_byte = 0;  // controller, link and buffer
    double cache_program_joule_per_byte = 0, program_joule_per_byte = 0;
    double drain_joule_per_byte = 0;  // to move a byte within the drive: drain, fold, garbage collection
    std::vector<IdleState> idle_states;
};

struct DriveParameters {
    std::string name;
    std::string description;
    std::uint64_t capacity_bytes = 0;
    std::uint32_t logical_block_bytes = 512;
    std::uint64_t write_buffer_bytes = 0;
    ControllerParameters controller;
    FlashParameters flash;
    CacheParameters cache;
    SpaceParameters space;
    MapCacheParameters map_cache;
    ThermalParameters thermal;
    PowerParameters power;
};

// From the text of a model file. bad_input: one sentence that names `where`, the key, what was expected and what came.
Result<DriveParameters> parse_model(const std::string& text, const std::string& where);
// `model` is the name of a built-in model, or a path (it holds a '/' or ends in ".json"); either may be followed by options:
// "?hmb=off" takes the host memory buffer away, "?ambient=35" sets the air's temperature in degrees Celsius; '&' between two.
Result<DriveParameters> load_model(const std::string& model);

struct EmbeddedModel {
    const char* name;
    const char* text;
};
const std::vector<EmbeddedModel>& embedded_models();  // made by CMake from models/*.json

}  // namespace wattrig::sim
