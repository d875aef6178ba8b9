#include "firmware/app/eeprom.hpp"

#include <algorithm>

#include "firmware/core/port.hpp"
#include "firmware/protocol/frame.hpp"
#include "firmware/rp2040/i2c_bus.hpp"
#include "firmware/rp2040/interrupts.hpp"
#include "firmware/rp2040/time.hpp"

namespace wattrig::firmware::eeprom {
namespace {

using rp2040::i2c_bus::State;

constexpr std::uint8_t i2c_address = 0x50;
constexpr std::uint32_t address_bytes = 2;
constexpr std::uint32_t boot_counter_address[] = {0x2000, 0x2040};
// 5 ms by the datasheet; a part that is silent for longer is taken as gone, and the next transfer tells.
constexpr std::uint32_t longest_write_us = 20'000;
constexpr std::uint32_t poll_interval_us = 500;

rp2040::i2c_bus::Transfer transfer;
// A read of 32 bytes takes 0.8 ms of the bus; longer ones are cut, so that the slow path gets its turn in between.
std::array<std::uint8_t, address_bytes + storage_page_bytes> write_buffer;
std::array<std::uint8_t, storage_page_bytes> read_buffer;
void (*while_waiting_function)() = nullptr;
bool writing = false;
std::uint32_t written_at_us = 0;
std::uint32_t polled_at_us = 0;

bool carry_out(std::uint32_t write_bytes, std::uint32_t read_bytes) {
    transfer.address = i2c_address;
    transfer.write = write_buffer.data();
    transfer.write_bytes = static_cast<std::uint8_t>(write_bytes);
    transfer.read = read_buffer.data();
    transfer.read_bytes = static_cast<std::uint8_t>(read_bytes);
    rp2040::i2c_bus::submit(rp2040::i2c_bus::Party::main, transfer);
    const auto ended = [] {
        const State state = transfer.state.load(std::memory_order_acquire);
        return state == State::done || state == State::failed;
    };
    while (!ended()) {
        while_waiting_function();
        rp2040::i2c_bus::poll();
        if (!ended()) rp2040::interrupts::sleep_once();
    }
    return transfer.state.load(std::memory_order_relaxed) == State::done;
}

void put_address(std::uint32_t address) {
    write_buffer[0] = static_cast<std::uint8_t>(address >> 8);
    write_buffer[1] = static_cast<std::uint8_t>(address);
}

void wait_until_ready() {
    while (!ready()) {
        while_waiting_function();
        rp2040::wait_us(poll_interval_us);
    }
}

}  // namespace

void start(void (*while_waiting)()) {
    while_waiting_function = while_waiting;
    // The MCU may have been reset while a page was being written.
    writing = true;
    written_at_us = rp2040::timer_low_us();
    polled_at_us = written_at_us - poll_interval_us;
    wait_until_ready();
}

bool read(std::uint32_t address, std::span<std::uint8_t> bytes) {
    while (!bytes.empty()) {
        const std::size_t part = std::min<std::size_t>(bytes.size(), read_buffer.size());
        put_address(address);
        if (!carry_out(address_bytes, static_cast<std::uint32_t>(part))) return false;
        std::copy_n(read_buffer.begin(), part, bytes.begin());
        address += static_cast<std::uint32_t>(part);
        bytes = bytes.subspan(part);
    }
    return true;
}

protocol::Status write(std::uint32_t address, std::span<const std::uint8_t> bytes) {
    put_address(address);
    std::copy(bytes.begin(), bytes.end(), write_buffer.begin() + address_bytes);
    if (!carry_out(address_bytes + static_cast<std::uint32_t>(bytes.size()), 0)) return protocol::Status::storage_failed;
    writing = true;
    written_at_us = rp2040::timer_low_us();
    polled_at_us = written_at_us;
    return protocol::Status::ok;
}

bool ready() {
    if (!writing) return true;
    const std::uint32_t now = rp2040::timer_low_us();
    if (now - polled_at_us < poll_interval_us) return false;
    polled_at_us = now;
    put_address(0);  // an address alone writes nothing; a busy part does not acknowledge
    writing = !carry_out(address_bytes, 0) && now - written_at_us < longest_write_us;
    return !writing;
}

bool stored_serial(std::array<char, 16>& serial) {
    bool found = false;
    std::uint32_t newest = 0;
    for (std::uint32_t slot = 0; slot < 2; ++slot) {
        std::array<std::uint8_t, sizeof(protocol::StorageSlot)> bytes;
        if (!read(slot * static_cast<std::uint32_t>(protocol::storage_slot_bytes), bytes)) return false;
        const auto header = protocol::load<protocol::StorageSlot>(bytes.data());
        const auto printable = [](char c) { return c > ' ' && c < 127; };
        if (header.magic != protocol::storage_magic || header.version != 1 || !printable(header.serial[0])) continue;
        if (found && header.sequence < newest) continue;
        found = true;
        newest = header.sequence;
        serial = {};
        std::copy(header.serial.begin(), std::find_if_not(header.serial.begin(), header.serial.end(), printable),
                  serial.begin());
    }
    return found;
}

bool count_boot(std::uint32_t& boot_id) {
    struct Counter {
        std::uint32_t count;
        std::uint32_t inverted;
    };
    std::array<std::uint8_t, sizeof(Counter)> bytes;
    std::uint32_t newest = 0;
    std::uint32_t older_copy = 0;
    for (std::uint32_t copy = 0; copy < 2; ++copy) {
        if (!read(boot_counter_address[copy], bytes)) return false;
        const auto counter = protocol::load<Counter>(bytes.data());
        if (counter.inverted != ~counter.count || counter.count < newest) continue;
        newest = counter.count;
        older_copy = 1 - copy;
    }
    boot_id = newest + 1;
    protocol::store(bytes.data(), Counter{boot_id, ~boot_id});
    if (write(boot_counter_address[older_copy], bytes) != protocol::Status::ok) return false;
    wait_until_ready();
    std::array<std::uint8_t, sizeof(Counter)> check;
    return read(boot_counter_address[older_copy], check) && check == bytes;
}

}  // namespace wattrig::firmware::eeprom
