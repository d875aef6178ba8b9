#include "host/io/uring_backend.hpp"

#include <fcntl.h>
#include <fmt/format.h>
#include <liburing.h>
#include <linux/falloc.h>
#include <linux/fs.h>
#include <sys/ioctl.h>
#include <sys/stat.h>

#include <algorithm>
#include <array>
#include <cassert>
#include <cerrno>
#include <csignal>
#include <cstdio>
#include <string>
#include <vector>

namespace wattrig::io {

namespace {

constexpr std::uint64_t cancel_mark = UINT64_MAX;   // user_data of our own requests, which are no operations
constexpr unsigned least_part = 4;                  // operations submitted in one call before others follow
constexpr unsigned spare_entries = 1;               // of the ring, for cancelling
constexpr unsigned most_refusals = 100'000;         // of the kernel in a row before the ring counts as broken
constexpr std::int64_t longest_wait = 100'000'000;  // ns

struct FlagSet {
    unsigned flags;
    const char* text;
};
// From the cheapest to what 5.6 had; each kernel takes the first it knows.
constexpr std::array<FlagSet, 5> ladder{{
    {IORING_SETUP_COOP_TASKRUN | IORING_SETUP_SINGLE_ISSUER | IORING_SETUP_DEFER_TASKRUN | IORING_SETUP_CQSIZE |
         IORING_SETUP_SUBMIT_ALL,
     "DEFER_TASKRUN|SINGLE_ISSUER|COOP_TASKRUN|SUBMIT_ALL|CQSIZE"},
    {IORING_SETUP_COOP_TASKRUN | IORING_SETUP_SINGLE_ISSUER | IORING_SETUP_CQSIZE | IORING_SETUP_SUBMIT_ALL,
     "SINGLE_ISSUER|COOP_TASKRUN|SUBMIT_ALL|CQSIZE"},
    {IORING_SETUP_COOP_TASKRUN | IORING_SETUP_CQSIZE | IORING_SETUP_SUBMIT_ALL, "COOP_TASKRUN|SUBMIT_ALL|CQSIZE"},
    {IORING_SETUP_CQSIZE, "CQSIZE"},
    {0, "plain"},
}};

Error setup_error(int os_error) {
    if (os_error == ENOSYS) return system_error("io_uring: expected a kernel from 5.11 on with CONFIG_IO_URING", os_error);
    if (os_error == EPERM || os_error == EACCES) {
        int disabled = -1;
        if (std::FILE* file = std::fopen("/proc/sys/kernel/io_uring_disabled", "re")) {
            if (std::fscanf(file, "%d", &disabled) != 1) disabled = -1;
            std::fclose(file);
        }
        if (disabled > 0)
            return system_error(
                fmt::format(
                    "io_uring: forbidden by kernel.io_uring_disabled = {}; allow it with: sysctl kernel.io_uring_disabled=0",
                    disabled),
                os_error);
        return system_error(
            "io_uring: forbidden, most often by a container's seccomp profile; allow io_uring_setup, io_uring_enter and "
            "io_uring_register there",
            os_error);
    }
    if (os_error == ENOMEM)
        return system_error("io_uring: no memory for the ring; on kernels before 5.12 raise RLIMIT_MEMLOCK (ulimit -l)",
                            os_error);
    return system_error("io_uring: the ring cannot be set up", os_error);
}

class UringBackend final : public Backend {
  public:
    UringBackend(int fd, std::span<std::byte> buffers, const UringOptions& options)
        : fd_(fd), buffers_(buffers), options_(options) {
        struct stat status{};
        block_device_ = fstat(fd, &status) == 0 && S_ISBLK(status.st_mode);
    }
    ~UringBackend() override {
        if (set_up_) io_uring_queue_exit(&ring_);
    }
    UringBackend(const UringBackend&) = delete;
    UringBackend& operator=(const UringBackend&) = delete;

    Result<void> set_up(unsigned depth) {
        part_ = std::max(least_part, depth / 4);
        int error = 0;
        for (const FlagSet& rung : ladder) {
            io_uring_params params{};
            params.flags = rung.flags;
            // Room for every completion: the ring can then never overflow.
            if ((rung.flags & IORING_SETUP_CQSIZE) != 0) params.cq_entries = 2 * (depth + spare_entries);
            error = -io_uring_queue_init_params(depth + spare_entries, &ring_, &params);
            if (error == 0) {
                flags_ = rung.text;
                break;
            }
            if (error != EINVAL) return setup_error(error);
        }
        if (error != 0) return setup_error(error);
        set_up_ = true;
        if ((ring_.features & IORING_FEAT_EXT_ARG) == 0)
            return system_error("io_uring: expected timed waits (kernel from 5.11 on)", ENOSYS);
        registered_ring_ = io_uring_register_ring_fd(&ring_) == 1;
        registered_file_ = io_uring_register_files(&ring_, &fd_, 1) == 0;
        if (options_.register_buffers && !buffers_.empty()) {
            // The kernel takes at most 1 GiB for one buffer.
            constexpr std::size_t most = std::size_t{1} << 30;
            const iovec vector{buffers_.data(), buffers_.size()};
            registered_buffers_ = buffers_.size() <= most && io_uring_register_buffers(&ring_, &vector, 1) == 0;
        }
        for (unsigned i = 0; i <= *ring_.sq.kring_mask; ++i) ring_.sq.array[i] = i;  // entry k is always in place k
        tail_ = *ring_.sq.ktail;
        inline_done_.reserve(depth);
        return {};
    }

