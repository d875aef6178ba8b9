// The seam of usb_device.hpp on libusb 1.0.
#include <libusb-1.0/libusb.h>

#include <algorithm>
#include <array>
#include <chrono>
#include <fstream>
#include <optional>

#include "host/rig/usb_device.hpp"

namespace wattrig::rig {
namespace {

struct ContextEnd {
    void operator()(libusb_context* context) const { libusb_exit(context); }
};
using Context = std::shared_ptr<libusb_context>;
struct HandleEnd {
    void operator()(libusb_device_handle* handle) const { libusb_close(handle); }
};
using Handle = std::unique_ptr<libusb_device_handle, HandleEnd>;

constexpr int rig_interface = 0;

std::string text_of(int error) { return libusb_strerror(static_cast<libusb_error>(error)); }

UsbStatus status_of_error(int error) {
    switch (error) {
        case LIBUSB_SUCCESS: return UsbStatus::completed;
        case LIBUSB_ERROR_NO_DEVICE:
        case LIBUSB_ERROR_NOT_FOUND: return UsbStatus::gone;
        case LIBUSB_ERROR_TIMEOUT: return UsbStatus::timed_out;
        case LIBUSB_ERROR_PIPE: return UsbStatus::stalled;
        case LIBUSB_ERROR_OVERFLOW: return UsbStatus::overflow;
        default: return UsbStatus::failed;
    }
}

UsbStatus status_of_transfer(libusb_transfer_status status) {
    switch (status) {
        case LIBUSB_TRANSFER_COMPLETED: return UsbStatus::completed;
        case LIBUSB_TRANSFER_TIMED_OUT: return UsbStatus::timed_out;
        case LIBUSB_TRANSFER_CANCELLED: return UsbStatus::cancelled;
        case LIBUSB_TRANSFER_STALL: return UsbStatus::stalled;
        case LIBUSB_TRANSFER_NO_DEVICE: return UsbStatus::gone;
        case LIBUSB_TRANSFER_OVERFLOW: return UsbStatus::overflow;
        case LIBUSB_TRANSFER_ERROR: break;
    }
    return UsbStatus::failed;
}

UsbAccess access_of(int error) {
    switch (error) {
        case LIBUSB_SUCCESS: return UsbAccess::free;
        case LIBUSB_ERROR_ACCESS: return UsbAccess::no_permission;
        case LIBUSB_ERROR_BUSY: return UsbAccess::busy;
        default: return UsbAccess::failed;
    }
}

class LibusbDevice final : public UsbDevice {
  public:
    LibusbDevice(Context context, Handle handle) : context_(std::move(context)), handle_(std::move(handle)) {}
    ~LibusbDevice() override { libusb_release_interface(handle_.get(), rig_interface); }

    void prepare(UsbTransfer& transfer) override {
        libusb_transfer* native = libusb_alloc_transfer(0);
        if (native == nullptr) throw std::bad_alloc();
        transfer.native = native;
    }
    void release(UsbTransfer& transfer) override {
        libusb_free_transfer(static_cast<libusb_transfer*>(transfer.native));
        transfer.native = nullptr;
    }
    UsbStatus submit(UsbTransfer& transfer) override {
        auto* native = static_cast<libusb_transfer*>(transfer.native);
        const auto timeout = std::chrono::duration_cast<std::chrono::milliseconds>(transfer.timeout).count();
        libusb_fill_bulk_transfer(native, handle_.get(), transfer.endpoint, transfer.buffer.data(),
                                  static_cast<int>(transfer.buffer.size()), completed, &transfer,
                                  static_cast<unsigned>(timeout));
        return status_of_error(libusb_submit_transfer(native));
    }
    void cancel(UsbTransfer& transfer) override { libusb_cancel_transfer(static_cast<libusb_transfer*>(transfer.native)); }
    UsbStatus clear_halt(std::uint8_t endpoint) override { return status_of_error(libusb_clear_halt(handle_.get(), endpoint)); }
    void handle_events(Nanoseconds patience) override {
        timeval wait{};
        wait.tv_sec = patience.count() / 1'000'000'000;
        wait.tv_usec = patience.count() % 1'000'000'000 / 1000;
        libusb_handle_events_timeout_completed(context_.get(), &wait, nullptr);
    }
    std::vector<UsbDescriptor> descriptors() const override {
        std::vector<UsbDescriptor> out;
        const libusb_pollfd** list = libusb_get_pollfds(context_.get());
        if (list == nullptr) return out;
        // POLLOUT: a usbfs file has finished transfers. The others are libusb's own event and timer files.
        for (const libusb_pollfd** at = list; *at != nullptr; ++at) out.push_back({(*at)->fd, ((*at)->events & 4) != 0});
        libusb_free_pollfds(list);
        return out;
    }

  private:
    static void LIBUSB_CALL completed(libusb_transfer* native) {
        auto& transfer = *static_cast<UsbTransfer*>(native->user_data);
        transfer.status = status_of_transfer(native->status);
        transfer.actual = static_cast<std::size_t>(std::max(native->actual_length, 0));
        transfer.done(transfer);
    }

    Context context_;
    Handle handle_;
};

class LibusbSystem final : public UsbSystem {
  public:
    explicit LibusbSystem(Context context) : context_(std::move(context)) {}

