#include "firmware/core/block_builder.hpp"

#include <cstring>

namespace wattrig::firmware {

void BlockBuilder::start(std::uint32_t rails) {
    for (RunningSums& sums : sums_) sums.clear();
    rails_ = rails;
}

void BlockBuilder::begin(std::uint8_t* payload, bool codes) {
    payload_ = payload;
    codes_ = payload + protocol::block_fixed_bytes(rails_);
    keeps_codes_ = codes;
    count_ = 0;
    unfolded_ = 0;
    ones_ = 0;
    zeros_ = 0;
    for (RunningSums& sums : sums_) sums.clear_extremes();
}

std::size_t BlockBuilder::finish(const protocol::BlockHeader& header, const protocol::SlowSums& slow,
                                 const protocol::PeakSummary& peak) {
    fold();
    std::uint8_t* at = payload_;
    const auto put = [&at](const auto& part) {
        protocol::store(at, part);
        at += sizeof part;
    };
    put(header);
    for (std::uint32_t rail = 0; rail < rails_; ++rail) put(protocol::RailPart{sums_[rail].sums, sums_[rail].extremes()});
    put(slow);
    put(peak);
    put(std::uint32_t{0});
    if (keeps_codes_) {
        // Channels were written where they stand in a full block; a shorter one closes the gaps.
        constexpr std::uint32_t channel_bytes = protocol::samples_per_block * protocol::bytes_per_code;
        const std::uint32_t bytes = count_ * protocol::bytes_per_code;
        for (std::uint32_t channel = 0; channel < 2 * rails_; ++channel, at += bytes) {
            if (at != codes_ + channel * channel_bytes) std::memmove(at, codes_ + channel * channel_bytes, bytes);
        }
        if (at != codes_ + 2 * rails_ * channel_bytes) std::memmove(at, codes_ + 2 * rails_ * channel_bytes, count_);
        at += count_;
    }
    const auto size = static_cast<std::size_t>(at - payload_);
    const std::size_t padded = protocol::padded(size);
    std::memset(at, 0, padded - size);
    return padded;
}

}  // namespace wattrig::firmware
