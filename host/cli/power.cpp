// `wattrig power on|off|cycle`: the rig's switch, behind the interlock.

#include <fmt/format.h>
#include <unistd.h>

#include <array>
#include <filesystem>
#include <fstream>

#include "firmware/protocol/frame.hpp"
#include "host/cli/commands.hpp"
#include "host/cli/console.hpp"
#include "host/cli/live_rig.hpp"
#include "host/cli/output.hpp"
#include "host/rig/frame_decoder.hpp"
#include "host/rig/link.hpp"
#include "host/runner/wait.hpp"
#include "host/target/interlock.hpp"

namespace wattrig::cli {
namespace {

namespace fs = std::filesystem;

constexpr Nanoseconds reply_time = std::chrono::seconds(2);
constexpr Nanoseconds off_time = std::chrono::seconds(3);  // capacitors of the drive and of the slot are empty by then

class SwitchReply final : public rig::LinkHandler {
  public:
    explicit SwitchReply(std::uint16_t tag) : tag_(tag) {}
    void on_stream(std::span<const std::uint8_t>, HostTime) override {}
    void on_reply(std::span<const std::uint8_t> bytes, HostTime) override {
        decoder_.feed(bytes, [&](const rig::Frame& frame) {
            if (frame.payload.size() < sizeof(protocol::CommandHeader)) return;
            const auto header = protocol::load<protocol::CommandHeader>(frame.payload.data());
            if (header.id == static_cast<std::uint16_t>(protocol::CommandId::set_drive_power) && header.tag == tag_)
                status_ = static_cast<protocol::Status>(header.status);
        });
    }
    void on_broken(const Error& error, HostTime) override { broken_ = error; }
    [[nodiscard]] const std::optional<protocol::Status>& status() const { return status_; }
    [[nodiscard]] const std::optional<Error>& broken() const { return broken_; }

