#include "host/rig/session.hpp"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <set>

#include "tests/rig/fake_rig.hpp"

namespace wattrig::rig {
namespace {

using namespace std::chrono_literals;
using test::at_ns;
using test::BlockMaker;
using test::Bytes;
using test::FakeRig;
using test::Notes;
using testing::ElementsAre;
using testing::HasSubstr;
using testing::IsEmpty;

struct Bench {
    explicit Bench(SessionOptions options = {}, double rate_ppm = 30)
        : rig(rate_ppm), session(rig, notes, options), now(at_ns(5'000'000'000)) {
        rig.poll(now);
    }
    void start() { session.start(now); }
    void run(Nanoseconds time) {
        for (const HostTime end = now + time; now < end;) {
            now += 200us;
            rig.poll(now);
            session.poll(now);
        }
    }
    FakeRig rig;
    Notes notes;
    Session session;
    HostTime now;
};

TEST(Session, GreetsStartsAndKeepsTheClock) {
    Bench bench;
    bench.start();
    EXPECT_FALSE(bench.session.state().streaming);
    bench.run(6s);
    const SessionState& state = bench.session.state();
    EXPECT_TRUE(state.streaming);
    EXPECT_TRUE(state.clock_ready);
    EXPECT_FALSE(state.failed);
    EXPECT_THAT(bench.notes.troubles, IsEmpty());
    ASSERT_TRUE(bench.session.info());
    EXPECT_EQ(bench.session.info()->boot_id, 7u);
    EXPECT_EQ(state.boot_id, 7u);
    EXPECT_NEAR(static_cast<double>(state.samples), 6 * 32552.0, 400);
    EXPECT_EQ(state.lost_samples, 0u);
    EXPECT_EQ(state.blocks, bench.notes.blocks.size());
    EXPECT_EQ(bench.notes.frames.size(), bench.notes.blocks.size());
    EXPECT_EQ(bench.notes.blocks.front().first_index, 0u);

    ASSERT_GT(bench.notes.knots.size(), 14u);
    ASSERT_EQ(bench.notes.knots.size(), bench.session.clock().knots().size());
    for (const auto& [boot_id, knot] : bench.notes.knots) {
        EXPECT_EQ(boot_id, 7u);
        EXPECT_LE(std::chrono::abs(knot.host - bench.rig.true_host(knot.device)), knot.half_width);
        EXPECT_LE(knot.half_width, 400us) << "polled each 200 us";
    }
    EXPECT_NEAR(bench.notes.knots.back().second.rate_ppm, 30, 30);
}

// Replies come on a pipe of their own: here each one 20 ms late, so that the first blocks overtake the answer to start_stream.
class LateReplies final : public Link, public LinkHandler {
  public:
    explicit LateReplies(FakeRig& rig) : rig_(rig) { rig.attach(*this); }
    void attach(LinkHandler& handler) override { handler_ = &handler; }
    Result<HostTime> send(std::span<const std::uint8_t> frame) override { return rig_.send(frame); }
    void poll(HostTime now) override {
        rig_.poll(now);
        for (; !held_.empty() && held_.front().first + 20ms <= now; held_.erase(held_.begin()))
            handler_->on_reply(held_.front().second, now);
    }
    [[nodiscard]] HostTime next_event() const override { return rig_.next_event(); }
    [[nodiscard]] std::string description() const override { return rig_.description(); }
    [[nodiscard]] bool simulated() const override { return true; }
    void on_stream(std::span<const std::uint8_t> bytes, HostTime arrival) override { handler_->on_stream(bytes, arrival); }
    void on_reply(std::span<const std::uint8_t> bytes, HostTime arrival) override {
        held_.emplace_back(arrival, Bytes(bytes.begin(), bytes.end()));
    }
    void on_broken(const Error& error, HostTime when) override { handler_->on_broken(error, when); }

