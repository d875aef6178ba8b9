#pragma once
// One block under construction, in place in the frame that will carry it: codes as byte arrays, side-band bytes, and per rail
// the running sums and extremes. Knows nothing of time or of the ring.
//
// Thread rule: interrupt side only.

#include <array>
#include <cstdint>

#include "firmware/core/running_sums.hpp"
#include "firmware/protocol/frame.hpp"

namespace wattrig::firmware {

// What an ADS131M04 frame holds once firmware/drivers has checked its CRC. Rail 0 is channels 0 (V) and 1 (I), rail 1 channels
// 2, 3.
struct AdcSample {
    std::int32_t v[protocol::maximum_rails];
    std::int32_t i[protocol::maximum_rails];
    std::uint8_t sideband;
};

class BlockBuilder {
  public:
    // A new stream: sums from zero.
    void start(std::uint32_t rails);
    // A new block. `payload`: maximum_payload_bytes, aligned to 8; `codes`: false for a summary, which keeps none.
    void begin(std::uint8_t* payload, bool codes);

    // At most samples_per_block while codes are kept. Returns the samples since the last fold.
    void add(const AdcSample& sample) {
        for (std::uint32_t rail = 0; rail < rails_; ++rail) sums_[rail].add(sample.v[rail], sample.i[rail]);
        ones_ |= sample.sideband;
        zeros_ |= static_cast<std::uint8_t>(~sample.sideband);
        if (keeps_codes_) keep_codes(sample);
        ++count_;
        if (++unfolded_ == protocol::samples_per_block) fold();
    }
    void fold() {
        for (std::uint32_t rail = 0; rail < rails_; ++rail) sums_[rail].fold(unfolded_);
        unfolded_ = 0;
    }

    [[nodiscard]] std::uint32_t count() const { return count_; }        // samples in this block
    [[nodiscard]] std::uint32_t unfolded() const { return unfolded_; }  // ... since a whole number of samples_per_block
    [[nodiscard]] std::uint32_t rails() const { return rails_; }
    [[nodiscard]] bool keeps_codes() const { return keeps_codes_; }
    [[nodiscard]] std::uint8_t sideband_low() const { return zeros_; }
    [[nodiscard]] std::uint8_t sideband_high() const { return ones_; }
    [[nodiscard]] RunningSums& rail(std::uint32_t rail) { return sums_[rail]; }
    // Samples whose sums the caller adds by himself; the block carries no codes.
    void add_bulk(std::uint32_t count, const protocol::RailExtremes& extremes, std::uint8_t sideband) {
        keeps_codes_ = false;
        count_ += count;
        for (std::uint32_t rail = 0; rail < rails_; ++rail) sums_[rail].sums.count += count;
        sums_[0].set_extremes(extremes);
        ones_ |= sideband;
        zeros_ |= static_cast<std::uint8_t>(~sideband);
    }

    // Writes everything behind the header and the header itself; returns payload_bytes.
    std::size_t finish(const protocol::BlockHeader& header, const protocol::SlowSums& slow, const protocol::PeakSummary& peak);

  private:
    void keep_codes(const AdcSample& sample) {
        constexpr std::uint32_t channel_bytes = protocol::samples_per_block * protocol::bytes_per_code;
        std::uint8_t* at = codes_ + count_ * protocol::bytes_per_code;
        for (std::uint32_t rail = 0; rail < rails_; ++rail, at += 2 * channel_bytes) {
            protocol::store_code(at, sample.v[rail]);
            protocol::store_code(at + channel_bytes, sample.i[rail]);
        }
        codes_[2 * channel_bytes * rails_ + count_] = sample.sideband;
    }

    std::array<RunningSums, protocol::maximum_rails> sums_{};
    std::uint8_t* payload_ = nullptr;
    std::uint8_t* codes_ = nullptr;
    std::uint32_t rails_ = 1;
    std::uint32_t count_ = 0;
    std::uint32_t unfolded_ = 0;
    bool keeps_codes_ = false;
    std::uint8_t ones_ = 0;
    std::uint8_t zeros_ = 0;
};

}  // namespace wattrig::firmware
