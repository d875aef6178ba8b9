#pragma once
// The USB controller: endpoint 0 by drivers/usb_control, samples on bulk IN 1, commands on bulk OUT 2, replies on bulk IN 2.
//
// Errata (RP2040 datasheet): E5, leaving reset on a busy bus, is mended in the B2 silicon; older chips say so in their product
// string. E15: a bulk IN that is armed late in a frame can hang the controller, so none is armed in the last 200 us of a frame;
// the start of the next one arms it.
//
// Thread rule: the main loop, unless said otherwise. Bytes handed over belong to the USB interrupt until `idle`.

#include <array>
#include <cstdint>
#include <span>

#include "firmware/drivers/usb_control.hpp"

namespace wattrig::rp2040::usb_device {

enum class Pipe : std::uint8_t { samples = 0, replies = 1 };

// Called at each start of frame, at the USB interrupt's level.
using FrameStartFunction = void (*)(std::uint64_t timer_us, std::uint32_t frame_number);

void start(firmware::usb::Control& control, FrameStartFunction on_frame_start);
void stop();  // off the bus, for good
void poll();  // at least each millisecond: endpoints that are stuck, leaving and coming back

// A whole transfer, aligned to 4. It begins again from its first byte when the bus was reset in its midst.
[[nodiscard]] bool idle(Pipe pipe);
void send(Pipe pipe, std::span<const std::uint8_t> bytes);
// False late in a frame, when `send` would have to wait for the next one.
[[nodiscard]] bool may_send_now();

// A whole command frame, or whatever the host sent instead; empty when there is none. `timer_us`: interrupt of its last packet.
struct Command {
    std::span<const std::uint8_t> bytes;
    std::uint64_t timer_us;
};
[[nodiscard]] Command command();
void release_command();  // the next one may come

[[nodiscard]] bool configured();
[[nodiscard]] std::uint32_t block_resets();  // since boot: how often a stuck endpoint made poll reset the controller
[[nodiscard]] bool chip_is_old();            // before B2

}  // namespace wattrig::rp2040::usb_device
