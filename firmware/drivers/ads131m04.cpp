#include "firmware/drivers/ads131m04.hpp"

#include <bit>
#include <cstring>

namespace wattrig::firmware::ads131m04 {
namespace {

constexpr std::uint16_t crc_polynomial = 0x1021;
using CrcTable = std::array<std::uint16_t, 256>;
// What a byte does to the CRC when `zeros` bytes of zero follow it.
constexpr CrcTable make_crc16_table(int zeros) {
    CrcTable table{};
    for (std::uint32_t byte = 0; byte < 256; ++byte) {
        std::uint32_t value = byte << 8;
        for (int bit = 0; bit < 8 * (1 + zeros); ++bit) value = value << 1 ^ ((value & 0x8000) != 0 ? crc_polynomial : 0u);
        table[byte] = static_cast<std::uint16_t>(value);
    }
    return table;
}
constexpr CrcTable crc16_table = make_crc16_table(0);
constexpr CrcTable crc16_table_before = make_crc16_table(1);

// Section 8.5.1.10. WREG is 011, not the 010 that its answer begins with.
constexpr std::uint16_t command_null = 0x0000;
constexpr std::uint16_t command_reset = 0x0011;
constexpr std::uint16_t answer_reset = 0xff24;
constexpr std::uint16_t read_register(std::uint32_t address) { return static_cast<std::uint16_t>(0xa000 | address << 7); }
constexpr std::uint16_t write_register(std::uint32_t address) { return static_cast<std::uint16_t>(0x6000 | address << 7); }

constexpr std::uint32_t register_id = 0x00;
constexpr std::uint32_t register_mode = 0x02;
constexpr std::uint32_t register_clock = 0x03;
constexpr std::uint32_t register_gain = 0x04;
constexpr std::uint32_t register_channel(std::uint32_t channel) { return 0x09 + 5 * channel; }
constexpr std::uint16_t id_value = 0x2400;  // upper byte: four channels; the lower one is a revision

struct Setting {
    std::uint32_t address;
    std::uint16_t value;
};
constexpr std::array<Setting, 3> settings = {{
    {register_mode, 0x0110},   // clears RESET; 24-bit words, SPI time-out on, DRDY a level
    {register_clock, 0x0f02},  // four channels, OSR 128, high resolution
    {register_gain, 0x0000},   // 1 everywhere
}};

// SYNC/RESET low: at least 2048 clocks of 120 ns reset the chip, fewer only synchronise it.
constexpr std::uint32_t reset_pulse_us = 300;
constexpr std::uint32_t sync_pulse_us = 10;
constexpr std::uint32_t after_reset_us = 300;  // 5 us would do after a command; the pin may find it powering up

class Talk {
  public:
    explicit Talk(const Bus& bus) : bus_(bus) {}
    // Sends one command; what comes back answers the one before.
    std::uint16_t exchange(std::uint16_t command, std::uint16_t argument = 0) {
        const Frame out = {static_cast<std::uint8_t>(command >> 8), static_cast<std::uint8_t>(command), 0,
                           static_cast<std::uint8_t>(argument >> 8), static_cast<std::uint8_t>(argument)};
        alignas(4) Frame in{};
        bus_.transfer(bus_.context, out, in);
        crc_failed_ = crc_failed_ || !crc_fits(in.data());
        return answer(in.data());
    }
    std::uint16_t read(std::uint32_t address) {
        exchange(read_register(address));
        return exchange(command_null);
    }
    void forget_crc() { crc_failed_ = false; }
    [[nodiscard]] bool crc_failed() const { return crc_failed_; }

  private:
    const Bus& bus_;
    bool crc_failed_ = false;
};

}  // namespace

std::uint16_t crc16(std::span<const std::uint8_t> bytes) {
    std::uint32_t value = 0xffff;
    for (const std::uint8_t byte : bytes) value = (value << 8 & 0xffff) ^ crc16_table[value >> 8 ^ byte];
    return static_cast<std::uint16_t>(value);
}

// Two bytes a step: half the cycles, and this runs for each sample.
bool crc_fits(const std::uint8_t* frame) {
    static_assert(checked_bytes == 15 && std::endian::native == std::endian::little);
    const void* const words = __builtin_assume_aligned(frame, alignof(std::uint16_t));
    std::uint32_t value = 0xffff;
    for (std::size_t at = 0; at + 1 < checked_bytes; at += 2) {
        std::uint16_t word;
        std::memcpy(&word, static_cast<const std::uint8_t*>(words) + at, sizeof word);
        value ^= __builtin_bswap16(word);
        value = std::uint32_t{crc16_table_before[value >> 8]} ^ crc16_table[value & 0xff];
    }
    value = (value << 8 & 0xffff) ^ crc16_table[value >> 8 ^ frame[checked_bytes - 1]];
    return value == static_cast<std::uint32_t>(frame[checked_bytes] << 8 | frame[checked_bytes + 1]);
}

BringUp bring_up(const Bus& bus, Input input) {
    bus.set_sync(bus.context, false);
    bus.wait_us(bus.context, reset_pulse_us);
    bus.set_sync(bus.context, true);
    bus.wait_us(bus.context, after_reset_us);

    Talk talk(bus);
    talk.exchange(command_reset);
    bus.wait_us(bus.context, after_reset_us);
    talk.forget_crc();  // of a frame that may have met any state
    if (talk.exchange(command_null) != answer_reset) return BringUp::no_reset_answer;
    if ((talk.read(register_id) & 0xff00) != id_value) return BringUp::wrong_id;

    for (const Setting& setting : settings) talk.exchange(write_register(setting.address), setting.value);
    for (std::uint32_t channel = 0; channel < channels; ++channel) {
        talk.exchange(write_register(register_channel(channel)), static_cast<std::uint16_t>(input));
    }
    for (const Setting& setting : settings) {
        if (talk.read(setting.address) != setting.value) return BringUp::not_read_back;
    }
    for (std::uint32_t channel = 0; channel < channels; ++channel) {
        if (talk.read(register_channel(channel)) != static_cast<std::uint16_t>(input)) return BringUp::not_read_back;
    }
    if (talk.crc_failed()) return BringUp::bad_crc;

    bus.set_sync(bus.context, false);
    bus.wait_us(bus.context, sync_pulse_us);
    bus.set_sync(bus.context, true);
    return BringUp::ok;
}

}  // namespace wattrig::firmware::ads131m04
