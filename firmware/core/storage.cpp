#include "firmware/core/storage.hpp"

#include <algorithm>

#include "firmware/protocol/frame.hpp"

namespace wattrig::firmware {

using protocol::Status;
using protocol::StorageSlot;

namespace {

constexpr std::uint32_t maximum_payload = protocol::storage_slot_bytes - sizeof(StorageSlot);

}  // namespace

Status Storage::begin_read(const protocol::ReadStorage& request) {
    if (port_.storage_read == nullptr) return Status::not_available;
    if (busy()) return Status::busy;
    if (request.slot > 1 && request.slot != newest) return Status::bad_argument;
    if (request.length > protocol::maximum_storage_chunk || request.offset + std::uint32_t{request.length} > maximum_payload) {
        return Status::bad_argument;
    }
    writing_ = false;
    read_ = request;
    slot_ = 0;
    done_ = 0;
    state_ = request.slot == newest && !known_ ? State::verify_header : State::read;
    return Status::ok;
}

Status Storage::begin_write(const protocol::WriteStorage& request, std::span<const std::uint8_t> chunk) {
    if (port_.storage_read == nullptr || port_.storage_write == nullptr) return Status::not_available;
    if (busy()) return Status::busy;
    const std::uint32_t end = request.offset + std::uint32_t{request.length};
    if (request.length == 0 || request.length > chunk.size() || request.length > protocol::maximum_storage_chunk ||
        request.total > maximum_payload || end > request.total || request.last > 1 ||
        (request.last == 1) != (end == request.total)) {
        return Status::bad_argument;
    }
    if (request.offset != 0 && (request.offset != next_offset_ || request.total != write_.total)) return Status::wrong_state;
    writing_ = true;
    write_ = request;
    const auto bytes = chunk.first(request.length);
    std::copy(bytes.begin(), bytes.end(), buffer_.begin());
    write_crc_ = protocol::crc32c(bytes, request.offset == 0 ? 0 : write_crc_);
    done_ = 0;
    if (request.offset == 0 && !known_) {
        slot_ = 0;
        state_ = State::verify_header;
    } else {
        after_verify();
    }
    return Status::ok;
}

int Storage::newest_slot() const {
    if (valid_[0] && valid_[1]) return slots_[1].sequence > slots_[0].sequence ? 1 : 0;
    return valid_[0] ? 0 : valid_[1] ? 1 : -1;
}

void Storage::after_verify() {
    done_ = 0;
    if (!writing_) {
        state_ = State::read;
        return;
    }
    if (write_.offset == 0) slot_ = newest_slot() == 0 ? 1 : 0;
    state_ = State::write_payload;
}

void Storage::finish(Status status) {
    status_ = status;
    state_ = State::idle;
    if (!writing_) return;
    next_offset_ = status == Status::ok && write_.last == 0 ? write_.offset + std::uint32_t{write_.length} : 0;
    if (status != Status::ok) known_ = false;  // what stands in the slot now must be looked at
}

bool Storage::step() {
    if (!busy()) return false;
    if (port_.storage_ready != nullptr && !port_.storage_ready(port_.context)) return false;
    advance();
    return !busy();
}

// Reads the next part of a slot's payload into the CRC. False when the EEPROM does not answer.
bool Storage::check_payload_part(std::uint32_t slot) {
    std::array<std::uint8_t, storage_page_bytes> page;
    const auto part = std::span(page).first(std::min<std::uint32_t>(slots_[slot].length - done_, storage_page_bytes));
    if (!port_.storage_read(port_.context, payload_address(slot) + done_, part)) return false;
    crc_ = protocol::crc32c(part, crc_);
    done_ += static_cast<std::uint32_t>(part.size());
    return true;
}

void Storage::advance() {
    switch (state_) {
        case State::idle: return;

        case State::verify_header: {
            std::array<std::uint8_t, sizeof(StorageSlot)> bytes;
            if (!port_.storage_read(port_.context, slot_address(slot_), bytes)) return finish(Status::storage_failed);
            const auto header = protocol::load<StorageSlot>(bytes.data());
            slots_[slot_] = header;
            valid_[slot_] = header.magic == protocol::storage_magic && header.version == 1 && header.length <= maximum_payload;
            if (!valid_[slot_]) slots_[slot_].length = 0;
            done_ = 0;
            crc_ = 0;
            state_ = State::verify_payload;
            return;
        }

        case State::verify_payload:
            if (done_ < slots_[slot_].length) {
                if (!check_payload_part(slot_)) finish(Status::storage_failed);
                return;
            }
            valid_[slot_] = valid_[slot_] && crc_ == slots_[slot_].payload_crc;
            if (slot_ == 0) {
                slot_ = 1;
                state_ = State::verify_header;
                return;
            }
            known_ = true;
            return after_verify();

        case State::read: {
            answer_ = StorageSlot{};
            answer_bytes_ = 0;
            std::uint32_t slot = read_.slot;
            if (read_.slot == newest) {
                const int found = newest_slot();
                if (found < 0) return finish(Status::ok);  // an all-zero header says that nothing is stored
                slot = static_cast<std::uint32_t>(found);
            }
            std::array<std::uint8_t, sizeof(StorageSlot)> header;
            const auto bytes = std::span(buffer_).first(read_.length);
            if (!port_.storage_read(port_.context, slot_address(slot), header) ||
                !port_.storage_read(port_.context, payload_address(slot) + read_.offset, bytes)) {
                return finish(Status::storage_failed);
            }
            answer_ = protocol::load<StorageSlot>(header.data());
            answer_bytes_ = read_.length;
            return finish(Status::ok);
        }

        case State::write_payload: {
            if (done_ == write_.length) {
                if (write_.last == 0) return finish(Status::ok);
                state_ = State::write_header;
                return;
            }
            const std::uint32_t address = payload_address(slot_) + write_.offset + done_;
            const std::uint32_t page_left = storage_page_bytes - address % storage_page_bytes;
            const std::uint32_t size = std::min<std::uint32_t>(write_.length - done_, page_left);
            const Status status = port_.storage_write(port_.context, address, std::span(buffer_).subspan(done_, size));
            if (status != Status::ok) return finish(status);
            valid_[slot_] = false;
            done_ += size;
            return;
        }

        case State::write_header: {
            static_assert(sizeof(StorageSlot) == storage_page_bytes, "the header is written in one go");
            const int other = newest_slot();
            StorageSlot header{};
            header.magic = protocol::storage_magic;
            header.version = 1;
            header.length = write_.total;
            header.sequence = other < 0 ? 1 : slots_[static_cast<std::uint32_t>(other)].sequence + 1;
            header.payload_crc = write_crc_;
            header.serial = serial_;
            slots_[slot_] = header;
            std::array<std::uint8_t, sizeof header> bytes;
            protocol::store(bytes.data(), header);
            const Status status = port_.storage_write(port_.context, slot_address(slot_), bytes);
            if (status != Status::ok) return finish(status);
            done_ = 0;
            crc_ = 0;
            state_ = State::read_back;
            return;
        }

        case State::read_back:
            if (done_ < slots_[slot_].length) {
                if (!check_payload_part(slot_)) finish(Status::storage_failed);
                return;
            }
            {
                std::array<std::uint8_t, sizeof(StorageSlot)> read;
                std::array<std::uint8_t, sizeof(StorageSlot)> written;
                protocol::store(written.data(), slots_[slot_]);
                valid_[slot_] = port_.storage_read(port_.context, slot_address(slot_), read) && read == written &&
                                crc_ == slots_[slot_].payload_crc;
            }
            return finish(valid_[slot_] ? Status::ok : Status::storage_failed);
    }
}

}  // namespace wattrig::firmware