  private:
    FakeRig& rig_;
    LinkHandler* handler_ = nullptr;
    std::vector<std::pair<HostTime, Bytes>> held_;
};

TEST(Session, BlocksThatOvertakeTheAnswerToStartAreNoLoss) {
    FakeRig rig(30);
    HostTime now = at_ns(5'000'000'000);
    rig.poll(now);
    LateReplies link(rig);
    Notes notes;
    Session session(link, notes, {});
    session.start(now);
    for (const HostTime end = now + 1s; now < end;) {
        now += 200us;
        link.poll(now);
        session.poll(now);
    }
    EXPECT_TRUE(session.state().streaming);
    EXPECT_GT(session.state().blocks, 350u);
    EXPECT_EQ(session.state().lost_samples, 0u);
    EXPECT_THAT(notes.troubles, IsEmpty());
}

TEST(Session, ExchangesFollowTheScheduleWithDither) {
    Bench bench;
    bench.start();
    bench.run(20s);
    std::size_t first_3s = 0, next_12s = 0, last_5s = 0;
    std::set<std::int64_t> phases;
    for (const Exchange& e : bench.notes.exchanges) {
        const double age = static_cast<double>((e.h1 - at_ns(5'000'000'000)).count()) * 1e-9;
        (age < 3 ? first_3s : age < 15 ? next_12s : last_5s) += 1;
        phases.insert(e.h1.time_since_epoch().count() % 1'000'000 / 200'000);
    }
    EXPECT_NEAR(static_cast<double>(first_3s), 285, 25);
    EXPECT_NEAR(static_cast<double>(next_12s), 390, 30);
    EXPECT_NEAR(static_cast<double>(last_5s), 50, 5);
    EXPECT_EQ(phases.size(), 5u) << "every phase against the frame of 1 ms occurs";
    // Without the dither of 0 to 1 ms, periods of whole milliseconds would stay on one phase.
}

TEST(Session, TwoRailsAndDetailGoToTheRig) {
    Bench bench({.detail = protocol::Detail::summary_10ms, .rails = 2});
    bench.start();
    bench.run(1s);
    ASSERT_FALSE(bench.notes.blocks.empty());
    EXPECT_EQ(bench.notes.blocks.back().rails, 2);
    EXPECT_EQ(bench.notes.blocks.back().detail, static_cast<std::uint8_t>(protocol::Detail::summary_10ms));
    bench.session.set_detail(protocol::Detail::full, bench.now);
    bench.run(1s);
    EXPECT_EQ(bench.notes.blocks.back().detail, static_cast<std::uint8_t>(protocol::Detail::full));
    EXPECT_EQ(bench.session.state().lost_samples, 0u);
    EXPECT_THAT(bench.notes.troubles, IsEmpty());
}

TEST(Session, StopsTheStream) {
    Bench bench;
    bench.start();
    bench.run(1s);
    bench.session.stop(bench.now);
    bench.run(100ms);
    EXPECT_FALSE(bench.session.state().streaming);
    EXPECT_FALSE(bench.rig.meter().streaming());
    EXPECT_FALSE(bench.session.state().failed);
    const std::uint64_t samples = bench.session.state().samples;
    bench.run(500ms);
    EXPECT_EQ(bench.session.state().samples, samples);
    EXPECT_EQ(bench.session.next_event(), HostTime::max());
}

TEST(Session, LostBlocksAreCountedAndToldOnce) {
    Bench bench;
    int frame = 0;
    bench.rig.on_stream_frame = [&](Bytes&) {
        ++frame;
        return frame != 100 && frame != 200 && frame != 201;
    };
    bench.start();
    bench.run(2s);
    EXPECT_EQ(bench.session.state().lost_samples, 225u);
    EXPECT_EQ(bench.session.state().lost_blocks, 3u);
    ASSERT_THAT(bench.notes.troubles, ElementsAre(HasSubstr("lost 75 samples"), HasSubstr("lost 150 samples")));
    EXPECT_THAT(bench.notes.troubles[1], HasSubstr("2 blocks"));
}

TEST(Session, DamagedBytesCostTheirBlockAndOneLine) {
    Bench bench;
    int frame = 0;
    bench.rig.on_stream_frame = [&](Bytes& bytes) {
        if (++frame == 50) bytes[300] ^= 4;
        if (frame == 70) bytes.erase(bytes.begin() + 20);
        return true;
    };
    bench.start();
    bench.run(1s);
    EXPECT_EQ(bench.session.state().lost_samples, 150u);
    EXPECT_EQ(bench.session.stream_counters().crc_errors, 2u);
    EXPECT_THAT(bench.notes.troubles, ElementsAre(HasSubstr("damaged bytes"), HasSubstr("lost 75"), HasSubstr("damaged bytes"),
                                                  HasSubstr("lost 75")));
}

TEST(Session, ARestartOfTheRigIsANewEpoch) {
    Bench bench;
    bench.start();
    bench.run(4s);
    const std::uint64_t before = bench.session.state().samples;
    bench.rig.boot(8);  // power was gone: it does not stream, and its clock began anew
    bench.run(5s);
    const SessionState& state = bench.session.state();
    EXPECT_FALSE(state.failed) << state.failure;
    EXPECT_TRUE(state.streaming);
    EXPECT_EQ(state.boot_id, 8u);
    EXPECT_EQ(state.epochs, 2u);
    EXPECT_GT(state.samples, before + 96'000);
    EXPECT_EQ(state.lost_samples, 0u) << "what was not measured is unknown, not lost";
    EXPECT_EQ(bench.session.clock().boot_id(), 8u);
    EXPECT_EQ(bench.notes.knots.back().first, 8u);
    const ClockKnot& knot = bench.notes.knots.back().second;
    EXPECT_LE(std::chrono::abs(knot.host - bench.rig.true_host(knot.device)), knot.half_width);
    EXPECT_THAT(bench.notes.troubles, testing::Contains(HasSubstr("boot 7, now 8")));
    EXPECT_THAT(bench.notes.troubles, testing::Contains(HasSubstr("unknown")));
    bool begun = false;
    for (const protocol::BlockHeader& header : bench.notes.blocks) {
        if (header.boot_id == 8 && !begun) {
            EXPECT_EQ(header.first_index, 0u);
            begun = true;
        }
    }
    EXPECT_TRUE(begun);
}

TEST(Session, ARigThatStreamsAlreadyIsStoppedFirstAndItsOldBlocksAreDropped) {
    Bench bench;
    bench.rig.poll(bench.now += 10ms);
    const Bytes start = [] {
        Bytes payload;
        test::put(payload, protocol::CommandHeader{static_cast<std::uint16_t>(protocol::CommandId::start_stream), 1, 0, 0});
        test::put(payload, protocol::StartStream{1, 0, 0});
        return test::frame_of(protocol::FrameType::command, payload, 0);
    }();
    bench.rig.meter().on_command(10'000, start);
    Bytes reply(protocol::maximum_frame_bytes);
    bench.rig.meter().take_reply(10'000, reply);
    // Old frames wait in the meter's ring and on the bus until our own stream has begun.
    std::vector<Bytes> held;
    bool hold = true;
    bench.rig.on_stream_frame = [&](Bytes& bytes) {
        if (hold) held.push_back(bytes);
        return !hold;
    };
    for (int k = 0; k < 100; ++k) bench.rig.poll(bench.now += 200us);
    ASSERT_GT(held.size(), 5u);
    hold = false;
    bench.start();
    bool given = false;
    bench.rig.on_stream_frame = [&](Bytes&) {
        // get_info, stop_stream, get_info, self_test, start_stream: ours has been asked for, and this is its first frame.
        if (!given && bench.rig.sent_at.size() >= 5) {
            given = true;
            for (const Bytes& old : held) bench.rig.handler()->on_stream(old, bench.now);
        }
        return true;
    };
    bench.run(1s);
    EXPECT_TRUE(bench.session.state().streaming);
    EXPECT_EQ(bench.session.state().lost_samples, 0u);
    EXPECT_GE(bench.session.state().stale_blocks, held.size());
    EXPECT_EQ(bench.notes.blocks.front().first_index, 0u);
    EXPECT_GT(bench.notes.blocks.front().first_time, 3'000'000u);
    EXPECT_THAT(bench.notes.troubles, IsEmpty());
}

TEST(Session, SilenceIsToldAndEndsWithASentence) {
    Bench bench;
    bench.start();
    bench.run(2s);
    bench.rig.deaf = true;
    bench.rig.on_stream_frame = [](Bytes&) { return false; };
    bench.run(6s);
    EXPECT_TRUE(bench.session.state().failed);
    EXPECT_THAT(bench.session.state().failure, HasSubstr("did not answer get_info"));
    EXPECT_THAT(bench.notes.troubles, testing::Contains(HasSubstr("no block for")));
}

TEST(Session, ARigThatNeverAnswersFailsAfterThreeTries) {
    Bench bench;
    bench.rig.deaf = true;
    bench.start();
    bench.run(2900ms);
    EXPECT_FALSE(bench.session.state().failed);
    bench.run(200ms);
    EXPECT_TRUE(bench.session.state().failed);
    EXPECT_EQ(bench.rig.sent_at.size(), 3u);
    EXPECT_THAT(bench.session.state().failure, HasSubstr("did not answer get_info within 1000 ms, asked 3 times"));
}

TEST(Session, ALostReplyIsAskedForAgain) {
    Bench bench;
    int reply = 0;
    bench.rig.on_reply_frame = [&](Bytes&) { return ++reply != 1; };
    bench.start();
    bench.run(3s);
    EXPECT_TRUE(bench.session.state().streaming);
}

TEST(Session, AskingForMoreRailsThanThereAreFails) {
    Bench bench({.rails = 3});
    bench.start();
    bench.run(100ms);
    EXPECT_THAT(bench.session.state().failure, HasSubstr("3 rails, this rig has 2"));
}

TEST(Session, ACrystalOutOfRangeFailsWithItsRate) {
    Bench bench({}, 240);
    bench.start();
    bench.run(25s);
    EXPECT_TRUE(bench.session.state().failed);
    EXPECT_THAT(bench.session.state().failure, HasSubstr("ppm slow against the host's"));
}

TEST(Session, ABrokenLinkFails) {
    Bench bench;
    bench.start();
    bench.run(100ms);
    bench.rig.handler()->on_broken(link_broke("unplugged"), bench.now);
    EXPECT_TRUE(bench.session.state().failed);
    EXPECT_THAT(bench.session.state().failure, HasSubstr("unplugged"));
}

// ----------------------------------------------------------------------------------------------------------- exact accounts
// Answers every command at once; blocks come from the test itself.
class ScriptedLink final : public Link {
  public:
    void attach(LinkHandler& handler) override { handler_ = &handler; }
    Result<HostTime> send(std::span<const std::uint8_t> frame) override {
        const auto command = protocol::load<protocol::CommandHeader>(frame.data() + sizeof(protocol::FrameHeader));
        Bytes payload;
        test::put(payload, protocol::CommandHeader{command.id, command.tag, 0, 0});
        if (command.id == static_cast<std::uint16_t>(protocol::CommandId::get_info)) {
            protocol::Info info{};
            info.boot_id = boot_id;
            info.protocol_version = 1;
            info.rails = 2;
            info.streaming = streaming ? 1 : 0;
            test::put(payload, info);
        }
        if (command.id == static_cast<std::uint16_t>(protocol::CommandId::start_stream)) streaming = true;
        if (command.id != static_cast<std::uint16_t>(protocol::CommandId::sync)) {
            replies_.push_back(test::frame_of(protocol::FrameType::reply, payload, 0));
        }
        return now_;
    }
    void poll(HostTime now) override {
        now_ = now;
        for (const Bytes& reply : std::exchange(replies_, {})) handler_->on_reply(reply, now);
    }
    [[nodiscard]] HostTime next_event() const override { return HostTime::max(); }
    [[nodiscard]] std::string description() const override { return "scripted"; }
    [[nodiscard]] bool simulated() const override { return true; }
    std::uint32_t boot_id = 7;
    bool streaming = false;

  private:
    LinkHandler* handler_ = nullptr;
    HostTime now_{};
    std::vector<Bytes> replies_;
};

struct Books {
    Books() {
        session.start(now);
        for (int k = 0; k < 20; ++k) {
            now += 1ms;
            link.poll(now);
            session.poll(now);
        }
        EXPECT_TRUE(session.state().streaming);
    }
    void give(const Bytes& frame) { session.on_stream(frame, now); }
    ScriptedLink link;
    Notes notes;
    Session session{link, notes, {}};
    HostTime now = at_ns(0);
    BlockMaker maker;
};

TEST(Session, LossIsExactWhateverItsSize) {
    std::vector<std::uint64_t> losses{1,   2,   3,    74,     75,     76,     149,     150,
                                      151, 999, 1000, 65'535, 65'536, 65'537, 131'072, 1'000'000};
    // Multiples of every counter that could hide them: 2^16 and 2^32 samples, blocks and frames.
    for (const std::uint64_t power : {16u, 32u}) {
        for (const std::uint64_t times : {1u, 2u, 3u}) {
            losses.push_back(times << power);
            losses.push_back((times << power) * 75);
        }
    }
    for (const std::uint64_t loss : losses) {
        Books books;
        for (int k = 0; k < 3; ++k) books.give(books.maker.block());
        books.maker.skip(loss);
        for (int k = 0; k < 3; ++k) books.give(books.maker.block());
        EXPECT_EQ(books.session.state().lost_samples, loss);
        EXPECT_EQ(books.session.state().samples, 450u);
        EXPECT_EQ(books.session.state().lost_blocks, (loss + 74) / 75);
        EXPECT_EQ(books.notes.troubles.size(), 1u) << loss;
    }
}

TEST(Session, LossOnTheDeviceAndOnTheWayAreToldApart) {
    Books books;
    books.give(books.maker.block());
    books.maker.lose_on_device(5);
    books.give(books.maker.block());
    EXPECT_EQ(books.session.state().lost_samples, 5u);
    EXPECT_EQ(books.session.state().lost_blocks, 0u);
    books.maker.skip(75);
    books.maker.lose_on_device(7);
    books.give(books.maker.block());
    EXPECT_EQ(books.session.state().lost_samples, 87u);
    EXPECT_EQ(books.session.state().lost_blocks, 1u);
    EXPECT_THAT(books.notes.troubles,
                ElementsAre(HasSubstr("5 samples on the device"),
                            testing::AllOf(HasSubstr("lost 82"), HasSubstr("1 block that"), HasSubstr("7 samples on"))));
}

TEST(Session, LossBeforeTheFirstBlockAndASilentConverterCount) {
    Books books;
    books.maker.skip(150);
    books.give(books.maker.block());
    EXPECT_EQ(books.session.state().lost_samples, 150u);
    books.give(books.maker.silent(75));
    books.give(books.maker.silent(75));
    books.give(books.maker.block());
    EXPECT_EQ(books.session.state().lost_samples, 300u);
    EXPECT_EQ(books.session.state().samples, 150u);
    EXPECT_THAT(books.notes.troubles, ElementsAre(HasSubstr("lost 150"), HasSubstr("silent")));
}

TEST(Session, RandomLossesAddUp) {
    for (std::uint64_t seed = 1; seed <= 50; ++seed) {
        std::mt19937_64 random(seed);
        Books books;
        std::uint64_t lost = 0;
        std::uint64_t came = 0;
        for (int k = 0; k < 200; ++k) {
            const auto size = static_cast<std::uint32_t>(1 + random() % 75);
            const Bytes frame = books.maker.block(size);
            if (random() % 4 == 0 && k < 199) {
                lost += size;
            } else {
                books.give(frame);
                came += size;
            }
        }
        EXPECT_EQ(books.session.state().samples, came);
        EXPECT_EQ(books.session.state().lost_samples, lost);
    }
}

TEST(Session, RepeatedBlocksAreNotCountedTwice) {
    Books books;
    const Bytes first = books.maker.block();
    const Bytes second = books.maker.block();
    books.give(first);
    books.give(second);
    books.give(first);
    books.give(second);
    EXPECT_EQ(books.session.state().samples, 150u);
    EXPECT_EQ(books.session.state().stale_blocks, 2u);
    EXPECT_EQ(books.notes.blocks.size(), 2u);
}

TEST(Session, ABlockOfAnotherBootBeginsAnEpochAtOnce) {
    Books books;
    books.give(books.maker.block());
    BlockMaker fresh;
    fresh.boot_id = 8;
    fresh.anchor = 1000;
    books.give(fresh.block());
    books.give(fresh.block());
    EXPECT_EQ(books.session.state().samples, 225u);
    EXPECT_EQ(books.session.state().lost_samples, 0u);
    EXPECT_EQ(books.session.state().boot_id, 8u);
    EXPECT_EQ(books.session.state().epochs, 2u);
    EXPECT_THAT(books.notes.troubles, ElementsAre(HasSubstr("boot 7, now 8")));
}

TEST(Session, AContradictionInABlockIsToldAndItsSamplesAreLost) {
    Books books;
    books.give(books.maker.block());
    Bytes bad = books.maker.block();
    bad[sizeof(protocol::FrameHeader) + offsetof(protocol::BlockHeader, rails)] = 9;
    protocol::seal_frame(bad.data(), protocol::FrameType::block, bad.size() - 20, 1);
    books.give(bad);
    books.give(books.maker.block());
    EXPECT_EQ(books.session.state().lost_samples, 75u);
    EXPECT_THAT(books.notes.troubles, ElementsAre(HasSubstr("9 rails"), HasSubstr("lost 75")));
    EXPECT_EQ(books.notes.frames.size(), 3u) << "the recording keeps what came";
}

}  // namespace
}  // namespace wattrig::rig
