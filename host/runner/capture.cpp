#include "host/runner/capture.hpp"

#include <algorithm>

#include "host/power/energy.hpp"

namespace wattrig::runner {
namespace {

constexpr Ticks live_window{protocol::ticks_per_second / 4};

rig::SessionOptions session_options(const rig::Link& link) {
    rig::SessionOptions options;
    const rig::WireTime wire = link.sync_wire_time();
    options.clock.wire_out = wire.out;
    options.clock.wire_in = wire.in;
    return options;
}

}  // namespace

Capture::Capture(rig::Link& link, const power::Calibration& calibration, Recorder& recorder, recording::RecordingStart start)
    : link_(link), calibration_(calibration), recorder_(recorder), start_(start), session_(link, *this, session_options(link)) {
    start_.simulated = link.simulated();
}
Capture::~Capture() = default;

void Capture::start(HostTime now) {
    session_.start(now);
    publish();
}

void Capture::poll(HostTime now) {
    link_.poll(now);
    session_.poll(now);
    publish();
}

HostTime Capture::next_event() const { return std::min(link_.next_event(), session_.next_event()); }

bool Capture::wait_until(HostTime until) { return link_.wait_until(until); }

void Capture::wake() { link_.wake(); }

void Capture::stop(HostTime now) {
    stop_wanted_ = true;
    session_.stop(now);
    publish();
}

bool Capture::stopped() const { return stop_wanted_ && (!session_.state().streaming || session_.state().failed); }

void Capture::marker(HostTime when, const std::string& text) { put(text_record(false, when, text)); }

CaptureStatus Capture::status() {
    const std::lock_guard lock(mutex_);
    CaptureStatus copy = status_;
    status_.troubles.clear();
    return copy;
}

void Capture::put(const Record& record) {
    if (!recording_) {
        if (!session_.info()) {
            // Nothing of a stream can come before the greeting; what does is the reason for which there is none.
            if (early_.size() < most_troubles) early_.push_back(record);
            return;
        }
        recording_ = true;
        start_.info = *session_.info();
        recorder_.put(start_);
        for (const Record& early : early_) recorder_.put(early);
        early_.clear();
    }
    recorder_.put(record);
}

void Capture::publish() {
    const std::lock_guard lock(mutex_);
    status_.session = session_.state();
    status_.info = session_.info();
    status_.self_test = session_.self_test();
    status_.watts = watts_;
}

void Capture::on_frame(const rig::Frame& frame, HostTime arrival) { put(frame_record(frame.bytes, arrival)); }

void Capture::on_block(const rig::BlockView& block, HostTime) {
    const bool comparable = reference_ && reference_->header.boot_id == block.header.boot_id &&
                            reference_->header.first_index < block.header.first_index;
    if (comparable && block.end() - reference_->end() < live_window) return;
    if (comparable) {
        const auto power = power::block_power(*reference_, block, calibration_);
        watts_ = power ? std::optional<double>(power->value()) : std::nullopt;
    }
    reference_ = block;
    reference_->v_codes = {};
    reference_->i_codes = {};
    reference_->sideband = nullptr;
}

void Capture::on_exchange(const rig::Exchange& exchange) { put(exchange); }

void Capture::on_knot(const rig::ClockKnot& knot, std::uint32_t boot_id) { put(KnotRecord{knot, boot_id}); }

void Capture::on_trouble(const std::string& sentence, HostTime when) {
    put(text_record(true, when, sentence));
    const std::lock_guard lock(mutex_);
    ++status_.trouble_count;
    if (status_.troubles.size() < most_troubles) status_.troubles.push_back(sentence);
}

}  // namespace wattrig::runner
