// From reset to main: the image is copied to SRAM, the rest of it cleared. This file alone runs from flash.

#include <array>
#include <cstddef>
#include <cstdint>

#include "firmware/protocol/image.hpp"
#include "firmware/rp2040/board.hpp"
#include "firmware/rp2040/interrupts.hpp"

extern "C" {
extern std::uint32_t fast_begin, fast_end, fast_image, bss_begin, bss_end, stack_top;
int main();
}

namespace wattrig::rp2040 {
namespace {

using Handler = void (*)();

// At 0x100 of the image: what boot2 starts from, then what a host looks at before it sends the image to a rig.
struct StartVectors {
    std::uint32_t* stack;
    Handler reset;
    protocol::ImageRecord image;  // size and CRC are filled in by seal_image.py
};
static_assert(0x100 + offsetof(StartVectors, image) == protocol::image_record_at);
[[gnu::section(".start_vectors"), gnu::used]] const StartVectors start_vectors = {
    &stack_top, reset_handler, {protocol::image_magic, protocol::image_layout, board_id, firmware_version, 0, 0}};

struct Vectors {
    std::uint32_t* stack;
    std::array<Handler, 15> exceptions;  // reset .. SysTick
    std::array<Handler, 32> interrupts;
};
constexpr Vectors make_vectors() {
    Vectors vectors{&stack_top, {}, {}};
    vectors.exceptions.fill(unexpected_handler);
    vectors.interrupts.fill(unexpected_handler);
    vectors.exceptions[0] = reset_handler;
    vectors.exceptions[2] = fault_handler;
    vectors.exceptions[14] = systick_handler;
    const auto place = [&vectors](Interrupt interrupt, Handler handler) {
        vectors.interrupts[static_cast<std::uint32_t>(interrupt)] = handler;
    };
    place(Interrupt::usb, usb_handler);
    place(Interrupt::dma0, dma0_handler);
    place(Interrupt::gpio, gpio_handler);
    place(Interrupt::i2c, i2c_handler);
    place(Interrupt::meter, meter_handler);
    place(Interrupt::i2c_kick, i2c_kick_handler);
    place(Interrupt::usb_kick, usb_kick_handler);
    return vectors;
}
[[gnu::section(".vectors"), gnu::used]] constinit const Vectors vectors = make_vectors();

}  // namespace

extern "C" [[gnu::section(".start"), gnu::noreturn, gnu::optimize("no-tree-loop-distribute-patterns")]] void reset_handler() {
    // Loops, and kept so: memcpy lies in the SRAM that this fills.
    const std::uint32_t* from = &fast_image;
    for (std::uint32_t* to = &fast_begin; to < &fast_end;) *to++ = *from++;
    for (std::uint32_t* to = &bss_begin; to < &bss_end;) *to++ = 0;
    (scb + 0x08).write(reinterpret_cast<std::uint32_t>(&vectors));   // VTOR
    void (*volatile enter)() = reinterpret_cast<void (*)()>(&main);  // too far for a direct call
    enter();
    for (;;) {
    }
}

}  // namespace wattrig::rp2040
