#include "host/rig/session.hpp"

#include <algorithm>
#include <cassert>
#include <vector>

#include "firmware/protocol/frame.hpp"
#include "host/rig/stream_account.hpp"

namespace wattrig::rig {
namespace {

using protocol::CommandHeader;
using protocol::CommandId;
using protocol::Status;
using std::chrono::milliseconds;
using std::chrono::seconds;

// A start in three steps: the bound shrinks fastest while there is little to go on; later 10 a second is the knee of the curve.
struct Pace {
    Nanoseconds until;
    Nanoseconds period;
};
constexpr Pace paces[]{
    {seconds(3), milliseconds(10)}, {seconds(15), milliseconds(30)}, {Nanoseconds::max(), milliseconds(100)}};
// The bus has frames of 1 ms. A host that asks at a fixed phase of them never learns more than that phase tells.
constexpr Nanoseconds dither{1'000'000};
constexpr Nanoseconds exchange_timeout{250'000'000};
constexpr Nanoseconds self_test_timeout{10'000'000'000};
constexpr int attempts_allowed = 3;
constexpr std::uint64_t unanswered_to_report = 10;

std::string_view command_text(CommandId id) {
    switch (id) {
        case CommandId::get_info: return "get_info";
        case CommandId::start_stream: return "start_stream";
        case CommandId::stop_stream: return "stop_stream";
        case CommandId::sync: return "sync";
        case CommandId::set_detail: return "set_detail";
        case CommandId::self_test: return "self_test";
        default: return "command";
    }
}

// A random bit generator of one line is enough to leave a 1 ms grid (SplitMix64's output function, Steele et al. 2014).
class Dither {
  public:
    explicit Dither(std::uint64_t seed) : state_(seed) {}
    Nanoseconds next() {
        std::uint64_t z = state_ += 0x9e3779b97f4a7c15u;
        z = (z ^ z >> 30) * 0xbf58476d1ce4e5b9u;
        z = (z ^ z >> 27) * 0x94d049bb133111ebu;
        return Nanoseconds(static_cast<std::int64_t>((z ^ z >> 31) % static_cast<std::uint64_t>(dither.count())));
    }

  private:
    std::uint64_t state_;
};

}  // namespace

struct Session::State {
    enum class Step { idle, hello, stop_old_stream, self_test, starting, running, stopping, stopped, failed };
    struct Pending {
        CommandId id;
        std::uint16_t tag;
        HostTime sent;
        HostTime deadline;
        std::uint32_t exchange;
    };

    State(Link& l, SessionSink& s, SessionOptions o)
        : link(l),
          sink(s),
          options(o),
          clock(0, o.clock),
          random(o.seed),
          account([this](const std::string& sentence, HostTime when) { sink.on_trouble(sentence, when); }) {}

    Link& link;
    SessionSink& sink;
    SessionOptions options;
    SessionState state;
    Step step = Step::idle;
    std::optional<protocol::Info> info;
    std::optional<protocol::SelfTestReport> self_test;
    FrameDecoder stream, replies;
    std::uint64_t stream_skipped_told = 0;
    ClockSync clock;
    std::size_t knots_told = 0;
    bool clock_fault_told = false;
    Dither random;
    StreamAccount account;

    std::optional<Pending> pending;
    std::uint16_t tag = 0;
    std::uint32_t sequence = 0;
    int attempts = 0;
    int starts_sent = 0;  // of the present step; link breaks do not reset it
    HostTime due{};       // when the next command of the present step may go
    HostTime burst_begin{};
    HostTime next_exchange{};
    std::uint32_t exchange_number = 0;
    std::uint64_t unanswered = 0;
    std::optional<protocol::Detail> wanted_detail;
    bool stop_wanted = false;
    bool away = false;       // the link looks for the rig: nothing is sent, silence is no news
    bool ask_again = false;  // who are you? A silent stream or a clock that ran backwards
    HostTime last_block{};
    bool silence_told = false;
    bool self_test_tried = false;
    DeviceTime stream_floor{};  // older blocks belong to a stream from before

    // ------------------------------------------------------------------------------------------------------------- outcome
    void trouble(const std::string& sentence, HostTime when) { sink.on_trouble(sentence, when); }
    void fail(const std::string& sentence, HostTime when) {
        if (step == Step::failed) return;
        step = Step::failed;
        pending.reset();
        state.failed = true;
        state.streaming = false;
        state.failure = sentence;
        trouble(sentence, when);
    }

