#include "host/recording/io_file.hpp"

#include <limits>
#include <memory>
#include <type_traits>

#include "firmware/protocol/frame.hpp"

namespace wattrig::recording {
namespace {

using protocol::crc32c;
using protocol::load;
using protocol::store;

constexpr std::uint32_t record_magic = 0x314f4957;  // "WIO1" as bytes in the file
constexpr std::uint16_t record_version = 1;

struct RecordHeader {
    std::uint32_t magic;
    std::uint16_t version;
    std::uint16_t kinds;  // of operations: histograms follow for each
    std::uint32_t phase;
    std::uint32_t windows;
    std::uint32_t bursts;
    std::uint32_t payload_crc;  // CRC32C
    std::uint64_t payload_bytes;
    std::uint32_t reserved;
    std::uint32_t header_crc;  // CRC32C over the 36 bytes before
};
static_assert(sizeof(RecordHeader) == 40 && std::has_unique_object_representations_v<RecordHeader>);

struct WindowRecord {
    std::int64_t begin_ns, length_ns;
    std::uint32_t reads, writes, errors, reserved;
    std::uint64_t read_bytes, write_bytes, latency_sum, latency_maximum;
};
static_assert(sizeof(WindowRecord) == 64 && std::has_unique_object_representations_v<WindowRecord>);

struct BurstRecord {
    std::int64_t begin_ns, end_ns;
};

// A histogram: HistogramHeader, then the buckets that are not empty, ascending.
struct HistogramHeader {
    std::uint64_t overflow;
    std::uint32_t buckets;
    std::uint32_t reserved;
};
struct BucketRecord {
    std::uint32_t index;
    std::uint32_t reserved;
    std::uint64_t count;
};
static_assert(sizeof(HistogramHeader) == 16 && sizeof(BucketRecord) == 16);

template <class T>
void put(std::vector<std::uint8_t>& to, const T& value) {
    const std::size_t at = to.size();
    to.resize(at + sizeof value);
    store(to.data() + at, value);
}

void put_histogram(std::vector<std::uint8_t>& to, const Histogram& histogram) {
    const std::size_t head = to.size();
    put(to, HistogramHeader{});
    std::uint32_t used = 0;
    for (std::size_t k = 0; k < Histogram::buckets; ++k) {
        if (histogram.count(k) == 0) continue;
        put(to, BucketRecord{static_cast<std::uint32_t>(k), 0, histogram.count(k)});
        ++used;
    }
    store(to.data() + head, HistogramHeader{histogram.overflow(), used, 0});
}

// Takes values from the front; refuses to go beyond the end.
class Taker {
  public:
    explicit Taker(std::span<const std::uint8_t> bytes) : bytes_(bytes) {}
    template <class T>
    bool take(T& value) {
        if (bytes_.size() < sizeof value) return false;
        value = load<T>(bytes_.data());
        bytes_ = bytes_.subspan(sizeof value);
        return true;
    }
    [[nodiscard]] std::size_t left() const { return bytes_.size(); }