    [[nodiscard]] Capabilities capabilities() const override {
        Capabilities c;
        c.discard = c.write_zeroes = true;
        c.registered_buffers = registered_buffers_;
        c.description = fmt::format("io_uring, {}{}{}, {} buffers, {}", flags_, registered_ring_ ? ", registered ring" : "",
                                    registered_file_ ? ", registered file" : "", registered_buffers_ ? "fixed" : "unregistered",
                                    options_.direct ? "O_DIRECT" : "buffered");
        if (block_device_) c.description += ", discard by ioctl (depth 1)";
        return c;
    }

    Result<std::size_t> exchange(std::span<const Operation> operations, std::size_t want, HostTime deadline,
                                 std::span<Completion> out) override {
        for (const Operation& operation : operations) prepare(operation);
        queued_ += static_cast<unsigned>(operations.size()) - taken_inline_;
        taken_inline_ = 0;
        const std::size_t ready = io_uring_cq_ready(&ring_) + inline_done_.size();
        const unsigned wait = ready >= want ? 0 : static_cast<unsigned>(want - inline_done_.size());
        // All but the last part go in without waiting, so that the drive works on them while the rest is being submitted. Else
        // it and we would take turns at deep queues: it idle while we submit, we idle while it works. Who waits for many at a
        // time asked for fewer calls instead.
        const unsigned part = want > 1 ? queued_ : part_;
        bool taken = true;
        while (taken && queued_ > part) {
            const unsigned before = queued_;
            auto entered = count(enter(part, 0, HostTime::max()));
            if (!entered) return entered.error();
            taken = *entered && queued_ < before;
        }
        if (taken && (queued_ != 0 || wait != 0 || ready == 0)) {
            if (auto entered = count(enter(queued_, wait, deadline)); !entered) return entered.error();
        }
        return reap(out);
    }

    void cancel() override {
        if (tail_ - io_uring_smp_load_acquire(ring_.sq.khead) > *ring_.sq.kring_mask) return;  // full: the next call will do
        io_uring_sqe* entry = &ring_.sq.sqes[tail_++ & *ring_.sq.kring_mask];
        io_uring_prep_cancel64(entry, 0, IORING_ASYNC_CANCEL_ANY | IORING_ASYNC_CANCEL_ALL);
        io_uring_sqe_set_data64(entry, cancel_mark);
        ++queued_;
    }

  private:
    void prepare(const Operation& operation) {
        if (operation.kind == OperationKind::discard && block_device_) {
            discard_inline(operation);
            return;
        }
        assert(tail_ - *ring_.sq.khead <= *ring_.sq.kring_mask && "more operations than the depth");
        io_uring_sqe* entry = &ring_.sq.sqes[tail_++ & *ring_.sq.kring_mask];
        const int fd = registered_file_ ? 0 : fd_;
        switch (operation.kind) {
            case OperationKind::read:
                if (registered_buffers_)
                    io_uring_prep_read_fixed(entry, fd, operation.buffer, operation.length, operation.offset, 0);
                else
                    io_uring_prep_read(entry, fd, operation.buffer, operation.length, operation.offset);
                break;
            case OperationKind::write:
                if (registered_buffers_)
                    io_uring_prep_write_fixed(entry, fd, operation.buffer, operation.length, operation.offset, 0);
                else
                    io_uring_prep_write(entry, fd, operation.buffer, operation.length, operation.offset);
                break;
            case OperationKind::flush: io_uring_prep_fsync(entry, fd, options_.data_sync ? IORING_FSYNC_DATASYNC : 0); break;
            case OperationKind::discard:
                io_uring_prep_fallocate(entry, fd, FALLOC_FL_PUNCH_HOLE | FALLOC_FL_KEEP_SIZE,
                                        static_cast<off_t>(operation.offset), static_cast<off_t>(operation.length));
                break;
            case OperationKind::write_zeroes:
                io_uring_prep_fallocate(entry, fd, FALLOC_FL_ZERO_RANGE | FALLOC_FL_KEEP_SIZE,
                                        static_cast<off_t>(operation.offset), static_cast<off_t>(operation.length));
                break;
        }
        if (registered_file_) entry->flags = IOSQE_FIXED_FILE;
        // fallocate says 0 where an operation says its length.
        const bool by_length = operation.kind == OperationKind::discard || operation.kind == OperationKind::write_zeroes;
        entry->user_data = operation.slot | (by_length ? std::uint64_t{operation.length} << 32 : 0);
    }

