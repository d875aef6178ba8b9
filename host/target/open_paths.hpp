#pragma once
// The two ways a target is opened; used by target.cpp alone.

#include <optional>
#include <string>
#include <utility>

#include "host/base/result.hpp"
#include "host/target/interlock.hpp"
#include "host/target/target.hpp"

namespace wattrig::target {

class Descriptor {  // closes at its end
  public:
    Descriptor() = default;
    explicit Descriptor(int number) : number_(number) {}
    Descriptor(Descriptor&& other) noexcept : number_(std::exchange(other.number_, -1)) {}
    Descriptor& operator=(Descriptor&& other) noexcept {
        std::swap(number_, other.number_);
        return *this;
    }
    ~Descriptor();
    [[nodiscard]] int get() const { return number_; }
    [[nodiscard]] bool valid() const { return number_ >= 0; }

  private:
    int number_ = -1;
};

struct OpenTarget {
    Descriptor descriptor;              // empty where `permit` holds the device
    std::optional<WritePermit> permit;  // a device that the plan writes to
    int written = -1;                   // the permit's descriptor, after begin_writing()
    TargetInfo info;
};

Result<OpenTarget> open_new_file(const TargetRequest& request);       // nothing is at the path yet
Result<OpenTarget> open_existing_file(const TargetRequest& request);  // a regular file is
Result<OpenTarget> open_block_device(const TargetRequest& request);   // for writing through the interlock

// Takes model, serial and the like over from sysfs, with a warning for disks that are none.
void describe_device(TargetInfo& info, const std::string& disk_name);

// One sentence for a failed open(2), with what to do.
Error open_error(const TargetRequest& request, int os_error);

// "1.5 GB": decimal, as on the label of a drive.
std::string bytes_text(std::uint64_t bytes);

}  // namespace wattrig::target
