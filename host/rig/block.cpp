#include "host/rig/block.hpp"

#include <cstring>
#include <limits>
#include <string>

namespace wattrig::rig {
namespace {

using protocol::BlockHeader;
using protocol::RailPart;

// Device times and indices stay below this, so that no sum of two of them overflows: 2^59 ticks are 146 years, and as
// nanoseconds they still fit 63 bits.
constexpr std::uint64_t plausible_limit = std::uint64_t{1} << 59;

Error contradiction(const BlockHeader& header, const std::string& what) {
    return bad_input("block at sample " + std::to_string(header.first_index) + ": " + what);
}

bool in_range(std::int32_t minimum, std::int32_t maximum) {
    return protocol::code_minimum <= minimum && minimum <= maximum && maximum <= protocol::code_maximum;
}

}  // namespace

Result<BlockView> parse_block(std::span<const std::uint8_t> payload) {
    // Filled in place: the view is some 370 bytes, and one comes each 300 ns when an old recording is analysed.
    Result<BlockView> result{boost::system::in_place_value};
    BlockView& view = *result;
    if (payload.size() < sizeof(BlockHeader)) {
        return bad_input("block of " + std::to_string(payload.size()) + " bytes, expected at least " +
                         std::to_string(sizeof(BlockHeader)) + " for its header");
    }
    std::memcpy(&view.header, payload.data(), sizeof view.header);
    const BlockHeader& header = view.header;
    if (header.rails < 1 || header.rails > protocol::maximum_rails) {
        return contradiction(header, std::to_string(header.rails) + " rails, expected 1 or 2");
    }
    if (header.detail > static_cast<std::uint8_t>(protocol::Detail::summary_1s)) {
        return contradiction(header, "detail " + std::to_string(header.detail) + " is none that this program knows");
    }
    if (header.first_index >= plausible_limit || header.first_time >= plausible_limit ||
        header.lost_samples >= plausible_limit) {
        return contradiction(header, "index, time or loss beyond any run");
    }
    if (header.count > header.span) {
        return contradiction(header, std::to_string(header.count) + " samples in a span of " + std::to_string(header.span));
    }
    const bool full = header.detail == static_cast<std::uint8_t>(protocol::Detail::full);
    if (full && header.count != header.span && header.count != 0) {
        return contradiction(header, std::to_string(header.count) + " codes for a span of " + std::to_string(header.span) +
                                         ": a loss must end a block with codes");
    }
    const std::size_t codes = full ? header.count : 0;
    if (codes > protocol::samples_per_block) {
        return contradiction(
            header, std::to_string(codes) + " codes, a block has at most " + std::to_string(protocol::samples_per_block));
    }
    const std::size_t needed = protocol::block_payload_bytes(header.rails, codes);
    if (payload.size() < needed) {
        return contradiction(header, "payload of " + std::to_string(payload.size()) + " bytes, expected at least " +
                                         std::to_string(needed) + " for " + std::to_string(codes) + " codes");
    }

    const std::uint8_t* at = payload.data() + sizeof(BlockHeader);
    std::memcpy(view.rails.data(), at, header.rails * sizeof(RailPart));
    at += header.rails * sizeof(RailPart);
    for (std::size_t rail = header.rails; rail < view.rails.size(); ++rail) view.rails[rail] = RailPart{};
    std::memcpy(&view.slow, at, sizeof view.slow);
    at += sizeof view.slow;
    std::memcpy(&view.peak, at, sizeof view.peak);
    at += sizeof view.peak + 4;
    for (std::size_t rail = 0; rail < header.rails; ++rail) {
        const RailPart& part = view.rails[rail];
        if (part.sums.count < header.count) {
            return contradiction(header, "running count " + std::to_string(part.sums.count) + " is below the block's own " +
                                             std::to_string(header.count));
        }
        if (part.sums.count > header.first_index + header.span) {
            return contradiction(header, "running count " + std::to_string(part.sums.count) + " is beyond its index");
        }
        if (header.count > 0 && (!in_range(part.extremes.v_minimum, part.extremes.v_maximum) ||
                                 !in_range(part.extremes.i_minimum, part.extremes.i_maximum))) {
            return contradiction(header, "extremes that are no range of 24-bit codes");
        }
    }
    if (full) {
        const std::size_t column = protocol::bytes_per_code * codes;
        for (std::size_t rail = 0; rail < header.rails; ++rail) {
            view.v_codes[rail] = at;
            view.i_codes[rail] = at + column;
            at += 2 * column;
        }
        view.sideband = at;
    }
    return result;
}

}  // namespace wattrig::rig
