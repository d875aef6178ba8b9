#pragma once
// The per-operation log: one record of 40 bytes an operation, little-endian, behind a header of 16 bytes. The io threads put
// records on rings and never wait; a writer thread empties them. What does not fit is dropped and counted.

#include <atomic>
#include <condition_variable>
#include <cstdint>
#include <cstdio>
#include <memory>
#include <mutex>
#include <string>
#include <thread>
#include <vector>

#include "host/base/result.hpp"
#include "host/base/spsc_ring.hpp"
#include "host/io/operation.hpp"

namespace wattrig::io {

struct LogHeader {
    char magic[8] = {'w', 'r', 'o', 'p', 'l', 'o', 'g', '1'};
    std::uint32_t record_bytes = 40;
    std::uint32_t reserved = 0;
};
static_assert(sizeof(LogHeader) == 16);

struct LogRecord {
    std::int64_t issued;     // HostTime, ns
    std::int64_t completed;  // HostTime, ns
    std::uint64_t offset;    // bytes
    std::uint32_t length;    // bytes
    std::int32_t result;     // bytes, or -errno
    std::uint8_t kind;       // OperationKind
    std::uint8_t worker;
    std::uint8_t reserved[6];
};
static_assert(sizeof(LogRecord) == 40);

class OperationLog {
  public:
    static constexpr std::size_t ring_capacity = 1 << 16;  // records a worker: 60 ms at a million operations a second

    // `threaded`: records go through rings and a writer thread; else add() writes them itself (virtual time waits for it).
    static Result<std::unique_ptr<OperationLog>> create(const std::string& path, std::uint32_t workers, bool threaded);
    ~OperationLog();
    OperationLog(const OperationLog&) = delete;
    OperationLog& operator=(const OperationLog&) = delete;

    // Worker's thread. Never waits when threaded.
    void add(std::uint32_t worker, const OperationRecord& record);
    // After the workers have ended: writes what is left. Error: the disk's; records dropped are no error.
    Result<void> finish();
    [[nodiscard]] std::uint64_t dropped() const;

  private:
    OperationLog(std::FILE* file, std::uint32_t workers, bool threaded);
    bool drain();
    void write_loop();

    std::FILE* file_;
    int os_error_ = 0;
    std::vector<std::unique_ptr<SpscRing<LogRecord>>> rings_;
    std::mutex mutex_;
    std::condition_variable wake_;
    bool stop_ = false;
    std::thread writer_;
};

}  // namespace wattrig::io
