#pragma once
// What is said about the rigs on USB: pure words from what was seen, and the udev rule.

#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "host/base/result.hpp"
#include "host/rig/usb_device.hpp"

namespace wattrig::rig {

// host/rig/70-wattrig.rules, built in.
std::string_view udev_rule();
inline constexpr const char* udev_rule_path = "/etc/udev/rules.d/70-wattrig.rules";

struct UsbSurvey {
    std::optional<std::string> unusable;  // why this machine's USB cannot be used
    std::vector<UsbRig> rigs;             // probed
    bool rule_installed = false;          // ours, in a folder that udev reads
    bool bus_visible = true;              // /dev/bus/usb is there
};
UsbSurvey survey_usb();

enum class UsbVerdict { ok, warning, failed };
struct UsbFinding {
    UsbVerdict verdict;
    std::string words;
    std::string serial;  // of the rig that can be used; else empty
};
// One finding for each rig and each cause, in plain words with what to do. Never empty.
std::vector<UsbFinding> explain(const UsbSurvey& survey);

// Writes the rule and asks udev to read it. `root`: "" or a folder that stands for /, for tests.
Result<std::string> install_udev_rule(const std::string& root);

}  // namespace wattrig::rig
