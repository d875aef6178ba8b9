#pragma once
// What the host itself writes between a rig's frames in power.wrt, in the same framing. The layout is told in
// host/recording/FORMAT.md; it stands here because a replayed recording is a link, too.
//
// Evolution: as in the protocol, types are append-only, a payload may grow at its end.
// Thread rule: plain data.

#include <cstdint>
#include <type_traits>

#include "firmware/protocol/protocol.hpp"

namespace wattrig::rig {

enum class HostRecord : std::uint8_t {
    start = 0x80,  // version, REALTIME and MONOTONIC_RAW pair, rig's Info
    exchange = 0x81,
    knot = 0x82,
    marker = 0x83,   // text at a host time
    trouble = 0x84,  // text at a host time
    arrival = 0x85,  // host time at which the next frame's bytes had arrived, at most each 100 ms
    end = 0x86,      // clean end; missing = the recording was cut off
};
static_assert(static_cast<int>(HostRecord::start) == static_cast<int>(protocol::FrameType::first_host_record));

inline constexpr std::uint32_t recording_version = 1;
inline constexpr std::uint32_t recording_simulated = 1u << 0;

struct StartRecord {
    std::uint32_t version;      // recording_version
    std::uint32_t flags;        // recording_simulated
    std::int64_t monotonic_ns;  // CLOCK_MONOTONIC_RAW
    std::int64_t realtime_ns;   // since 1970-01-01 UTC, read together with it; 0 in virtual time
    protocol::Info info;
};
static_assert(sizeof(StartRecord) == 72 && std::has_unique_object_representations_v<StartRecord>);

struct ExchangeRecord {
    std::int64_t h1_ns, h4_ns;  // host
    std::uint64_t d2, d3;       // device, ticks
    std::uint32_t boot_id, number;
};
static_assert(sizeof(ExchangeRecord) == 40 && std::has_unique_object_representations_v<ExchangeRecord>);

struct KnotRecord {
    std::uint64_t device;  // ticks
    std::int64_t host_ns;
    std::int64_t half_width_ns;   // guaranteed
    std::uint64_t rate_ppm_bits;  // IEEE 754 binary64, as bits, so that a replay is exact
    std::uint32_t boot_id;
    std::uint32_t reserved;  // 0
};
static_assert(sizeof(KnotRecord) == 40 && std::has_unique_object_representations_v<KnotRecord>);

struct TextRecord {  // marker and trouble; UTF-8 follows, zero padded to a multiple of 4
    std::int64_t when_ns;
    std::uint32_t text_bytes;
    std::uint32_t reserved;  // 0
};
static_assert(sizeof(TextRecord) == 16 && std::has_unique_object_representations_v<TextRecord>);
inline constexpr std::size_t maximum_text_bytes = (protocol::maximum_payload_bytes - sizeof(TextRecord)) / 4 * 4;

struct ArrivalRecord {
    std::int64_t when_ns;
};
static_assert(sizeof(ArrivalRecord) == 8);

struct EndRecord {
    std::uint64_t device_frames;  // appended before this
    std::uint64_t host_records;   // this one not included
};
static_assert(sizeof(EndRecord) == 16 && std::has_unique_object_representations_v<EndRecord>);

}  // namespace wattrig::rig
