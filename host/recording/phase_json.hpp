#pragma once
// Lines of phases.jsonl. Layout: host/recording/FORMAT.md.
//
// Thread rule: pure functions.

#include <cstdint>
#include <string>
#include <vector>

#include "host/base/result.hpp"
#include "host/recording/run_directory.hpp"

namespace wattrig::recording {

// Where the phase's record stands in io.bin.
struct IoPlace {
    std::uint64_t offset = 0;
    std::uint64_t bytes = 0;
};

// One line each, without the newline.
std::string phase_begin_line(const PhaseRecord& phase);
std::string phase_end_line(const PhaseRecord& phase, const IoPlace& place);

// A record is some 180 kB (its histograms), and a long method has thousands: they are made once, in their final place.
struct ParsedPhases {
    std::vector<PhaseRecord> records;  // in order of their begin
    std::vector<IoPlace> places;       // of the same index; bytes is 0 when there is none
};

// All phases of the text. A last line without newline is a write that was cut off, and is left out.
// Any other line that is no phase is bad_input; `name` and the line's number are in the message.
Result<ParsedPhases> parse_phases(const std::string& text, const std::string& name);

}  // namespace wattrig::recording
