#include "firmware/rp2040/peak_adc.hpp"

#include <initializer_list>

#include "firmware/rp2040/board.hpp"
#include "firmware/rp2040/dma.hpp"
#include "firmware/rp2040/gpio.hpp"
#include "firmware/rp2040/registers.hpp"
#include "firmware/rp2040/time.hpp"

namespace wattrig::rp2040::peak_adc {
namespace {

constexpr Register adc_control = adc;
constexpr Register adc_result = adc + 0x04;
constexpr Register adc_fifo_control = adc + 0x08;
constexpr Register adc_fifo = adc + 0x0c;
constexpr Register adc_divider = adc + 0x10;
constexpr std::uint32_t control_enable = 1u << 0;
constexpr std::uint32_t control_temperature = 1u << 1;
constexpr std::uint32_t control_start_once = 1u << 2;
constexpr std::uint32_t control_start_many = 1u << 3;
constexpr std::uint32_t control_ready = 1u << 8;
constexpr std::uint32_t fifo_enable = 1u << 0;
constexpr std::uint32_t fifo_dma = 1u << 3;
constexpr std::uint32_t fifo_over = 1u << 11;  // write 1 to clear
constexpr std::uint32_t fifo_threshold_1 = 1u << 24;
constexpr std::uint32_t channel_shunt = 0;
constexpr std::uint32_t channel_temperature = 4;

// 192 cycles of 48 MHz are 4 us; the field counts from 0.
constexpr std::uint32_t cycles_per_reading = reading_us * 48;

constexpr std::uint32_t ring_address_bits = 11;
static_assert(1u << ring_address_bits == ring_readings * sizeof(std::uint16_t));
alignas(1u << ring_address_bits) std::array<std::uint16_t, ring_readings> ring;

// A channel stops after at most 2^32 - 1 transfers; after this many (1.2 h) the other goes on. A multiple of the ring, so that
// it goes on at the same place.
constexpr std::uint32_t transfers_per_turn = 1u << 30;
static_assert(transfers_per_turn % ring_readings == 0);

void arm(std::uint32_t channel, std::uint32_t other) {
    using namespace dma_channel;
    read_address(channel).write(adc_fifo.address());
    write_address(channel).write(bus_address(ring.data()));
    count(channel).write(transfers_per_turn);
    control(channel).write(enable | size_half | increment_write | write_ring(ring_address_bits) | chain_to(other) |
                           request(request_adc) | quiet);
}

}  // namespace

void start() {
    gpio::use_analog(pin::peak_input);
    adc_control.write(control_enable);
    while ((adc_control.read() & control_ready) == 0) {
    }
    adc_divider.write((cycles_per_reading - 1) << 8);
    adc_fifo_control.write(fifo_enable | fifo_dma | fifo_threshold_1 | fifo_over);
    if ((dma_channel::control(dma_channel::peak_first).read() & dma_channel::enable) == 0) {
        arm(dma_channel::peak_first, dma_channel::peak_second);
        arm(dma_channel::peak_second, dma_channel::peak_first);
        dma_channel::start_many.write(1u << dma_channel::peak_first);
    }
    adc_control.write(control_enable | channel_shunt << 12 | control_start_many);
}

void stop() {
    adc_control.write(control_enable);
    while ((adc_control.read() & control_ready) == 0) {
    }
    wait_us(1);  // the DMA takes what is left in the FIFO; it stays armed and goes on where it stopped
    adc_fifo_control.write(0);
}

std::uint32_t position() {
    using namespace dma_channel;
    // When the turn changes between the two reads, both addresses are the ring's begin.
    const std::uint32_t active = (control(peak_first).read() & busy) != 0 ? peak_first : peak_second;
    return (write_address(active).read() - bus_address(ring.data())) / sizeof(std::uint16_t) % ring_readings;
}

std::span<const std::uint16_t, ring_readings> readings() { return ring; }

bool overflowed() {
    if ((adc_fifo_control.read() & fifo_over) == 0) return false;
    adc_fifo_control.write(fifo_enable | fifo_dma | fifo_threshold_1 | fifo_over);
    return true;
}

std::int16_t chip_temperature() {
    adc_control.write(control_enable | control_temperature | channel_temperature << 12);
    wait_us(50);  // the sensor's supply settles
    std::uint32_t sum = 0;
    constexpr std::uint32_t conversions = 16;
    for (std::uint32_t n = 0; n < conversions; ++n) {
        adc_control.write(control_enable | control_temperature | channel_temperature << 12 | control_start_once);
        while ((adc_control.read() & control_ready) == 0) {
        }
        sum += adc_result.read() & 0xfff;
    }
    adc_control.write(control_enable);
    // Datasheet 4.9.5: 27 degC at 0.706 V, -1.721 mV per degC. In microvolt.
    const auto microvolt = static_cast<std::int32_t>(sum * (3'300'000u / conversions / 64) / (4096u / 64));
    return static_cast<std::int16_t>(2700 - (microvolt - 706'000) * 100 / 1721);
}

}  // namespace wattrig::rp2040::peak_adc
