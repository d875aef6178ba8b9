#include "firmware/core/sampler.hpp"

#include <algorithm>
#include <limits>

namespace wattrig::firmware {

std::uint64_t whole_samples(std::uint64_t ticks) {
    static_assert(protocol::ticks_per_sample == 256 * 15);
    // Long division by 15 in digits of 16 bit: each step divides a number below 15 x 2^16.
    const std::uint64_t number = ticks >> 8;
    std::uint64_t quotient = 0;
    std::uint32_t remainder = 0;
    for (int shift = 48; shift >= 0; shift -= 16) {
        const std::uint32_t part = remainder << 16 | static_cast<std::uint32_t>((number >> shift) & 0xffff);
        quotient = quotient << 16 | part / 15;
        remainder = part % 15;
    }
    return quotient;
}

void Sampler::start(std::uint64_t timer_us) {
    index_ = ~std::uint64_t{0};
    ticks_ = timer_us * protocol::ticks_per_microsecond;
    anchor_next_ = true;
    refining_ = false;
    started_ = false;
}

void Sampler::set_anchor(std::uint64_t ticks) {
    ticks_ = ticks;
    ++segment_;
    anchor_next_ = false;
    refining_ = true;
}

Sampler::Step Sampler::next_step(std::uint64_t timer_us) const {
    if (!started_) return {0, true, false};
    const std::int64_t passed = distance(timer_us) + half_sample;
    const std::uint64_t steps = passed < 0 ? 0 : whole_samples(static_cast<std::uint64_t>(passed));
    const bool anchored = anchor_next_ || steps == 0;
    return {steps > 1 ? steps - 1 : 0, anchored, anchored};  // the index only goes up, whatever the stamps say
}

void Sampler::take(std::uint64_t timer_us, const Step& step) {
    index_ += step.lost + 1;
    if (step.anchored) {
        set_anchor(timer_us * protocol::ticks_per_microsecond + latest_phase_ticks);
    } else {
        ticks_ += (step.lost + 1) * protocol::ticks_per_sample;
    }
    started_ = true;
}

std::uint32_t Sampler::overdue(std::uint64_t timer_us) const {
    const auto passed = static_cast<std::int64_t>(timer_us * protocol::ticks_per_microsecond - ticks_);
    constexpr std::int64_t patience = std::int64_t{protocol::samples_per_block + 1} * protocol::ticks_per_sample;
    if (passed < patience) return 0;
    const std::uint64_t due = whole_samples(static_cast<std::uint64_t>(passed)) - 1;
    return static_cast<std::uint32_t>(std::min<std::uint64_t>(due, std::numeric_limits<std::uint32_t>::max()));
}

void Sampler::skip(std::uint32_t samples) {
    advance(samples);
    anchor_next_ = true;
}

void Sampler::advance(std::uint32_t samples) {
    if (!started_) set_anchor(ticks_);  // the best that is known: when the stream was started
    started_ = true;
    index_ += samples;
    ticks_ += std::uint64_t{samples} * protocol::ticks_per_sample;
}

}  // namespace wattrig::firmware
