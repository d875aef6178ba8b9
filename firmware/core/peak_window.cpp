#include "firmware/core/peak_window.hpp"

#include <algorithm>
#include <limits>

namespace wattrig::firmware {
namespace {

constexpr std::int32_t no_maximum = std::numeric_limits<std::int32_t>::min();

// Samples before the newest one whose DRDY was the last before a reading with `after` more behind it.
constexpr std::uint32_t samples_back(std::uint32_t after) {
    return after * protocol::ticks_per_peak_reading / protocol::ticks_per_sample;
}
// The smallest `after` that lies `back` samples back: first reading of the run before.
constexpr std::uint32_t first_after(std::uint32_t back) {
    return (back * protocol::ticks_per_sample + protocol::ticks_per_peak_reading - 1) / protocol::ticks_per_peak_reading;
}
static_assert(samples_back(7) == 0 && samples_back(8) == 1 && first_after(1) == 8 && first_after(75) == 576);

}  // namespace

void PeakWindow::start() {
    lose();
    groups_.fill(no_maximum);
    clear_block();
}

void PeakWindow::clear_block() {
    maximum_ = no_maximum;
    maximum_at_ = 0;
    minimum_reading_ = std::numeric_limits<std::uint16_t>::max();
    maximum_reading_ = 0;
    readings_ = 0;
    reading_sum_ = 0;
}

void PeakWindow::lose() {
    filled_ = 0;
    sum_ = 0;
    end_ = window;
    std::fill_n(buffer_.begin(), window, std::uint16_t{0});  // so that the first readings push nothing out of the sum
}

void PeakWindow::add(std::span<const std::uint16_t> readings, const SampleHistory& history) {
    while (!readings.empty()) {
        if (end_ == buffer_.size()) {
            std::copy(buffer_.end() - window, buffer_.end(), buffer_.begin());
            end_ = window;
        }
        const auto left = static_cast<std::uint32_t>(readings.size());
        const std::uint32_t count = std::min(left, static_cast<std::uint32_t>(buffer_.size()) - end_);
        std::copy_n(readings.begin(), count, buffer_.begin() + end_);
        add_piece(count, left - count, history);
        readings = readings.subspan(count);
    }
}

void PeakWindow::add_piece(std::uint32_t count, std::uint32_t after, const SampleHistory& history) {
    const std::uint16_t* const begin = buffer_.data() + end_;
    const std::uint16_t* const end = begin + count;
    std::uint32_t total = 0;
    std::uint32_t minimum = minimum_reading_;
    std::uint32_t maximum = maximum_reading_;
    for (const std::uint16_t* at = begin; at != end; ++at) {
        total += *at;
        minimum = std::min<std::uint32_t>(minimum, *at);
        maximum = std::max<std::uint32_t>(maximum, *at);
    }
    reading_sum_ += total;
    minimum_reading_ = minimum;
    maximum_reading_ = maximum;

    const std::uint16_t* at = begin;
    for (; filled_ + 1 < window && at != end; ++filled_) sum_ += *at++;  // only fills the window after a gap
    while (at != end) {
        // A run of readings with one voltage ends where the next newer sample begins to be the newest.
        const auto behind = static_cast<std::uint32_t>(end - at) + after;
        const std::uint32_t back = behind <= 8 ? 0 : samples_back(behind - 1);
        const std::uint32_t run =
            std::min(back == 0 ? behind : behind - first_after(back), static_cast<std::uint32_t>(end - at));
        add_run(at, run, static_cast<std::uint32_t>(at - begin), history, back);
        at += run;
    }
    readings_ += count;
    end_ += count;
}

void PeakWindow::add_run(const std::uint16_t* run, std::uint32_t count, std::uint32_t offset, const SampleHistory& history,
                         std::uint32_t back) {
    const std::uint32_t before = sum_;
    std::uint32_t sum = before;
    std::uint32_t best = 0;
    for (std::uint32_t n = 0; n < count; ++n) {
        sum += run[n];
        sum -= *(run + n - window);
        best = std::max(best, sum);
    }
    sum_ = sum;
    if (history.empty()) return;
    const std::int64_t above_zero = static_cast<std::int64_t>(best) * 256 - static_cast<std::int64_t>(window) * zero_reading_;
    const std::int32_t voltage = std::max(history.voltage(back), std::int32_t{0});
    const auto value = static_cast<std::int32_t>((above_zero * voltage) >> (protocol::peak_shift + 8));
    if (value <= maximum_) return;
    maximum_ = value;
    // Where it was is looked up only now: that happens a few times in a block and keeps the loop above free of branches.
    sum = before;
    std::uint32_t n = 0;
    do {
        sum += run[n];
        sum -= *(run + n - window);
        ++n;
    } while (sum != best);
    maximum_at_ = readings_ + offset + n - 1;
}

protocol::PeakSummary PeakWindow::finish_block(std::uint32_t blocks_before, bool position) {
    if (blocks_before % protocol::blocks_per_peak_group == 0 && blocks_before != 0) {
        std::copy_backward(groups_.begin(), groups_.end() - 1, groups_.end());
        groups_[0] = no_maximum;
    }
    groups_[0] = std::max(groups_[0], maximum_);
    protocol::PeakSummary summary{};
    summary.group_maximum = groups_;
    summary.maximum = maximum_;
    summary.maximum_at = position ? static_cast<std::uint16_t>(std::min<std::uint32_t>(maximum_at_, 0xffff)) : std::uint16_t{0};
    summary.minimum_reading = readings_ == 0 ? std::uint16_t{0} : static_cast<std::uint16_t>(minimum_reading_);
    summary.maximum_reading = static_cast<std::uint16_t>(maximum_reading_);
    summary.readings = readings_;
    summary.sum_low = reading_sum_;
    clear_block();
    return summary;
}

void PeakWindow::add_evaluated(std::int32_t maximum, std::uint16_t minimum_reading, std::uint16_t maximum_reading,
                               std::uint32_t sum, std::uint32_t readings) {
    if (readings == 0) return;
    maximum_ = std::max(maximum_, maximum);
    minimum_reading_ = std::min<std::uint32_t>(minimum_reading_, minimum_reading);
    maximum_reading_ = std::max<std::uint32_t>(maximum_reading_, maximum_reading);
    readings_ += readings;
    reading_sum_ += sum;
    lose();  // the window's readings are older than these
}

}  // namespace wattrig::firmware