    // ------------------------------------------------------------------------------------------------------------ commands
    template <class Payload>
    bool send(CommandId id, const Payload& payload, HostTime now, Nanoseconds timeout) {
        std::array<std::uint8_t, protocol::frame_bytes(sizeof(CommandHeader) + sizeof(Payload))> frame{};
        std::uint8_t* at = frame.data() + sizeof(protocol::FrameHeader);
        protocol::store(at, CommandHeader{static_cast<std::uint16_t>(id), ++tag, 0, 0});
        protocol::store(at + sizeof(CommandHeader), payload);
        return send_frame(id, frame, sizeof(CommandHeader) + sizeof(Payload), now, timeout);
    }
    bool send(CommandId id, HostTime now, Nanoseconds timeout) {
        std::array<std::uint8_t, protocol::frame_bytes(sizeof(CommandHeader))> frame{};
        protocol::store(frame.data() + sizeof(protocol::FrameHeader),
                        CommandHeader{static_cast<std::uint16_t>(id), ++tag, 0, 0});
        return send_frame(id, frame, sizeof(CommandHeader), now, timeout);
    }
    bool send_frame(CommandId id, std::span<std::uint8_t> frame, std::size_t payload_bytes, HostTime now, Nanoseconds timeout) {
        protocol::seal_frame(frame.data(), protocol::FrameType::command, payload_bytes, sequence++);
        const Result<HostTime> sent = link.send(frame);
        if (!sent) {
            fail("the command " + std::string(command_text(id)) + " could not be sent: " + sent.error().message, now);
            return false;
        }
        pending = Pending{id, tag, *sent, now + timeout, exchange_number};
        return true;
    }

    void begin(Step next, HostTime now) {
        // Not when the reply comes: on a pipe of its own it may be overtaken by the first blocks, and they are no loss.
        if (next == Step::starting) account.expect_new_stream();
        step = next;
        attempts = starts_sent = 0;
        due = now;
    }

    void send_due(HostTime now) {
        if (pending || away || now < due) return;
        switch (step) {
            case Step::hello: send(CommandId::get_info, now, options.reply_timeout); return;
            case Step::stop_old_stream: send(CommandId::stop_stream, now, options.reply_timeout); return;
            case Step::self_test: send(CommandId::self_test, now, std::max(self_test_timeout, options.reply_timeout)); return;
            case Step::starting:
                ++starts_sent;
                send(CommandId::start_stream,
                     protocol::StartStream{options.rails, static_cast<std::uint8_t>(options.detail), 0}, now,
                     options.reply_timeout);
                return;
            case Step::stopping: send(CommandId::stop_stream, now, options.reply_timeout); return;
            case Step::running: send_while_running(now); return;
            case Step::idle:
            case Step::stopped:
            case Step::failed: return;
        }
    }

    void send_while_running(HostTime now) {
        if (stop_wanted) {
            begin(Step::stopping, now);
            send_due(now);
        } else if (ask_again) {
            send(CommandId::get_info, now, options.reply_timeout);
        } else if (wanted_detail) {
            send(CommandId::set_detail, protocol::SetDetail{static_cast<std::uint8_t>(*wanted_detail), {}}, now,
                 options.reply_timeout);
        } else if (now >= next_exchange) {
            ++exchange_number;
            schedule_exchange(now);
            send(CommandId::sync, protocol::SyncRequest{exchange_number, 0}, now,
                 std::min(exchange_timeout, options.reply_timeout));
        }
    }

    void schedule_exchange(HostTime now) {
        const Nanoseconds age = now - burst_begin;
        const Pace* pace = paces;
        while (age >= pace->until) ++pace;
        next_exchange = now + pace->period + random.next();
    }

    void check_timeout(HostTime now) {
        if (!pending || now < pending->deadline) return;
        const CommandId id = pending->id;
        pending.reset();
        if (id == CommandId::sync) {
            ++state.lost_exchanges;
            if (++unanswered == unanswered_to_report) {
                trouble("the rig has not answered " + std::to_string(unanswered) +
                            " clock exchanges in a row: the clock map's bound grows until it does",
                        now);
                ask_again = true;
            }
            return;
        }
        if (++attempts < attempts_allowed) return;  // the step sends it once more
        std::string why;
        if (replies.counters().newer_version > 0) why = "; it speaks a newer protocol than this program";
        fail("the rig did not answer " + std::string(command_text(id)) + " within " +
                 std::to_string(std::chrono::duration_cast<milliseconds>(options.reply_timeout).count()) + " ms, asked " +
                 std::to_string(attempts) + " times" + why + ": check the cable and that the rig's firmware runs",
             now);
    }

