#include "host/live/capture.hpp"

#include <algorithm>

#include "host/runner/urgency.hpp"

namespace wattrig::live {
namespace {

using namespace std::chrono_literals;

constexpr Nanoseconds longest_wait = 1ms;
constexpr Nanoseconds end_patience = 1s;
constexpr std::size_t most_exchanges = 1000;  // a minute at 16 a second
constexpr std::size_t most_troubles = 20;
constexpr std::size_t most_marks = 64;

rig::SessionOptions session_options(const rig::Link& link) {
    rig::SessionOptions options;
    options.clock.wire_out = link.sync_wire_time().out;
    options.clock.wire_in = link.sync_wire_time().in;
    return options;
}

}  // namespace

Capture::Capture(rig::Link& link, const power::Calibration& calibration)
    : link_(link),
      maker_(calibration, [this](const Column& column) { columns_.push(column); }),
      session_(link, *this, session_options(link)),
      thread_([this] { run(); }) {}

Capture::~Capture() { end(); }

void Capture::end() {
    if (!thread_.joinable()) return;
    ending_.store(true, std::memory_order_release);
    waiter_.wake();
    link_.wake();
    thread_.join();
}

CaptureState Capture::state() {
    const std::lock_guard lock(mutex_);
    CaptureState copy = state_;
    state_.troubles.clear();
    return copy;
}

bool Capture::start_recording(runner::Recorder& recorder) {
    std::unique_lock lock(mutex_);
    if (!state_.info) return false;
    recording::RecordingStart start;
    const runner::ClockPair pair = runner::wait_clock_pair();
    start.monotonic = pair.monotonic;
    start.realtime_ns = pair.realtime_ns;
    start.info = *state_.info;
    start.simulated = link_.simulated();
    recorder.put(start);  // before the capture's thread knows of it
    wanted_ = &recorder;
    change_wanted_ = true;
    waiter_.wake();
    link_.wake();
    done_.wait(lock, [&] { return !change_wanted_ || ending_.load(); });
    return !change_wanted_;
}

void Capture::stop_recording() {
    std::unique_lock lock(mutex_);
    wanted_ = nullptr;
    change_wanted_ = true;
    waiter_.wake();
    link_.wake();
    done_.wait(lock, [&] { return !change_wanted_; });
}

void Capture::mark(const std::string& text) {
    const std::lock_guard lock(mutex_);
    if (marks_.size() < most_marks) marks_.push_back({runner::wait_clock_now(), text});
}

void Capture::take_orders() {
    std::vector<Mark> marks;
    bool started = false;
    {
        const std::lock_guard lock(mutex_);
        marks.swap(marks_);
        if (change_wanted_) {
            recorder_ = wanted_;
            change_wanted_ = false;
            started = recorder_ != nullptr;
            done_.notify_all();
        }
    }
    if (recorder_ == nullptr) return;
    if (started)
        for (const rig::Exchange& exchange : exchanges_) recorder_->put(exchange);
    for (const Mark& mark : marks) recorder_->put(runner::text_record(false, mark.when, mark.text));
}

void Capture::publish() {
    const std::lock_guard lock(mutex_);
    state_.session = session_.state();
    state_.info = session_.info();
}

void Capture::run() {
    runner::make_thread_urgent();
    session_.start(runner::wait_clock_now());
    HostTime give_up = HostTime::max(), next_publish{};
    for (;;) {
        const HostTime now = runner::wait_clock_now();
        take_orders();
        link_.poll(now);
        session_.poll(now);
        if (now >= next_publish) {
            publish();
            next_publish = now + 20ms;
        }
        if (give_up == HostTime::max() && ending_.load(std::memory_order_acquire)) {
            give_up = now + end_patience;
            session_.stop(now);
        }
        const rig::SessionState& state = session_.state();
        if (give_up != HostTime::max() && (!state.streaming || state.failed || now >= give_up)) break;
        const HostTime next = std::min({link_.next_event(), session_.next_event(), give_up, now + 20ms});
        if (!link_.wait_until(next)) waiter_.wait_until(std::min(next, now + longest_wait));
    }
    publish();
    take_orders();
    const std::lock_guard lock(mutex_);
    done_.notify_all();
}

void Capture::on_frame(const rig::Frame& frame, HostTime arrival) {
    if (recorder_ != nullptr) recorder_->put(runner::frame_record(frame.bytes, arrival));
}

void Capture::on_block(const rig::BlockView& block, HostTime arrival) { maker_.add(block, arrival); }

void Capture::on_exchange(const rig::Exchange& exchange) {
    exchanges_.push_back(exchange);
    if (exchanges_.size() > most_exchanges) exchanges_.pop_front();
    if (recorder_ != nullptr) recorder_->put(exchange);
}

void Capture::on_knot(const rig::ClockKnot& knot, std::uint32_t boot_id) {
    if (recorder_ != nullptr) recorder_->put(runner::KnotRecord{knot, boot_id});
}

void Capture::on_trouble(const std::string& sentence, HostTime when) {
    if (recorder_ != nullptr) recorder_->put(runner::text_record(true, when, sentence));
    const std::lock_guard lock(mutex_);
    if (state_.troubles.size() < most_troubles) state_.troubles.push_back(sentence);
}

}  // namespace wattrig::live
