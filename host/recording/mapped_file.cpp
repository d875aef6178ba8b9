#include "host/recording/mapped_file.hpp"

#include <fcntl.h>
#include <sys/mman.h>
#include <sys/stat.h>
#include <unistd.h>

#include <cerrno>
#include <utility>

namespace wattrig::recording {

Result<MappedFile> MappedFile::open(const std::string& path) {
    const int file = ::open(path.c_str(), O_RDONLY | O_CLOEXEC | O_NONBLOCK);  // a pipe given by mistake must not hang
    if (file < 0) return system_error("cannot open " + path, errno);
    struct stat status{};
    if (::fstat(file, &status) != 0) {
        const int os_error = errno;
        ::close(file);
        return system_error("cannot look at " + path, os_error);
    }
    if (!S_ISREG(status.st_mode)) {
        ::close(file);
        return bad_input(path + " is no regular file");
    }
    MappedFile mapped;
    mapped.size_ = static_cast<std::size_t>(status.st_size);
    if (mapped.size_ > 0) {
        void* at = ::mmap(nullptr, mapped.size_, PROT_READ, MAP_SHARED, file, 0);
        const int os_error = errno;
        ::close(file);
        if (at == MAP_FAILED) return system_error("cannot map " + path, os_error);
        ::madvise(at, mapped.size_, MADV_SEQUENTIAL);
        mapped.data_ = static_cast<const std::uint8_t*>(at);
    } else {
        ::close(file);
    }
    return mapped;
}

MappedFile::MappedFile(MappedFile&& other) noexcept
    : data_(std::exchange(other.data_, nullptr)), size_(std::exchange(other.size_, 0)), released_(other.released_) {}

MappedFile& MappedFile::operator=(MappedFile&& other) noexcept {
    std::swap(data_, other.data_);
    std::swap(size_, other.size_);
    std::swap(released_, other.released_);
    return *this;
}

MappedFile::~MappedFile() {
    if (data_ != nullptr) ::munmap(const_cast<std::uint8_t*>(data_), size_);
}

void MappedFile::release_before(std::size_t offset) {
    const auto page = static_cast<std::size_t>(::sysconf(_SC_PAGESIZE));
    offset = offset / page * page;
    if (offset <= released_) return;
    ::madvise(const_cast<std::uint8_t*>(data_) + released_, offset - released_, MADV_DONTNEED);
    released_ = offset;
}

}  // namespace wattrig::recording
