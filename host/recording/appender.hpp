#pragma once
// A file that only grows, written in large pieces that end with whole frames. The first error is kept and ends the writing;
// what stands in the file then is a whole number of frames.
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

    // One whole frame, or several. False when it was dropped because of an earlier error.
    bool append(std::span<const std::uint8_t> frames);
    Result<void> flush();  // to the kernel
    Result<void> sync();   // flush, and to the disk
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
    std::uint64_t written_ = 0;  // whole frames only
    std::optional<Error> error_;
};

}  // namespace wattrig::recording
