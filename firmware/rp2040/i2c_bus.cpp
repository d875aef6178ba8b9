#include "firmware/rp2040/i2c_bus.hpp"

#include <initializer_list>

#include "firmware/rp2040/board.hpp"
#include "firmware/rp2040/gpio.hpp"
#include "firmware/rp2040/interrupts.hpp"
#include "firmware/rp2040/registers.hpp"
#include "firmware/rp2040/time.hpp"

namespace wattrig::rp2040::i2c_bus {
namespace {

constexpr Register i2c_control = i2c0;
constexpr Register i2c_target = i2c0 + 0x04;
constexpr Register i2c_data = i2c0 + 0x10;
constexpr Register i2c_high_count = i2c0 + 0x1c;
constexpr Register i2c_low_count = i2c0 + 0x20;
constexpr Register i2c_status = i2c0 + 0x2c;
constexpr Register i2c_mask = i2c0 + 0x30;
constexpr Register i2c_receive_threshold = i2c0 + 0x38;
constexpr Register i2c_send_threshold = i2c0 + 0x3c;
constexpr Register i2c_clear_all = i2c0 + 0x40;
constexpr Register i2c_clear_abort = i2c0 + 0x54;
constexpr Register i2c_clear_stop = i2c0 + 0x60;
constexpr Register i2c_enable = i2c0 + 0x6c;
constexpr Register i2c_send_level = i2c0 + 0x74;
constexpr Register i2c_receive_level = i2c0 + 0x78;
constexpr Register i2c_hold = i2c0 + 0x7c;
constexpr Register i2c_enabled = i2c0 + 0x9c;
constexpr Register i2c_spike = i2c0 + 0xa0;

constexpr std::uint32_t interrupt_receive = 1u << 2;
constexpr std::uint32_t interrupt_send = 1u << 4;
constexpr std::uint32_t interrupt_abort = 1u << 6;
constexpr std::uint32_t interrupt_stop = 1u << 9;
constexpr std::uint32_t data_read = 1u << 8;
constexpr std::uint32_t data_stop = 1u << 9;
constexpr std::uint32_t data_restart = 1u << 10;

constexpr std::uint32_t fifo_depth = 16;
constexpr std::uint32_t longest_us = 20'000;

std::atomic<Transfer*> queue[2];          // by party; taken by the interrupt
std::atomic<Transfer*> running{nullptr};  // written at the I2C level
std::atomic<std::uint32_t> begun_at_us{0};
Party running_party = Party::slow;
std::uint32_t commands_given = 0;
std::uint32_t bytes_read = 0;
void (*slow_end)() = nullptr;

void set_up_controller() {
    cycle_reset(reset_i2c0);
    i2c_enable.write(0);
    i2c_control.write(1u << 0 | 2u << 1 | 1u << 5 | 1u << 6 |
                      1u << 8);  // master, fast, restarts, no slave, TX_EMPTY by threshold
    // 125 MHz: (111 + 14 + 187 + 1) cycles = 2.5 us, low for 1.5 us of it (fast mode wants 1.3).
    i2c_high_count.write(111);
    i2c_low_count.write(187);
    i2c_spike.write(6);  // 50 ns
    i2c_hold.write(38);  // 300 ns
    i2c_receive_threshold.write(7);
    i2c_send_threshold.write(4);
    i2c_mask.write(0);
}

// As many commands as fit, and never more reads under way than the receive FIFO holds.
void give_commands(const Transfer& transfer) {
    const std::uint32_t total = std::uint32_t{transfer.write_bytes} + transfer.read_bytes;
    std::uint32_t room = fifo_depth - i2c_send_level.read();
    while (room > 0 && commands_given < total) {
        const std::uint32_t reads_given = commands_given > transfer.write_bytes ? commands_given - transfer.write_bytes : 0;
        if (commands_given >= transfer.write_bytes && reads_given - bytes_read >= fifo_depth) break;
        std::uint32_t command = commands_given + 1 == total ? data_stop : 0;
        if (commands_given < transfer.write_bytes) {
            command |= transfer.write[commands_given];
        } else {
            command |= data_read;
            if (commands_given == transfer.write_bytes && transfer.write_bytes != 0) command |= data_restart;
        }
        i2c_data.write(command);
        ++commands_given;
        --room;
    }
    // No interrupt for room in the FIFO when what holds us up is reads that have not come yet.
    const bool wants_room = commands_given < total && room == 0;
    i2c_mask.write(interrupt_abort | interrupt_stop | interrupt_receive | (wants_room ? interrupt_send : 0));
}

void take_bytes(Transfer& transfer) {
    for (std::uint32_t level = i2c_receive_level.read(); level > 0 && bytes_read < transfer.read_bytes; --level) {
        transfer.read[bytes_read++] = static_cast<std::uint8_t>(i2c_data.read());
    }
}

void begin_next() {
    for (const Party party : {Party::slow, Party::main}) {
        Transfer* const next = queue[static_cast<std::uint32_t>(party)].load(std::memory_order_acquire);
        if (next == nullptr || next->state.load(std::memory_order_relaxed) != State::queued) continue;
        running_party = party;
        commands_given = 0;
        bytes_read = 0;
        next->state.store(State::running, std::memory_order_relaxed);
        running.store(next, std::memory_order_relaxed);
        begun_at_us.store(timer_low_us(), std::memory_order_relaxed);
        // The address may change only while the controller is off; it goes off within a bit or two after a stop.
        i2c_enable.write(0);
        for (std::uint32_t tries = 0; tries < 100 && (i2c_enabled.read() & 1) != 0; ++tries) {
        }
        i2c_target.write(next->address);
        i2c_enable.write(1);
        (void)i2c_clear_all.read();
        return give_commands(*next);
    }
}

void end(State state) {
    Transfer* const transfer = running.load(std::memory_order_relaxed);
    i2c_mask.write(0);
    running.store(nullptr, std::memory_order_relaxed);
    queue[static_cast<std::uint32_t>(running_party)].store(nullptr, std::memory_order_relaxed);
    transfer->state.store(state, std::memory_order_release);
    if (running_party == Party::slow) slow_end();
    begin_next();
}

// Clocks a slave that holds the data line low out of whatever byte it thinks it sends.
void free_bus() {
    constexpr std::uint32_t half_bit_us = 5;
    gpio::clear(pin::i2c_scl);
    gpio::release(pin::i2c_scl);
    gpio::use(pin::i2c_scl, gpio::Function::sio, gpio::Pull::up);
    for (std::uint32_t bit = 0; bit < 9; ++bit) {
        gpio::drive(pin::i2c_scl);
        wait_us(half_bit_us);
        gpio::release(pin::i2c_scl);
        wait_us(half_bit_us);
    }
    gpio::use(pin::i2c_scl, gpio::Function::i2c, gpio::Pull::up);
}

}  // namespace

extern "C" void i2c_handler() {
    const std::uint32_t pending = i2c_status.read();
    Transfer* const transfer = running.load(std::memory_order_relaxed);
    if (transfer == nullptr) {
        i2c_mask.write(0);
        return;
    }
    if ((pending & interrupt_abort) != 0) {  // not acknowledged
        (void)i2c_clear_abort.read();
        return end(State::failed);
    }
    take_bytes(*transfer);
    if ((pending & interrupt_stop) != 0) {
        (void)i2c_clear_stop.read();
        return end(bytes_read == transfer->read_bytes ? State::done : State::failed);
    }
    give_commands(*transfer);
}

extern "C" void i2c_kick_handler() {
    if (running.load(std::memory_order_relaxed) == nullptr) begin_next();
}

void start(void (*on_slow_end)()) {
    slow_end = on_slow_end;
    gpio::use(pin::i2c_sda, gpio::Function::i2c, gpio::Pull::up);
    gpio::use(pin::i2c_scl, gpio::Function::i2c, gpio::Pull::up);
    set_up_controller();
    free_bus();  // the MCU may have been reset in the midst of a read
    interrupts::enable(Interrupt::i2c);
    interrupts::enable(Interrupt::i2c_kick);
}

void submit(Party party, Transfer& transfer) {
    transfer.state.store(State::queued, std::memory_order_relaxed);
    queue[static_cast<std::uint32_t>(party)].store(&transfer, std::memory_order_release);
    interrupts::pend(Interrupt::i2c_kick);
}

bool poll() {
    if (running.load(std::memory_order_relaxed) == nullptr) return false;
    if (elapsed_us(timer_low_us(), begun_at_us.load(std::memory_order_relaxed)) < longest_us) return false;
    interrupts::disable(Interrupt::i2c);
    interrupts::disable(Interrupt::i2c_kick);
    const bool hangs = running.load(std::memory_order_relaxed) != nullptr;
    if (hangs) {
        set_up_controller();
        free_bus();
        end(State::failed);
    }
    interrupts::enable(Interrupt::i2c);
    interrupts::enable(Interrupt::i2c_kick);
    return hangs;
}

}  // namespace wattrig::rp2040::i2c_bus
