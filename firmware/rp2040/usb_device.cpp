#include "firmware/rp2040/usb_device.hpp"

#include <atomic>

#include "firmware/rp2040/interrupts.hpp"
#include "firmware/rp2040/registers.hpp"
#include "firmware/rp2040/time.hpp"
#include "firmware/rp2040/usb_registers.hpp"

namespace wattrig::rp2040::usb_device {
namespace {

using firmware::usb::Answer;
using firmware::usb::Effect;
using firmware::usb::packet_bytes;

// A bulk IN endpoint and the transfer on it. The main loop hands over (`wanted`), the interrupt gives back.
struct InPipe {
    std::uint32_t endpoint;
    std::uint32_t buffer;                             // in the controller's memory
    std::atomic<const std::uint8_t*> bytes{nullptr};  // null: idle. Written by both sides, never at once
    std::uint32_t size = 0;                           // set before `bytes`
    // Interrupt only.
    std::uint32_t sent = 0;
    std::uint32_t packet = 0;  // size of the armed packet
    bool armed = false;
    bool last = false;      // the armed packet ends the transfer
    bool deferred = false;  // waits for the next start of frame
    bool halted = false;
    bool toggle = false;
    // Read by the main loop.
    std::atomic<std::uint32_t> armed_at_us{0};
    std::atomic<std::uint32_t> armed_now{0};
    std::atomic<std::uint32_t> completed{0};  // packets
};
constinit InPipe pipes[2] = {{.endpoint = 1, .buffer = memory_samples}, {.endpoint = 2, .buffer = memory_replies}};

// The longest command: write_storage with 256 bytes, 16 + 8 + 8 + 256 + 4 = 292; room for a whole packet more, and for a
// payload that a newer host has made longer.
constexpr std::uint32_t command_bytes = 512;
struct OutPipe {
    alignas(4) std::array<std::uint8_t, command_bytes + packet_bytes> bytes;
    std::uint32_t received;
    std::uint64_t timer_us;
    std::atomic<std::uint32_t> ready;  // set by the interrupt, cleared by the main loop
    bool armed;
    bool halted;
    bool toggle;
};
constinit OutPipe out{};

firmware::usb::Control* control = nullptr;
FrameStartFunction frame_start_function = nullptr;

// Endpoint 0, interrupt only.
struct {
    const std::uint8_t* bytes;
    std::uint32_t left;
    bool zero_packet;
    bool toggle;
    bool status_in;  // the armed IN is the status stage
} zero;

std::uint32_t frames = 0;                   // starts of frame since boot, interrupt only
std::atomic<std::uint32_t> frame_at_us{0};  // TIMER's low word at the latest one
std::atomic<std::uint32_t> is_configured{0};
std::atomic<std::uint32_t> is_suspended{0};

// E15: nothing is armed from 800 us on. From 700 us, as the handler may come 50 us after the start of frame that it stamps, and
// be held up as long between this check and the arming. A start that is older than two frames means that there are none.
constexpr std::uint32_t quiet_from_us = 700;
constexpr std::uint32_t quiet_to_us = 2000;
bool quiet(std::uint32_t margin_us) {
    const std::uint32_t age = timer_low_us() - frame_at_us.load(std::memory_order_relaxed);
    return age + margin_us >= quiet_from_us && age < quiet_to_us;
}

void arm(Register buffer, std::uint32_t value) {
    buffer.write(value);
    // The controller sees AVAILABLE through a clock of its own: the rest must be there 12 cycles before (datasheet 4.1.2.5.1).
    asm volatile("b 1f\n1: b 1f\n1: b 1f\n1: b 1f\n1: b 1f\n1: b 1f\n1:" ::: "memory");
    buffer.write(value | buffer_available);
}

// Words only: the controller's memory takes no bytes. `from` is aligned to 4.
void copy_in(std::uint32_t to, const std::uint8_t* from, std::uint32_t bytes) {
    const auto* word = reinterpret_cast<const std::uint32_t*>(from);
    for (std::uint32_t at = 0; at < bytes; at += 4) (usb_memory + (to + at)).write(*word++);
}
// The same for constants that lie anywhere.
void copy_in_bytes(std::uint32_t to, const std::uint8_t* from, std::uint32_t bytes) {
    for (std::uint32_t at = 0; at < bytes; at += 4) {
        std::uint32_t word = 0;
        for (std::uint32_t n = 0; n < 4 && at + n < bytes; ++n) word |= std::uint32_t{from[at + n]} << (8 * n);
        (usb_memory + (to + at)).write(word);
    }
}

// -------------------------------------------------------------------------------------------------------------- endpoint 0
void send_zero_part() {
    const std::uint32_t part = zero.left < packet_bytes ? zero.left : packet_bytes;
    copy_in_bytes(memory_zero, zero.bytes, part);
    zero.bytes += part;
    zero.left -= part;
    if (part < packet_bytes) zero.zero_packet = false;
    arm(buffer_in(0), part | buffer_full | (zero.toggle ? buffer_data1 : 0));
    zero.toggle = !zero.toggle;
}
void stall_zero() {
    usb_stall_arm.set(3);
    buffer_in(0).write(buffer_stall);
    buffer_out(0).write(buffer_stall);
}

void disarm(InPipe& pipe) {
    buffer_in(pipe.endpoint).write(0);
    pipe.armed = false;
    pipe.armed_now.store(0, std::memory_order_relaxed);
    pipe.deferred = false;
    pipe.sent = 0;  // the host has a piece of it at most; it gets the whole
    pipe.last = false;
}
void arm_in(InPipe& pipe);
void arm_out() {
    if (out.armed || out.halted || out.ready.load(std::memory_order_relaxed) != 0 || !control->configured()) return;
    out.armed = true;
    arm(buffer_out(2), packet_bytes | (out.toggle ? buffer_data1 : 0));
}

void configure(bool on) {
    for (InPipe& pipe : pipes) {
        disarm(pipe);
        pipe.halted = false;
        pipe.toggle = false;
        endpoint_in(pipe.endpoint).write(on ? endpoint_enable | endpoint_bulk | endpoint_interrupt | pipe.buffer : 0);
    }
    buffer_out(2).write(0);
    out.armed = false;
    out.halted = false;
    out.toggle = false;
    out.received = 0;
    endpoint_out(2).write(on ? endpoint_enable | endpoint_bulk | endpoint_interrupt | memory_commands : 0);
    is_configured.store(on ? 1 : 0, std::memory_order_relaxed);
    if (!on) return;
    arm_out();
    for (InPipe& pipe : pipes) arm_in(pipe);
}

void set_halt(std::uint8_t endpoint, bool halt) {
    if (endpoint == firmware::usb::endpoint_commands_out) {
        out.halted = halt;
        out.armed = false;
        out.received = 0;
        if (!halt) out.toggle = false;
        buffer_out(2).write(halt ? buffer_stall : 0);
        return arm_out();
    }
    InPipe& pipe = pipes[endpoint == firmware::usb::endpoint_samples_in ? 0 : 1];
    disarm(pipe);
    pipe.halted = halt;
    if (!halt) pipe.toggle = false;
    buffer_in(pipe.endpoint).write(halt ? buffer_stall : 0);
    arm_in(pipe);
}

void on_setup() {
    const std::uint32_t first = (usb_memory + 0).read();
    const std::uint32_t second = (usb_memory + 4).read();
    const firmware::usb::SetupPacket setup = {static_cast<std::uint8_t>(first), static_cast<std::uint8_t>(first >> 8),
                                              static_cast<std::uint16_t>(first >> 16), static_cast<std::uint16_t>(second),
                                              static_cast<std::uint16_t>(second >> 16)};
    buffer_in(0).write(0);  // whatever the request before left armed
    buffer_out(0).write(0);
    usb_buffer_status.write(3);
    zero = {nullptr, 0, false, true, false};
    const firmware::usb::ControlAnswer answer = control->on_setup(setup);
    switch (answer.effect) {
        case Effect::none: break;
        case Effect::configure: configure(true); break;
        case Effect::deconfigure: configure(false); break;
        case Effect::halt: set_halt(answer.endpoint, true); break;
        case Effect::unhalt: set_halt(answer.endpoint, false); break;
    }
    switch (answer.answer) {
        case Answer::stall: return stall_zero();
        case Answer::status: zero.status_in = true; return arm(buffer_in(0), buffer_full | buffer_data1);
        case Answer::data:
            zero.bytes = answer.bytes.data();
            zero.left = static_cast<std::uint32_t>(answer.bytes.size());
            zero.zero_packet = answer.zero_packet;
            send_zero_part();
            return arm(buffer_out(0), packet_bytes | buffer_data1);  // the host's empty packet at the end
    }
}

void on_zero_sent() {
    if (zero.status_in) {
        zero.status_in = false;
        usb_address.write(control->on_status_done());
    } else if (zero.left != 0 || zero.zero_packet) {
        send_zero_part();
    }
}

// ------------------------------------------------------------------------------------------------------------------- bulk
void arm_in(InPipe& pipe) {
    if (pipe.armed || pipe.halted || !control->configured()) return;
    const std::uint8_t* const bytes = pipe.bytes.load(std::memory_order_acquire);
    if (bytes == nullptr) return;
    if (quiet(0)) {
        pipe.deferred = true;
        return;
    }
    pipe.deferred = false;
    const std::uint32_t left = pipe.size - pipe.sent;
    pipe.packet = left < packet_bytes ? left : packet_bytes;
    pipe.last = pipe.packet < packet_bytes;  // a transfer ends with a packet that is not full, an empty one if need be
    copy_in(pipe.buffer, bytes + pipe.sent, pipe.packet);
    pipe.armed = true;
    pipe.armed_at_us.store(timer_low_us(), std::memory_order_relaxed);
    pipe.armed_now.store(1, std::memory_order_relaxed);
    arm(buffer_in(pipe.endpoint), pipe.packet | buffer_full | (pipe.toggle ? buffer_data1 : 0));
}

void on_in_sent(InPipe& pipe) {
    if (!pipe.armed) return;
    pipe.armed = false;
    pipe.armed_now.store(0, std::memory_order_relaxed);
    pipe.toggle = !pipe.toggle;
    pipe.completed.store(pipe.completed.load(std::memory_order_relaxed) + 1, std::memory_order_relaxed);
    pipe.sent += pipe.packet;
    if (pipe.last) {
        pipe.sent = 0;
        pipe.bytes.store(nullptr, std::memory_order_release);
        interrupts::wake_main();
        return;
    }
    arm_in(pipe);
}

void on_out_received(std::uint64_t now) {
    if (!out.armed) return;
    out.armed = false;
    out.toggle = !out.toggle;
    const std::uint32_t bytes = buffer_out(2).read() & buffer_length;
    for (std::uint32_t at = 0; at < bytes; at += 4) {
        const std::uint32_t word = (usb_memory + (memory_commands + at)).read();
        *reinterpret_cast<std::uint32_t*>(&out.bytes[out.received + at]) = word;
    }
    out.received += bytes;
    // The frame's own length tells its end: a host need not send an empty packet after a full one. What comes after a full
    // packet without being more of the same frame is that empty packet, or an error that the command handler counts.
    const std::uint32_t expected = out.received < 8 ? 8 : 20u + (out.bytes[6] | out.bytes[7] << 8);
    const bool ended = bytes < packet_bytes || out.received >= expected || out.received >= command_bytes;
    if (ended && out.received != 0) {
        out.timer_us = now;
        out.ready.store(1, std::memory_order_release);
        interrupts::wake_main();
    } else {
        arm_out();
    }
}

void on_bus_reset() {
    usb_address.write(0);
    control->on_bus_reset();
    configure(false);
    pipes[1].bytes.store(nullptr, std::memory_order_relaxed);  // a reply to whoever was there before
    is_suspended.store(0, std::memory_order_relaxed);
}

void set_up_controller() {
    cycle_reset(reset_usb);
    for (std::uint32_t at = 0; at < 0x1000; at += 4) (usb_memory + at).write(0);
    usb_muxing.write(1u << 0 | 1u << 3);  // to the PHY, by software
    usb_power.write(1u << 2 | 1u << 3);   // VBUS is taken as present: the rig has no other supply
    usb_main_control.write(1);
    usb_sie_control.write(sie_endpoint0_interrupt);
    usb_interrupt_enable.write(interrupt_buffer | interrupt_bus_reset | interrupt_setup | interrupt_suspend | interrupt_resume |
                               interrupt_frame | interrupt_sequence_error);
}

// ------------------------------------------------------------------------------------------------------ main loop's watch
// A rig that left the bus because an endpoint was stuck stays away for this long, so that every host sees it.
constexpr std::uint32_t away_us = 100'000;
constexpr std::uint32_t stuck_us = 1'000'000;
// How many replies the host must have fetched for its not fetching samples to be our fault and not its will.
constexpr std::uint32_t replies_of_a_live_host = 4;
bool away = false;
std::uint32_t away_since_us = 0;
std::uint32_t resets_of_block = 0;
std::uint32_t samples_armed_at_us = 0;
std::uint32_t replies_at_arming = 0;

// An armed packet that nobody fetches: either the host does not ask, or the controller does not answer, and the controller
// cannot tell. A reply was asked for by a command, so a host that leaves it for a second is gone or meets a dead endpoint.
// Samples may be left lying by a program that is stopped; they count as stuck only when the same host keeps fetching replies.
bool stuck(std::uint32_t now) {
    if (!configured() || is_suspended.load(std::memory_order_relaxed) != 0) return false;
    if (elapsed_us(now, frame_at_us.load(std::memory_order_relaxed)) > 10'000) return false;  // nobody drives the bus
    const auto armed_for = [now](const InPipe& pipe) {
        return pipe.armed_now.load(std::memory_order_relaxed) == 0
                   ? 0
                   : elapsed_us(now, pipe.armed_at_us.load(std::memory_order_relaxed));
    };
    if (const std::uint32_t duration = armed_for(pipes[1]); duration > stuck_us) return true;
    const std::uint32_t armed_at = pipes[0].armed_at_us.load(std::memory_order_relaxed);
    const std::uint32_t replies = pipes[1].completed.load(std::memory_order_relaxed);
    if (armed_at != samples_armed_at_us) {
        samples_armed_at_us = armed_at;
        replies_at_arming = replies;
    }
    const std::uint32_t duration = armed_for(pipes[0]);
    return duration > stuck_us && replies - replies_at_arming >= replies_of_a_live_host;
}

}  // namespace

extern "C" void usb_handler() {
    const std::uint64_t now = timer_us();
    const std::uint32_t pending = usb_interrupt_status.read();
    if ((pending & interrupt_frame) != 0) {
        (void)usb_frame_number.read();  // acknowledges
        frame_at_us.store(static_cast<std::uint32_t>(now), std::memory_order_relaxed);
        frame_start_function(now, ++frames);
        for (InPipe& pipe : pipes) {
            if (pipe.deferred) arm_in(pipe);
        }
    }
    if ((pending & interrupt_bus_reset) != 0) {
        usb_sie_status.write(sie_bus_reset);
        on_bus_reset();
    }
    if ((pending & interrupt_suspend) != 0) {
        usb_sie_status.write(sie_suspended);
        is_suspended.store(1, std::memory_order_relaxed);
    }
    if ((pending & interrupt_resume) != 0) {
        usb_sie_status.write(sie_resume);
        is_suspended.store(0, std::memory_order_relaxed);
    }
    if ((pending & interrupt_sequence_error) != 0) usb_sie_status.write(sie_sequence_error);
    if ((pending & interrupt_setup) != 0) {
        usb_sie_status.write(sie_setup);
        on_setup();
    }
    if ((pending & interrupt_buffer) != 0) {
        const std::uint32_t buffers = usb_buffer_status.read();
        usb_buffer_status.write(buffers);
        if ((buffers & 1u << 0) != 0) on_zero_sent();
        if ((buffers & 1u << 5) != 0) on_out_received(now);
        if ((buffers & 1u << 2) != 0) on_in_sent(pipes[0]);
        if ((buffers & 1u << 4) != 0) on_in_sent(pipes[1]);
    }
}

extern "C" void usb_kick_handler() {
    for (InPipe& pipe : pipes) arm_in(pipe);
    arm_out();
}

void start(firmware::usb::Control& with, FrameStartFunction on_frame_start) {
    control = &with;
    frame_start_function = on_frame_start;
    set_up_controller();
    interrupts::enable(Interrupt::usb);
    interrupts::enable(Interrupt::usb_kick);
    usb_sie_control.set(sie_pull_up);
}

void stop() {
    usb_sie_control.clear(sie_pull_up);
    interrupts::disable(Interrupt::usb);
    interrupts::disable(Interrupt::usb_kick);
    resets.set(reset_usb);
}

void poll() {
    const std::uint32_t now = timer_low_us();
    if (away) {
        if (now - away_since_us < away_us) return;
        away = false;
        usb_sie_control.set(sie_pull_up);
        return;
    }
    if (!stuck(now)) return;
    ++resets_of_block;
    interrupts::disable(Interrupt::usb);
    interrupts::disable(Interrupt::usb_kick);
    set_up_controller();
    on_bus_reset();
    out.ready.store(0, std::memory_order_relaxed);
    away = true;
    away_since_us = now;
    interrupts::enable(Interrupt::usb);
    interrupts::enable(Interrupt::usb_kick);
}

bool idle(Pipe pipe) { return pipes[static_cast<std::uint32_t>(pipe)].bytes.load(std::memory_order_acquire) == nullptr; }
void send(Pipe pipe, std::span<const std::uint8_t> bytes) {
    InPipe& to = pipes[static_cast<std::uint32_t>(pipe)];
    to.size = static_cast<std::uint32_t>(bytes.size());
    to.bytes.store(bytes.data(), std::memory_order_release);
    interrupts::pend(Interrupt::usb_kick);
}
bool may_send_now() { return !quiet(50); }

Command command() {
    if (out.ready.load(std::memory_order_acquire) == 0) return {};
    return {std::span(out.bytes).first(out.received), out.timer_us};
}
void release_command() {
    out.received = 0;
    out.ready.store(0, std::memory_order_release);
    interrupts::pend(Interrupt::usb_kick);
}

bool configured() { return is_configured.load(std::memory_order_relaxed) != 0; }
std::uint32_t block_resets() { return resets_of_block; }
bool chip_is_old() { return sysinfo_chip_id.read() >> 28 < 2; }

}  // namespace wattrig::rp2040::usb_device