    Result<std::vector<UsbRig>> list(bool probe) override {
        std::vector<UsbRig> rigs;
        const int error = each([&](libusb_device* device, const UsbRig& rig) {
            rigs.push_back(rig);
            if (!probe || rig.boot_loader) return;
            Handle handle;
            const int result = claim(device, handle);
            if (result == LIBUSB_SUCCESS) libusb_release_interface(handle.get(), rig_interface);
            rigs.back().access = access_of(result);
            rigs.back().access_text = text_of(result);
        });
        if (error < 0) return link_broke("the USB devices of this machine cannot be listed: " + text_of(error));
        return rigs;
    }

    Result<std::unique_ptr<UsbDevice>> open(const std::string& serial) override {
        std::optional<Error> problem;
        std::vector<std::string> others;
        std::unique_ptr<UsbDevice> opened;
        int candidates = 0;
        const int error = each([&](libusb_device* device, const UsbRig& rig) {
            if (rig.boot_loader) return;
            others.push_back(rig.serial.empty() ? "(serial unknown)" : rig.serial);
            if (!serial.empty() && rig.serial != serial) return;
            if (++candidates > 1) return;
            Handle handle;
            const int result = claim(device, handle);
            if (result == LIBUSB_SUCCESS) {
                opened = std::make_unique<LibusbDevice>(context_, std::move(handle));
                return;
            }
            const std::string name = "the rig " + others.back() + " (" + rig.place + ") ";
            if (result == LIBUSB_ERROR_ACCESS)
                problem =
                    device_refused(name +
                                   "may not be opened by this user: `wattrig doctor --install-udev-rule` allows it, once, "
                                   "as root; then plug the rig in again");
            else if (result == LIBUSB_ERROR_BUSY)
                problem = device_refused(name + "is used by another process: end it first");
            else
                problem = link_broke(name + "cannot be opened: " + text_of(result));
        });
        if (error < 0) return link_broke("the USB devices of this machine cannot be listed: " + text_of(error));
        if (candidates > 1) {
            std::string names;
            for (const std::string& other : others) names += " " + other;
            return bad_input(serial.empty() ? "expected one rig on USB, found" + names + ": say which one with --rig usb:SERIAL"
                                            : "more than one rig on USB has the serial " + serial);
        }
        if (problem) return *problem;
        if (opened) return opened;
        std::string names;
        for (const std::string& other : others) names += " " + other;
        if (!serial.empty() && !others.empty())
            return device_refused("no rig on USB has the serial " + serial + "; there is" + names);
        return device_refused("no rig found on USB: `wattrig doctor` says why");
    }

  private:
    template <class Function>
    int each(Function&& function) {
        libusb_device** devices = nullptr;
        const ssize_t count = libusb_get_device_list(context_.get(), &devices);
        if (count < 0) return static_cast<int>(count);
        for (ssize_t k = 0; k < count; ++k) {
            libusb_device_descriptor descriptor{};
            if (libusb_get_device_descriptor(devices[k], &descriptor) != LIBUSB_SUCCESS) continue;
            const bool boot = descriptor.idVendor == boot_vendor && descriptor.idProduct == boot_product;
            const bool rig =
                descriptor.idVendor == protocol::usb::vendor_id && descriptor.idProduct == protocol::usb::product_id;
            if (!boot && !rig) continue;
            UsbRig found = describe(devices[k]);
            found.version = descriptor.bcdDevice;
            found.kind = descriptor.idProduct;
            found.boot_loader = boot;
            // The number is shared by all test devices of the world: what calls itself something else is no rig of ours.
            if (rig && !found.product.empty() && found.product.find("wattrig") == std::string::npos) continue;
            function(devices[k], found);
        }
        libusb_free_device_list(devices, 1);
        return 0;
    }

    // From sysfs, as the strings can then be read without the right to open the device.
    static UsbRig describe(libusb_device* device) {
        UsbRig rig;
        std::array<std::uint8_t, 8> ports{};
        const int depth = libusb_get_port_numbers(device, ports.data(), static_cast<int>(ports.size()));
        std::string path;
        for (int k = 0; k < depth; ++k) path += (k > 0 ? "." : "") + std::to_string(ports[static_cast<std::size_t>(k)]);
        const std::string bus = std::to_string(libusb_get_bus_number(device));
        rig.place = "bus " + bus + ", port " + path;
        const std::string folder = "/sys/bus/usb/devices/" + bus + "-" + path + "/";
        std::ifstream serial(folder + "serial"), product(folder + "product");
        std::getline(serial, rig.serial);
        std::getline(product, rig.product);
        return rig;
    }

    static int claim(libusb_device* device, Handle& handle) {
        libusb_device_handle* raw = nullptr;
        const int opened = libusb_open(device, &raw);
        if (opened != LIBUSB_SUCCESS) return opened;
        handle.reset(raw);
        libusb_set_auto_detach_kernel_driver(raw, 1);  // not supported everywhere, and nothing is bound to a vendor class
        return libusb_claim_interface(raw, rig_interface);
    }

    Context context_;
};

}  // namespace

Result<std::unique_ptr<UsbSystem>> make_libusb_system() {
    libusb_context* context = nullptr;
    const int error = libusb_init(&context);
    if (error != LIBUSB_SUCCESS) return device_refused("this machine's USB cannot be used: " + text_of(error));
    return std::unique_ptr<UsbSystem>(std::make_unique<LibusbSystem>(Context(context, ContextEnd{})));
}

}  // namespace wattrig::rig
