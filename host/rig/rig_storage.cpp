#include "host/rig/rig_storage.hpp"

#include <algorithm>
#include <array>
#include <string>

#include "firmware/protocol/crc32c.hpp"
#include "firmware/protocol/frame.hpp"

namespace wattrig::rig {
namespace {

constexpr Nanoseconds chunk_timeout{5'000'000'000};  // a chunk is up to 9 pages of 5 ms; the first one verifies both slots
constexpr std::uint16_t newest = 0xffff;

struct Part {
    protocol::StorageSlot slot;
    std::vector<std::uint8_t> bytes;
};

Result<Part> read_part(CommandClient& client, std::uint16_t slot, std::size_t offset, std::size_t length) {
    std::array<std::uint8_t, sizeof(protocol::ReadStorage)> arguments{};
    protocol::store(arguments.data(),
                    protocol::ReadStorage{slot, static_cast<std::uint16_t>(offset), static_cast<std::uint16_t>(length), 0});
    auto reply = client.ask(protocol::CommandId::read_storage, arguments, chunk_timeout);
    if (!reply) return reply.error();
    if (reply->size() < sizeof(protocol::StorageSlot)) return device_refused("the rig's answer is too short: wrong firmware");
    Part part{protocol::load<protocol::StorageSlot>(reply->data()), {}};
    const auto begin = reply->begin() + sizeof(protocol::StorageSlot);
    part.bytes.assign(begin,
                      begin + static_cast<std::ptrdiff_t>(std::min(length, reply->size() - sizeof(protocol::StorageSlot))));
    return part;
}

}  // namespace

Result<std::vector<std::uint8_t>> read_stored(CommandClient& client) {
    auto head = read_part(client, newest, 0, 0);
    if (!head) return head.error();
    std::vector<std::uint8_t> record;
    if (head->slot.magic == 0) {
        for (const std::uint16_t slot : {std::uint16_t{0}, std::uint16_t{1}}) {
            auto raw = read_part(client, slot, 0, 0);
            if (!raw) return raw.error();
            if (raw->slot.magic == protocol::storage_magic)
                return device_refused("the record in the rig's EEPROM is damaged, and there is no older one that is whole");
        }
        return record;
    }
    if (head->slot.version != 1)
        return device_refused("the record in the rig's EEPROM has version " + std::to_string(head->slot.version) +
                              ", this program reads version 1: update wattrig");
    while (record.size() < head->slot.length) {
        const std::size_t want = std::min<std::size_t>(protocol::maximum_storage_chunk, head->slot.length - record.size());
        auto part = read_part(client, newest, record.size(), want);
        if (!part) return part.error();
        if (part->slot.sequence != head->slot.sequence || part->bytes.size() != want)
            return device_refused("the record in the rig's EEPROM changed while it was read: read it again");
        record.insert(record.end(), part->bytes.begin(), part->bytes.end());
    }
    if (protocol::crc32c(record) != head->slot.payload_crc)
        return device_refused("the record in the rig's EEPROM came with a wrong CRC: read it again");
    return record;
}

Result<void> write_stored(CommandClient& client, std::span<const std::uint8_t> record) {
    if (record.empty() || record.size() > most_stored_bytes)
        return bad_input("expected a record of 1 to " + std::to_string(most_stored_bytes) +
                         " bytes for the rig's EEPROM, came " + std::to_string(record.size()));
    for (std::size_t offset = 0; offset < record.size();) {
        const std::size_t size = std::min(protocol::maximum_storage_chunk, record.size() - offset);
        std::vector<std::uint8_t> arguments(sizeof(protocol::WriteStorage) + size);
        protocol::store(arguments.data(),
                        protocol::WriteStorage{static_cast<std::uint16_t>(offset), static_cast<std::uint16_t>(size),
                                               static_cast<std::uint16_t>(record.size()),
                                               static_cast<std::uint16_t>(offset + size == record.size() ? 1 : 0)});
        std::copy_n(record.begin() + static_cast<std::ptrdiff_t>(offset), size,
                    arguments.begin() + sizeof(protocol::WriteStorage));
        if (auto written = client.ask(protocol::CommandId::write_storage, arguments, chunk_timeout); !written)
            return written.error();
        offset += size;
    }
    auto back = read_stored(client);
    if (!back) return back.error();
    if (!std::equal(back->begin(), back->end(), record.begin(), record.end()))
        return device_refused(
            "the rig's EEPROM does not hold what was written to it: try again; a second time means a broken part");
    return {};
}

}  // namespace wattrig::rig
