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
    std::string path;
    bool write = false;                 // the plan has writes, discards or a purge
    bool direct = true;                 // O_DIRECT
    std::optional<std::uint64_t> size;  // files: create or grow to this many bytes; bytes
    bool keep = false;                  // files that this run created are removed at the end unless kept
    std::function<void(double done)> fill_progress;
};

struct TargetInfo {  // what run.json says of the target
    TargetKind kind = TargetKind::file;
    std::string path;
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
    // space (asked, available), no O_DIRECT here (offers --buffered), a device asked for writing, a directory, missing, no
    // permission.
    static Result<Target> open(const TargetRequest& request);
    Target(Target&&) noexcept;
    Target& operator=(Target&&) noexcept;
    ~Target();  // closes; removes a file that this run created unless kept

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
