#pragma once
// A file as bytes, mapped and read front to back. Pages that have been passed may be given back, so memory stays constant.
// The length is taken once: bytes appended later are not seen. A file cut short by another process meanwhile would fault, which
// is why nothing in wattrig ever shortens a finished recording.
//
// Thread rule: const calls from any thread.

#include <cstdint>
#include <span>
#include <string>

#include "host/base/result.hpp"

namespace wattrig::recording {

class MappedFile {
  public:
    static Result<MappedFile> open(const std::string& path);
    MappedFile(MappedFile&& other) noexcept;
    MappedFile& operator=(MappedFile&& other) noexcept;
    ~MappedFile();
    [[nodiscard]] std::span<const std::uint8_t> bytes() const { return {data_, size_}; }
    void release_before(std::size_t offset);  // a hint: those pages are not needed soon

  private:
    MappedFile() = default;
    const std::uint8_t* data_ = nullptr;
    std::size_t size_ = 0;
    std::size_t released_ = 0;
};

}  // namespace wattrig::recording
