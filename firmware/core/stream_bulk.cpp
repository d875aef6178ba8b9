// Host only: a rig never sees samples in bulk, so this is no part of its image (it divides 64-bit numbers).

#include <limits>

#include "firmware/core/stream.hpp"

namespace wattrig::firmware {

void Stream::add_bulk(const BulkSamples& bulk) {
    if (!streaming() || bulk.count == 0) return;
    finish_partial();
    const bool first = sampler_.index() == ~std::uint64_t{0};
    sampler_.advance(bulk.count);
    if (first) {
        next_flags_ |= protocol::block_resynchronised;
        sampler_.anchor_at_next();  // the start command says nothing of the ADC's phase
    }
    history_.interrupt();
    const auto mean_v = static_cast<std::int32_t>(bulk.sum_v / static_cast<std::int64_t>(bulk.count));
    const auto mean_i = static_cast<std::int32_t>(bulk.sum_i / static_cast<std::int64_t>(bulk.count));
    history_.add(mean_v, mean_i);  // the voltage that the next peak readings are multiplied with
    history_.interrupt();

    builder_.add_bulk(bulk.count, bulk.extremes, bulk.sideband);
    protocol::RailSums& sums = builder_.rail(0).sums;
    sums.sum_v = wrapping_add(sums.sum_v, bulk.sum_v);
    sums.sum_i = wrapping_add(sums.sum_i, bulk.sum_i);
    add_to(sums.sum_vi, bulk.sum_vi);
    add_to(sums.sum_ii, bulk.sum_ii);
    if (bulk.slow_count > 0) {
        slow_.sums.sum += bulk.slow_sum;
        slow_.sums.fast_sum += bulk.slow_fast_sum;
        slow_.sums.count += bulk.slow_count;
        slow_.sums.fast_count += bulk.slow_fast_count;
        slow_added_at_ = sampler_.index();
    }
    peak_.add_evaluated(bulk.peak_maximum, bulk.peak_minimum_reading, bulk.peak_maximum_reading,
                        static_cast<std::uint32_t>(bulk.peak_sum), bulk.peak_readings);
    finish_block(
        bulk.count, 0,
        bulk.count <= protocol::samples_per_summary_10ms ? protocol::Detail::summary_10ms : protocol::Detail::summary_1s);
}

}  // namespace wattrig::firmware
