// The kernel's way to a controller: admin commands passed through libnvme.

#include <fcntl.h>
#include <fmt/format.h>
#include <libnvme.h>
#include <unistd.h>

#include <cerrno>

#include "host/nvme/device.hpp"

namespace wattrig::nvme {
namespace {

class LinuxDevice final : public AdminDevice {
  public:
    LinuxDevice(int descriptor, std::string name) : descriptor_(descriptor), name_(std::move(name)) {}
    LinuxDevice(const LinuxDevice&) = delete;
    LinuxDevice& operator=(const LinuxDevice&) = delete;
    ~LinuxDevice() override { close(descriptor_); }
    [[nodiscard]] std::string name() const override { return name_; }

  protected:
    Result<std::uint32_t> transmit(const AdminCommand& c, std::span<std::byte> data) override {
        std::uint32_t result = 0;
        const int status = nvme_admin_passthru(descriptor_, c.opcode, 0, 0, c.namespace_id, 0, 0, c.word10, c.word11, c.word12,
                                               c.word13, c.word14, c.word15, static_cast<std::uint32_t>(data.size()),
                                               data.empty() ? nullptr : data.data(), 0, nullptr, c.timeout_ms, &result);
        if (status == 0) return result;
        if (status > 0)
            return device_refused(fmt::format("{}: admin command 0x{:02x}: {}", name_, c.opcode,
                                              status_text(static_cast<std::uint16_t>(status))));
        if (errno == EACCES || errno == EPERM)
            return system_error(fmt::format("{}: the kernel lets only root (the capability CAP_SYS_ADMIN) send admin commands; "
                                            "run with sudo",
                                            name_),
                                errno);
        return system_error(fmt::format("{}: admin command 0x{:02x} got no answer", name_, c.opcode), errno);
    }

  private:
    int descriptor_;
    std::string name_;
};

}  // namespace

Result<std::unique_ptr<AdminDevice>> open_controller(const std::string& controller) {
    const std::string path = "/dev/" + controller;
    const int descriptor = ::open(path.c_str(), O_RDONLY | O_CLOEXEC | O_NOFOLLOW);
    if (descriptor >= 0) return std::unique_ptr<AdminDevice>(std::make_unique<LinuxDevice>(descriptor, controller));
    if (errno == EACCES || errno == EPERM)
        return system_error(fmt::format("{}: this user may not open the controller; it belongs to root, and a group cannot be "
                                        "enough, since the kernel also asks for CAP_SYS_ADMIN; run with sudo",
                                        path),
                            errno);
    if (errno == ENOENT)
        return system_error(fmt::format("{}: there is no such NVMe controller; `wattrig list targets` shows the drives", path),
                            errno);
    return system_error(fmt::format("{}: cannot be opened", path), errno);
}

}  // namespace wattrig::nvme
