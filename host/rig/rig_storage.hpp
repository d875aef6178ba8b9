#pragma once
// The rig's EEPROM through its commands: one record of up to `most_stored_bytes`, two slots behind it, so that a write that
// power cuts short leaves the record from before. What the record means is the caller's affair.
//
// Thread rule: the link's thread; the rig must not be streaming for this program.

#include <cstddef>
#include <cstdint>
#include <span>
#include <vector>

#include "host/base/result.hpp"
#include "host/rig/command_client.hpp"

namespace wattrig::rig {

inline constexpr std::size_t most_stored_bytes = protocol::storage_slot_bytes - sizeof(protocol::StorageSlot);

// The newest record, checked against its CRC once more on this side of the cable; empty when nothing is stored. Refuses one
// whose CRC is wrong, and when both slots hold something broken: that is not "nothing stored".
Result<std::vector<std::uint8_t>> read_stored(CommandClient& client);
// Writes and reads back what the rig then holds.
Result<void> write_stored(CommandClient& client, std::span<const std::uint8_t> record);

}  // namespace wattrig::rig
