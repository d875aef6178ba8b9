#include "host/io/workload.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <cmath>

namespace wattrig::io {

namespace {

constexpr std::uint32_t largest_operation = 64u << 20;  // bytes; above it the kernel splits so much that depth means nothing
constexpr double hundred_tolerance = 1e-6;

// The sentence of every complaint: field, what was expected, what came.
template <class T>
Error expected(const char* field, const char* what, const T& came) {
    return bad_input(fmt::format("{}: expected {}, got {}", field, what, came));
}

Result<void> check_blocks(const Workload& w, std::uint32_t logical_block) {
    if (w.block_sizes.empty()) return bad_input("bs: expected at least one block size, got none");
    double sum = 0;
    for (const BlockSizeShare& size : w.block_sizes) {
        if (size.bytes == 0 || size.bytes > largest_operation) return expected("bs", "1 B to 64 MiB", size.bytes);
        if (size.bytes % logical_block != 0)
            return bad_input(fmt::format("bs: expected a multiple of the target's logical block of {} B, got {} B",
                                         logical_block, size.bytes));
        if (!(size.percent > 0 && size.percent <= 100)) return expected("bssplit", "a share above 0 up to 100 %", size.percent);
        sum += size.percent;
    }
    if (std::abs(sum - 100) > hundred_tolerance) return expected("bssplit", "shares that add up to 100 %", sum);
    return {};
}

Result<void> check_region(const Workload& w, std::uint64_t target_size, std::uint32_t logical_block) {
    if (w.offset % logical_block != 0)
        return bad_input(
            fmt::format("offset: expected a multiple of the logical block of {} B, got {} B", logical_block, w.offset));
    if (w.offset >= target_size)
        return bad_input(fmt::format("offset: expected below the target's {} B, got {} B", target_size, w.offset));
    const std::uint64_t left = target_size - w.offset;
    if (w.span > left)
        return bad_input(
            fmt::format("size: expected at most the {} B between offset and the target's end, got {} B", left, w.span));
    const std::uint64_t span = w.span != 0 ? w.span : left;
    const std::uint64_t parts = w.pattern == Pattern::sequential ? w.workers : 1;
    if (span / parts < w.largest_block())
        return bad_input(fmt::format("size: expected room for one block of {} B in each of {} parts, got {} B",
                                     w.largest_block(), parts, span));
    if (w.cover && w.pattern == Pattern::random && span / w.largest_block() > std::uint64_t{1} << 48)
        return expected("size", "at most 2^48 blocks to cover", span / w.largest_block());
    return {};
}

Result<void> check_pattern(const Workload& w) {
    if (!(w.read_percent >= 0 && w.read_percent <= 100)) return expected("rwmixread", "0 to 100 %", w.read_percent);
    if (w.cover && w.pattern == Pattern::sequential)
        return bad_input("cover: expected rw=random, got sequential (which covers anyway)");
    if (w.cover && w.block_sizes.size() > 1) return expected("cover", "one block size", w.block_sizes.size());
    if (w.cover && !w.zones.empty())
        return bad_input("cover: expected no zones, got both (a block cannot be visited once and more often)");
    if (w.zones.empty()) return {};
    if (w.pattern == Pattern::sequential) return bad_input("random_distribution: expected rw=random for zones, got sequential");
    double access = 0, span = 0;
    for (const Zone& zone : w.zones) {
        if (!(zone.access_percent >= 0 && zone.access_percent <= 100))
            return expected("random_distribution", "0 to 100 % of the operations for a zone", zone.access_percent);
        if (!(zone.span_percent > 0 && zone.span_percent <= 100))
            return expected("random_distribution", "a zone above 0 up to 100 % of the region", zone.span_percent);
        access += zone.access_percent;
        span += zone.span_percent;
    }
    if (std::abs(access - 100) > hundred_tolerance)
        return expected("random_distribution", "zones that take 100 % of the operations together", access);
    if (std::abs(span - 100) > hundred_tolerance)
        return expected("random_distribution", "zones that make up 100 % of the region together", span);
    return {};
}

Result<void> check_pace(const Workload& w) {
    if (w.rate && w.bursts) return bad_input("rate: expected no bursts at a fixed rate, got both");
    if (w.bursts) {
        const bool bytes = w.bursts->bytes != 0, operations = w.bursts->operations != 0;
        if (bytes == operations)
            return bad_input(
                fmt::format("bursts: expected either bytes or operations above 0, got {}", bytes ? "both" : "neither"));
        if (!(w.bursts->duty > 0 && w.bursts->duty <= 1))
            return expected("bursts", "a duty cycle above 0 up to 1", w.bursts->duty);
    }
    if (w.rate) {
        const double operations = w.rate->operations_per_second, bytes = w.rate->bytes_per_second;
        if (!(operations >= 0 && operations <= 1e9)) return expected("rate_iops", "up to 1e9 operations a second", operations);
        if (!(bytes >= 0 && bytes <= 1e12)) return expected("rate", "up to 1e12 B/s", bytes);
        if ((operations > 0) == (bytes > 0))
            return bad_input(
                fmt::format("rate: expected either rate_iops or rate above 0, got {}", bytes > 0 ? "both" : "neither"));
    }
    return {};
}

Result<void> check_limits(const Workload& w) {
    if (!w.limit.time && !w.limit.bytes && !w.limit.operations)
        return bad_input("runtime, io_size, number_ios: expected at least one limit, got none");
    if (w.limit.time && w.limit.time->count() <= 0) return expected("runtime", "more than 0 ns", w.limit.time->count());
    if (w.limit.bytes && *w.limit.bytes == 0) return expected("io_size", "more than 0 B", 0);
    if (w.limit.operations && *w.limit.operations == 0) return expected("number_ios", "more than 0", 0);
    if (w.ramp.count() < 0) return expected("ramp_time", "0 ns or more", w.ramp.count());
    constexpr std::int64_t longest = std::int64_t{400} * 24 * 3600 * 1'000'000'000;  // keeps all sums of ns far from overflow
    if (w.ramp.count() > longest || (w.limit.time && w.limit.time->count() > longest))
        return bad_input(fmt::format("runtime, ramp_time: expected at most 400 days each, got {} s and {} s",
                                     w.limit.time ? to_seconds(*w.limit.time) : 0.0, to_seconds(w.ramp)));
    constexpr std::uint64_t most = std::uint64_t{1} << 62;
    if (w.limit.bytes && *w.limit.bytes > most) return expected("io_size", "at most 2^62 B", *w.limit.bytes);
    if (w.limit.operations && *w.limit.operations > most) return expected("number_ios", "at most 2^62", *w.limit.operations);
    return {};
}

Result<void> check_data(const Workload& w) {
    if (!(w.data.compressibility >= 0 && w.data.compressibility <= 1))
        return expected("buffer_compress_percentage", "0 to 1 (a share)", w.data.compressibility);
    if (w.data.pool_bytes < w.largest_block() || w.data.pool_bytes > std::uint64_t{1} << 32)
        return bad_input(
            fmt::format("data pool: expected one block ({} B) to 4 GiB, got {} B", w.largest_block(), w.data.pool_bytes));
    if (w.data.verify && w.discard) return bad_input("verify: expected reads or writes, got a phase of discards");
    if (w.data.verify)
        for (const BlockSizeShare& size : w.block_sizes)
            if (size.bytes % 512 != 0) return expected("verify", "block sizes that are multiples of 512 B", size.bytes);
    return {};
}

}  // namespace

std::uint32_t Workload::largest_block() const {
    std::uint32_t largest = 0;
    for (const BlockSizeShare& size : block_sizes) largest = std::max(largest, size.bytes);
    return largest;
}

Result<void> check(const Workload& w, std::uint64_t target_size, std::uint32_t logical_block) {
    if (logical_block == 0 || target_size == 0)
        return bad_input(
            fmt::format("target: expected a size and a logical block above 0, got {} B and {} B", target_size, logical_block));
    if (w.depth < 1 || w.depth > 1024) return expected("iodepth", "1 to 1024", w.depth);
    if (w.workers < 1 || w.workers > 256) return expected("numjobs", "1 to 256", w.workers);
    if (auto r = check_blocks(w, logical_block); !r) return r;
    if (auto r = check_pattern(w); !r) return r;
    if (auto r = check_region(w, target_size, logical_block); !r) return r;
    if (auto r = check_pace(w); !r) return r;
    if (auto r = check_limits(w); !r) return r;
    if (auto r = check_data(w); !r) return r;
    if (w.batch > w.depth)
        return bad_input(fmt::format("iodepth_batch_complete: expected at most iodepth ({}), got {}", w.depth, w.batch));
    if (w.sync == SyncPolicy::every_n && w.sync_every == 0) return expected("fsync", "1 or more writes between flushes", 0);
    return {};
}

}  // namespace wattrig::io
