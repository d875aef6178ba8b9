#pragma once
// The rig's EEPROM: two slots, each a StorageSlot header and its payload. The older slot is written, payload first, header
// last, then read back; power may fail at any moment and the other slot still holds the last good one. Everything is done in
// steps of one page, one step a call, as a page takes 5 ms and the stream must go on.
//
// Thread rule: main loop only.

#include <array>
#include <cstdint>
#include <span>

#include "firmware/core/port.hpp"
#include "firmware/protocol/protocol.hpp"

namespace wattrig::firmware {

class Storage {
  public:
    Storage(const Port& port, const std::array<char, 16>& serial) : port_(port), serial_(serial) {}

    // Start a job; `ok` means it runs and step() must be called until it is done. Any other status is the answer.
    protocol::Status begin_read(const protocol::ReadStorage& request);
    protocol::Status begin_write(const protocol::WriteStorage& request, std::span<const std::uint8_t> chunk);

    [[nodiscard]] bool busy() const { return state_ != State::idle; }
    // One page of work at most. True when the job has come to its end with this call.
    bool step();

    // Of the job that ended last.
    [[nodiscard]] protocol::Status status() const { return status_; }
    [[nodiscard]] bool was_read() const { return !writing_; }
    [[nodiscard]] const protocol::StorageSlot& slot() const { return answer_; }
    [[nodiscard]] std::span<const std::uint8_t> data() const { return std::span(buffer_).first(answer_bytes_); }

  private:
    enum class State : std::uint8_t {
        idle,
        verify_header,  // slot by slot, until it is known which is newest
        verify_payload,
        read,
        write_payload,
        write_header,
        read_back,
    };
    static constexpr std::uint16_t newest = 0xffff;

    void advance();  // one piece of work
    void after_verify();
    void finish(protocol::Status status);
    [[nodiscard]] std::uint32_t slot_address(std::uint32_t slot) const {
        return slot * static_cast<std::uint32_t>(protocol::storage_slot_bytes);
    }
    [[nodiscard]] std::uint32_t payload_address(std::uint32_t slot) const {
        return slot_address(slot) + static_cast<std::uint32_t>(sizeof(protocol::StorageSlot));
    }
    [[nodiscard]] int newest_slot() const;  // -1 when none is valid
    bool check_payload_part(std::uint32_t slot);

    const Port& port_;
    std::array<char, 16> serial_;

    State state_ = State::idle;
    bool writing_ = false;
    bool known_ = false;  // slots_ and valid_ tell what is in the EEPROM
    std::array<protocol::StorageSlot, 2> slots_{};
    std::array<bool, 2> valid_{};
    std::uint32_t slot_ = 0;         // under verification or being written
    std::uint32_t done_ = 0;         // bytes of the present piece of work
    std::uint32_t crc_ = 0;          // over what was verified so far
    std::uint32_t write_crc_ = 0;    // over the payload as the host sent it
    std::uint32_t next_offset_ = 0;  // where the host's next chunk must go on; 0: no write is under way

    protocol::ReadStorage read_{};
    protocol::WriteStorage write_{};
    protocol::Status status_ = protocol::Status::ok;
    protocol::StorageSlot answer_{};
    std::uint32_t answer_bytes_ = 0;
    std::array<std::uint8_t, protocol::maximum_storage_chunk> buffer_{};
};

}  // namespace wattrig::firmware