    [[nodiscard]] Nanoseconds silence_limit() const {
        return options.detail == protocol::Detail::summary_1s ? Nanoseconds(seconds(4)) : Nanoseconds(seconds(1));
    }
    void check_silence(HostTime now) {
        if (step != Step::running || away || silence_told || now - last_block < silence_limit()) return;
        silence_told = true;
        ask_again = true;
        trouble("no block for " + std::to_string(std::chrono::duration_cast<milliseconds>(now - last_block).count()) +
                    " ms: asking the rig whether it still streams",
                now);
    }

    // ------------------------------------------------------------------------------------------------------------- replies
    void on_reply_frame(const Frame& frame, HostTime arrival) {
        if (frame.header.type != static_cast<std::uint8_t>(protocol::FrameType::reply)) return;
        if (frame.payload.size() < sizeof(CommandHeader) || !pending) return;
        const auto header = protocol::load<CommandHeader>(frame.payload.data());
        if (header.tag != pending->tag || header.id != static_cast<std::uint16_t>(pending->id)) return;  // too late, given up
        const Pending command = *pending;
        const std::span<const std::uint8_t> payload = frame.payload.subspan(sizeof(CommandHeader));
        pending.reset();
        due = arrival;
        const auto status = static_cast<Status>(header.status);
        switch (command.id) {
            case CommandId::sync: on_sync(command, status, payload, arrival); return;
            case CommandId::self_test: on_self_test(status, payload, arrival); return;
            case CommandId::set_detail:
                if (status == Status::ok) {
                    options.detail = *wanted_detail;
                } else {
                    trouble("the rig refused another level of detail: " + std::string(protocol::status_text(status)), arrival);
                }
                wanted_detail.reset();
                return;
            default: break;
        }
        if (status == Status::busy && ++attempts < attempts_allowed) {
            due = arrival + milliseconds(20);
            return;
        }
        // The reply to an earlier start was lost, and the rig streams: ours when its first blocks came, else nobody's.
        if (command.id == CommandId::start_stream && status == Status::wrong_state && starts_sent > 1) {
            if (account.begun()) {
                on_started(arrival);
            } else {
                begin(Step::stop_old_stream, arrival);
            }
            return;
        }
        // An old stream that has stopped by itself is just as good.
        const bool stop_needless = command.id == CommandId::stop_stream && status == Status::wrong_state;
        if (status != Status::ok && !stop_needless) {
            fail("the rig refused " + std::string(command_text(command.id)) + ": " + std::string(protocol::status_text(status)),
                 arrival);
            return;
        }
        switch (command.id) {
            case CommandId::get_info: on_info(payload, arrival); return;
            case CommandId::stop_stream:
                if (step == Step::stopping) {
                    begin(Step::stopped, arrival);
                    state.streaming = false;
                } else {
                    begin(Step::hello, arrival);  // once more: its clock reading tells new blocks from old ones
                }
                return;
            case CommandId::start_stream: on_started(arrival); return;
            default: return;
        }
    }

    void on_info(std::span<const std::uint8_t> payload, HostTime arrival) {
        if (payload.size() < sizeof(protocol::Info)) {
            fail("the rig's answer to get_info has " + std::to_string(payload.size()) + " bytes, expected " +
                     std::to_string(sizeof(protocol::Info)) + ": is it a wattrig rig?",
                 arrival);
            return;
        }
        const auto fresh = protocol::load<protocol::Info>(payload.data());
        ask_again = false;
        if (fresh.protocol_version != protocol::protocol_version) {
            fail("the rig speaks protocol version " + std::to_string(fresh.protocol_version) + ", this program speaks " +
                     std::to_string(protocol::protocol_version) + ": update the older of the two",
                 arrival);
            return;
        }
        if (options.rails < 1 || options.rails > fresh.rails) {
            fail("asked for " + std::to_string(options.rails) + " rails, this rig has " + std::to_string(fresh.rails), arrival);
            return;
        }
        const bool restarted = info && info->boot_id != fresh.boot_id;
        info = fresh;
        if (step == Step::running) {
            if (restarted && state.boot_id != fresh.boot_id) {
                new_boot(fresh.boot_id, arrival);
                resume(arrival);
            } else if (fresh.streaming == 0) {
                trouble("the rig has stopped streaming: started again, sums from zero, energy of the gap unknown", arrival);
                resume(arrival);
            }
            return;
        }
        state.boot_id = fresh.boot_id;
        clock = ClockSync(fresh.boot_id, options.clock);
        knots_told = 0;
        if (fresh.streaming != 0) {
            begin(Step::stop_old_stream, arrival);
        } else {
            begin(self_test_tried ? Step::starting : Step::self_test, arrival);
        }
        stream_floor = DeviceTime(Ticks(static_cast<std::int64_t>(fresh.now)));
    }

