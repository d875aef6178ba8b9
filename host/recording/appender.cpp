#include "host/recording/appender.hpp"

#include <fcntl.h>
#include <sys/stat.h>
#include <unistd.h>

#include <cerrno>
#include <utility>

#include "firmware/protocol/frame.hpp"

namespace wattrig::recording {
namespace {

// Large writes keep the recording from being the foreign I/O that disturbs what it measures.
constexpr std::size_t write_at_bytes = std::size_t{256} << 10;

// Bytes of the whole frames at the begin of `bytes`.
std::size_t whole_frames(std::span<const std::uint8_t> bytes) {
    std::size_t whole = 0;
    while (whole + sizeof(protocol::FrameHeader) <= bytes.size()) {
        const auto header = protocol::load<protocol::FrameHeader>(bytes.data() + whole);
        const std::size_t size = protocol::frame_bytes(header.payload_bytes);
        if (whole + size > bytes.size()) break;
        whole += size;
    }
    return whole;
}

}  // namespace

Result<std::unique_ptr<Appender>> Appender::create(const std::string& path) {
    const int file = ::open(path.c_str(), O_WRONLY | O_CREAT | O_EXCL | O_CLOEXEC, 0644);
    if (file < 0) return system_error("cannot make the file " + path, errno);
    return std::unique_ptr<Appender>(new Appender(path, file));
}

Appender::Appender(std::string path, int file) : path_(std::move(path)), file_(file) { buffer_.reserve(2 * write_at_bytes); }

Appender::~Appender() {
    write_out();
    if (!error_ && !buffer_.empty()) give_up(held_because_);
    ::close(file_);
}

bool Appender::append(std::span<const std::uint8_t> frames) {
    if (error_) return false;
    buffer_.insert(buffer_.end(), frames.begin(), frames.end());
    // While the disk takes nothing, every further piece is one more try, not every frame.
    if (buffer_.size() - held_ >= write_at_bytes) write_out();
    return !error_;
}

void Appender::write_out() {
    if (error_) return;
    std::size_t done = 0;
    int os_error = 0;
    while (done < buffer_.size()) {
        // At its place, so that a frame that reached the disk in part is written again and whole by the next try.
        const ssize_t count =
            ::pwrite(file_, buffer_.data() + done, buffer_.size() - done, static_cast<off_t>(written_ + done));
        if (count > 0) {
            done += static_cast<std::size_t>(count);
        } else if (count < 0 && errno != EINTR) {
            os_error = errno;
            break;
        }
    }
    const std::size_t whole = os_error == 0 ? done : whole_frames(std::span(buffer_).first(done));
    written_ += whole;
    buffer_.erase(buffer_.begin(), buffer_.begin() + static_cast<std::ptrdiff_t>(whole));
    held_ = buffer_.size();
    held_because_ = os_error;
    if (held_ > most_held_bytes) give_up(os_error);
}

void Appender::give_up(int os_error) {
    error_ = system_error("writing " + path_ + " ended after " + std::to_string(written_) + " bytes", os_error);
    buffer_.clear();
    held_ = 0;
    // Readers skip a partial frame as well, so a failure here damages nothing.
    if (::ftruncate(file_, static_cast<off_t>(written_)) != 0) error_->message += " (the last frame in it is cut)";
}

Result<void> Appender::flush() {
    write_out();
    struct stat status{};
    if (!error_ && ::fstat(file_, &status) == 0 && status.st_nlink == 0) {
        error_ = Error{ErrorKind::system, path_ + " was deleted while it was written: what follows would be lost"};
        buffer_.clear();
        held_ = 0;
    }
    if (error_) return *error_;
    return {};
}

Result<void> Appender::sync() {
    if (const Result<void> flushed = flush(); !flushed) return flushed;
    if (!buffer_.empty()) {
        give_up(held_because_);
        return *error_;
    }
    if (::fdatasync(file_) != 0 && errno != EINVAL && errno != EROFS) {
        error_ = system_error("cannot bring " + path_ + " to the disk", errno);
        return *error_;
    }
    return {};
}

}  // namespace wattrig::recording
