// Regular files: made, filled and checked so that every read of them reaches the drive.

#include <fcntl.h>
#include <fmt/format.h>
#include <linux/magic.h>
#include <sys/mman.h>
#include <sys/stat.h>
#include <sys/statfs.h>
#include <sys/statvfs.h>
#include <sys/sysmacros.h>
#include <sys/xattr.h>
#include <unistd.h>

#include <algorithm>
#include <array>
#include <cerrno>
#include <filesystem>
#include <fstream>
#include <memory>
#include <sstream>

#include "host/target/extents.hpp"
#include "host/target/open_paths.hpp"
#include "host/target/sysfs.hpp"

namespace wattrig::target {
namespace {

constexpr std::uint64_t fill_block = 1u << 20;
constexpr std::uint64_t alignment = 4096;  // sizes of our files: a multiple of every logical block in use
constexpr const char* marker = "user.wattrig";
constexpr std::string_view filling = "filling", filled = "filled";

struct FilesystemName {
    unsigned long magic;
    const char* name;
    const char* warning;  // nullptr = as good as any
};
constexpr const char* in_memory = "this filesystem lives in memory: no drive is measured";
constexpr const char* network = "this is a network or shared filesystem: the network and the server are measured too";
constexpr const char* layered = "this filesystem lies on another one: its own work is measured too";
constexpr const char* copy_on_write =
    "this filesystem writes copies instead of overwriting: offsets on the drive differ from offsets in the file";
constexpr std::array<FilesystemName, 20> filesystem_names{{
    {0xEF53, "ext4", nullptr},  // ext2 and ext3 carry the same number
    {0x58465342, "xfs", nullptr},
    {0xF2F52010, "f2fs", nullptr},
    {0x9123683E, "btrfs", copy_on_write},
    {0x2FC12FC1, "zfs", copy_on_write},
    {0xCA451A4E, "bcachefs", copy_on_write},
    {0x01021994, "tmpfs", in_memory},
    {0x858458F6, "ramfs", in_memory},
    {0x794C7630, "overlayfs", layered},
    {0xF15F, "ecryptfs", layered},
    {0x6969, "nfs", network},
    {0xFF534D42, "cifs", network},
    {0xFE534D42, "smb2", network},
    {0x01021997, "9p", network},
    {0x65735546, "fuse", layered},
    {0x6A656A63, "virtiofs", network},
    {0x00C36400, "ceph", network},
    {0x4D44, "vfat", nullptr},
    {0x2011BAB0, "exfat", nullptr},
    {0x7366746E, "ntfs3", nullptr},
}};

// A file of a plan that reads only is opened for writing just when it is ours and must be filled.
struct FillJob {
    int descriptor;
    std::uint64_t from, to;  // multiples of `alignment`
    const TargetRequest& request;
};

struct Unmap {
    void operator()(std::uint64_t* memory) const { munmap(memory, fill_block); }
};

// SplitMix64: fast enough to keep ahead of any drive at 1 MiB writes, and no drive compresses it.
std::uint64_t next_random(std::uint64_t& state) {
    state += 0x9E3779B97F4A7C15u;
    std::uint64_t z = state;
    z = (z ^ (z >> 30)) * 0xBF58476D1CE4E5B9u;
    z = (z ^ (z >> 27)) * 0x94D049BB133111EBu;
    return z ^ (z >> 31);
}

Error no_space(const std::string& path, std::uint64_t asked, std::uint64_t available, std::uint64_t reserve) {
    return {
        ErrorKind::system,
        fmt::format("{}: no space: {} ({} bytes) asked, {} available, of which {} are left free so that the filesystem does "
                    "not fill up; free some, give a path on another drive, or make the suite smaller with --scale or "
                    "span=SIZE",
                    path, bytes_text(asked), asked, bytes_text(available), bytes_text(reserve)),
        ENOSPC};
}

Result<void> check_space(const std::string& path, const std::string& folder, std::uint64_t more) {
    struct statvfs status{};
    if (statvfs(folder.c_str(), &status) != 0) return {};  // the fill finds out
    const std::uint64_t block = status.f_frsize;
    const std::uint64_t available = status.f_bavail * block;
    // 5 %, but not more than 10 GB of a large one.
    const std::uint64_t reserve = std::min<std::uint64_t>(status.f_blocks * block / 20, 10'000'000'000);
    if (more > available || available - more < reserve) return no_space(path, more, available, reserve);
    return {};
}

Result<void> fill(const FillJob& job) {
    void* memory = mmap(nullptr, fill_block, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
    if (memory == MAP_FAILED) return system_error("1 MiB of memory for filling the target", errno);
    const std::unique_ptr<std::uint64_t, Unmap> buffer(static_cast<std::uint64_t*>(memory));
    const std::string& path = job.request.path;
    // Contiguous space while it can still be had. Where that is not supported the writes allocate.
    if (fallocate(job.descriptor, 0, static_cast<off_t>(job.from), static_cast<off_t>(job.to - job.from)) != 0 &&
        errno == ENOSPC)
        return system_error(fmt::format("{}: no space for {}", path, bytes_text(job.to - job.from)), ENOSPC);
    std::uint64_t state = job.from ^ 0x7761747472696721u;
    std::uint64_t position = job.from;
    while (position < job.to) {
        if (job.request.stop_requested && job.request.stop_requested())
            return Error{ErrorKind::interrupted, fmt::format("{}: filling stopped on request", path), 0};
        const std::uint64_t bytes = std::min(fill_block, job.to - position);
        for (std::uint64_t i = 0; i < bytes / sizeof(std::uint64_t); ++i) buffer.get()[i] = next_random(state);
        std::uint64_t done = 0;
        while (done < bytes) {
            const ssize_t wrote = pwrite(job.descriptor, reinterpret_cast<const char*>(buffer.get()) + done, bytes - done,
                                         static_cast<off_t>(position + done));
            if (wrote < 0 && errno == EINTR) continue;
            if (wrote <= 0)
                return system_error(fmt::format("{}: filling failed at byte {} of {}", path, position + done, job.to),
                                    wrote < 0 ? errno : ENOSPC);
            // A short write would leave the next one unaligned: start again at the last whole block.
            done += static_cast<std::uint64_t>(wrote) / alignment * alignment;
            if (wrote < static_cast<ssize_t>(alignment))
                return system_error(fmt::format("{}: filling failed at byte {} of {}", path, position + done, job.to), ENOSPC);
        }
        position += bytes;
        if (job.request.fill_progress)
            job.request.fill_progress(static_cast<double>(position - job.from) / static_cast<double>(job.to - job.from));
    }
    if (fsync(job.descriptor) != 0) return system_error(fmt::format("{}: filling could not be made durable", path), errno);
    // Buffered fills leave the file in the page cache, where reads would find it.
    posix_fadvise(job.descriptor, 0, 0, POSIX_FADV_DONTNEED);
    return {};
}

void mark(int descriptor, std::string_view text) {
    fsetxattr(descriptor, marker, text.data(), text.size(), 0);  // not every filesystem can; the next open then asks
}

std::string marking(const std::string& path) {
    std::array<char, 16> text{};
    const ssize_t length = getxattr(path.c_str(), marker, text.data(), text.size());
    return length > 0 ? std::string(text.data(), static_cast<std::size_t>(length)) : std::string();
}

// For filesystems without a device number of their own (btrfs, overlay): the source of the mount that holds the path.
dev_t device_of_mount(const std::string& path) {
    std::error_code error;
    const std::string place = std::filesystem::canonical(path, error).string();
    if (error) return 0;
    std::ifstream mounts("/proc/self/mountinfo");
    std::string line, source;
    std::size_t longest = 0;
    while (std::getline(mounts, line)) {
        std::istringstream words(line);
        std::string skipped, point, word;
        words >> skipped >> skipped >> skipped >> skipped >> point;
        const bool inside =
            place.starts_with(point) && (point == "/" || place.size() == point.size() || place[point.size()] == '/');
        if (!inside || point.size() < longest) continue;
        while (words >> word && word != "-") {
        }
        words >> skipped >> source;
        longest = point.size();
    }
    struct stat status{};
    if (!source.starts_with("/dev/") || stat(source.c_str(), &status) != 0 || !S_ISBLK(status.st_mode)) return 0;
    return status.st_rdev;
}

void describe_filesystem(int descriptor, TargetInfo& info) {
    struct statfs status{};
    if (fstatfs(descriptor, &status) != 0) return;
    const auto magic = static_cast<unsigned long>(status.f_type) & 0xFFFFFFFFu;
    const auto found = std::find_if(filesystem_names.begin(), filesystem_names.end(),
                                    [&](const FilesystemName& name) { return name.magic == magic; });
    info.filesystem = found != filesystem_names.end() ? found->name : fmt::format("unknown (0x{:X})", magic);
    if (found != filesystem_names.end() && found->warning) info.warnings.push_back(info.filesystem + ": " + found->warning);
    if (status.f_blocks > 0) {
        const double used = 1 - static_cast<double>(status.f_bavail) / static_cast<double>(status.f_blocks);
        if (used > 0.9)
            info.warnings.push_back(
                fmt::format("the filesystem is {:.0f} % full: drives slow down when little space is left", used * 100));
    }
}

void describe_alignment(int descriptor, TargetInfo& info) {
    struct stat status{};
    dev_t device = 0;
    if (fstat(descriptor, &status) == 0) device = status.st_dev;
    if (major(device) == 0) device = device_of_mount(info.path);
    if (const auto disk = sysfs::disk_of("", device)) {
        describe_device(info, *disk);
        if (const auto details = sysfs::describe_disk("", *disk); details && details->logical_block > 0) {
            info.logical_block = details->logical_block;
            info.physical_block = std::max(details->physical_block, details->logical_block);
        }
    }
#ifdef STATX_DIOALIGN
    // What the filesystem itself asks of O_DIRECT can be more than the drive's block.
    struct statx extended{};
    if (statx(descriptor, "", AT_EMPTY_PATH, STATX_DIOALIGN, &extended) == 0 && (extended.stx_mask & STATX_DIOALIGN) != 0 &&
        extended.stx_dio_offset_align > info.logical_block)
        info.logical_block = extended.stx_dio_offset_align;
#endif
    info.physical_block = std::max(info.physical_block, info.logical_block);
}

// Size, extents and surroundings of a file that is open and complete.
void describe(OpenTarget& target, const TargetRequest& request) {
    TargetInfo& info = target.info;
    const int descriptor = target.descriptor.get();
    info.kind = TargetKind::file;
    info.path = request.path;
    info.direct = request.direct;
    describe_filesystem(descriptor, info);
    describe_alignment(descriptor, info);
    struct stat status{};
    if (fstat(descriptor, &status) == 0)
        info.size = static_cast<std::uint64_t>(status.st_size) / info.logical_block * info.logical_block;
    const ExtentMap map = map_extents(descriptor, info.size);
    info.extents = map.fragments;
    if (map.known && map.unmapped > 0) {
        info.written_in_full = false;
        info.warnings.push_back(
            fmt::format("{} of the file were never written (holes or reserved space): reads there do not reach the drive",
                        bytes_text(map.unmapped)));
    } else if (map.unwritten_known) {
        info.written_in_full = true;
    }
    // One fragment per 64 MiB costs nothing; far more turns sequential into random.
    if (map.fragments > 16 && map.fragments > info.size / (64u << 20))
        info.warnings.push_back(
            fmt::format("the file lies in {} fragments: sequential access is not sequential on the drive", map.fragments));
    if (!request.direct) info.warnings.push_back("buffered I/O: the page cache answers part of the operations");
}

// `ours`: a file that held somebody's data is never marked, or a later read-only run could fill over what is left of it.
Result<void> fill_and_mark(const FillJob& job, bool ours) {
    if (ours) mark(job.descriptor, filling);
    if (auto done = fill(job); !done) return done;
    if (ours) mark(job.descriptor, filled);
    return {};
}

std::uint64_t rounded_up(std::uint64_t size) { return (size + alignment - 1) / alignment * alignment; }

}  // namespace

Result<OpenTarget> open_new_file(const TargetRequest& request) {
    const std::string& path = request.path;
    std::error_code error;
    const std::filesystem::path absolute = std::filesystem::absolute(path, error);
    const std::string folder = absolute.parent_path().string();
    if (!std::filesystem::is_directory(folder, error))
        return bad_input(fmt::format("{}: its directory {} does not exist; make it first, or correct the path", path, folder));
    if (path.starts_with("/dev/"))
        return bad_input(
            fmt::format("{}: there is no such device, and no file is made in /dev; `wattrig list targets` shows the "
                        "devices of this machine",
                        path));
    if (!request.size || *request.size == 0)
        return bad_input(
            fmt::format("{}: does not exist, and the suite does not say how large it must be; give a size, or an "
                        "existing file",
                        path));
    if (*request.size > (std::uint64_t{1} << 60))
        return bad_input(fmt::format("{}: a file of {} bytes is larger than any filesystem", path, *request.size));
    const std::uint64_t size = rounded_up(*request.size);
    if (auto space = check_space(path, folder, size); !space) return space.error();

    const int flags = O_RDWR | O_CREAT | O_EXCL | O_CLOEXEC | (request.direct ? O_DIRECT : 0);
    OpenTarget target;
    target.descriptor = Descriptor(::open(path.c_str(), flags, 0600));
    if (!target.descriptor.valid()) {
        const int os_error = errno;
        struct stat left{};
        // Some kernels make the file before they find that it cannot be opened with O_DIRECT.
        if (os_error == EINVAL && lstat(path.c_str(), &left) == 0 && S_ISREG(left.st_mode) && left.st_size == 0)
            unlink(path.c_str());
        if (os_error == EEXIST)
            return system_error(fmt::format("{}: is a symbolic link to nothing; give the path of a file", path), os_error);
        return open_error(request, os_error);
    }
    if (auto done = fill_and_mark({target.descriptor.get(), 0, size, request}, true); !done) {
        unlink(path.c_str());
        return done.error();
    }
    target.info.created = true;
    target.info.written_in_full = true;
    describe(target, request);
    return target;
}

Result<OpenTarget> open_existing_file(const TargetRequest& request) {
    const std::string& path = request.path;
    struct stat status{};
    if (stat(path.c_str(), &status) != 0) return open_error(request, errno);
    const auto size = static_cast<std::uint64_t>(status.st_size);
    const std::string mark_found = marking(path);
    const bool ours = !mark_found.empty();
    const bool may_write = ours || size == 0 || (request.write && request.overwrite_data);
    if (request.write && !may_write)
        return bad_input(
            fmt::format("{}: holds {} that wattrig did not write, and this plan would overwrite them; give the path of "
                        "a new file, remove this one, or pass --overwrite-data to lose its contents",
                        path, bytes_text(size)));
    const std::uint64_t wanted = request.size ? rounded_up(*request.size) : size;
    const bool grow = size < wanted;
    if (grow && !may_write)
        return bad_input(
            fmt::format("{}: has {} ({}), the plan needs {} ({}), and a file that wattrig did not make is not grown; "
                        "give the path of a new file, or make the suite smaller with --scale or span=SIZE",
                        path, bytes_text(size), size, bytes_text(wanted), wanted));

    OpenTarget target;
    const auto open_for = [&](int access) {
        target.descriptor = Descriptor(::open(path.c_str(), access | O_CLOEXEC | (request.direct ? O_DIRECT : 0)));
        return target.descriptor.valid();
    };
    if (!open_for(request.write || grow ? O_RDWR : O_RDONLY)) return open_error(request, errno);
    // Somebody may have put a device at this path since it was looked at.
    if (fstat(target.descriptor.get(), &status) != 0 || !S_ISREG(status.st_mode))
        return bad_input(fmt::format("{}: was a file a moment ago and is none now; nothing was written", path));
    if (wanted == 0)
        return bad_input(fmt::format("{}: is empty, and the suite does not say how large it must be; give a size", path));

    // A file of ours whose filling was cut off, or that has been punched since, is filled again as a whole.
    const bool refill = ours && size > 0 && (mark_found == filling || map_extents(target.descriptor.get(), size).unmapped > 0);
    if (grow || refill) {
        if (grow) {
            const std::string folder = std::filesystem::path(path).parent_path().string();
            if (auto space = check_space(path, folder.empty() ? "." : folder, wanted - size); !space) return space.error();
        }
        if (!request.write && !grow) {
            if (!open_for(O_RDWR)) return open_error(request, errno);
            if (fstat(target.descriptor.get(), &status) != 0 || !S_ISREG(status.st_mode))
                return bad_input(fmt::format("{}: was a file a moment ago and is none now; nothing was written", path));
        }
        const std::uint64_t from = refill ? 0 : size / alignment * alignment;
        if (from != size && !refill && !ours)
            // The last, partly filled block belongs to the old contents.
            target.info.warnings.push_back("the end of the old contents was overwritten while growing the file");
        if (auto done =
                fill_and_mark({target.descriptor.get(), from, std::max(wanted, rounded_up(size)), request}, ours || size == 0);
            !done)
            return done.error();
        target.info.written_in_full = refill || from == 0;
    }
    if (!map_extents(target.descriptor.get(), wanted).unwritten_known && marking(path) == filled)
        target.info.written_in_full = true;
    describe(target, request);
    return target;
}

}  // namespace wattrig::target