    void discard_inline(const Operation& operation) {
        std::array<std::uint64_t, 2> range{operation.offset, operation.length};
        const int result = ioctl(fd_, BLKDISCARD, range.data()) == 0 ? static_cast<int>(operation.length) : -errno;
        inline_done_.push_back({HostTime{}, operation.slot, result});
        ++taken_inline_;
    }

    // Books what enter() returned; whether the kernel took operations or waited as asked. What it did not take stays queued.
    Result<bool> count(int entered) {
        if (entered >= 0) {
            queued_ -= static_cast<unsigned>(entered);
            refusals_ = 0;
            return true;
        }
        if (entered == -EAGAIN || entered == -EBUSY) {  // no memory for requests, or completions to be taken first
            if (++refusals_ > most_refusals) return system_error("io_uring: the kernel takes no more operations", -entered);
        } else if (entered != -EINTR && entered != -ETIME) {
            return system_error("io_uring: entering the kernel failed", -entered);
        }
        return false;
    }

    // Submits `submit` of what is queued and waits for `wait` completions or the deadline, in one call. Operations taken, or
    // -errno.
    int enter(unsigned submit, unsigned wait, HostTime deadline) {
        io_uring_smp_store_release(ring_.sq.ktail, tail_);
        const unsigned flags = IORING_ENTER_GETEVENTS | (registered_ring_ ? IORING_ENTER_REGISTERED_RING : 0u);
        const auto fd = static_cast<unsigned>(ring_.enter_ring_fd);
        if (wait == 0) return io_uring_enter2(fd, submit, 0, flags, nullptr, NSIG / 8);
        std::int64_t time = longest_wait;
        // Far deadlines need no look at the clock: the caller asks again after 100 ms at most.
        if (deadline != HostTime::max())
            time = std::clamp<std::int64_t>((deadline - real_host_time()).count(), 0, longest_wait);
        if (time == 0) return io_uring_enter2(fd, submit, 0, flags, nullptr, NSIG / 8);
        const __kernel_timespec timeout{time / 1'000'000'000, time % 1'000'000'000};
        io_uring_getevents_arg argument{};
        argument.sigmask_sz = NSIG / 8;
        argument.ts = reinterpret_cast<std::uintptr_t>(&timeout);
        return io_uring_enter2(fd, submit, wait, flags | IORING_ENTER_EXT_ARG, reinterpret_cast<sigset_t*>(&argument),
                               sizeof argument);
    }

    std::size_t reap(std::span<Completion> out) {
        std::size_t n = 0;
        while (!inline_done_.empty() && n < out.size()) {
            out[n++] = inline_done_.back();
            inline_done_.pop_back();
        }
        unsigned head = *ring_.cq.khead;  // ours alone
        const unsigned tail = io_uring_smp_load_acquire(ring_.cq.ktail), mask = *ring_.cq.kring_mask;
        for (; head != tail && n < out.size(); ++head) {
            const io_uring_cqe& entry = ring_.cq.cqes[head & mask];
            if (entry.user_data == cancel_mark) continue;
            const auto length = static_cast<std::int32_t>(entry.user_data >> 32);
            out[n].slot = static_cast<std::uint32_t>(entry.user_data);
            out[n++].result = entry.res == 0 ? length : entry.res;
        }
        io_uring_smp_store_release(ring_.cq.khead, head);
        return n;
    }

    io_uring ring_{};
    bool set_up_ = false, registered_ring_ = false, registered_file_ = false, registered_buffers_ = false,
         block_device_ = false;
    int fd_;
    std::span<std::byte> buffers_;
    UringOptions options_;
    const char* flags_ = "";
    unsigned tail_ = 0;    // of the submission ring, ours
    unsigned queued_ = 0;  // entries the kernel has not taken yet
    unsigned refusals_ = 0;
    unsigned part_ = least_part;  // of the depth, submitted at once
    unsigned taken_inline_ = 0;
    std::vector<Completion> inline_done_;
};

}  // namespace

Result<std::unique_ptr<Backend>> make_uring_backend(int fd, std::span<std::byte> buffers, unsigned depth,
                                                    const UringOptions& options) {
    assert(depth >= 1 && depth <= 4096);
    auto backend = std::make_unique<UringBackend>(fd, buffers, options);
    if (auto r = backend->set_up(depth); !r) return r.error();
    return std::unique_ptr<Backend>(std::move(backend));
}

}  // namespace wattrig::io