  private:
    std::uint16_t tag_;
    rig::FrameDecoder decoder_;
    std::optional<protocol::Status> status_;
    std::optional<Error> broken_;
};

void pause_for(Nanoseconds time) {
    runner::Waiter waiter;
    waiter.wait_until(real_host_time() + time);
}

Result<void> switch_power(rig::Link& link, bool on) {
    // Any number will do, as long as an answer to an earlier program is not taken for ours.
    const auto tag = static_cast<std::uint16_t>(real_host_time().time_since_epoch().count() >> 10);
    SwitchReply reply(tag);
    link.attach(reply);
    constexpr std::size_t payload = sizeof(protocol::CommandHeader) + sizeof(protocol::SetDrivePower);
    std::array<std::uint8_t, protocol::frame_bytes(payload)> frame{};
    std::uint8_t* at = frame.data() + sizeof(protocol::FrameHeader);
    protocol::store(at, protocol::CommandHeader{static_cast<std::uint16_t>(protocol::CommandId::set_drive_power), tag, 0, 0});
    protocol::store(at + sizeof(protocol::CommandHeader),
                    protocol::SetDrivePower{static_cast<std::uint8_t>(on ? 1 : 0), {}, protocol::power_key});
    protocol::seal_frame(frame.data(), protocol::FrameType::command, payload, 1);
    if (auto sent = link.send(frame); !sent) return sent.error();
    const HostTime deadline = real_host_time() + reply_time;
    while (!reply.status() && !reply.broken() && real_host_time() < deadline) {
        link.poll(real_host_time());
        pause_for(std::chrono::milliseconds(1));
    }
    if (reply.broken()) return *reply.broken();
    if (!reply.status())
        return link_broke(
            "the rig did not answer within 2 s; whether the drive's power was switched is not known: `wattrig "
            "doctor` shows the rig's state");
    if (*reply.status() != protocol::Status::ok)
        return device_refused(
            fmt::format("the rig did not switch the drive's power: {}", protocol::status_text(*reply.status())));
    return {};
}

Result<void> write_sysfs(const std::string& path) {
    std::ofstream out(path);
    if (out << "1" << std::flush) return {};
    return bad_input(fmt::format("{}: cannot be written; removing and finding devices needs root: run with sudo", path));
}

// The drive as the kernel has it: held while it is taken off its bus, so that nobody can mount it meanwhile.
struct Held {
    std::optional<target::ControllerPermit> controller;
    std::optional<target::WritePermit> disk;
    std::string remove;  // file of sysfs that takes the device away
    std::string rescan;
    std::string name;
};

Result<Held> hold(const PowerArguments& arguments) {
    Held held;
    // Contents survive a power cut; what must not be is somebody using them.
    target::WriteRequest request{.path = arguments.device, .serial = arguments.serial, .overwrite_data = true, .direct = false};
    if (const auto controller = target::controller_of_path("", arguments.device)) {
        auto permit = target::ControllerPermit::ask(*controller, request);
        if (!permit) return permit.error();
        held.name = *controller;
        held.controller = std::move(*permit);
        const std::string device = "/sys/class/nvme/" + *controller + "/device";
        if (!fs::exists(device + "/remove"))
            return bad_input(
                fmt::format("refused: {}: this controller is not on PCIe, so no rig can cut its power", *controller));
        held.remove = device + "/remove";
        held.rescan = "/sys/bus/pci/rescan";
        return held;
    }
    auto permit = target::WritePermit::ask(request);
    if (!permit) return permit.error();
    held.name = permit->disk();
    held.remove = "/sys/block/" + permit->disk() + "/device/delete";
    held.disk = std::move(*permit);
    if (!fs::exists(held.remove))
        return bad_input(
            fmt::format("refused: {}: this is no drive that can be taken off its bus, so no rig can cut its power", held.name));
    return held;
}

Result<void> remove(Held& held) {
    if (held.controller)
        if (auto same = held.controller->confirm(); !same) return same;
    if (held.disk)
        if (auto same = held.disk->confirm(); !same) return same;
    return write_sysfs(held.remove);
}

Result<std::string> carry_out(const PowerArguments& arguments) {
    if (arguments.device.empty() && !arguments.no_device)
        return bad_input(
            "which drive is in the rig? expected a device such as /dev/nvme0 with --serial SERIAL, so that it can be "
            "checked that nobody uses it; or --no-device, if the drive is not connected to this machine");
    if (!arguments.device.empty() && arguments.no_device) return bad_input("a device and --no-device contradict each other");
    if (arguments.rig.empty() || arguments.rig == "none")
        return bad_input("expected the rig whose switch is meant: --rig tcp:HOST:PORT or --rig sim");

    // `on` finds a drive that the kernel does not have yet; everything else first makes sure that nobody uses it.
    std::optional<Held> held;
    if (!arguments.device.empty() && arguments.action != "on") {
        auto got = hold(arguments);
        if (!got) return got.error();
        held = std::move(*got);
    }
    RunArguments how;
    how.rig = arguments.rig;
    auto rig = LiveRig::connect(how);
    if (!rig) return rig.error();
    rig::Link* link = (*rig)->link();
    if (link == nullptr) return bad_input("this rig has no link");
    const std::string which = link->description() + (link->simulated() ? " (simulated)" : "");

    if (held) {
        if (auto removed = remove(*held); !removed) return removed.error();
        held->controller.reset();
        held->disk.reset();
    }
    if (arguments.action != "on")
        if (auto off = switch_power(*link, false); !off) return off.error();
    if (arguments.action == "off") return fmt::format("power of the drive is off: {}\n", which);
    if (arguments.action == "cycle") pause_for(off_time);
    if (auto on = switch_power(*link, true); !on) return on.error();
    if (!arguments.device.empty()) {
        pause_for(
            std::chrono::seconds(1));  // the drive must answer on its bus first (PCIe: 100 ms after reset, and its own start)
        if (held ? !held->rescan.empty() : true)
            if (auto found = write_sysfs("/sys/bus/pci/rescan"); !found) return found.error();
    }
    return fmt::format("power of the drive is {}: {}\n", arguments.action == "cycle" ? "on again" : "on", which);
}

}  // namespace

int power(const PowerArguments& arguments) {
    auto done = carry_out(arguments);
    if (!done) return refuse(done.error());
    print_text(*done);
    return exit_ok;
}

}  // namespace wattrig::cli
