#pragma once
// A rig for tests of the session, in virtual time: the real meter core behind a link with delays, and hands to break things.

#include <cmath>
#include <deque>
#include <functional>
#include <memory>
#include <random>
#include <string>
#include <vector>

#include "firmware/core/meter.hpp"
#include "firmware/protocol/frame.hpp"
#include "host/rig/link.hpp"
#include "host/rig/session.hpp"
#include "tests/rig/blocks.hpp"

namespace wattrig::test {

inline HostTime at_ns(std::int64_t ns) { return HostTime(Nanoseconds(ns)); }

class FakeRig final : public rig::Link {
  public:
    explicit FakeRig(double rate_ppm = 30, std::uint64_t seed = 1) : rate_ppm_(rate_ppm), random_(seed) { boot(7); }

    // ------------------------------------------------------------------------------------------------------- hands for tests
    std::function<bool(Bytes&)> on_stream_frame = [](Bytes&) { return true; };  // false: lost on the way
    std::function<bool(Bytes&)> on_reply_frame = [](Bytes&) { return true; };
    bool deaf = false;  // commands go nowhere
    std::vector<HostTime> sent_at;

    void boot(std::uint32_t boot_id) {
        firmware::MeterConfig config{};
        config.info.board_id = 0xffff'0001;
        config.info.boot_id = boot_id;
        config.info.rails = 2;
        config.always_flags = protocol::block_simulated;
        meter_ = std::make_unique<firmware::Meter>(config);
        device_zero_ns_ = now_.time_since_epoch().count();
        next_sample_us_ = 0;
        commands_.clear();
        replies_.clear();
    }
    firmware::Meter& meter() { return *meter_; }
    // Host time of a time on the device's clock of the present boot.
    [[nodiscard]] HostTime true_host(DeviceTime d) const {
        const double ns = static_cast<double>(d.time_since_epoch().count()) * 8;
        return at_ns(device_zero_ns_ + std::llround(ns * (1 + rate_ppm_ * 1e-6)));
    }

    // ------------------------------------------------------------------------------------------------------------------ link
    void attach(rig::LinkHandler& handler) override { handler_ = &handler; }
    Result<HostTime> send(std::span<const std::uint8_t> frame) override {
        sent_at.push_back(now_);
        if (!deaf) commands_.push_back({now_ + delay(), Bytes(frame.begin(), frame.end())});
        return now_;
    }
    void poll(HostTime now) override {
        now_ = now;
        while (!commands_.empty() && commands_.front().when <= now) {
            const Message command = commands_.front();
            commands_.pop_front();
            const std::uint64_t timer = timer_us(command.when);
            feed_samples(timer);
            meter_->on_command(timer, command.bytes);
        }
        feed_samples(timer_us(now));
        meter_->poll(timer_us(now));
        while (meter_->reply_pending() && meter_->reply_ready_at() <= timer_us(now)) {
            Bytes out(protocol::maximum_frame_bytes);
            out.resize(meter_->take_reply(timer_us(now), out));
            if (out.empty()) break;
            if (on_reply_frame(out)) replies_.push_back({now + delay(), out});
        }
        while (!meter_->front_frame().empty()) {
            Bytes frame(meter_->front_frame().begin(), meter_->front_frame().end());
            meter_->pop_frame();
            if (on_stream_frame(frame)) handler_->on_stream(frame, now);
        }
        while (!replies_.empty() && replies_.front().when <= now) {
            const Message reply = replies_.front();
            replies_.pop_front();
            handler_->on_reply(reply.bytes, now);
        }
    }
    [[nodiscard]] HostTime next_event() const override { return now_; }
    [[nodiscard]] std::string description() const override { return "fake rig"; }
    [[nodiscard]] bool simulated() const override { return true; }
    rig::LinkHandler* handler() { return handler_; }

  private:
    struct Message {
        HostTime when;
        Bytes bytes;
    };
    Nanoseconds delay() { return Nanoseconds(static_cast<std::int64_t>(20'000 + random_() % 200'000)); }
    [[nodiscard]] std::uint64_t timer_us(HostTime t) const {
        const auto ns = static_cast<double>(t.time_since_epoch().count() - device_zero_ns_);
        return ns <= 0 ? 0 : static_cast<std::uint64_t>(ns / (1 + rate_ppm_ * 1e-6) / 1000);
    }
    void feed_samples(std::uint64_t timer) {
        for (;;) {
            const auto due = static_cast<std::uint64_t>(static_cast<double>(next_sample_us_) * 30.72);
            if (due > timer) return;
            firmware::AdcSample sample{};
            sample.v[0] = sample.v[1] = v_of(next_sample_us_);
            sample.i[0] = sample.i[1] = i_of(next_sample_us_);
            meter_->on_adc_sample(due, sample);
            ++next_sample_us_;
        }
    }

    double rate_ppm_;
    std::mt19937_64 random_;
    std::unique_ptr<firmware::Meter> meter_;
    std::int64_t device_zero_ns_ = 0;
    std::uint64_t next_sample_us_ = 0;  // counts samples since boot
    std::deque<Message> commands_, replies_;
    rig::LinkHandler* handler_ = nullptr;
    HostTime now_{};
};

class Notes final : public rig::SessionSink {
  public:
    void on_frame(const rig::Frame& frame, HostTime) override { frames.emplace_back(frame.bytes.begin(), frame.bytes.end()); }
    void on_block(const rig::BlockView& block, HostTime) override { blocks.push_back(block.header); }
    void on_exchange(const rig::Exchange& exchange) override { exchanges.push_back(exchange); }
    void on_knot(const rig::ClockKnot& knot, std::uint32_t boot_id) override { knots.emplace_back(boot_id, knot); }
    void on_trouble(const std::string& sentence, HostTime) override { troubles.push_back(sentence); }

    std::vector<Bytes> frames;
    std::vector<protocol::BlockHeader> blocks;
    std::vector<rig::Exchange> exchanges;
    std::vector<std::pair<std::uint32_t, rig::ClockKnot>> knots;
    std::vector<std::string> troubles;
};

}  // namespace wattrig::test
