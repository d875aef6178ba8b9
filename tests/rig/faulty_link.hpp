#pragma once
// A link between a rig and its session that has bad days, by dice: frames of either pipe are lost, doubled, swapped, damaged,
// cut, held up; the whole link stalls or breaks and comes back, with or without a restart of the rig. Keeps the books that the
// session's are compared with: which frames came through whole, by the bytes of their headers alone.

#include <algorithm>
#include <chrono>
#include <deque>
#include <map>
#include <random>
#include <set>
#include <vector>

#include "tests/rig/fake_rig.hpp"

namespace wattrig::test {

// Chances, each of one frame; those of stall and break of one poll (200 us).
struct Faults {
    double drop = 0, duplicate = 0, swap = 0, damage = 0, cut = 0, garbage = 0, late = 0;  // of a frame of the stream
    double reply_drop = 0, reply_duplicate = 0, reply_damage = 0;                          // of a reply
    double stall = 0;                                                                      // everything is held up to 800 ms
    double disconnect = 0;                                                                 // away for up to 4 s
    double restart = 0;  // share of the breaks in which the rig lost its power
};

class FaultyLink final : public rig::Link, public rig::LinkHandler {
  public:
    FaultyLink(FakeRig& rig, Faults faults, std::uint64_t seed) : rig_(rig), faults_(faults), random_(seed) {
        rig_.attach(*this);
        rig_.on_stream_frame = [this](Bytes& frame) {
            made(frame);
            return true;
        };
    }
    Faults& faults() { return faults_; }

    // One stream's truth: what of it came through, in order of arrival.
    struct Came {
        std::uint32_t boot_id;
        std::uint64_t first_index, first_time;
        std::uint32_t span, count;
    };
    std::vector<Came> came;
    std::map<std::string, int> happened;  // faults by name
    // Codes of every sample that the rig put into a block, by boot and time: the truth behind the sums.
    std::map<std::uint32_t, std::map<std::uint64_t, std::pair<std::int32_t, std::int32_t>>> codes;
    bool keep_codes = false;

    // ------------------------------------------------------------------------------------------------------------------ link
    void attach(rig::LinkHandler& handler) override { handler_ = &handler; }
    Result<HostTime> send(std::span<const std::uint8_t> frame) override {
        if (away_) return now_;  // as libusb: taken, and gone with the device
        return rig_.send(frame);
    }
    void poll(HostTime now) override {
        now_ = now;
        if (away_ && now >= back_at_) come_back();
        rig_.poll(now);
        if (!away_ && chance(faults_.disconnect)) go_away();
        if (!away_ && now >= stalled_until_ && chance(faults_.stall)) {
            ++happened["stall"];
            stalled_until_ = now + std::chrono::milliseconds(1 + random_() % 800);
        }
        if (away_ || now < stalled_until_) return;
        while (!stream_.empty() && stream_.front().when <= now) {
            const Bytes bytes = std::move(stream_.front().bytes);
            for (const Came& frame : stream_.front().whole) came.push_back(frame);
            stream_.pop_front();
            handler_->on_stream(bytes, now);
        }
        while (!replies_.empty()) {
            const Bytes bytes = std::move(replies_.front());
            replies_.pop_front();
            handler_->on_reply(bytes, now);
        }
    }
    [[nodiscard]] HostTime next_event() const override { return now_; }
    [[nodiscard]] std::string description() const override { return "faulty link"; }
    [[nodiscard]] bool simulated() const override { return true; }

