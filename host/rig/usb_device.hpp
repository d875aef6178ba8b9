#pragma once
// The thin seam between the link and libusb: what the link needs of a USB host, so that its order, its errors and its memory
// can be tested where there is no USB. usb_libusb.cpp carries it out on libusb; tests/rig has a bus that is slow, stalls and
// breaks.
//
// Thread rule: one thread, the link's.

#include <cstddef>
#include <cstdint>
#include <memory>
#include <span>
#include <string>
#include <vector>

#include "firmware/protocol/usb.hpp"
#include "host/base/clock.hpp"
#include "host/base/result.hpp"

namespace wattrig::rig {

inline constexpr std::uint16_t boot_vendor = 0x2e8a, boot_product = 0x0003;  // the RP2040's own boot loader

enum class UsbStatus : std::uint8_t { completed, timed_out, stalled, cancelled, gone, overflow, failed };
const char* usb_status_text(UsbStatus status);

// Owned by the link from prepare() to release(); not to be moved in between.
struct UsbTransfer {
    std::uint8_t endpoint = 0;
    std::span<std::uint8_t> buffer;  // IN: room, whole packets; OUT: what goes out
    Nanoseconds timeout{0};          // 0: none
    void (*done)(UsbTransfer&) = nullptr;
    void* owner = nullptr;
    // Of the last completion.
    UsbStatus status = UsbStatus::completed;
    std::size_t actual = 0;
    void* native = nullptr;  // the UsbDevice's own
};

struct UsbDescriptor {
    int file = -1;
    bool writable = false;  // ready means writable (usbfs), else readable
};

// An opened rig, its interface claimed. Destroyed only when nothing is in flight.
class UsbDevice {
  public:
    virtual ~UsbDevice() = default;
    virtual void prepare(UsbTransfer& transfer) = 0;  // the only call that uses the heap
    virtual void release(UsbTransfer& transfer) = 0;
    // `completed`: it is on its way and `done` will be called once, in the order of submission for one endpoint.
    virtual UsbStatus submit(UsbTransfer& transfer) = 0;
    virtual void cancel(UsbTransfer& transfer) = 0;  // `done` still comes
    virtual UsbStatus clear_halt(std::uint8_t endpoint) = 0;
    // Calls `done` of what has completed; waits for the first at most `patience`.
    virtual void handle_events(Nanoseconds patience) = 0;
    // Ready when handle_events has something to do. They do not change while the device is open.
    [[nodiscard]] virtual std::vector<UsbDescriptor> descriptors() const = 0;
};

enum class UsbAccess : std::uint8_t { free, no_permission, busy, failed };
struct UsbRig {
    std::string serial;  // empty when it could not be read
    std::string product;
    std::string place;                   // "bus 1, port 2.3"
    std::uint16_t version = 0;           // bcdDevice
    std::uint16_t kind = 0;              // product id
    bool boot_loader = false;            // waits for a firmware image instead of measuring
    UsbAccess access = UsbAccess::free;  // tried by opening and claiming it
    std::string access_text;             // what the system said
};

class UsbSystem {
  public:
    virtual ~UsbSystem() = default;
    // All rigs and RP2040 boot loaders. `probe`: try whether they can be used; another process's use is not disturbed.
    virtual Result<std::vector<UsbRig>> list(bool probe) = 0;
    // The rig with this serial; an empty one stands for the only rig there is.
    virtual Result<std::unique_ptr<UsbDevice>> open(const std::string& serial) = 0;
};

// libusb. An error where the machine has no USB that libusb can use.
Result<std::unique_ptr<UsbSystem>> make_libusb_system();

}  // namespace wattrig::rig
