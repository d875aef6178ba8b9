#include "host/rig/stream_account.hpp"

#include <algorithm>

namespace wattrig::rig {
namespace {

std::uint64_t samples_of(std::uint8_t detail) {
    switch (static_cast<protocol::Detail>(detail)) {
        case protocol::Detail::full: return protocol::samples_per_block;
        case protocol::Detail::summary_10ms: return protocol::samples_per_summary_10ms;
        case protocol::Detail::summary_1s: return protocol::samples_per_summary_1s;
    }
    return protocol::samples_per_block;
}

std::string plural(std::uint64_t count, const char* what) {
    return std::to_string(count) + " " + what + (count == 1 ? "" : "s");
}

}  // namespace

StreamAccount::Verdict StreamAccount::add(const BlockView& block, HostTime arrival) {
    const protocol::BlockHeader& header = block.header;
    if (begun_ && header.first_index < next_index_) {
        if (header.first_time <= last_time_) return Verdict::repeated;
        tell_("the rig's stream began anew: sums from zero, energy of the gap unknown", arrival);
        begun_ = false;
    }
    if (!begun_) {
        begun_ = true;
        next_index_ = 0;
        last_ = {};
        last_.segment = header.segment;
    }
    if (const std::uint64_t gap = header.first_index - next_index_; gap > 0) tell_gap(header, gap, arrival);
    tell_edges(header, arrival);
    samples_ += header.count;
    lost_samples_ += header.span - header.count;
    next_index_ = header.first_index + header.span;
    last_time_ = header.first_time;
    last_ = header;
    return Verdict::next;
}

void StreamAccount::tell_gap(const protocol::BlockHeader& header, std::uint64_t gap, HostTime when) {
    lost_samples_ += gap;
    // What the device says that its converter lost is in no block; the rest of the gap was in blocks that did not come.
    const std::uint64_t device_loss = header.lost_samples >= last_.lost_samples ? header.lost_samples - last_.lost_samples : 0;
    const std::uint64_t in_blocks = gap - std::min(gap, device_loss);
    const std::uint64_t blocks = (in_blocks + samples_of(header.detail) - 1) / samples_of(header.detail);
    lost_blocks_ += blocks;
    const auto microseconds = static_cast<std::uint64_t>(static_cast<double>(gap) * 30.72);
    std::string sentence = "lost " + plural(gap, "sample") + " (" + std::to_string(microseconds) + " us) before sample " +
                           std::to_string(header.first_index);
    if (blocks > 0) sentence += ", " + plural(blocks, "block") + " that did not come";
    if (gap > in_blocks) sentence += ", " + plural(gap - in_blocks, "sample") + " on the device";
    tell_(sentence, when);
}

void StreamAccount::tell_edges(const protocol::BlockHeader& header, HostTime when) {
    const auto began = [&](std::uint32_t flag) { return (header.flags & flag) != 0 && (last_.flags & flag) == 0; };
    // Made only when there is something to tell: this runs for each block and must not use the heap.
    const auto where = [&] { return " at sample " + std::to_string(header.first_index); };
    if (header.segment != last_.segment) tell_("the converter was started anew" + where() + ": new time base", when);
    if (header.adc_crc_errors > last_.adc_crc_errors) {
        tell_(plural(header.adc_crc_errors - last_.adc_crc_errors, "sample") + " from the converter failed the check" + where(),
              when);
    }
    if (began(protocol::block_adc_silent)) tell_("the converter is silent" + where(), when);
    if (began(protocol::block_clipped)) tell_("a channel is at the end of its range" + where(), when);
    if (began(protocol::block_slow_stale)) tell_("the slow current path gives no readings" + where(), when);
    if (header.slow_errors > last_.slow_errors) {
        tell_(plural(header.slow_errors - last_.slow_errors, "failed reading") + " of the slow current path" + where(), when);
    }
}

}  // namespace wattrig::rig
