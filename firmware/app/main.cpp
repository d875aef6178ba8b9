// The rig: puts meter, capture, USB and storage together. See firmware/README.md for the picture.

#include <algorithm>
#include <cstring>
#include <new>
#include <string_view>

#include "firmware/app/acquisition.hpp"
#include "firmware/app/eeprom.hpp"
#include "firmware/app/self_test.hpp"
#include "firmware/core/meter.hpp"
#include "firmware/rp2040/adc_capture.hpp"
#include "firmware/rp2040/board.hpp"
#include "firmware/rp2040/clocks.hpp"
#include "firmware/rp2040/flash_id.hpp"
#include "firmware/rp2040/gpio.hpp"
#include "firmware/rp2040/i2c_bus.hpp"
#include "firmware/rp2040/interrupts.hpp"
#include "firmware/rp2040/peak_adc.hpp"
#include "firmware/rp2040/restart.hpp"
#include "firmware/rp2040/time.hpp"
#include "firmware/rp2040/usb_device.hpp"

namespace wattrig::firmware {
namespace {

using rp2040::Interrupt;
using rp2040::usb_device::Pipe;

// A rig that has neither a serial number in its EEPROM nor a numbered flash. Two of them on one host cannot be told apart.
constexpr std::string_view serial_unset = "UNSET";
constexpr std::string_view product = "wattrig power meter";
constexpr std::string_view product_old_chip = "wattrig power meter (chip before B2: USB)";

// Built once the EEPROM has told who we are; 93 kB, most of it the ring of frames (core/stream.hpp).
alignas(Meter) std::byte meter_memory[sizeof(Meter)];
alignas(usb::Control) std::byte control_memory[sizeof(usb::Control)];
Meter* meter = nullptr;
usb::FaultRecord fault_record{};
std::array<char, 16> serial{};

// The longest reply: read_storage with 256 bytes, 16 + 8 + 32 + 256 + 4 = 316. take_reply asks for room for any frame.
alignas(8) std::array<std::uint8_t, (protocol::maximum_frame_bytes + 7) / 8 * 8> reply;
const std::uint8_t* samples_under_way = nullptr;
bool samples_dropped = false;  // from the ring, by start_stream
bool boot_loader_wanted = false;

// ------------------------------------------------------------------------------------------------------------------ port
// Kept out are the meter and USB, which are all that share data with the main loop; level 0 goes on capturing whatever happens.
std::uint32_t masked_at = 0;
std::uint32_t longest_masked = 0;  // ticks
std::uint32_t systick_ticks() { return (rp2040::systick + 0x08).read(); }
constexpr std::uint32_t systick_period = 25'000;  // 200 us: the main loop wakes at least that often

std::uint32_t mask_interrupts(void*) {
    rp2040::interrupts::disable(Interrupt::meter);
    rp2040::interrupts::disable(Interrupt::usb);
    masked_at = systick_ticks();
    return 0;
}
void restore_interrupts(void*, std::uint32_t) {
    std::uint32_t ticks = masked_at - systick_ticks();
    if (ticks > systick_period) ticks += systick_period;  // it counts down and began anew in between
    if (ticks > longest_masked) longest_masked = ticks;
    rp2040::interrupts::enable(Interrupt::meter);
    rp2040::interrupts::enable(Interrupt::usb);
}

void while_waiting();

protocol::Status set_drive_power(void*, bool on) {
    rp2040::restart::keep_drive_power(on);
    rp2040::gpio::put(rp2040::pin::drive_power, on);
    return protocol::Status::ok;
}

Port make_port() {
    Port port;
    port.mask_interrupts = mask_interrupts;
    port.restore_interrupts = restore_interrupts;
    port.longest_masked_ticks = [](void*) { return longest_masked; };
    port.self_test = [](void*, protocol::SelfTestReport& report) { return run_self_test(report, while_waiting); };
    port.set_drive_power = set_drive_power;
    port.set_sync_out = [](void*, bool level) {
        rp2040::gpio::put(rp2040::pin::sync_out, level);
        return protocol::Status::ok;
    };
    port.enter_bootloader = [](void*) {
        boot_loader_wanted = true;
        return protocol::Status::ok;
    };
    port.storage_read = [](void*, std::uint32_t address, std::span<std::uint8_t> bytes) {
        return eeprom::read(address, bytes);
    };
    port.storage_write = [](void*, std::uint32_t address, std::span<const std::uint8_t> bytes) {
        return eeprom::write(address, bytes);
    };
    port.storage_ready = [](void*) { return eeprom::ready(); };
    return port;
}

// ------------------------------------------------------------------------------------------------------------- main loop
constexpr std::uint32_t poll_interval_us = 250;

// Frames to USB.
void pump() {
    if (meter == nullptr || !rp2040::usb_device::idle(Pipe::samples)) return;
    std::span<const std::uint8_t> frame = meter->front_frame();
    if (samples_under_way != nullptr) {
        if (!samples_dropped) {
            meter->pop_frame();
            frame = meter->front_frame();
        }
        samples_under_way = nullptr;
        samples_dropped = false;
    }
    if (frame.empty()) return;
    samples_under_way = frame.data();
    rp2040::usb_device::send(Pipe::samples, frame);
}

// What goes on even while a command waits for the EEPROM or the self-test for its samples.
void while_waiting() {
    rp2040::restart::feed_watchdog();
    rp2040::usb_device::poll();
    pump();
}

void take_commands() {
    const rp2040::usb_device::Command command = rp2040::usb_device::command();
    if (command.bytes.empty()) return;
    meter->on_command(command.timer_us, command.bytes);
    rp2040::usb_device::release_command();
    // The frame that is being sent when a new stream begins goes out whole; its memory is not used again for 145 ms.
    if (samples_under_way != nullptr && meter->front_frame().data() != samples_under_way) samples_dropped = true;
}

void send_replies() {
    if (!meter->reply_pending() || !rp2040::usb_device::idle(Pipe::replies)) return;
    // The stamp of a sync reply is taken in take_reply: not when the packet would have to wait for the next frame.
    if (!rp2040::usb_device::may_send_now()) return;
    const std::size_t size = meter->take_reply(rp2040::timer_us(), reply);
    if (size != 0) rp2040::usb_device::send(Pipe::replies, std::span(reply).first(size));
}

// The sensor on the chip shares its ADC with the peak path, so it is read only while nothing streams: 0.1 ms each second.
std::uint64_t temperature_at = 0;
void measure_temperature(std::uint64_t now) {
    constexpr std::uint32_t interval_us = 1'000'000;
    if (meter->streaming() || now - temperature_at < interval_us) return;
    temperature_at = now;
    rp2040::peak_adc::stop();
    meter->set_board_temperature(rp2040::peak_adc::chip_temperature());
    rp2040::peak_adc::start();
}

void leave_for_boot_loader() {
    if (!boot_loader_wanted || meter->reply_pending() || !rp2040::usb_device::idle(Pipe::replies)) return;
    rp2040::wait_us(10'000);  // the host fetches the last packet's handshake
    rp2040::usb_device::stop();
    rp2040::restart::enter_boot_loader();
}

protocol::Info make_info(std::uint32_t boot_id) {
    protocol::Info info{};
    info.board_id = rp2040::board_id;
    info.firmware_version = rp2040::firmware_version;
    info.boot_id = boot_id;
    info.shunt_micro_ohm = rp2040::shunt_micro_ohm;
    info.rails = rp2040::rails;
    info.has_peak_path = 1;
    info.has_slow_path = 1;
    info.has_power_switch = 1;
    info.reset_cause = static_cast<std::uint8_t>(fault_record.cause);
    info.serial = serial;
    return info;
}

void start_pins() {
    rp2040::restart::keep_drive_power(rp2040::restart::drive_power());
    rp2040::gpio::use_output(rp2040::pin::drive_power, rp2040::restart::drive_power());
    rp2040::gpio::use_output(rp2040::pin::sync_out, false);
    rp2040::gpio::use_output(rp2040::pin::led, true);
    for (std::uint32_t tap = rp2040::pin::clkreq; tap <= rp2040::pin::trigger_in; ++tap) rp2040::gpio::use_input(tap);
}

[[noreturn]] void run() {
    fault_record = rp2040::restart::take_record();
    rp2040::start_clocks();
    rp2040::restart::start_watchdog();
    start_pins();
    rp2040::interrupts::set_priorities();
    (rp2040::systick + 0x04).write(systick_period - 1);
    (rp2040::systick + 0x08).write(0);
    (rp2040::systick + 0x00).write(7);  // the processor's clock, with interrupt: it wakes the main loop

    // The meter needs its number before it exists, the bus of the EEPROM is shared with the slow path of the meter.
    const std::int16_t chip_temperature = rp2040::peak_adc::chip_temperature();
    acquisition::start_bus();
    eeprom::start(while_waiting);
    if (!eeprom::stored_serial(serial) && !rp2040::flash_id(serial)) {
        serial = {};
        std::copy(serial_unset.begin(), serial_unset.end(), serial.begin());
    }
    std::uint32_t boot_id = 0;
    if (!eeprom::count_boot(boot_id)) boot_id = 1u << 31 | rp2040::restart::next_start_number();

    MeterConfig config{};
    config.info = make_info(boot_id);
    config.low_voltage_code = rp2040::low_voltage_code;
    config.peak_zero_reading = rp2040::peak_zero_reading;
    meter = new (meter_memory) Meter(config, make_port());
    meter->set_board_temperature(chip_temperature);
    (void)acquisition::start(*meter, while_waiting);

    const std::string_view name = rp2040::usb_device::chip_is_old() ? product_old_chip : product;
    auto& control =
        *new (control_memory) usb::Control(name, std::span(serial.data(), strnlen(serial.data(), serial.size())), fault_record);
    rp2040::usb_device::start(
        control, [](std::uint64_t timer_us, std::uint32_t frame_number) { meter->on_frame_start(timer_us, frame_number); });

    std::uint64_t polled_at = 0;
    for (;;) {
        rp2040::interrupts::main_wanted.store(0, std::memory_order_relaxed);
        pump();
        take_commands();
        send_replies();
        const std::uint64_t now = rp2040::timer_us();
        if (now - polled_at >= poll_interval_us) {
            polled_at = now;
            rp2040::restart::feed_watchdog();
            rp2040::usb_device::poll();
            meter->poll(now);
            acquisition::poll(now);
            measure_temperature(now);
            leave_for_boot_loader();
        }
        // A sync reply is due at a time of its own, so while one waits each wake-up looks at the clock.
        meter->reply_pending() ? rp2040::interrupts::sleep_once() : rp2040::interrupts::sleep_until_wanted();
    }
}

}  // namespace
}  // namespace wattrig::firmware

namespace wattrig::rp2040 {

extern "C" void systick_handler() { interrupts::wake_main(); }

extern "C" void gpio_handler() {
    if (gpio::edge_seen(pin::adc_drdy)) {
        gpio::acknowledge_edge(pin::adc_drdy);
        return adc_capture::on_edge();  // with ALERT pending as well this handler is entered again
    }
    if (gpio::edge_seen(pin::slow_alert)) {
        gpio::acknowledge_edge(pin::slow_alert);
        firmware::acquisition::on_alert();
    }
}

extern "C" void meter_handler() { firmware::acquisition::feed(); }

}  // namespace wattrig::rp2040

int main() { wattrig::firmware::run(); }
