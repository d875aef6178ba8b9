#pragma once
// A file that only grows, written in large pieces that end with whole frames. A disk that takes nothing (full, or its quota) is
// tried again at each flush, and up to 8 MiB (25 s of one rail) wait in memory meanwhile; then, or when the file was deleted,
// the error is kept and ends the writing. What stands in the file is always a whole number of frames.
//
// Thread rule: one thread.

#include <cstdint>
#include <memory>
#include <optional>
#include <span>
#include <string>
#include <vector>

#include "host/base/result.hpp"

namespace wattrig::recording {

class Appender {
  public:
    // Makes the file; system error when it exists.
    static Result<std::unique_ptr<Appender>> create(const std::string& path);
    ~Appender();
    Appender(const Appender&) = delete;
    Appender& operator=(const Appender&) = delete;

    static constexpr std::size_t most_held_bytes = std::size_t{8} << 20;

    // One whole frame, or several. False when it was dropped because of an earlier error.
    bool append(std::span<const std::uint8_t> frames);
    Result<void> flush();  // to the kernel, or kept in memory; an error only when the writing ended
    Result<void> sync();   // everything to the disk; an error ends the writing
    [[nodiscard]] std::uint64_t bytes() const { return written_ + buffer_.size(); }
    [[nodiscard]] const std::string& path() const { return path_; }
    [[nodiscard]] const std::optional<Error>& error() const { return error_; }

  private:
    Appender(std::string path, int file);
    void write_out();
    void give_up(int os_error);

    std::string path_;
    int file_;
    std::vector<std::uint8_t> buffer_;
    std::size_t held_ = 0;       // of the buffer, bytes that the last try could not write
    int held_because_ = 0;       // errno
    std::uint64_t written_ = 0;  // whole frames only
    std::optional<Error> error_;
};

}  // namespace wattrig::recording
