// Block devices: for reading by a plain open, for writing through the interlock alone.

#include <fcntl.h>
#include <fmt/format.h>
#include <linux/fs.h>
#include <sys/ioctl.h>
#include <sys/stat.h>

#include <cerrno>

#include "host/target/open_paths.hpp"
#include "host/target/sysfs.hpp"

namespace wattrig::target {

Result<OpenTarget> open_block_device(const TargetRequest& request) {
    OpenTarget target;
    if (request.write) {
        auto permit = WritePermit::ask({.path = request.path,
                                        .serial = request.destroy,
                                        .overwrite_data = request.overwrite_data,
                                        .direct = request.direct});
        if (!permit) return permit.error();
        target.permit.emplace(std::move(*permit));
    } else {
        target.descriptor = Descriptor(::open(request.path.c_str(), O_RDONLY | O_CLOEXEC | (request.direct ? O_DIRECT : 0)));
        if (!target.descriptor.valid()) {
            if (errno == ENOMEDIUM || errno == ENXIO)
                return system_error(fmt::format("{}: there is no medium behind this device", request.path), errno);
            return open_error(request, errno);
        }
    }
    std::uint64_t size = 0;
    int logical = 0;
    unsigned physical = 0;
    const int descriptor = target.permit ? target.permit->read_descriptor() : target.descriptor.get();
    if (ioctl(descriptor, BLKGETSIZE64, &size) != 0 || ioctl(descriptor, BLKSSZGET, &logical) != 0)
        return system_error(fmt::format("{}: the kernel does not tell its size", request.path), errno);
    if (ioctl(descriptor, BLKPBSZGET, &physical) != 0) physical = static_cast<unsigned>(logical);
    if (size == 0) return bad_input(fmt::format("{}: has a size of 0 bytes; is a medium in it?", request.path));
    if (request.size && size < *request.size)
        return bad_input(
            fmt::format("{}: has {} ({}), the plan needs {} ({}); make the suite smaller with --scale or span=SIZE",
                        request.path, bytes_text(size), size, bytes_text(*request.size), *request.size));
    TargetInfo& info = target.info;
    info.kind = TargetKind::block_device;
    info.path = request.path;
    info.size = size;
    info.logical_block = static_cast<std::uint32_t>(logical);
    info.physical_block = physical;
    info.direct = request.direct;
    struct stat status{};
    if (fstat(descriptor, &status) == 0)
        if (const auto disk = sysfs::disk_of("", status.st_rdev)) describe_device(info, *disk);
    if (!request.direct) info.warnings.push_back("buffered I/O: the page cache answers part of the reads");
    return target;
}

}  // namespace wattrig::target