    // Streams again after the rig stopped by itself.
    void resume(HostTime now) {
        stream_floor = DeviceTime(Ticks(static_cast<std::int64_t>(info->now)));
        begin(info->streaming != 0 ? Step::stop_old_stream : Step::starting, now);
    }

    void on_self_test(Status status, std::span<const std::uint8_t> payload, HostTime arrival) {
        self_test_tried = true;
        if (payload.size() >= sizeof(protocol::SelfTestReport)) {
            self_test = protocol::load<protocol::SelfTestReport>(payload.data());
        }
        // Whether a failed part matters is for the user to say; the report stays at hand.
        // A rig without parts to test, as the simulated one, is no trouble.
        if (status != Status::ok && status != Status::not_available)
            trouble("self-test: " + std::string(protocol::status_text(status)), arrival);
        if (self_test && self_test->failed != 0) {
            trouble("self-test failed: parts 0x" + hexadecimal(self_test->failed) + " of 0x" + hexadecimal(self_test->done),
                    arrival);
        }
        begin(Step::starting, arrival);
    }
    static std::string hexadecimal(std::uint32_t value) {
        std::string text;
        do {
            text.insert(text.begin(), "0123456789abcdef"[value & 15]);
            value >>= 4;
        } while (value != 0);
        return text;
    }

    void on_started(HostTime arrival) {
        begin(Step::running, arrival);
        state.streaming = true;
        last_block = arrival;
        silence_told = false;
        begin_exchanges(arrival);
    }
    void begin_stream(HostTime now) {
        account.expect_new_stream();
        begin_exchanges(now);
    }
    void begin_exchanges(HostTime now) {
        ++state.epochs;
        burst_begin = now;
        next_exchange = now + random.next();
    }

    void new_boot(std::uint32_t boot_id, HostTime when) {
        trouble("the rig restarted (boot " + std::to_string(state.boot_id) + ", now " + std::to_string(boot_id) +
                    "): new clock map, sums from zero, energy of the gap unknown",
                when);
        state.boot_id = boot_id;
        state.clock_ready = false;
        clock = ClockSync(boot_id, options.clock);
        knots_told = 0;
        stream_floor = DeviceTime{};
    }

    // --------------------------------------------------------------------------------------------------------------- clock
    void on_sync(const Pending& command, Status status, std::span<const std::uint8_t> payload, HostTime arrival) {
        if (status != Status::ok || payload.size() < sizeof(protocol::SyncReply)) {
            ++state.lost_exchanges;
            return;
        }
        const auto reply = protocol::load<protocol::SyncReply>(payload.data());
        if (reply.exchange != command.exchange) return;
        unanswered = 0;
        const auto device = [](std::uint64_t ticks) { return DeviceTime(Ticks(static_cast<std::int64_t>(ticks))); };
        const Exchange exchange{command.sent,        arrival,       device(reply.received),
                                device(reply.armed), state.boot_id, reply.exchange};
        std::optional<StartOfFrame> start_of_frame;
        if (reply.frame_time != 0) start_of_frame = StartOfFrame{device(reply.frame_time), reply.frame_number};
        if (!clock.add(exchange, start_of_frame)) {
            ++state.lost_exchanges;
            if (!clock.fault()) ask_again = true;  // its clock ran backwards: another boot
        } else {
            ++state.exchanges;
            sink.on_exchange(exchange);
        }
        for (const std::string& notice : clock.take_notices()) trouble(notice, arrival);
        if (clock.fault() && !clock_fault_told) {
            clock_fault_told = true;
            fail(*clock.fault(), arrival);
            return;
        }
        publish(exchange.d3);
    }
    void publish(DeviceTime now) {
        clock.publish(now);
        const std::vector<ClockKnot>& knots = clock.map().knots();
        for (; knots_told < knots.size(); ++knots_told) sink.on_knot(knots[knots_told], state.boot_id);
        state.clock_ready = !knots.empty();
    }

    // -------------------------------------------------------------------------------------------------------------- stream
    void on_stream_frame(const Frame& frame, HostTime arrival) {
        tell_skipped(arrival);
        const auto type = static_cast<protocol::FrameType>(frame.header.type);
        if (type == protocol::FrameType::event) {
            sink.on_frame(frame, arrival);
            return;
        }
        if (type != protocol::FrameType::block && type != protocol::FrameType::summary) return;
        const Result<BlockView> block = parse_block(frame.payload);
        if (!block) {
            sink.on_frame(frame, arrival);
            trouble("a frame with a good check holds a contradiction: " + block.error().message, arrival);
            return;
        }
        if (!belongs(*block)) {
            ++state.stale_blocks;
            return;
        }
        if (block->header.boot_id != state.boot_id) {
            new_boot(block->header.boot_id, arrival);
            ask_again = true;
            begin_stream(arrival);
        }
        last_block = arrival;
        silence_told = false;
        if (account.add(*block, arrival) == StreamAccount::Verdict::repeated) {
            ++state.stale_blocks;
            return;
        }
        ++state.blocks;
        state.samples = account.samples();
        state.lost_samples = account.lost_samples();
        state.lost_blocks = account.lost_blocks();
        sink.on_frame(frame, arrival);
        sink.on_block(*block, arrival);
    }

