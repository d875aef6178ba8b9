#pragma once
// What a worker asks of a target, and what comes back. Plain data; any thread.

#include <cstddef>
#include <cstdint>

#include "host/base/clock.hpp"

namespace wattrig::io {

enum class OperationKind : std::uint8_t { read, write, flush, discard, write_zeroes };
inline constexpr std::size_t operation_kinds = 5;
const char* name(OperationKind kind);  // fio's words: "read", "write", "sync", "trim", "zero"

struct Operation {
    std::uint64_t offset;  // bytes, from the start of the target
    std::uint32_t length;  // bytes; 0 for flush
    std::uint32_t slot;    // of the worker: 0 .. depth - 1; comes back in the completion
    std::byte* buffer;     // `length` bytes inside the worker's registered memory; null for a virtual backend
    OperationKind kind;
};

struct Completion {
    HostTime completed;
    std::uint32_t slot;
    std::int32_t result;  // bytes, or -errno
};

// One finished operation, for what follows the engine as it runs (the simulated rig beside real I/O, the per-operation log).
struct OperationRecord {
    HostTime issued;
    HostTime completed;
    std::uint64_t offset;
    std::uint32_t length;
    std::int32_t result;
    OperationKind kind;
};

}  // namespace wattrig::io
