#include "host/rig/usb_discovery.hpp"

#include <cerrno>
#include <cstdlib>
#include <filesystem>
#include <fstream>

namespace wattrig::rig {
namespace {

namespace fs = std::filesystem;

std::string name_of(const UsbRig& rig) {
    return (rig.serial.empty() ? std::string("rig without a serial") : "rig " + rig.serial) + " (" + rig.place + ")";
}

}  // namespace

UsbSurvey survey_usb() {
    UsbSurvey survey;
    std::error_code ignored;
    survey.bus_visible = fs::exists("/dev/bus/usb", ignored);
    for (const char* folder : {"/etc/udev/rules.d", "/run/udev/rules.d", "/usr/lib/udev/rules.d", "/lib/udev/rules.d"})
        survey.rule_installed = survey.rule_installed || fs::exists(fs::path(folder) / "70-wattrig.rules", ignored);
    auto system = make_libusb_system();
    if (!system) {
        survey.unusable = system.error().message;
        return survey;
    }
    auto rigs = (*system)->list(true);
    if (!rigs)
        survey.unusable = rigs.error().message;
    else
        survey.rigs = std::move(*rigs);
    return survey;
}

std::vector<UsbFinding> explain(const UsbSurvey& survey) {
    std::vector<UsbFinding> findings;
    const auto say = [&](UsbVerdict verdict, std::string words, std::string serial = {}) {
        findings.push_back({verdict, std::move(words), std::move(serial)});
    };
    if (survey.unusable) {
        say(UsbVerdict::warning,
            *survey.unusable + (survey.bus_visible ? "" : " (no /dev/bus/usb: a container or a machine without USB?)"));
        return findings;
    }
    bool any = false;
    for (const UsbRig& rig : survey.rigs) {
        if (rig.boot_loader) {
            say(UsbVerdict::warning,
                "a board at " + rig.place +
                    " waits in its boot loader for firmware: copy wattrig.uf2 to the drive RPI-RP2, or plug it in again "
                    "without its button held");
            continue;
        }
        any = true;
        switch (rig.access) {
            case UsbAccess::free:
                if (rig.serial.empty() || rig.serial == "UNSET")
                    say(UsbVerdict::warning, name_of(rig) + " has no serial number yet: two like it cannot be told apart",
                        rig.serial);
                else
                    say(UsbVerdict::ok, name_of(rig), rig.serial);
                break;
            case UsbAccess::no_permission:
                say(UsbVerdict::failed,
                    name_of(rig) + " may not be opened by this user. " +
                        (survey.rule_installed
                             ? "The udev rule is there: plug the rig in again, and see that you are logged in "
                               "at this machine or in the group plugdev"
                             : "The udev rule is missing: run `sudo wattrig doctor --install-udev-rule`, then "
                               "plug the rig in again"));
                break;
            case UsbAccess::busy:
                say(UsbVerdict::failed,
                    name_of(rig) + " is used by another process (another wattrig run, live or serve-rig?): end it first");
                break;
            case UsbAccess::failed:
                say(UsbVerdict::failed, name_of(rig) + " cannot be opened: " + rig.access_text + "; plug it in again");
                break;
        }
    }
    if (!any && findings.empty())
        say(UsbVerdict::warning,
            survey.bus_visible
                ? "none found on USB: check the cable (some only charge) and that the rig's light is on; a new board needs its "
                  "firmware first. Without one: --rig sim, --rig tcp:HOST:PORT"
                : "this machine shows no USB (/dev/bus/usb is missing: a container?). Without it: --rig sim, --rig "
                  "tcp:HOST:PORT");
    return findings;
}

Result<std::string> install_udev_rule(const std::string& root) {
    const std::string path = root + udev_rule_path;
    std::error_code error;
    fs::create_directories(fs::path(path).parent_path(), error);
    // Whole or not at all: udev may read at any time.
    const std::string part = path + ".part";
    {
        std::ofstream file(part, std::ios::binary | std::ios::trunc);
        file << udev_rule();
        file.flush();
        if (!file) {
            const int os_error = errno;
            fs::remove(part, error);
            return system_error(
                "the udev rule cannot be written to " + path + " (as root: sudo wattrig doctor --install-udev-rule)", os_error);
        }
    }
    fs::rename(part, path, error);
    if (error) return system_error("the udev rule cannot be put in place at " + path, error.value());
    if (root.empty()) {
        // Fixed words, no input in them. Where there is no udevadm the next boot reads the rule.
        if (std::system("udevadm control --reload-rules >/dev/null 2>&1 && udevadm trigger --subsystem-match=usb "
                        ">/dev/null 2>&1") != 0)
            return path + " written; udevadm could not be told, so restart udev or the machine";
    }
    return path + " written: plug the rig in again";
}

}  // namespace wattrig::rig
