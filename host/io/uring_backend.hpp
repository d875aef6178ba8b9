#pragma once
// The real way to a target: io_uring, one ring a worker, one system call a turn.

#include <cstddef>
#include <memory>
#include <span>

#include "host/base/result.hpp"
#include "host/io/backend.hpp"

namespace wattrig::io {

struct UringOptions {
    bool direct = true;            // the descriptor is O_DIRECT; only for Capabilities::description
    bool register_buffers = true;  // tried, and done without when refused (RLIMIT_MEMLOCK)
    bool data_sync = false;        // flush = fdatasync instead of fsync
};

// `fd` stays the caller's and must outlive the backend; `buffers` is the memory all operations point into; `depth` is the most
// operations in flight, 1 .. 4096. To be called on the thread that will use the backend.
//
// Errors: io_uring missing or forbidden (says where to look), out of memory. Discards on a block device are done by ioctl
// inside exchange(), one after another: their depth at the device is 1 (description says so).
Result<std::unique_ptr<Backend>> make_uring_backend(int fd, std::span<std::byte> buffers, unsigned depth,
                                                    const UringOptions& options = {});

}  // namespace wattrig::io
