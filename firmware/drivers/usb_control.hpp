#pragma once
// Endpoint 0 as a state machine without registers: a SETUP packet comes in, out comes what to answer and what the board has to
// do to its endpoints. So it is also built for the host and fuzzed. Everything unknown is stalled; no request of ours has a
// data stage from the host, so such ones are stalled, too.
//
// Thread rule: the USB interrupt alone.

#include <array>
#include <cstdint>
#include <span>

#include "firmware/drivers/usb_descriptors.hpp"

namespace wattrig::firmware::usb {

struct SetupPacket {  // USB 2.0 table 9-2
    std::uint8_t request_type;
    std::uint8_t request;
    std::uint16_t value;
    std::uint16_t index;
    std::uint16_t length;
};

// What happened at the reset before this run; kept in the watchdog's scratch registers, which only the loss of power clears.
struct FaultRecord {
    std::uint32_t cause;            // as protocol::Info::reset_cause
    std::uint32_t program_counter;  // of a fault, otherwise 0
    std::uint32_t link_register;
    std::uint32_t program_status;  // its lower 9 bits: the exception that was active
};
static_assert(sizeof(FaultRecord) == 16);

enum class Answer : std::uint8_t {
    stall,
    data,    // `bytes` to the host, then an empty packet from it
    status,  // an empty packet to the host
};
enum class Effect : std::uint8_t {
    none,
    configure,    // endpoints on, data toggles at 0, nothing halted
    deconfigure,  // endpoints off
    halt,         // of `endpoint`: answers STALL from now on
    unhalt,       // ... and its data toggle at 0
};
struct ControlAnswer {
    Answer answer = Answer::stall;
    std::span<const std::uint8_t> bytes{};  // no longer than asked for; valid until the next SETUP
    bool zero_packet = false;               // the data is shorter than asked for and ends with a full packet
    Effect effect = Effect::none;
    std::uint8_t endpoint = 0;  // address, with the direction in bit 7
};

class Control {
  public:
    // `product` and `serial`: ASCII that outlives this object.
    Control(std::span<const char> product, std::span<const char> serial, const FaultRecord& fault)
        : product_(product), serial_(serial), fault_(fault) {}

    [[nodiscard]] ControlAnswer on_setup(const SetupPacket& setup);
    // The status stage of the last request is done: an address may be taken from now on.
    [[nodiscard]] std::uint8_t on_status_done() { return address_ = next_address_; }
    void on_bus_reset();

    [[nodiscard]] bool configured() const { return configured_; }

  private:
    [[nodiscard]] ControlAnswer standard_device(const SetupPacket& setup);
    [[nodiscard]] ControlAnswer standard_interface(const SetupPacket& setup);
    [[nodiscard]] ControlAnswer standard_endpoint(const SetupPacket& setup);
    [[nodiscard]] ControlAnswer vendor(const SetupPacket& setup);
    [[nodiscard]] ControlAnswer descriptor(const SetupPacket& setup);
    [[nodiscard]] ControlAnswer send(std::span<const std::uint8_t> bytes, const SetupPacket& setup) const;
    [[nodiscard]] ControlAnswer send_small(std::uint16_t value, std::size_t bytes, const SetupPacket& setup);
    // Index into halted_, or -1 for an endpoint that is not there.
    [[nodiscard]] static int endpoint_index(std::uint16_t address);

    std::span<const char> product_;
    std::span<const char> serial_;
    const FaultRecord& fault_;
    std::uint8_t address_ = 0;
    std::uint8_t next_address_ = 0;
    bool configured_ = false;
    std::array<bool, 3> halted_{};
    std::array<std::uint8_t, 2 + 2 * 48> scratch_{};  // small answers and strings of up to 48 characters
};

}  // namespace wattrig::firmware::usb
