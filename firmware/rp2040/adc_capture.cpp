#include "firmware/rp2040/adc_capture.hpp"

#include <atomic>

#include "firmware/protocol/protocol.hpp"
#include "firmware/rp2040/board.hpp"
#include "firmware/rp2040/dma.hpp"
#include "firmware/rp2040/gpio.hpp"
#include "firmware/rp2040/interrupts.hpp"
#include "firmware/rp2040/peak_adc.hpp"
#include "firmware/rp2040/time.hpp"

namespace wattrig::rp2040::adc_capture {
namespace {

using firmware::ads131m04::frame_bytes;

constexpr Register spi_control0 = spi0;
constexpr Register spi_control1 = spi0 + 0x04;
constexpr Register spi_data = spi0 + 0x08;
constexpr Register spi_status = spi0 + 0x0c;
constexpr Register spi_prescale = spi0 + 0x10;
constexpr Register spi_dma = spi0 + 0x24;
constexpr std::uint32_t spi_receive_not_empty = 1u << 2;
constexpr std::uint32_t spi_busy = 1u << 4;
// 125 MHz / (2 x (3 + 1)) = 15.625 MHz: 144 bits in 9.2 us. Mode 1: clock idles low, data are taken at its falling edge.
constexpr std::uint32_t spi_divider = 3;
constexpr std::uint32_t spi_mode_1 = 1u << 7;

// Captures in flight between level 0 and the meter: 16 x 30.72 us = 491 us of delay; the longest is the end of a block, some
// 20 us. 16 x 32 bytes = 512 bytes.
constexpr std::uint32_t slots = 16;
std::array<Capture, slots + 1> captures;  // the last one takes what finds no room: the ADC must be read in any case
std::atomic<std::uint32_t> head;          // written at level 0
std::atomic<std::uint32_t> tail;          // written by the meter

constexpr std::array<std::uint8_t, frame_bytes> null_command{};  // zeros: command NULL, its CRC unused

// A period is 30.72 us, TIMER reads whole ones, and level 0 may come 2 us late. Above this an edge is missing.
constexpr std::uint32_t longest_period_us = 46;

// Level 0 alone, or the main loop while stopped.
std::uint32_t frames_to_come = 0;  // 0: no read is under way
bool single_read = false;
bool room = false;
std::uint32_t discard_left = 0;
std::atomic<std::uint32_t> gap;        // fetch two at the next edge; set by any level
std::atomic<std::uint32_t> last_edge;  // TIMER's low word
std::atomic<std::uint32_t> longest_read;
std::atomic<std::uint32_t> missed;

Capture& slot_in_work() { return captures[room ? head.load(std::memory_order_relaxed) % slots : slots]; }

void begin_read(Capture& capture) {
    gpio::clear(pin::adc_cs);
    dma_channel::write_address(dma_channel::spi_receive).write(dma_channel::bus_address(capture.frame.data()));
    dma_channel::read_address(dma_channel::spi_send).write(dma_channel::bus_address(null_command.data()));
    dma_channel::start_many.write(1u << dma_channel::spi_receive | 1u << dma_channel::spi_send);
}

}  // namespace

void set_up() {
    gpio::use_output(pin::adc_cs, true);
    gpio::use_output(pin::adc_sync, true);
    gpio::use(pin::adc_miso, gpio::Function::spi);
    gpio::use(pin::adc_sck, gpio::Function::spi);
    gpio::use(pin::adc_mosi, gpio::Function::spi);
    gpio::use_input(pin::adc_drdy, gpio::Pull::up);  // no edges while no ADC is fitted

    spi_prescale.write(2);
    spi_control0.write(7 | spi_mode_1 | spi_divider << 8);
    spi_control1.write(1u << 1);  // enabled, master

    using namespace dma_channel;
    read_address(spi_receive).write(spi_data.address());
    count(spi_receive).write(frame_bytes);
    control(spi_receive)
        .write(enable | high_priority | size_byte | increment_write | chain_to(spi_receive) | request(request_spi0_receive));
    write_address(spi_send).write(spi_data.address());
    count(spi_send).write(frame_bytes);
    control(spi_send).write(enable | high_priority | size_byte | increment_read | chain_to(spi_send) |
                            request(request_spi0_send) | quiet);
    interrupt_enable0.write(1u << spi_receive);
}

void start(std::uint32_t discard) {
    while ((spi_status.read() & spi_receive_not_empty) != 0) (void)spi_data.read();
    spi_dma.write(3);
    discard_left = discard;
    gap.store(1, std::memory_order_relaxed);
    last_edge.store(timer_low_us(), std::memory_order_relaxed);
    frames_to_come = 0;
    dma_channel::interrupt_status0.write(1u << dma_channel::spi_receive);
    gpio::enable_edge(pin::adc_drdy);
}

void stop() {
    gpio::disable_edge(pin::adc_drdy);
    wait_us(30);  // two frames are 20 us, and SPI as the master always ends them
    spi_dma.write(0);
    gpio::set(pin::adc_cs);
}

void transfer(const firmware::ads131m04::Frame& out, firmware::ads131m04::Frame& in) {
    while ((spi_status.read() & spi_receive_not_empty) != 0) (void)spi_data.read();
    gpio::clear(pin::adc_cs);
    for (std::uint32_t n = 0; n < frame_bytes; ++n) {
        spi_data.write(out[n]);
        while ((spi_status.read() & spi_receive_not_empty) == 0) {
        }
        in[n] = static_cast<std::uint8_t>(spi_data.read());
    }
    while ((spi_status.read() & spi_busy) != 0) {
    }
    gpio::set(pin::adc_cs);
}

const Capture* front() {
    const std::uint32_t oldest = tail.load(std::memory_order_relaxed);
    return interrupts::read_flag(head) == oldest ? nullptr : &captures[oldest % slots];
}
void pop() { interrupts::write_flag(tail, tail.load(std::memory_order_relaxed) + 1); }
void request_resynchronisation() { gap.store(1, std::memory_order_relaxed); }
std::uint32_t last_edge_us() { return last_edge.load(std::memory_order_relaxed); }
std::uint32_t longest_read_us() { return longest_read.load(std::memory_order_relaxed); }
std::uint32_t missed_edges() { return missed.load(std::memory_order_relaxed); }

void on_edge() {
    const std::uint64_t now = timer_us();
    if (frames_to_come != 0) {
        // While two frames are fetched an edge may belong to the FIFO's second conversion. Otherwise this conversion waits
        // unread, which is a gap.
        if (!single_read) return;
        missed.store(missed.load(std::memory_order_relaxed) + 1, std::memory_order_relaxed);
        gap.store(1, std::memory_order_relaxed);
        return;
    }
    room = head.load(std::memory_order_relaxed) - interrupts::read_flag(tail) < slots;
    Capture& capture = slot_in_work();
    capture.timer_us = now;
    capture.peak_position = static_cast<std::uint16_t>(peak_adc::position());
    // Inputs as the pins are, our own outputs as they should be.
    constexpr std::uint32_t own = 1u << pin::sync_out | 1u << pin::drive_power;
    capture.sideband = static_cast<std::uint8_t>(((gpio::inputs() & ~own) | (gpio::outputs() & own)) >> pin::clkreq);

    const auto now_low = static_cast<std::uint32_t>(now);
    const bool two =
        gap.load(std::memory_order_relaxed) != 0 || now_low - last_edge.load(std::memory_order_relaxed) > longest_period_us;
    if (two) gap.store(0, std::memory_order_relaxed);
    last_edge.store(now_low, std::memory_order_relaxed);
    single_read = !two;
    frames_to_come = two ? 2 : 1;
    capture.discarded = two || discard_left != 0;
    if (discard_left != 0) --discard_left;
    begin_read(capture);
}

extern "C" void dma0_handler() {
    dma_channel::interrupt_status0.write(1u << dma_channel::spi_receive);
    gpio::set(pin::adc_cs);
    if (frames_to_come == 0) return;  // of a transfer that stop() ended
    if (--frames_to_come != 0) return begin_read(slot_in_work());
    if (single_read) {
        const std::uint32_t took = timer_low_us() - last_edge.load(std::memory_order_relaxed);
        if (took > longest_read.load(std::memory_order_relaxed)) longest_read.store(took, std::memory_order_relaxed);
    }
    if (!room) return;
    interrupts::write_flag(head, head.load(std::memory_order_relaxed) + 1);
    interrupts::pend(Interrupt::meter);
}

}  // namespace wattrig::rp2040::adc_capture
