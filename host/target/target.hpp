#pragma once
// What is tested: a regular file or a block device. The only door to a device: opening for writing passes the interlock.

#include <cstdint>
#include <functional>
#include <memory>
#include <optional>
#include <string>
#include <vector>

#include "host/base/result.hpp"

namespace wattrig::target {

enum class TargetKind { file, block_device };

struct TargetRequest {
    std::string path = {};
    bool write = false;                                   // the plan has writes, discards or a purge
    bool direct = true;                                   // O_DIRECT
    std::optional<std::uint64_t> size = {};               // files: create or grow to this many bytes; bytes
    bool keep = false;                                    // files that this run created are removed at the end unless kept
    bool overwrite_data = false;                          // a plan that writes may use a file that wattrig did not make, or
                                                          // a device with a partition table or filesystem
    std::string destroy = {};                             // devices: the serial typed for a plan that writes
    std::function<void(double done)> fill_progress = {};  // 0 .. 1, in the caller's thread
    std::function<bool()> stop_requested = {};  // asked once a MiB while filling; true ends with ErrorKind::interrupted
};

struct TargetInfo {  // what run.json says of the target
    TargetKind kind = TargetKind::file;
    std::string path;
    std::string device;      // kernel's name of the block device (behind the file), "nvme0n1"; "" where there is none
    std::uint64_t size = 0;  // bytes
    std::uint32_t logical_block = 512;
    std::uint32_t physical_block = 512;
    bool direct = true;
    bool created = false;                            // by this run
    bool written_in_full = false;                    // every block is known to have been written
    std::uint32_t extents = 0;                       // files: fragments, 0 = the filesystem cannot tell
    std::string filesystem;                          // files: type
    std::string model, serial, firmware, transport;  // the device behind, "" where sysfs has none
    std::string scheduler;
    std::vector<std::string> warnings;
};

// Thread rule: any one thread at a time; the descriptor may be used by all io threads.
class Target {
  public:
    // Opens, creates, fills (non-sparse, incompressible data) as asked. Errors name path, what was expected and what came: no
    // space (asked, available), no O_DIRECT here (offers --buffered), a device that the interlock refuses, a directory,
    // missing, no permission. A file made here carries the extended attribute `user.wattrig`; a plan that writes is refused on
    // any other file that is not empty, unless `overwrite_data`: nobody's data is lost by a mistyped path.
    static Result<Target> open(const TargetRequest& request);
    Target(Target&&) noexcept;
    Target& operator=(Target&&) noexcept;
    ~Target();  // closes; removes a file that this run created unless kept

    // A device that a plan writes to is opened for writing only here, after the interlock's second look; call it right before
    // the first operation. Nothing to do for files and for plans that read.
    [[nodiscard]] Result<void> begin_writing();
    // For reading until begin_writing() where the target is a device.
    [[nodiscard]] int descriptor() const;
    [[nodiscard]] const TargetInfo& info() const;

  private:
    struct State;
    explicit Target(std::unique_ptr<State> state);
    std::unique_ptr<State> state_;
};

// Block devices of this machine, from sysfs, for `wattrig list targets`; never opens one.
std::vector<TargetInfo> list_block_devices();

}  // namespace wattrig::target
