#include "firmware/app/acquisition.hpp"

#include <atomic>

#include "firmware/drivers/ina228.hpp"
#include "firmware/rp2040/adc_capture.hpp"
#include "firmware/rp2040/board.hpp"
#include "firmware/rp2040/gpio.hpp"
#include "firmware/rp2040/i2c_bus.hpp"
#include "firmware/rp2040/interrupts.hpp"
#include "firmware/rp2040/peak_adc.hpp"
#include "firmware/rp2040/time.hpp"

namespace wattrig::firmware::acquisition {
namespace {

using rp2040::Interrupt;
using rp2040::adc_capture::Capture;
using rp2040::i2c_bus::Party;
using rp2040::i2c_bus::State;

Meter* the_meter = nullptr;
void (*while_waiting_function)() = nullptr;

// ---------------------------------------------------------------------------------------------------------- fast path
// Frames in a row whose CRC fails before the ADC is brought up anew: 8 x 30.72 us, so a short disturbance does not stop it.
constexpr std::uint32_t crc_errors_to_restart = 8;
// Captures in a row that were thrown away; after a start it is samples_to_settle and one.
constexpr std::uint32_t discarded_to_restart = 16;
// Without DRDY for this long the ADC is taken as dead; between two attempts at least this long.
constexpr std::uint32_t silence_us = 5'000;
constexpr std::uint32_t retry_us = 100'000;
// An ADC that answers, but was reset or garbles its frames, is worth a quicker try.
constexpr std::uint32_t restart_us = 10'000;

std::atomic<std::uint32_t> restart_wanted{0};  // set at the meter's level
bool running = false;
std::uint32_t tried_at_us = 0;
ads131m04::Input input = ads131m04::Input::pins;

// The meter's level alone.
std::uint32_t crc_errors_in_a_row = 0;
std::uint32_t discarded_in_a_row = 0;
std::uint32_t peak_next = 0;
std::uint64_t peak_until_us = 0;
bool peak_known = false;  // peak_next is where the readings went on
std::atomic<std::uint32_t> peak_overflow{0};

Statistics collected_statistics{};
std::atomic<std::uint32_t> collect_left{0};

const ads131m04::Bus adc_bus = {
    nullptr,
    [](void*, const ads131m04::Frame& out, ads131m04::Frame& in) { rp2040::adc_capture::transfer(out, in); },
    [](void*, bool level) { rp2040::gpio::put(rp2040::pin::adc_sync, level); },
    [](void*, std::uint32_t duration) { rp2040::wait_us(duration); },
};

ads131m04::BringUp bring_up_adc() {
    rp2040::adc_capture::stop();
    const ads131m04::BringUp result = ads131m04::bring_up(adc_bus, input);
    running = result == ads131m04::BringUp::ok;
    restart_wanted.store(0, std::memory_order_relaxed);
    // Also after a failure: a late ADC is noticed by its frames.
    rp2040::adc_capture::start(ads131m04::samples_to_settle);
    tried_at_us = rp2040::timer_low_us();
    return result;
}

// Samples since the last discontinuity. A block begins at each, so every 75th from there ends one.
std::uint32_t samples_in_row = 0;
bool was_streaming = false;
// Readings are handed over with each fifth sample: the calls cost as much as the readings do, and a block is a whole number of
// them, so its readings are still exactly those of its time.
constexpr std::uint32_t samples_per_peak_call = 5;
static_assert(protocol::samples_per_block % samples_per_peak_call == 0);

// The readings up to this capture's DRDY, in order, before its sample.
void feed_peak(const Capture& capture) {
    constexpr std::uint32_t size = rp2040::peak_adc::ring_readings;
    const std::uint32_t to = capture.peak_position;
    const auto elapsed_readings = (capture.timer_us - peak_until_us) / rp2040::peak_adc::reading_us;
    if (!peak_known || elapsed_readings > size - 64 || peak_overflow.load(std::memory_order_relaxed) != 0) {
        // Overwritten, or unknown: what is in the ring now does not follow on what was.
        if (peak_known) the_meter->on_peak_lost(static_cast<std::uint32_t>(elapsed_readings));
        peak_known = true;
        peak_overflow.store(0, std::memory_order_relaxed);
    } else {
        const std::uint16_t* const ring = rp2040::peak_adc::readings().data();
        const auto part = [&](std::uint32_t from, std::uint32_t count) {
            if (count == 0) return;
            the_meter->on_peak_readings({ring + from, count});
            if (collect_left.load(std::memory_order_relaxed) == 0) return;
            for (std::uint32_t n = 0; n < count; ++n) collected_statistics.peak_sum += ring[from + n];
            collected_statistics.peak_count += count;
        };
        if (to >= peak_next) {
            part(peak_next, to - peak_next);
        } else {
            part(peak_next, size - peak_next);
            part(0, to);
        }
    }
    peak_next = to;
    peak_until_us = capture.timer_us;
}

void collect_sample(const AdcSample& sample) {
    const std::uint32_t left = collect_left.load(std::memory_order_relaxed);
    if (left == 0) return;
    Statistics& statistics = collected_statistics;
    if (statistics.count == 0) statistics.first_i = sample.i[0];
    ++statistics.count;
    statistics.sum_v += sample.v[0];
    statistics.sum_i += sample.i[0];
    const std::int64_t difference = sample.i[0] - statistics.first_i;
    statistics.sum_i_squared += difference * difference;
    rp2040::interrupts::write_flag(collect_left, left - 1);
}

void feed_broken(const Capture& capture) {
    samples_in_row = 0;
    feed_peak(capture);
}

void feed_capture(const Capture& capture) {
    if (the_meter->streaming() != was_streaming) {
        was_streaming = !was_streaming;
        samples_in_row = 0;
    }
    const std::uint8_t* const frame = capture.frame.data();
    if (capture.discarded) {
        // An ADC that was reset is eight times slower, so each of its edges looks like one after a gap: only its status tells.
        const bool reset = ads131m04::crc_fits(frame) && !ads131m04::configured(ads131m04::answer(frame));
        if (reset || ++discarded_in_a_row >= discarded_to_restart) restart_wanted.store(1, std::memory_order_relaxed);
        feed_broken(capture);
        return the_meter->on_adc_resynchronised();
    }
    discarded_in_a_row = 0;
    if (!ads131m04::crc_fits(frame)) {
        feed_broken(capture);
        the_meter->on_adc_crc_error(capture.timer_us);
        if (collect_left.load(std::memory_order_relaxed) != 0) ++collected_statistics.crc_errors;
        if (++crc_errors_in_a_row >= crc_errors_to_restart) restart_wanted.store(1, std::memory_order_relaxed);
        return;
    }
    crc_errors_in_a_row = 0;
    const std::uint16_t status = ads131m04::answer(frame);
    if (!ads131m04::configured(status)) {
        feed_broken(capture);
        restart_wanted.store(1, std::memory_order_relaxed);
        return the_meter->on_adc_resynchronised();
    }
    if (!ads131m04::fresh(status)) {
        feed_broken(capture);
        rp2040::adc_capture::request_resynchronisation();
        return;  // an old conversion once more: its index stays empty
    }
    if (++samples_in_row == samples_per_peak_call) {
        samples_in_row = 0;
        feed_peak(capture);
    }
    const AdcSample sample = ads131m04::decode<rp2040::rails>(frame, capture.sideband);
    the_meter->on_adc_sample(capture.timer_us, sample);
    collect_sample(sample);
}

// ---------------------------------------------------------------------------------------------------------- slow path
std::atomic<std::uint32_t> alert_seen{0};      // set at level 0, taken by the meter's level
std::uint64_t alert_time = 0;                  // written before alert_seen
std::atomic<std::uint32_t> conversion_new{0};  // set at the I2C level, taken by the meter's level
std::atomic<std::int32_t> conversion_code{0};
std::atomic<std::int32_t> conversion_temperature{0};
std::atomic<std::uint32_t> conversion_failed{0};
std::atomic<std::uint32_t> conversion_at_us{0};
std::atomic<std::uint32_t> conversions{0};

// What is read after each ALERT, one after the other.
enum class SlowStep : std::uint8_t { shunt, temperature, release };
constexpr std::uint8_t slow_registers[] = {ina228::shunt_voltage, ina228::die_temperature, ina228::diagnostics};
constexpr std::uint8_t slow_bytes[] = {3, 2, 2};
rp2040::i2c_bus::Transfer slow_transfer;
SlowStep slow_step = SlowStep::shunt;
std::uint8_t slow_data[3];
std::int32_t read_code = 0;
std::int32_t read_temperature = 0;
std::uint32_t slow_begun_at_us = 0;
bool slow_configured = false;
std::uint32_t slow_configured_at_us = 0;

void submit_slow_step() {
    const auto step = static_cast<std::uint32_t>(slow_step);
    slow_transfer.address = ina228::i2c_address;
    slow_transfer.write = &slow_registers[step];
    slow_transfer.write_bytes = 1;
    slow_transfer.read = slow_data;
    slow_transfer.read_bytes = slow_bytes[step];
    rp2040::i2c_bus::submit(Party::slow, slow_transfer);
}

// The I2C level: a transfer of the slow path has ended.
void on_slow_end() {
    if (slow_transfer.state.load(std::memory_order_relaxed) != State::done) {
        conversion_failed.store(1, std::memory_order_relaxed);
        rp2040::interrupts::pend(Interrupt::meter);
        return;
    }
    switch (slow_step) {
        case SlowStep::shunt:
            read_code = ina228::shunt_code(slow_data);
            slow_step = SlowStep::temperature;
            return submit_slow_step();
        case SlowStep::temperature:
            read_temperature = ina228::temperature(slow_data);
            slow_step = SlowStep::release;
            return submit_slow_step();
        case SlowStep::release:
            conversion_code.store(read_code, std::memory_order_relaxed);
            conversion_temperature.store(read_temperature, std::memory_order_relaxed);
            conversion_at_us.store(rp2040::timer_low_us(), std::memory_order_relaxed);
            conversions.store(conversions.load(std::memory_order_relaxed) + 1, std::memory_order_relaxed);
            conversion_new.store(1, std::memory_order_release);
            rp2040::interrupts::pend(Interrupt::meter);
            return;
    }
}

// Begins reading a conversion, unless one is being read. The meter's level, or the main loop with that level kept out.
void begin_slow_read() {
    const State state = slow_transfer.state.load(std::memory_order_acquire);
    if (state == State::queued || state == State::running) return;
    slow_step = SlowStep::shunt;
    slow_begun_at_us = rp2040::timer_low_us();
    submit_slow_step();
}

void feed_slow() {
    if (rp2040::interrupts::read_flag(alert_seen) != 0) {
        const std::uint64_t when = alert_time;
        alert_seen.store(0, std::memory_order_release);
        the_meter->on_slow_alert(when);
        begin_slow_read();
    }
    if (conversion_failed.load(std::memory_order_relaxed) != 0) {
        conversion_failed.store(0, std::memory_order_relaxed);
        the_meter->on_slow_error();
    }
    if (rp2040::interrupts::read_flag(conversion_new) != 0) {
        conversion_new.store(0, std::memory_order_relaxed);
        the_meter->on_slow_conversion(conversion_code.load(std::memory_order_relaxed),
                                      static_cast<std::int16_t>(conversion_temperature.load(std::memory_order_relaxed)));
    }
}

rp2040::i2c_bus::Transfer settings_transfer;
bool configure_slow_path() {
    for (const ina228::Write& write : ina228::settings) {
        settings_transfer.address = ina228::i2c_address;
        settings_transfer.write = write.data();
        settings_transfer.write_bytes = static_cast<std::uint8_t>(write.size());
        settings_transfer.read_bytes = 0;
        rp2040::i2c_bus::submit(Party::main, settings_transfer);
        State state;
        do {
            while_waiting_function();
            rp2040::i2c_bus::poll();
            state = settings_transfer.state.load(std::memory_order_acquire);
        } while (state == State::queued || state == State::running);  // 110 us; 20 ms when the bus hangs
        if (state != State::done) return false;
    }
    return true;
}

// ALERT is an edge; one that came while the part was being read, or got lost, leaves the line low for ever. And a part that was
// without power has forgotten its settings.
void poll_slow(std::uint32_t now) {
    constexpr std::uint32_t stale_us = 50'000;
    if (rp2040::elapsed_us(now, conversion_at_us.load(std::memory_order_relaxed)) < stale_us) return;
    if (now - slow_configured_at_us < retry_us) return;
    slow_configured_at_us = now;
    slow_configured = configure_slow_path();
    rp2040::interrupts::disable(Interrupt::meter);
    if (slow_configured)
        begin_slow_read();
    else if (the_meter->streaming())
        the_meter->on_slow_error();
    rp2040::interrupts::enable(Interrupt::meter);
}

}  // namespace

void start_bus() { rp2040::i2c_bus::start(on_slow_end); }

ads131m04::BringUp start(Meter& meter, void (*while_waiting)()) {
    the_meter = &meter;
    while_waiting_function = while_waiting;
    rp2040::gpio::use_input(rp2040::pin::slow_alert, rp2040::gpio::Pull::up);
    rp2040::gpio::enable_edge(rp2040::pin::slow_alert);
    rp2040::peak_adc::start();
    rp2040::adc_capture::set_up();
    rp2040::interrupts::enable(Interrupt::gpio);
    rp2040::interrupts::enable(Interrupt::dma0);
    rp2040::interrupts::enable(Interrupt::meter);
    slow_configured = configure_slow_path();
    slow_configured_at_us = rp2040::timer_low_us();
    return bring_up_adc();
}

void poll(std::uint64_t timer_us) {
    const auto now = static_cast<std::uint32_t>(timer_us);
    rp2040::i2c_bus::poll();
    poll_slow(now);
    if (rp2040::peak_adc::overflowed()) peak_overflow.store(1, std::memory_order_relaxed);
    const bool silent = rp2040::elapsed_us(now, rp2040::adc_capture::last_edge_us()) > silence_us;
    const std::uint32_t since_try = rp2040::elapsed_us(now, tried_at_us);
    const bool garbled = restart_wanted.load(std::memory_order_relaxed) != 0;
    if ((garbled && since_try > restart_us) || ((silent || !running) && since_try > retry_us)) (void)bring_up_adc();
}

void feed() {
    while (const Capture* const capture = rp2040::adc_capture::front()) {
        feed_capture(*capture);
        rp2040::adc_capture::pop();
    }
    feed_slow();
}

void on_alert() {
    if (rp2040::interrupts::read_flag(alert_seen) != 0) return;
    alert_time = rp2040::timer_us();
    alert_seen.store(1, std::memory_order_release);
    rp2040::interrupts::pend(Interrupt::meter);
}

bool adc_running() { return running; }
bool slow_path_running() {
    return conversions.load(std::memory_order_relaxed) != 0 &&
           rp2040::elapsed_us(rp2040::timer_low_us(), conversion_at_us.load(std::memory_order_relaxed)) < 100'000;
}
std::int16_t shunt_temperature() { return static_cast<std::int16_t>(conversion_temperature.load(std::memory_order_relaxed)); }
std::int32_t slow_code() { return conversion_code.load(std::memory_order_relaxed); }

ads131m04::BringUp select_input(ads131m04::Input wanted) {
    input = wanted;
    return bring_up_adc();
}
void collect(std::uint32_t limit) {
    collect_left.store(0, std::memory_order_relaxed);
    collected_statistics = {};
    collect_left.store(limit, std::memory_order_release);
}
bool collected() { return collect_left.load(std::memory_order_acquire) == 0; }
Statistics statistics() { return collected_statistics; }

}  // namespace wattrig::firmware::acquisition
