// From settings to the engine's workload: contradictions, missing parts and the fit into the target, then the engine's own
// check.

#include "host/io/workload.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <array>
#include <cmath>

#include "host/suites/parameters.hpp"
#include "host/suites/text.hpp"

namespace wattrig::suites {
namespace {

constexpr std::uint64_t smallest_scaled = 64u << 20;

template <class T>
const T* get(const Settings& settings, std::string_view name) {
    const auto* setting = settings.find(name);
    return setting ? &std::get<T>(setting->value) : nullptr;
}

std::string where_of(const Settings& settings, std::string_view name, const std::string& fallback) {
    const auto* setting = settings.find(name);
    return setting ? setting->where : fallback;
}

void set_access(const Settings& settings, io::Workload& workload, const std::string& where, Diagnosis& diagnosis) {
    const auto* pattern = get<std::string>(settings, "pattern");
    if (!pattern) {
        diagnosis.refuse(where, "an I/O step needs a pattern, such as \"randread\"");
        return;
    }
    const bool random = pattern->starts_with("rand");
    const std::string kind = random ? pattern->substr(4) : *pattern;
    workload.pattern = random ? io::Pattern::random : io::Pattern::sequential;
    workload.discard = kind == "trim";
    const auto* percent = get<double>(settings, "read_percent");
    if (kind == "rw") {
        workload.read_percent = percent ? *percent : 50;
    } else {
        workload.read_percent = kind == "read" ? 100 : 0;
        if (percent)
            diagnosis.refuse(where_of(settings, "read_percent", where),
                             fmt::format("read_percent contradicts the pattern {}, expected rw or randrw", *pattern));
    }
    if (const auto* shares = get<std::vector<io::BlockSizeShare>>(settings, "block_sizes"))
        workload.block_sizes = *shares;
    else if (const auto* block = get<std::uint64_t>(settings, "block_size"))
        workload.block_sizes = {{static_cast<std::uint32_t>(*block), 100.0}};
    else
        diagnosis.refuse(where, "an I/O step needs a block_size, such as \"4 KiB\"");
    if (const auto* zones = get<std::vector<io::Zone>>(settings, "zones")) {
        workload.zones = *zones;
        if (!random) diagnosis.refuse(where_of(settings, "zones", where), "zones need a random pattern");
    }
    if (const auto* cover = get<bool>(settings, "cover")) workload.cover = *cover;
    if (workload.cover && !random) diagnosis.refuse(where_of(settings, "cover", where), "cover needs a random pattern");
}

void set_region(const Settings& settings, const Surroundings& around, io::Workload& workload, const std::string& where,
                Diagnosis& diagnosis) {
    std::uint64_t block = 512;
    for (const auto& share : workload.block_sizes) block = std::max<std::uint64_t>(block, share.bytes);
    if (const auto* offset = get<std::uint64_t>(settings, "offset")) workload.offset = *offset;
    if (const auto* span = settings.find("span")) {
        const auto& amount = std::get<Amount>(span->value);
        if (amount.target_percent > 100) diagnosis.refuse(span->where, "a span cannot be more than 100 % of the target");
        workload.span = around.bytes_of(amount) / block * block;
        if (amount.target_percent == 0) workload.span = amount.bytes;
        if (!span->exact && workload.span > 0)
            workload.span = scaled_bytes(workload.span, around.scale, std::max<std::uint64_t>(block, 1u << 20));
        const auto limit = around.target_size;
        if (limit > 0 && workload.span > 0 && (workload.offset > limit || workload.span > limit - workload.offset))
            diagnosis.refuse(span->where,
                             fmt::format("a span of {} at offset {} does not fit the target of {}; take a larger target, "
                                         "or make it smaller with span=SIZE or --scale",
                                         format_size(workload.span), workload.offset, format_size(limit)));
        if (workload.span > 0 && workload.span < block)
            diagnosis.refuse(span->where, fmt::format("a span of {} is smaller than one block of {}",
                                                      format_size(workload.span), format_size(block)));
        if (workload.span % 512 != 0)
            diagnosis.refuse(span->where, fmt::format("expected a multiple of 512 bytes, came {}", workload.span));
    }
    if (workload.offset % 512 != 0)
        diagnosis.refuse(where_of(settings, "offset", where),
                         fmt::format("expected a multiple of 512 bytes, came {}", workload.offset));
    if (around.target_size > 0 && workload.offset >= around.target_size)
        diagnosis.refuse(where_of(settings, "offset", where),
                         fmt::format("the offset {} lies behind the end of the target of {}", workload.offset,
                                     format_size(around.target_size)));
}

void set_limits(const Settings& settings, const Surroundings& around, io::Workload& workload, const std::string& where,
                Diagnosis& diagnosis) {
    if (const auto* runtime = settings.find("runtime"))
        workload.limit.time = around.scaled(std::get<Nanoseconds>(runtime->value), runtime->exact);
    if (const auto* ramp = settings.find("ramp"))
        workload.ramp = around.scaled(std::get<Nanoseconds>(ramp->value), ramp->exact);
    if (const auto* bytes = settings.find("bytes")) {
        workload.limit.bytes = around.bytes_of(std::get<Amount>(bytes->value));
        if (!bytes->exact) workload.limit.bytes = scaled_bytes(*workload.limit.bytes, around.scale, 512);
    }
    if (const auto* operations = settings.find("operations")) {
        auto count = std::get<std::uint64_t>(operations->value);
        if (!operations->exact)
            count = std::max<std::uint64_t>(1, static_cast<std::uint64_t>(static_cast<double>(count) * around.scale));
        workload.limit.operations = count;
    }
    if (const auto* setting = settings.find("bursts")) {
        const auto& bursts = std::get<BurstSetting>(setting->value);
        workload.bursts = bursts.bursts;
        if (bursts.count > 0 && workload.limit.bytes)
            diagnosis.refuse(setting->where,
                             "a count of bursts and a limit of bytes contradict each other, expected one of them");
        if (bursts.count > 0) {
            // Fewer bursts, not smaller ones: a burst that fits a cache must go on fitting it.
            auto count = bursts.count;
            if (!setting->exact)
                count = std::max<std::uint64_t>(
                    1, static_cast<std::uint64_t>(std::llround(static_cast<double>(count) * around.scale)));
            if (bursts.bursts.bytes > 0 && workload.block_sizes.size() == 1) {
                const std::uint64_t block = workload.block_sizes.front().bytes;
                workload.limit.bytes = count * ((bursts.bursts.bytes + block - 1) / block * block);
            } else if (bursts.bursts.bytes > 0) {
                workload.limit.bytes = count * bursts.bursts.bytes;
            } else {
                workload.limit.operations = count * bursts.bursts.operations;
            }
        }
    }
    if (!workload.limit.time && !workload.limit.bytes && !workload.limit.operations)
        diagnosis.refuse(where, "an I/O step needs an end: runtime, bytes, operations, or a count of bursts");
}

void set_pacing(const Settings& settings, io::Workload& workload, const std::string& where, Diagnosis& diagnosis) {
    const auto* iops = get<double>(settings, "rate_iops");
    const auto* bytes = get<double>(settings, "rate");
    const auto* process = get<std::string>(settings, "rate_process");
    if (iops || bytes) {
        io::FixedRate rate;
        if (iops) rate.operations_per_second = *iops;
        if (bytes) rate.bytes_per_second = *bytes;
        rate.poisson = process && *process == "poisson";
        workload.rate = rate;
        if (workload.bursts)
            diagnosis.refuse(where_of(settings, "bursts", where),
                             "bursts and a fixed rate contradict each other, expected one of them");
    } else if (process) {
        diagnosis.refuse(where_of(settings, "rate_process", where), "rate_process needs rate or rate_iops");
    }
}

void set_rest(const Settings& settings, io::Workload& workload, const std::string& where, Diagnosis& diagnosis) {
    if (const auto* depth = get<std::uint64_t>(settings, "depth")) workload.depth = static_cast<std::uint32_t>(*depth);
    if (const auto* workers = get<std::uint64_t>(settings, "workers")) workload.workers = static_cast<std::uint32_t>(*workers);
    const auto* every = get<std::uint64_t>(settings, "fsync");
    const auto* at_end = get<bool>(settings, "end_fsync");
    if (every && at_end && *at_end)
        diagnosis.refuse(where_of(settings, "end_fsync", where),
                         "fsync and end_fsync contradict each other, expected one of them");
    if (every) {
        workload.sync = io::SyncPolicy::every_n;
        workload.sync_every = static_cast<std::uint32_t>(*every);
    } else if (at_end && *at_end) {
        workload.sync = io::SyncPolicy::at_end;
    }
    if (const auto* percent = get<double>(settings, "compress_percent")) workload.data.compressibility = *percent / 100;
    workload.data.pool_bytes = std::max<std::uint64_t>(workload.data.pool_bytes, workload.largest_block());
    if (const auto* pool = get<std::uint64_t>(settings, "data_pool")) workload.data.pool_bytes = *pool;
    if (const auto* verify = get<bool>(settings, "verify")) workload.data.verify = *verify;
    if (const auto* batching = get<std::string>(settings, "batching"))
        workload.batching = *batching == "strict"       ? io::Batching::strict
                            : *batching == "throughput" ? io::Batching::throughput
                                                        : io::Batching::natural;
    if (const auto* seed = get<std::uint64_t>(settings, "seed")) workload.seed = *seed;
    if (const auto* errors = get<std::uint64_t>(settings, "maximum_errors")) workload.maximum_errors = *errors;
    if (const auto* log = get<bool>(settings, "operation_log")) workload.operation_log = *log;
}

}  // namespace

std::uint64_t Surroundings::bytes_of(const Amount& amount) const {
    if (amount.target_percent <= 0) return amount.bytes;
    const std::uint64_t size = target_size > 0 ? target_size : assumed_target_size;
    // Whole percents only (the reader sees to it): no rounding of a double at exabytes.
    const auto percent = static_cast<std::uint64_t>(amount.target_percent);
    return size / 100 * percent + size % 100 * percent / 100;
}

Nanoseconds Surroundings::scaled(Nanoseconds time, bool exact) const {
    if (exact || scale == 1 || time.count() == 0) return time;
    return std::max(Nanoseconds(static_cast<std::int64_t>(std::llround(static_cast<double>(time.count()) * scale))),
                    Nanoseconds(1'000'000));
}

std::uint64_t scaled_bytes(std::uint64_t bytes, double scale, std::uint64_t granule) {
    if (scale == 1) return bytes;
    const auto exact = static_cast<std::uint64_t>(static_cast<double>(bytes) * scale);
    const std::uint64_t rounded = std::max(exact, smallest_scaled) / granule * granule;
    return std::min(bytes, std::max(rounded, granule));
}

io::Workload make_workload(const Settings& settings, const Surroundings& surroundings, const std::string& where,
                           Diagnosis& diagnosis) {
    io::Workload workload;
    set_access(settings, workload, where, diagnosis);
    set_region(settings, surroundings, workload, where, diagnosis);
    set_limits(settings, surroundings, workload, where, diagnosis);
    set_pacing(settings, workload, where, diagnosis);
    set_rest(settings, workload, where, diagnosis);
    if (diagnosis.ok() && surroundings.target_size > 0)
        if (const auto checked = io::check(workload, surroundings.target_size, surroundings.logical_block); !checked)
            diagnosis.refuse(where, checked.error().message);
    return workload;
}

std::string workload_label(const Settings& settings, std::span<const std::string> extra) {
    std::string label = setting_text(settings, "pattern");
    if (label == "rw" || label == "randrw") {
        const auto* percent = get<double>(settings, "read_percent");
        const double reads = percent ? *percent : 50;
        label += fmt::format(" {}/{}", format_number(reads), format_number(100 - reads));
    }
    label +=
        settings.find("block_sizes") ? " " + setting_text(settings, "block_sizes") : " " + setting_text(settings, "block_size");
    label += " QD" + setting_text(settings, "depth");
    const std::string workers = setting_text(settings, "workers");
    if (workers != "1") label += " x " + workers;
    if (settings.find("rate")) label += " at " + setting_text(settings, "rate");
    if (settings.find("rate_iops")) label += " at " + setting_text(settings, "rate_iops") + " IOPS";
    static constexpr std::array<std::string_view, 8> shown{"pattern", "read_percent", "block_size", "block_sizes",
                                                           "depth",   "workers",      "rate",       "rate_iops"};
    for (const auto& name : extra)
        if (std::find(shown.begin(), shown.end(), name) == shown.end())
            if (const std::string text = setting_text(settings, name); !text.empty())
                label += fmt::format(", {} {}", name, text);
    return label;
}

}  // namespace wattrig::suites
