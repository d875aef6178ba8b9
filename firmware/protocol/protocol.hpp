#pragma once
// The wire format of a wattrig rig: the one definition, included by firmware and host alike. PROTOCOL.md explains it with
// pictures and a test compares the two. Everything is little-endian; every field is naturally aligned, so no struct is packed
// (a Cortex-M0+ faults on an unaligned word) and none has padding (asserted beside each).
//
// Evolution: ids and flag bits are append-only and never reused; a field keeps its place and meaning for ever; a payload may
// grow at its end, and a reader takes `payload_bytes` from the header and ignores what it does not know.
//
// Thread rule: plain data and constexpr functions, any thread, any interrupt.

#include <array>
#include <bit>
#include <cstddef>
#include <cstdint>
#include <string_view>
#include <type_traits>

static_assert(std::endian::native == std::endian::little, "the wire is little-endian and structs are copied as they are");

namespace wattrig::protocol {

inline constexpr std::uint8_t protocol_version = 1;

// ---------------------------------------------------------------------------------------------------------------- time base
// Device time is counted in ticks of 8 ns since boot, 64 bit. ADC clock and TIMER come from one crystal, so a sample is exactly
// 3840 ticks (30.72 us, 32 552.08 S/s) of *device* time; what that is in seconds the host's clock map says.
inline constexpr std::uint64_t ticks_per_second = 125'000'000;
inline constexpr std::uint32_t ticks_per_microsecond = 125;
inline constexpr std::uint32_t ticks_per_sample = 3840;
// Group delay of the ADS131M04's sinc3 filter at OSR 128: 1.5 (OSR - 1) / f_mod = 45.72 us. Already taken off `first_time`.
inline constexpr std::uint32_t group_delay_ticks = 5715;
// Side-band bits are read at DRDY, so they belong to a moment this much later than the sample they travel with.
inline constexpr std::uint32_t sideband_delay_ticks = group_delay_ticks;
// Peak path: one reading each 4 us; 1 kOhm with 2.2 nF in front of the MCU's ADC delays it by 2.2 us.
inline constexpr std::uint32_t ticks_per_peak_reading = 500;
inline constexpr std::uint32_t peak_delay_ticks = 275;
// INA228: shunt conversions of 4.12 ms each; ALERT marks their end, so the middle lies half of that before.
inline constexpr std::uint32_t slow_conversion_ticks = 515'000;
inline constexpr std::uint32_t slow_delay_ticks = slow_conversion_ticks / 2;

inline constexpr std::uint32_t samples_per_block = 75;
inline constexpr std::uint32_t peak_readings_per_block = 576;
static_assert(samples_per_block * ticks_per_sample == peak_readings_per_block * ticks_per_peak_reading,
              "a block is a whole number of samples and of peak readings");
inline constexpr std::uint32_t peak_window_readings = 25;  // 100 us, PCM-2 of the OCP NVMe SSD specification
inline constexpr std::uint32_t peak_groups = 8;            // each holds the maximum of 8 of the last 64 blocks
inline constexpr std::uint32_t blocks_per_peak_group = 8;

inline constexpr std::uint32_t maximum_rails = 2;
inline constexpr std::uint32_t bytes_per_code = 3;  // 24-bit two's complement, least significant byte first
inline constexpr std::int32_t code_maximum = 0x7fffff;
inline constexpr std::int32_t code_minimum = -0x800000;

// -------------------------------------------------------------------------------------------------------------------- frame
// FrameHeader, `payload_bytes` of payload (a multiple of 4, zero padded), then CRC32C (u32) over header and payload.
enum class FrameType : std::uint8_t {
    block = 1,    // bulk IN 1: samples with their codes
    summary = 2,  // bulk IN 1: the same header and sums over 10 ms or 1 s, without codes
    event = 3,    // bulk IN 1: something the device wants to tell: a fault report, a power latch change
    command = 4,  // bulk OUT 2
    reply = 5,    // bulk IN 2
    // 0x80 and above never come from a rig: records that the host interleaves in power.wrt (host/recording).
    first_host_record = 0x80,
};

inline constexpr std::uint32_t frame_magic = 0x31525457;  // "WTR1" as bytes in the stream

struct FrameHeader {
    std::uint32_t magic;          // frame_magic
    std::uint8_t version;         // protocol_version
    std::uint8_t type;            // FrameType
    std::uint16_t payload_bytes;  // multiple of 4, at most maximum_payload_bytes
    std::uint32_t sequence;       // one more per frame on its pipe; counts frames, wraps; loss of samples is told by index
    std::uint16_t reserved;       // 0
    std::uint16_t header_check;   // low 16 bits of CRC32C over the 14 bytes before: a broken length is seen at once
};
static_assert(sizeof(FrameHeader) == 16 && offsetof(FrameHeader, header_check) == 14);
static_assert(std::has_unique_object_representations_v<FrameHeader>);
inline constexpr std::size_t header_checked_bytes = offsetof(FrameHeader, header_check);
inline constexpr std::size_t crc_bytes = 4;

// -------------------------------------------------------------------------------------------------------------------- block
struct Int128 {  // two's complement, low word first
    std::uint64_t low;
    std::int64_t high;
};
static_assert(sizeof(Int128) == 16 && std::has_unique_object_representations_v<Int128>);

enum BlockFlag : std::uint32_t {
    block_overrun = 1u << 0,           // at least one block before this one was dropped: the ring was full
    block_clipped = 1u << 1,           // a code stood at an end of its range
    block_resynchronised = 1u << 2,    // first block of a segment: the time base was anchored anew
    block_adc_crc_error = 1u << 3,     // a sample's CRC failed since the last block; it is in no sum
    block_low_voltage = 1u << 4,       // drive side below 3.135 V at least once
    block_adc_silent = 1u << 5,        // no sample came for a block's time: count is 0, span says how long
    block_samples_lost = 1u << 6,      // the index stepped by more than 1 right before this block
    block_slow_stale = 1u << 7,        // no INA228 conversion for 100 ms: the idle path is missing
    block_power_off = 1u << 8,         // the drive's load switch was off at some time in this block
    block_peak_unavailable = 1u << 9,  // peak readings were lost in this block: its maxima are lower bounds
    block_simulated = 1u << 31,        // made by host/sim, never by a rig: every figure from it is called simulated
};

enum class Detail : std::uint8_t { full = 0, summary_10ms = 1, summary_1s = 2 };
// Samples in a summary block: whole blocks nearest to 10 ms and to 1 s, so that nothing is ever split.
inline constexpr std::uint32_t samples_per_summary_10ms = 4 * samples_per_block;  // 9.216 ms
inline constexpr std::uint32_t samples_per_summary_1s = 434 * samples_per_block;  // 0.999936 s

struct BlockHeader {
    std::uint64_t first_index;       // sample index of the first sample since stream start; lost samples are counted
    std::uint64_t first_time;        // ticks: middle of what that sample measured, group delay removed
    std::uint64_t lost_samples;      // since stream start: index steps without a valid sample
    std::uint32_t boot_id;           // EEPROM counter; a new one means sums from zero and a new device clock
    std::uint32_t segment;           // counts anchors since boot; within one, time = first_time + k * ticks_per_sample
    std::uint32_t span;              // indices covered; the next block starts at first_index + span unless something was lost
    std::uint32_t count;             // valid samples; in a block with codes count == span, as a loss ends the block
    std::uint32_t flags;             // BlockFlag
    std::uint32_t lost_blocks;       // since stream start, dropped because the ring was full
    std::uint32_t adc_crc_errors;    // since stream start
    std::uint32_t peak_overruns;     // since stream start: peak readings that came too late to be looked at
    std::uint32_t slow_errors;       // since stream start: failed I2C transfers
    std::uint32_t command_errors;    // since boot: frames on OUT 2 that were refused
    std::int16_t shunt_temperature;  // 0.01 degC
    std::int16_t board_temperature;  // 0.01 degC
    std::uint8_t rails;              // 1 or 2
    std::uint8_t detail;             // Detail
    std::uint8_t sideband_low;       // bits that were 0 at least once
    std::uint8_t sideband_high;      // bits that were 1 at least once
};
static_assert(sizeof(BlockHeader) == 72 && offsetof(BlockHeader, shunt_temperature) == 64);
static_assert(std::has_unique_object_representations_v<BlockHeader>);

// Running sums of codes since stream start, this block included. A lost block costs detail, never energy: difference first,
// convert last. 2^40 samples (a year) x 2^23 fits 64 bit; the products do not, so they are 128 bit.
struct RailSums {
    std::uint64_t count;
    std::int64_t sum_v;
    std::int64_t sum_i;
    Int128 sum_vi;
    Int128 sum_ii;
};
static_assert(sizeof(RailSums) == 56 && std::has_unique_object_representations_v<RailSums>);

struct RailExtremes {  // of this block; all 0 when count is 0
    std::int32_t v_minimum;
    std::int32_t v_maximum;
    std::int32_t i_minimum;
    std::int32_t i_maximum;
};
static_assert(sizeof(RailExtremes) == 16 && std::has_unique_object_representations_v<RailExtremes>);

// INA228 on the same shunt (rail 0): running sums since stream start, and the fast path over the very same conversions.
struct SlowSums {
    std::int64_t sum;          // INA228 shunt codes, 78.125 nV each
    std::int64_t fast_sum;     // current codes of the samples inside those conversions
    std::uint32_t count;       // conversions, wraps
    std::uint32_t fast_count;  // samples, wraps
};
static_assert(sizeof(SlowSums) == 24 && std::has_unique_object_representations_v<SlowSums>);

// Peak path (rail 0). A window is 25 consecutive 4 us readings; its value is (sum of readings - 25 x zero code) x the precise
// voltage code of the same time, shifted right by peak_shift. Windows reach back into the block before.
inline constexpr std::uint32_t peak_shift = 12;
struct PeakSummary {
    std::array<std::int32_t, peak_groups>
        group_maximum;         // [0] is the group of 8 blocks that holds this one, [1] the 8 before ...
    std::int32_t maximum;      // largest window value that ended in this block; code_minimum of int32 when there is none
    std::uint16_t maximum_at;  // reading in this block at which that window ended, 0..; summaries: 0
    std::uint16_t minimum_reading;
    std::uint16_t maximum_reading;
    std::uint16_t reserved;  // 0
    std::uint32_t readings;  // in this block
    std::uint32_t sum_low;   // sum of readings over this block; a 1 s summary reaches 1.03e9, which fits 32 bit
};
static_assert(sizeof(PeakSummary) == 52 && std::has_unique_object_representations_v<PeakSummary>);

struct RailPart {
    RailSums sums;
    RailExtremes extremes;
};
static_assert(sizeof(RailPart) == 72 && std::has_unique_object_representations_v<RailPart>);

// Payload of a block or summary: BlockHeader, RailPart x rails, SlowSums, PeakSummary, 4 bytes 0 (to keep 8-byte alignment),
// then, in a block: voltage codes and current codes of each rail as byte arrays (3 x count each), then `count` side-band bytes,
// then zeros up to a multiple of 4.
constexpr std::size_t block_fixed_bytes(std::size_t rails) {
    return sizeof(BlockHeader) + rails * sizeof(RailPart) + sizeof(SlowSums) + sizeof(PeakSummary) + 4;
}
constexpr std::size_t padded(std::size_t bytes) { return (bytes + 3) & ~std::size_t{3}; }
constexpr std::size_t block_payload_bytes(std::size_t rails, std::size_t codes) {
    return padded(block_fixed_bytes(rails) + codes * (rails * 2 * bytes_per_code + 1));
}
constexpr std::size_t frame_bytes(std::size_t payload) { return sizeof(FrameHeader) + payload + crc_bytes; }
inline constexpr std::size_t maximum_payload_bytes = block_payload_bytes(maximum_rails, samples_per_block);
inline constexpr std::size_t maximum_frame_bytes = frame_bytes(maximum_payload_bytes);

enum SidebandBit : std::uint8_t {
    sideband_clkreq = 1u << 0,
    sideband_perst = 1u << 1,
    sideband_activity_led = 1u << 2,
    sideband_pewake = 1u << 3,
    sideband_devslp = 1u << 4,
    sideband_trigger_in = 1u << 5,
    sideband_sync_out = 1u << 6,
    sideband_power_on = 1u << 7,
};

// ------------------------------------------------------------------------------------------------------ commands and replies
enum class CommandId : std::uint16_t {
    get_info = 1,           // -> Info
    start_stream = 2,       // StartStream -> nothing; sums and index from zero
    stop_stream = 3,        // -> nothing
    sync = 4,               // SyncRequest -> SyncReply
    set_detail = 5,         // SetDetail -> nothing; takes effect at the next block edge
    self_test = 6,          // -> SelfTestReport
    read_storage = 7,       // ReadStorage -> StorageSlot header, then its bytes
    write_storage = 8,      // WriteStorage, bytes -> nothing; written page by page while streaming goes on
    set_drive_power = 9,    // SetDrivePower -> nothing; latched, survives MCU reset
    get_counters = 10,      // -> Counters
    set_sync_out = 11,      // SetSyncOut -> nothing
    enter_bootloader = 12,  // BootloaderKey -> nothing, then the rig leaves the bus
};

enum class Status : std::uint16_t {
    ok = 0,
    unknown_command = 1,
    bad_length = 2,
    bad_argument = 3,
    wrong_state = 4,
    busy = 5,
    storage_failed = 6,
    storage_protected = 7,
    adc_failed = 8,
    bad_key = 9,
    not_available = 10,
};
constexpr std::string_view status_text(Status status) {
    switch (status) {
        case Status::ok: return "ok";
        case Status::unknown_command: return "the rig does not know this command (older firmware?)";
        case Status::bad_length: return "the command's payload has the wrong length";
        case Status::bad_argument: return "an argument is out of its range";
        case Status::wrong_state: return "not possible in the rig's present state";
        case Status::busy: return "the rig is still busy with an earlier command";
        case Status::storage_failed: return "the rig's EEPROM did not answer or did not read back";
        case Status::storage_protected: return "the rig's EEPROM is write-protected";
        case Status::adc_failed: return "the rig's ADC does not answer or fails its checks";
        case Status::bad_key: return "the key that guards this command is wrong";
        case Status::not_available: return "this rig has no such part";
    }
    return "a status this program does not know (newer firmware?)";
}

struct CommandHeader {     // first in every command and every reply
    std::uint16_t id;      // CommandId
    std::uint16_t tag;     // chosen by the host, echoed
    std::uint16_t status;  // Status; 0 in commands
    std::uint16_t reserved;
};
static_assert(sizeof(CommandHeader) == 8 && std::has_unique_object_representations_v<CommandHeader>);

struct Info {
    std::uint32_t board_id;          // which hardware/ revision: 1 = m2-interposer A; 0xffff'0000 and above: simulated
    std::uint32_t firmware_version;  // major << 16 | minor << 8 | patch
    std::uint32_t boot_id;
    std::uint32_t shunt_micro_ohm;  // nominal
    std::uint8_t protocol_version;
    std::uint8_t rails;
    std::uint8_t has_peak_path;
    std::uint8_t has_slow_path;
    std::uint8_t has_power_switch;
    std::uint8_t streaming;
    std::uint8_t reset_cause;  // 0 power on, 1 watchdog, 2 fault, 3 command
    std::uint8_t reserved;
    std::uint64_t now;            // ticks
    std::array<char, 16> serial;  // zero padded ASCII
};
static_assert(sizeof(Info) == 48 && std::has_unique_object_representations_v<Info>);

struct StartStream {
    std::uint8_t rails;   // 1 or 2
    std::uint8_t detail;  // Detail
    std::uint16_t reserved;
};
static_assert(sizeof(StartStream) == 4);

struct SetDetail {
    std::uint8_t detail;
    std::array<std::uint8_t, 3> reserved;
};
static_assert(sizeof(SetDetail) == 4);

// Two-way exchange. d2: TIMER at the OUT interrupt; d3: TIMER when the reply is armed, after a delay of the device's own choice
// (a dither over 1 ms, see the clock's facts: without it a host controller that polls at frame starts never lets the bound
// shrink). h1 <= host(d2) and host(d3) <= h4 need no model of the latency.
struct SyncRequest {
    std::uint32_t exchange;  // counts on the host, echoed
    std::uint32_t reserved;
};
struct SyncReply {
    std::uint32_t exchange;
    std::uint32_t reserved;
    std::uint64_t received;      // d2, ticks
    std::uint64_t armed;         // d3, ticks
    std::uint64_t frame_time;    // ticks of the latest start of frame, 0 without USB
    std::uint32_t frame_number;  // count of starts of frame since boot
    std::uint32_t reserved2;
};
static_assert(sizeof(SyncRequest) == 8 && sizeof(SyncReply) == 40);
static_assert(std::has_unique_object_representations_v<SyncReply>);

struct SetDrivePower {
    std::uint8_t on;
    std::array<std::uint8_t, 3> reserved;
    std::uint32_t key;  // power_key: a stray byte must never cut a drive's power
};
static_assert(sizeof(SetDrivePower) == 8);
inline constexpr std::uint32_t power_key = 0x50575244;       // "DRWP"
inline constexpr std::uint32_t bootloader_key = 0x544f4f42;  // "BOOT"
struct BootloaderKey {
    std::uint32_t key;
};
struct SetSyncOut {
    std::uint8_t level;
    std::array<std::uint8_t, 3> reserved;
};

struct SelfTestReport {
    std::int32_t shorted_v_mean;  // codes, inputs shorted
    std::int32_t shorted_i_mean;
    std::int32_t test_v_mean;  // codes, internal test signal (160 mV)
    std::int32_t test_i_mean;
    std::uint32_t shorted_i_rms;  // codes x 256
    std::uint32_t adc_crc_errors;
    std::uint32_t failed;  // SelfTestBit
    std::uint32_t done;    // SelfTestBit: parts that this rig has and that were tried
};
static_assert(sizeof(SelfTestReport) == 32);
enum SelfTestBit : std::uint32_t {
    self_test_adc_id = 1u << 0,
    self_test_adc_short = 1u << 1,
    self_test_adc_signal = 1u << 2,
    self_test_slow_path = 1u << 3,
    self_test_peak_path = 1u << 4,
    self_test_storage = 1u << 5,
    self_test_temperature = 1u << 6,
    self_test_voltage = 1u << 7,
};

struct Counters {  // since stream start unless said otherwise
    std::uint64_t samples;
    std::uint64_t lost_samples;
    std::uint64_t blocks;
    std::uint32_t lost_blocks;
    std::uint32_t adc_crc_errors;
    std::uint32_t peak_overruns;
    std::uint32_t slow_errors;
    std::uint32_t command_errors;  // since boot
    std::uint32_t resynchronisations;
    std::uint32_t longest_masked_ticks;  // since boot
    std::uint32_t ring_high_water;       // frames
};
static_assert(sizeof(Counters) == 56 && std::has_unique_object_representations_v<Counters>);

// Storage: two slots, the older is written, its header last. `payload` is what host/power stores: a calibration.
enum class StorageSlotState : std::uint16_t { empty = 0, valid = 1, corrupt = 2 };
struct StorageSlot {
    std::uint32_t magic;     // storage_magic
    std::uint16_t version;   // of this header: 1
    std::uint16_t length;    // of the payload
    std::uint32_t sequence;  // larger is newer
    std::uint32_t payload_crc;
    std::array<char, 16> serial;
};
static_assert(sizeof(StorageSlot) == 32 && std::has_unique_object_representations_v<StorageSlot>);
inline constexpr std::uint32_t storage_magic = 0x4c435457;  // "WTCL"
inline constexpr std::size_t storage_slot_bytes = 4096;
struct ReadStorage {
    std::uint16_t slot;    // 0, 1; 0xffff: the newest valid one
    std::uint16_t offset;  // into the payload
    std::uint16_t length;  // at most maximum_storage_chunk
    std::uint16_t reserved;
};
struct WriteStorage {
    std::uint16_t offset;  // into the payload; the chunk at offset 0 starts a new write
    std::uint16_t length;  // of the chunk that follows
    std::uint16_t total;   // of the whole payload
    std::uint16_t last;    // 1: header is written after this chunk, then the slot is read back
};
static_assert(sizeof(ReadStorage) == 8 && sizeof(WriteStorage) == 8);
inline constexpr std::size_t maximum_storage_chunk = 256;

}  // namespace wattrig::protocol