  private:
    std::span<const std::uint8_t> bytes_;
};

bool take_histogram(Taker& from, Histogram& histogram) {
    HistogramHeader header{};
    if (!from.take(header) || header.buckets > Histogram::buckets) return false;
    histogram.clear();
    std::uint64_t total = header.overflow;
    if (header.overflow > 0) histogram.add(Histogram::top, header.overflow);
    std::int64_t before = -1;
    for (std::uint32_t k = 0; k < header.buckets; ++k) {
        BucketRecord bucket{};
        if (!from.take(bucket) || bucket.index >= Histogram::buckets || bucket.index <= before) return false;
        if (bucket.count > std::numeric_limits<std::uint64_t>::max() - total) return false;
        total += bucket.count;
        before = bucket.index;
        histogram.add(Histogram::bucket_begin(bucket.index), bucket.count);
    }
    return true;
}

}  // namespace

std::vector<std::uint8_t> encode_io_record(std::uint32_t phase, const io::PhaseOutcome& outcome) {
    std::vector<std::uint8_t> bytes;
    put(bytes, RecordHeader{});
    for (const io::Window& w : outcome.windows) {
        put(bytes, WindowRecord{w.begin.count(), w.length.count(), w.reads, w.writes, w.errors, 0, w.read_bytes, w.write_bytes,
                                w.latency_sum, w.latency_maximum});
    }
    for (const io::Interval& burst : outcome.bursts) {
        put(bytes, BurstRecord{burst.begin.time_since_epoch().count(), burst.end.time_since_epoch().count()});
    }
    for (const io::KindOutcome& kind : outcome.kinds) {
        put_histogram(bytes, kind.latency);
        put_histogram(bytes, kind.service);
    }
    RecordHeader header{};
    header.magic = record_magic;
    header.version = record_version;
    header.kinds = static_cast<std::uint16_t>(outcome.kinds.size());
    header.phase = phase;
    header.windows = static_cast<std::uint32_t>(outcome.windows.size());
    header.bursts = static_cast<std::uint32_t>(outcome.bursts.size());
    header.payload_bytes = bytes.size() - sizeof header;
    header.payload_crc = crc32c(std::span(bytes).subspan(sizeof header));
    store(bytes.data(), header);
    header.header_crc = crc32c(std::span(bytes).first(sizeof header - sizeof header.header_crc));
    store(bytes.data(), header);
    return bytes;
}

Result<void> decode_io_record(std::span<const std::uint8_t> bytes, std::uint32_t phase, io::PhaseOutcome& outcome) {
    const std::string where = "io.bin, record of phase " + std::to_string(phase) + ": ";
    if (bytes.size() < sizeof(RecordHeader)) return bad_input(where + "cut off");
    const auto header = load<RecordHeader>(bytes.data());
    if (header.magic != record_magic) return bad_input(where + "no record starts where phases.jsonl says");
    if (header.header_crc != crc32c(bytes.first(sizeof header - sizeof header.header_crc))) {
        return bad_input(where + "the check of its header is wrong");
    }
    if (header.version != record_version) {
        return bad_input(where + "version " + std::to_string(header.version) + ", this program reads " +
                         std::to_string(record_version));
    }
    if (header.phase != phase) return bad_input(where + "belongs to phase " + std::to_string(header.phase));
    if (header.payload_bytes > bytes.size() - sizeof header) return bad_input(where + "cut off");
    const std::span<const std::uint8_t> payload = bytes.subspan(sizeof header, header.payload_bytes);
    if (header.payload_crc != crc32c(payload)) return bad_input(where + "the check of its contents is wrong");

    const Error contradiction = bad_input(where + "lengths and counts contradict each other");
    Taker from(payload);
    if (header.kinds > io::operation_kinds || std::uint64_t{header.windows} * sizeof(WindowRecord) > from.left()) {
        return contradiction;
    }
    // The check was right, so what follows is as it was written; still nothing of it is trusted, nor kept if it ends early.
    auto fresh = std::make_unique<io::PhaseOutcome>();
    fresh->windows.reserve(header.windows);
    for (std::uint32_t k = 0; k < header.windows; ++k) {
        WindowRecord w{};
        if (!from.take(w)) return contradiction;
        fresh->windows.push_back({Nanoseconds(w.begin_ns), Nanoseconds(w.length_ns), w.reads, w.writes, w.errors, w.read_bytes,
                                  w.write_bytes, w.latency_sum, w.latency_maximum});
    }
    for (std::uint32_t k = 0; k < header.bursts; ++k) {
        BurstRecord burst{};
        if (!from.take(burst)) return contradiction;
        fresh->bursts.push_back({HostTime(Nanoseconds(burst.begin_ns)), HostTime(Nanoseconds(burst.end_ns))});
    }
    for (std::size_t k = 0; k < header.kinds; ++k) {
        io::KindOutcome& kind = fresh->kinds[k];
        if (!take_histogram(from, kind.latency) || !take_histogram(from, kind.service)) return contradiction;
    }
    outcome.windows = std::move(fresh->windows);
    outcome.bursts = std::move(fresh->bursts);
    for (std::size_t k = 0; k < header.kinds; ++k) {
        outcome.kinds[k].latency = fresh->kinds[k].latency;
        outcome.kinds[k].service = fresh->kinds[k].service;
    }
    return {};
}

}  // namespace wattrig::recording