    [[nodiscard]] bool belongs(const BlockView& block) const {
        if (step != Step::starting && step != Step::running && step != Step::stopping && step != Step::stopped) return false;
        if (account.begun()) return true;
        // Until the first block of our own stream: what was still on its way from an older one is told by its time, which lies
        // the filter's delay and a sample at most before the clock reading that we asked for.
        const DeviceTime latest = DeviceTime(Ticks(static_cast<std::int64_t>(block.header.first_time))) +
                                  Ticks(protocol::group_delay_ticks + protocol::ticks_per_sample);
        return block.header.boot_id != state.boot_id || latest >= stream_floor;
    }

    void tell_skipped(HostTime when) {
        const DecoderCounters& counters = stream.counters();
        if (counters.skipped_bytes == stream_skipped_told) return;
        trouble(std::to_string(counters.skipped_bytes - stream_skipped_told) +
                    " damaged bytes in the stream skipped, in step again",
                when);
        stream_skipped_told = counters.skipped_bytes;
    }
};

Session::Session(Link& link, SessionSink& sink, SessionOptions options) : s_(std::make_unique<State>(link, sink, options)) {
    link.attach(*this);
}
Session::~Session() = default;

void Session::start(HostTime now) {
    assert(s_->step == State::Step::idle);
    s_->begin(State::Step::hello, now);
    s_->send_due(now);
}

void Session::stop(HostTime now) {
    s_->stop_wanted = true;
    if (s_->step == State::Step::running) poll(now);
}

void Session::poll(HostTime now) {
    s_->check_timeout(now);
    s_->check_silence(now);
    s_->send_due(now);
    if (s_->step == State::Step::running && !s_->clock.map().empty()) s_->publish(s_->clock.map().to_device(now));
}

HostTime Session::next_event() const {
    using Step = State::Step;
    const State& s = *s_;
    if (s.step == Step::idle || s.step == Step::stopped || s.step == Step::failed) return HostTime::max();
    HostTime next = HostTime::max();
    if (s.away) return HostTime::max();
    if (s.pending) {
        next = s.pending->deadline;
    } else if (s.step != Step::running || s.stop_wanted || s.ask_again || s.wanted_detail) {
        next = s.due;
    } else {
        next = s.next_exchange;
    }
    if (s.step == Step::running && !s.silence_told) next = std::min(next, s.last_block + s.silence_limit());
    return next;
}

const SessionState& Session::state() const { return s_->state; }
const std::optional<protocol::Info>& Session::info() const { return s_->info; }
const std::optional<protocol::SelfTestReport>& Session::self_test() const { return s_->self_test; }
const ClockMap& Session::clock() const { return s_->clock.map(); }
const DecoderCounters& Session::stream_counters() const { return s_->stream.counters(); }

void Session::set_detail(protocol::Detail detail, HostTime now) {
    s_->wanted_detail = detail;
    if (s_->step == State::Step::running) poll(now);
}

void Session::on_stream(std::span<const std::uint8_t> bytes, HostTime arrival) {
    s_->stream.feed(bytes, [&](const Frame& frame) { s_->on_stream_frame(frame, arrival); });
}

void Session::on_reply(std::span<const std::uint8_t> bytes, HostTime arrival) {
    s_->replies.feed(bytes, [&](const Frame& frame) { s_->on_reply_frame(frame, arrival); });
}

void Session::on_interrupted(const Error& error, HostTime when) {
    s_->away = true;
    s_->pending.reset();
    s_->trouble("the link to the rig broke, it is looked for: " + error.message, when);
}

void Session::on_reconnected(HostTime when) {
    s_->away = false;
    s_->attempts = 0;
    s_->due = when;
    s_->last_block = when;
    s_->silence_told = false;
    s_->ask_again = true;  // a rig that lost its power has another boot id and streams no more
    s_->trouble("the rig is back", when);
}

void Session::on_broken(const Error& error, HostTime when) { s_->fail("the link to the rig broke: " + error.message, when); }

}  // namespace wattrig::rig
