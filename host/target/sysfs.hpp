#pragma once
// Reading small files of /proc and /sys, and finding a block device there. Any thread; nothing is ever opened for writing.
// Every function takes the root of the tree ("" = this machine), so that tests hand in a tree of their own.

#include <sys/types.h>

#include <cstdint>
#include <optional>
#include <string>
#include <vector>

namespace wattrig::target::sysfs {

// Whole text without trailing white space; nothing when the file is missing, unreadable or empty. At most 64 KiB.
std::optional<std::string> read_text(const std::string& path);
std::optional<std::uint64_t> read_number(const std::string& path);
std::optional<std::string> link_name(const std::string& path);  // last part of where a link leads
std::vector<std::string> list_folder(const std::string& path);  // sorted names, without . and ..
// The word in brackets of "mq-deadline [none] bfq", or the text itself where there are no brackets.
std::string selected_word(const std::string& text);

// Name of the whole disk that holds the block device `number`, through partitions and through dm or md with one member:
// "nvme0n1". Nothing for devices that sysfs does not know (network and memory filesystems, several members).
std::optional<std::string> disk_of(const std::string& root, dev_t number);

struct Disk {  // "" and 0 where sysfs has nothing
    std::string name, model, serial, firmware, transport, scheduler;
    std::uint64_t size = 0;  // bytes
    std::uint32_t logical_block = 0, physical_block = 0;
    bool is_virtual = false;  // a hypervisor's disk, a loop device, memory: its power says nothing about an SSD
    bool rotational = false;
};
std::optional<Disk> describe_disk(const std::string& root, const std::string& name);

}  // namespace wattrig::target::sysfs
