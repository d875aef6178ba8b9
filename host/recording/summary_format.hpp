#pragma once
// Layout of power.sum: frames as in the protocol, with types of its own. Told in host/recording/FORMAT.md.
//
// Thread rule: plain data.

#include <cstddef>
#include <cstdint>
#include <type_traits>

#include "firmware/protocol/protocol.hpp"

namespace wattrig::recording {

enum class SummaryFrame : std::uint8_t { start = 0xc0, epoch = 0xc1, entries = 0xc2, end = 0xc3, epoch_end = 0xc4 };

inline constexpr std::uint32_t summary_version = 1;

struct SummaryStart {
    std::uint32_t version;       // summary_version
    std::uint32_t base_samples;  // of level 0
    std::uint32_t step;          // from level to level
    std::uint32_t levels;
};
static_assert(sizeof(SummaryStart) == 16 && std::has_unique_object_representations_v<SummaryStart>);

struct SummaryEpochRecord {
    std::uint32_t epoch;  // 0, 1, ...
    std::uint32_t boot_id;
    std::uint32_t rails;
    std::uint32_t reserved;  // 0
};
static_assert(sizeof(SummaryEpochRecord) == 16 && std::has_unique_object_representations_v<SummaryEpochRecord>);

enum SummaryEntryFlag : std::uint16_t {
    summary_coarse = 1u << 0,  // from blocks without codes
};
// Followed by SummaryRail x rails. Of one level, buckets rise; a bucket without an entry received nothing.
struct SummaryEntry {
    std::uint64_t bucket;       // samples [bucket, bucket + run) x samples of the level
    std::int64_t begin_ticks;   // device time at the begin of the first bucket
    std::uint64_t file_offset;  // in power.wrt
    std::uint32_t run;          // buckets; more than 1 only where one block without codes spans them
    std::uint32_t count;        // samples received in all of them
    std::uint32_t epoch;
    std::uint16_t flags;
    std::uint8_t level;
    std::uint8_t rails;
};
static_assert(sizeof(SummaryEntry) == 40 && std::has_unique_object_representations_v<SummaryEntry>);

struct SummaryRail {
    std::int32_t v_minimum, v_maximum, i_minimum, i_maximum;
    std::int64_t p_minimum, p_maximum;
    double v_mean, i_mean, p_mean;
};
static_assert(sizeof(SummaryRail) == 56 && offsetof(SummaryRail, v_mean) == 32);

struct SummaryEpochEnd {
    std::uint64_t end_index;  // one behind the last sample, received or not
};
static_assert(sizeof(SummaryEpochEnd) == 8);

struct SummaryEnd {
    std::uint64_t file_bytes;  // of power.wrt that this summary describes
    std::uint64_t entries;
};
static_assert(sizeof(SummaryEnd) == 16 && std::has_unique_object_representations_v<SummaryEnd>);

}  // namespace wattrig::recording
