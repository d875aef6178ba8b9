#include "host/io/operation_log.hpp"

#include <bit>
#include <cerrno>
#include <chrono>

namespace wattrig::io {

static_assert(std::endian::native == std::endian::little, "records are written as they are in memory");

Result<std::unique_ptr<OperationLog>> OperationLog::create(const std::string& path, std::uint32_t workers, bool threaded) {
    std::FILE* file = std::fopen(path.c_str(), "wbe");
    if (file == nullptr) return system_error("operation log " + path + ": cannot be created", errno);
    std::unique_ptr<OperationLog> log(new OperationLog(file, workers, threaded));
    const LogHeader header;
    if (std::fwrite(&header, sizeof header, 1, file) != 1)
        return system_error("operation log " + path + ": cannot be written", errno);
    return log;
}

OperationLog::OperationLog(std::FILE* file, std::uint32_t workers, bool threaded) : file_(file) {
    if (!threaded) return;
    for (std::uint32_t i = 0; i < workers; ++i) rings_.push_back(std::make_unique<SpscRing<LogRecord>>(ring_capacity));
    writer_ = std::thread([this] { write_loop(); });
}

OperationLog::~OperationLog() { (void)finish(); }

void OperationLog::add(std::uint32_t worker, const OperationRecord& record) {
    const LogRecord line{record.issued.time_since_epoch().count(),
                         record.completed.time_since_epoch().count(),
                         record.offset,
                         record.length,
                         record.result,
                         static_cast<std::uint8_t>(record.kind),
                         static_cast<std::uint8_t>(worker),
                         {}};
    if (!rings_.empty())
        rings_[worker]->push(line);
    else if (file_ != nullptr && std::fwrite(&line, sizeof line, 1, file_) != 1 && os_error_ == 0)
        os_error_ = errno;
}

bool OperationLog::drain() {
    bool any = false;
    LogRecord line;
    for (auto& ring : rings_)
        while (ring->pop(line)) {
            any = true;
            if (std::fwrite(&line, sizeof line, 1, file_) != 1 && os_error_ == 0) os_error_ = errno;
        }
    return any;
}

void OperationLog::write_loop() {
    std::unique_lock lock(mutex_);
    while (!stop_) {
        lock.unlock();
        const bool any = drain();
        lock.lock();
        // A producer never signals (that would be a system call): the writer looks again well before a ring can fill.
        if (!any && !stop_) wake_.wait_for(lock, std::chrono::milliseconds(5));
    }
}

Result<void> OperationLog::finish() {
    if (writer_.joinable()) {
        {
            const std::lock_guard lock(mutex_);
            stop_ = true;
        }
        wake_.notify_one();
        writer_.join();
        drain();
    }
    if (file_ != nullptr) {
        if (std::fclose(file_) != 0 && os_error_ == 0) os_error_ = errno;
        file_ = nullptr;
    }
    if (os_error_ != 0) return system_error("operation log: cannot be written", os_error_);
    return {};
}

std::uint64_t OperationLog::dropped() const {
    std::uint64_t sum = 0;
    for (const auto& ring : rings_) sum += ring->dropped();
    return sum;
}

}  // namespace wattrig::io
