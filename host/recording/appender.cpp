#include "host/recording/appender.hpp"

#include <fcntl.h>
#include <unistd.h>

#include <cerrno>
#include <utility>

#include "firmware/protocol/frame.hpp"

namespace wattrig::recording {
namespace {

// Large writes keep the recording from being the foreign I/O that disturbs what it measures.
constexpr std::size_t write_at_bytes = 256 * 1024;

}  // namespace

Result<std::unique_ptr<Appender>> Appender::create(const std::string& path) {
    const int file = ::open(path.c_str(), O_WRONLY | O_CREAT | O_EXCL | O_CLOEXEC, 0644);
    if (file < 0) return system_error("cannot make the file " + path, errno);
    return std::unique_ptr<Appender>(new Appender(path, file));
}

Appender::Appender(std::string path, int file) : path_(std::move(path)), file_(file) { buffer_.reserve(2 * write_at_bytes); }

Appender::~Appender() {
    write_out();
    ::close(file_);
}

bool Appender::append(std::span<const std::uint8_t> frames) {
    if (error_) return false;
    buffer_.insert(buffer_.end(), frames.begin(), frames.end());
    if (buffer_.size() >= write_at_bytes) write_out();
    return !error_;
}

void Appender::write_out() {
    std::size_t done = 0;
    while (!error_ && done < buffer_.size()) {
        const ssize_t count = ::write(file_, buffer_.data() + done, buffer_.size() - done);
        if (count > 0) {
            done += static_cast<std::size_t>(count);
        } else if (count < 0 && errno != EINTR) {
            // A full disk takes a part: keep the whole frames of it.
            const int os_error = errno;
            std::size_t whole = 0;
            while (whole + sizeof(protocol::FrameHeader) <= done) {
                const std::size_t size =
                    protocol::frame_bytes(protocol::load<protocol::FrameHeader>(buffer_.data() + whole).payload_bytes);
                if (whole + size > done) break;
                whole += size;
            }
            written_ += whole;
            buffer_.clear();
            give_up(os_error);
            return;
        }
    }
    written_ += buffer_.size();
    buffer_.clear();
}

void Appender::give_up(int os_error) {
    error_ = system_error("writing " + path_ + " ended after " + std::to_string(written_) + " bytes", os_error);
    // Readers skip a partial frame as well, so a failure here damages nothing.
    if (::ftruncate(file_, static_cast<off_t>(written_)) != 0) error_->message += " (the last frame in it is cut)";
}

Result<void> Appender::flush() {
    write_out();
    if (error_) return *error_;
    return {};
}

Result<void> Appender::sync() {
    if (const Result<void> flushed = flush(); !flushed) return flushed;
    if (::fdatasync(file_) != 0 && errno != EINVAL && errno != EROFS) {
        error_ = system_error("cannot bring " + path_ + " to the disk", errno);
        return *error_;
    }
    return {};
}

}  // namespace wattrig::recording
