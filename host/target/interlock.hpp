#pragma once
// The interlock: the one entry point through which a device is opened for writing, or told to destroy what it holds.
// Everything is refused unless every check passes. A refusal is one sentence: which check, what it found, what can be done.
//
// O_EXCL holds the device against mounts and other careful programs for as long as the permit lives. A program that opens
// without O_EXCL is not kept out by it: the kernel has no such lock.

#include <sys/types.h>

#include <cstdint>
#include <functional>
#include <memory>
#include <optional>
#include <string>
#include <vector>

#include "host/base/result.hpp"

namespace wattrig::target {

struct WriteRequest {
    std::string path;             // /dev/nvme0n1, a link of /dev/disk/by-id, a partition
    std::string serial;           // as typed with --destroy; must match exactly
    bool overwrite_data = false;  // a partition table or a filesystem may be lost
    bool direct = true;           // O_DIRECT for the descriptor that writes
};

// Where the checks look. Tests hand in a tree of their own and a serial that changes; the program uses the defaults.
struct Machine {
    std::string root;                                                   // before /proc and /sys; "" = this machine
    std::function<std::string(const std::string& disk)> identity = {};  // empty = identity_of(root, disk)
};

// What a user types to name a drive without doubt: its serial number; for disks without one the world-wide name, for loop
// devices "loop:" and the file behind. "" where the device tells nothing: such a device is never written.
std::string identity_of(const std::string& root, const std::string& disk);

// A device that passed all checks and is held. Any one thread at a time.
class WritePermit {
  public:
    static Result<WritePermit> ask(const WriteRequest& request, const Machine& machine = {});
    WritePermit(WritePermit&&) noexcept;
    WritePermit& operator=(WritePermit&&) noexcept;
    ~WritePermit();  // closes, lets the device go

    // Asks for serial, size and mounts once more and only then opens for writing: call right before the first write. The
    // descriptor belongs to the permit. A second call returns the same one after the same checks.
    [[nodiscard]] Result<int> begin_writing();
    // The same checks without opening anything: before a command that destroys through the controller (format, sanitize).
    [[nodiscard]] Result<void> confirm() const;
    [[nodiscard]] int read_descriptor() const;      // O_RDONLY | O_EXCL
    [[nodiscard]] const std::string& disk() const;  // kernel's name of the whole disk, "nvme0n1"

  private:
    struct State;
    explicit WritePermit(std::unique_ptr<State> state);
    std::unique_ptr<State> state_;
};

// A whole controller (format of all namespaces, sanitize, switching its power): each of its namespaces passes the interlock,
// with `overwrite_data` as given, and is held until the permit ends.
class ControllerPermit {
  public:
    static Result<ControllerPermit> ask(const std::string& controller, const WriteRequest& request,
                                        const Machine& machine = {});
    [[nodiscard]] Result<void> confirm() const;
    [[nodiscard]] const std::string& controller() const { return controller_; }  // "nvme0"
    [[nodiscard]] std::size_t namespaces() const { return permits_.size(); }
    // Lets the devices go, so that the controller can be removed from its bus.
    void release() { permits_.clear(); }

  private:
    [[nodiscard]] Result<void> check_serial() const;
    std::string controller_, serial_, root_;
    std::vector<WritePermit> permits_;
};

// Namespaces' disks ("nvme0n1") of a controller ("nvme0"), through native multipath to the disk that is used; sorted.
std::vector<std::string> disks_of_controller(const std::string& root, const std::string& controller);
// Controllers ("nvme0", "nvme1") behind a disk: more than one where the subsystem has several paths. Empty for other disks.
std::vector<std::string> controllers_of_disk(const std::string& root, const std::string& disk);
// "/dev/nvme0", "/dev/nvme0n1" or a by-id link, as the controller's name "nvme0"; nothing when it is no NVMe device.
std::optional<std::string> controller_of_path(const std::string& root, const std::string& path);

// Is the disk, or any partition of it, in use? The first user found as a refusal: mounts of every visible mount namespace,
// swap, holders, loop devices on top. Needs no right to open the device, so it also guards what only cuts the power.
Result<void> check_unused(const std::string& root, const std::string& disk);

}  // namespace wattrig::target
