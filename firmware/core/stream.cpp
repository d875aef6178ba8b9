#include "firmware/core/stream.hpp"

namespace wattrig::firmware {

using protocol::Detail;

namespace {

constexpr std::uint64_t slow_stale_samples = 3256;  // 100 ms
constexpr std::uint32_t span_of(Detail detail) {
    switch (detail) {
        case Detail::full: return protocol::samples_per_block;
        case Detail::summary_10ms: return protocol::samples_per_summary_10ms;
        case Detail::summary_1s: return protocol::samples_per_summary_1s;
    }
    return protocol::samples_per_block;
}

}  // namespace

Stream::Stream(const MeterConfig& config, const Port& port) : config_(config), port_(port), peak_(config.peak_zero_reading) {}

void Stream::start(std::uint64_t timer_us, std::uint32_t rails, Detail detail) {
    const InterruptGuard guard(port_);
    ring_.drop_all();  // of the stream before
    ring_.clear_high_water();
    sampler_.start(timer_us);
    history_.clear();
    peak_.start();
    slow_.start();
    builder_.start(rails);
    set_detail(detail);
    next_flags_ = 0;
    lost_samples_ = 0;
    blocks_ = 0;
    slow_added_at_ = 0;
    lost_blocks_ = 0;
    adc_crc_errors_ = 0;
    peak_overruns_ = 0;
    slow_errors_ = 0;
    resynchronisations_ = 0;
    begin_block();
    streaming_.store(1, std::memory_order_release);
}

void Stream::stop() {
    const InterruptGuard guard(port_);
    if (!streaming()) return;
    finish_partial();
    streaming_.store(0, std::memory_order_release);
}

void Stream::begin_block() {
    detail_ = static_cast<Detail>(wanted_detail_.load(std::memory_order_relaxed));
    end_at_ = span_of(detail_);
    builder_.begin(ring_.payload(), detail_ == Detail::full);
}

void Stream::on_adc_sample(std::uint64_t timer_us, const AdcSample& sample) {
    if (!streaming()) return;
    if (!sampler_.follows(timer_us)) on_step(timer_us);
    if (builder_.count() == 0) first_index_ = sampler_.index();
    history_.add(sample.v[0], sample.i[0]);
    builder_.add(sample);
    if (slow_.busy() && slow_.settle(history_, true)) slow_added_at_ = sampler_.index();
    if (builder_.unfolded() != 0 && detail_ == Detail::full) return;

    // A whole number of samples_per_block: an edge, at which a change of detail takes effect.
    const auto span = static_cast<std::uint32_t>(sampler_.index() - first_index_) + 1;
    const bool changed =
        builder_.unfolded() == 0 && wanted_detail_.load(std::memory_order_relaxed) != static_cast<std::uint32_t>(detail_);
    if (span >= end_at_ || changed) finish_block(span, 0, detail_);
}

// The sample does not follow directly on the one before: what is under construction ends before it, except that a summary
// bridges losses up to its own end, as nothing in it relies on contiguous samples.
void Stream::on_step(std::uint64_t timer_us) {
    const Sampler::Step step = sampler_.next_step(timer_us);
    const bool bridged = detail_ != Detail::full && builder_.count() > 0 && !step.anchored &&
                         sampler_.index() + step.lost + 1 - first_index_ < end_at_;
    if (!bridged) {
        finish_partial();
        if (step.lost > 0) next_flags_ |= protocol::block_samples_lost;
        if (step.anchored) next_flags_ |= protocol::block_resynchronised;
    }
    sampler_.take(timer_us, step);
    lost_samples_ += step.lost;
    if (step.resynchronised) ++resynchronisations_;
    if (step.lost > 0 || step.resynchronised) history_.interrupt();
}

void Stream::finish_partial() {
    if (builder_.count() == 0) return;
    finish_block(static_cast<std::uint32_t>(sampler_.index() - first_index_) + 1, 0, detail_);
}

void Stream::finish_block(std::uint32_t span, std::uint32_t flags, Detail detail) {
    sampler_.freeze();
    const protocol::PeakSummary peak = peak_.finish_block(static_cast<std::uint32_t>(blocks_), detail == Detail::full);
    flags |= next_flags_ | config_.always_flags;
    for (std::uint32_t rail = 0; rail < builder_.rails() && builder_.count() > 0; ++rail) {
        const protocol::RailExtremes extremes = builder_.rail(rail).extremes();
        if (extremes.v_minimum <= protocol::code_minimum || extremes.v_maximum >= protocol::code_maximum ||
            extremes.i_minimum <= protocol::code_minimum || extremes.i_maximum >= protocol::code_maximum) {
            flags |= protocol::block_clipped;
        }
        if (rail == 0 && extremes.v_minimum < config_.low_voltage_code) flags |= protocol::block_low_voltage;
    }
    if (config_.info.has_power_switch != 0 && (builder_.sideband_low() & protocol::sideband_power_on) != 0) {
        flags |= protocol::block_power_off;
    }
    if (config_.info.has_slow_path != 0 && sampler_.index() - slow_added_at_ > slow_stale_samples)
        flags |= protocol::block_slow_stale;

    const std::uint64_t first_index = sampler_.index() - (span - 1);
    protocol::BlockHeader header{};
    header.first_index = first_index;
    // A stream that starts within 46 us of boot has a first time below zero; the host reads ticks as signed.
    header.first_time = sampler_.ticks() - std::uint64_t{span - 1} * protocol::ticks_per_sample - protocol::group_delay_ticks;
    header.lost_samples = lost_samples_;
    header.boot_id = config_.info.boot_id;
    header.segment = sampler_.segment();
    header.span = span;
    header.count = builder_.count();
    header.flags = flags;
    header.lost_blocks = lost_blocks_;
    header.adc_crc_errors = adc_crc_errors_;
    header.peak_overruns = peak_overruns_;
    header.slow_errors = slow_errors_;
    header.command_errors = command_errors_.load(std::memory_order_relaxed);
    header.shunt_temperature = shunt_temperature_;
    header.board_temperature = board_temperature_.load(std::memory_order_relaxed);
    header.rails = static_cast<std::uint8_t>(builder_.rails());
    header.detail = static_cast<std::uint8_t>(detail);
    header.sideband_low = builder_.sideband_low();
    header.sideband_high = builder_.sideband_high();
    const std::size_t payload_bytes = builder_.finish(header, slow_.sums, peak);
    ++blocks_;
    if (ring_.commit(detail == Detail::full ? protocol::FrameType::block : protocol::FrameType::summary, payload_bytes)) {
        next_flags_ = 0;
    } else {
        // The sums go on, so the next block still holds this one's energy. Its flags would be lost with it: the next one tells
        // them.
        ++lost_blocks_;
        next_flags_ =
            (next_flags_ & (protocol::block_adc_crc_error | protocol::block_peak_unavailable)) | protocol::block_overrun;
    }
    begin_block();
}

void Stream::on_adc_crc_error() {
    if (!streaming()) return;
    ++adc_crc_errors_;
    next_flags_ |= protocol::block_adc_crc_error;
}

void Stream::on_peak_readings(std::span<const std::uint16_t> readings) {
    if (streaming()) peak_.add(readings, history_);
}

void Stream::on_peak_lost(std::uint32_t readings) {
    if (!streaming()) return;
    peak_overruns_ += readings;
    next_flags_ |= protocol::block_peak_unavailable;
    peak_.lose();
}

void Stream::on_slow_alert(std::uint64_t timer_us) {
    if (!streaming()) return;
    const auto after = static_cast<std::int64_t>(timer_us * protocol::ticks_per_microsecond - sampler_.ticks());
    // Samples that are missing for longer than two periods are lost, and the conversion with them.
    constexpr std::int64_t longest = 2 * std::int64_t{protocol::ticks_per_sample};
    slow_.mark_end(static_cast<std::uint32_t>(after < 0 ? 0 : after > longest ? longest : after));
    if (slow_.settle(history_, false)) slow_added_at_ = sampler_.index();
}

void Stream::on_slow_conversion(std::int32_t shunt_code, std::int16_t shunt_temperature) {
    shunt_temperature_ = shunt_temperature;
    if (!streaming()) return;
    slow_.add_code(shunt_code);
    if (slow_.settle(history_, false)) slow_added_at_ = sampler_.index();
}

void Stream::on_slow_error() {
    if (streaming()) ++slow_errors_;
}

void Stream::on_frame_start(std::uint64_t timer_us, std::uint32_t frame_number) {
    frame_start_ = {timer_us * protocol::ticks_per_microsecond, frame_number};
}

void Stream::poll(std::uint64_t timer_us) {
    if (!streaming()) return;
    const InterruptGuard guard(port_);
    const std::uint32_t missing = sampler_.overdue(timer_us);
    if (missing == 0) return;
    finish_partial();
    sampler_.skip(missing);
    lost_samples_ += missing;
    history_.interrupt();
    finish_block(missing, protocol::block_adc_silent, Detail::full);
}

protocol::Counters Stream::counters() const {
    const InterruptGuard guard(port_);
    protocol::Counters counters{};
    counters.lost_samples = lost_samples_;
    // Every index up to the newest is either a sample or lost.
    counters.samples = sampler_.index() + 1 - lost_samples_;
    counters.blocks = blocks_;
    counters.lost_blocks = lost_blocks_;
    counters.adc_crc_errors = adc_crc_errors_;
    counters.peak_overruns = peak_overruns_;
    counters.slow_errors = slow_errors_;
    counters.resynchronisations = resynchronisations_;
    counters.longest_masked_ticks = port_.longest_masked_ticks != nullptr ? port_.longest_masked_ticks(port_.context) : 0;
    counters.ring_high_water = ring_.high_water();
    return counters;
}

FrameStart Stream::frame_start() const {
    const InterruptGuard guard(port_);
    return frame_start_;
}

}  // namespace wattrig::firmware
