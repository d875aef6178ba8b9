#pragma once
// io.bin: what of a phase is too much for a line of JSON: windows, bursts and histograms. One record a phase, each with checks
// of its own. Layout: host/recording/FORMAT.md.
//
// Thread rule: pure functions.

#include <cstdint>
#include <span>
#include <string>
#include <vector>

#include "host/base/result.hpp"
#include "host/io/outcome.hpp"

namespace wattrig::recording {

// The whole record, ready to append.
std::vector<std::uint8_t> encode_io_record(std::uint32_t phase, const io::PhaseOutcome& outcome);

// Reads the record at the start of `bytes` into windows, bursts and the histograms of `outcome`; the rest of it is left alone.
// bad_input in one sentence when the record is cut, damaged, or not of `phase`; then `outcome` is unchanged.
Result<void> decode_io_record(std::span<const std::uint8_t> bytes, std::uint32_t phase, io::PhaseOutcome& outcome);

}  // namespace wattrig::recording