    // -------------------------------------------------------------------------------------------------------- from the rig
    void on_stream(std::span<const std::uint8_t> bytes, HostTime arrival) override {
        if (away_) return;
        Message message{arrival, Bytes(bytes.begin(), bytes.end()), {}};
        const std::optional<Came> block = header_of(message.bytes);
        if (block) message.whole.push_back(*block);
        const double which = std::uniform_real_distribution(0.0, 1.0)(random_);
        double edge = 0;
        const auto is = [&](double share, const char* name) {
            edge += share;
            const bool yes = which >= edge - share && which < edge;
            if (yes) ++happened[name];
            return yes;
        };
        if (is(faults_.drop, "drop")) return;
        if (is(faults_.duplicate, "duplicate")) {
            message.bytes.insert(message.bytes.end(), bytes.begin(), bytes.end());
        } else if (is(faults_.damage, "damage")) {
            for (int flips = 1 + static_cast<int>(random_() % 8); flips > 0; --flips)
                message.bytes[random_() % message.bytes.size()] ^= static_cast<std::uint8_t>(1 + random_() % 255);
            // Two flips of one byte may cancel.
            if (!std::equal(bytes.begin(), bytes.end(), message.bytes.begin())) message.whole.clear();
        } else if (is(faults_.cut, "cut")) {
            message.bytes.resize(random_() % message.bytes.size());
            message.whole.clear();
        } else if (is(faults_.garbage, "garbage")) {
            Bytes noise(random_() % 3000);
            for (std::uint8_t& byte : noise) byte = static_cast<std::uint8_t>(random_());
            message.bytes.insert(message.bytes.begin(), noise.begin(), noise.end());
        } else if (is(faults_.late, "late")) {
            message.when = std::max(arrival, latest_) + std::chrono::milliseconds(random_() % 50);
        }
        message.when = std::max(message.when, latest_);  // a pipe keeps its order, but for the swaps below
        latest_ = message.when;
        if (is(faults_.swap, "swap") && !stream_.empty()) {
            std::swap(message.bytes, stream_.back().bytes);
            std::swap(message.whole, stream_.back().whole);
        }
        stream_.push_back(std::move(message));
    }
    void on_reply(std::span<const std::uint8_t> bytes, HostTime) override {
        if (away_) return;
        Bytes reply(bytes.begin(), bytes.end());
        if (chance(faults_.reply_drop)) {
            ++happened["reply dropped"];
            return;
        }
        if (chance(faults_.reply_damage)) {
            ++happened["reply damaged"];
            reply[random_() % reply.size()] ^= 0x10;
        } else if (chance(faults_.reply_duplicate)) {
            ++happened["reply doubled"];
            replies_.push_back(reply);
        }
        replies_.push_back(std::move(reply));
    }
    void on_broken(const Error& error, HostTime when) override { handler_->on_broken(error, when); }

  private:
    struct Message {
        HostTime when;
        Bytes bytes;
        std::vector<Came> whole;
    };
    bool chance(double of_one) { return of_one > 0 && std::uniform_real_distribution(0.0, 1.0)(random_) < of_one; }
    static std::optional<Came> header_of(const Bytes& frame) {
        const auto header = protocol::load<protocol::FrameHeader>(frame.data());
        if (header.type != static_cast<std::uint8_t>(protocol::FrameType::block) &&
            header.type != static_cast<std::uint8_t>(protocol::FrameType::summary))
            return std::nullopt;
        const auto block = protocol::load<protocol::BlockHeader>(frame.data() + sizeof header);
        return Came{block.boot_id, block.first_index, block.first_time, block.span, block.count};
    }
    void made(const Bytes& frame) {
        if (!keep_codes) return;
        const std::optional<Came> block = header_of(frame);
        if (!block || block->count != block->span) return;
        const auto header = protocol::load<protocol::BlockHeader>(frame.data() + sizeof(protocol::FrameHeader));
        if (header.detail != static_cast<std::uint8_t>(protocol::Detail::full)) return;
        const std::size_t fixed = sizeof(protocol::FrameHeader) + sizeof(protocol::BlockHeader) +
                                  header.rails * sizeof(protocol::RailPart) + sizeof(protocol::SlowSums) +
                                  sizeof(protocol::PeakSummary) + 4;
        const auto code = [&](std::size_t k) {
            const std::uint8_t* at = frame.data() + fixed + 3 * k;
            const std::uint32_t raw = at[0] | std::uint32_t{at[1]} << 8 | std::uint32_t{at[2]} << 16;
            return static_cast<std::int32_t>(raw << 8) >> 8;
        };
        auto& kept = codes[block->boot_id];
        for (std::size_t k = 0; k < block->count; ++k)
            kept[block->first_time + k * protocol::ticks_per_sample] = {code(k), code(block->count + k)};
    }
    void go_away() {
        ++happened["disconnect"];
        away_ = true;
        back_at_ = now_ + std::chrono::milliseconds(1 + random_() % 4000);
        stream_.clear();
        replies_.clear();
        stalled_until_ = now_;
        if (chance(faults_.restart)) {
            ++happened["restart"];
            rig_.boot(++boot_);
        }
        handler_->on_interrupted(Error{ErrorKind::link_broke, "the rig was unplugged"}, now_);
    }
    void come_back() {
        away_ = false;
        handler_->on_reconnected(now_);
    }

    FakeRig& rig_;
    Faults faults_;
    std::mt19937_64 random_;
    rig::LinkHandler* handler_ = nullptr;
    HostTime now_{}, latest_{}, stalled_until_{}, back_at_{};
    bool away_ = false;
    std::uint32_t boot_ = 7;
    std::deque<Message> stream_;
    std::deque<Bytes> replies_;
};

}  // namespace wattrig::test
