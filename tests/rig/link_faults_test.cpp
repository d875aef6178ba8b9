// Sessions over a link with bad days: every loss counted exactly, none invented, time never back, sums right across every hole.

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "host/rig/session.hpp"
#include "tests/rig/faulty_link.hpp"

namespace wattrig::rig {
namespace {

using namespace std::chrono_literals;
using test::at_ns;
using test::FakeRig;
using test::Faults;
using test::FaultyLink;

// Keeps the sums of each block beside its header.
class Keeper final : public SessionSink {
  public:
    struct Kept {
        protocol::BlockHeader header;
        protocol::RailSums sums;
    };
    void on_frame(const Frame&, HostTime) override {}
    void on_block(const BlockView& block, HostTime) override { blocks.push_back({block.header, block.rails[0].sums}); }
    void on_exchange(const Exchange&) override {}
    void on_knot(const ClockKnot& knot, std::uint32_t boot_id) override { knots.emplace_back(boot_id, knot); }
    void on_trouble(const std::string& sentence, HostTime) override { troubles.push_back(sentence); }

    std::vector<Kept> blocks;
    std::vector<std::pair<std::uint32_t, ClockKnot>> knots;
    std::vector<std::string> troubles;
};

struct BadDay {
    BadDay(Faults faults, std::uint64_t seed) : link(rig, faults, seed), session(link, sink, {}), now(at_ns(5'000'000'000)) {
        link.poll(now);
    }
    void run(Nanoseconds time) {
        for (const HostTime end = now + time; now < end;) {
            now += 200us;
            link.poll(now);
            session.poll(now);
        }
    }
    FakeRig rig{30, 3};
    FaultyLink link;
    Keeper sink;
    Session session;
    HostTime now;
};

struct Account {
    std::uint64_t samples = 0, lost = 0, blocks = 0;
};
// What a reader of the frames that came through has to find: of each stream (a boot, or an index that began anew with a later
// time) everything up to its last sample is either there or lost; a block from behind is one that was lost before.
Account account_of(const std::vector<FaultyLink::Came>& came) {
    Account account, before;
    std::uint32_t boot = 0;
    std::uint64_t next = 0, last_time = 0;
    bool cut = false;
    for (const FaultyLink::Came& block : came) {
        const bool anew = block.boot_id != boot || (block.first_index < next && block.first_time > last_time);
        if (!anew && block.first_index < next) continue;
        // Of a stream of which only its last, cut block came before it was started anew, nothing was ever taken up.
        if (anew && account.blocks == before.blocks + 1 && cut) account = before;
        if (anew) {
            next = 0;
            before = account;
        }
        cut = block.count < protocol::samples_per_block;
        boot = block.boot_id;
        account.lost += block.first_index - next + (block.span - block.count);
        account.samples += block.count;
        ++account.blocks;
        next = block.first_index + block.span;
        last_time = block.first_time;
    }
    return account;
}

void expect_honest(const BadDay& day) {
    const SessionState& state = day.session.state();
    const Account account = account_of(day.link.came);
    EXPECT_EQ(state.samples, account.samples);
    EXPECT_EQ(state.lost_samples, account.lost);
    EXPECT_EQ(state.blocks, account.blocks);
    std::uint64_t last = 0;
    std::uint32_t boot = 0;
    for (const Keeper::Kept& block : day.sink.blocks) {
        EXPECT_TRUE(block.header.boot_id != boot || block.header.first_time > last) << "time went back";
        boot = block.header.boot_id;
        last = block.header.first_time;
    }
    for (std::size_t k = 1; k < day.sink.knots.size(); ++k) {
        if (day.sink.knots[k].first != day.sink.knots[k - 1].first) continue;
        EXPECT_GE(day.sink.knots[k].second.host, day.sink.knots[k - 1].second.host) << "the clock map went back";
    }
}

// The difference of two running sums of one stream is the sum of the codes between them, also of those that never came.
void expect_exact_sums(const BadDay& day) {
    using Wide = __int128;
    const auto wide = [](const protocol::Int128& value) { return (Wide{value.high} << 64) + value.low; };
    std::size_t bridged = 0;
    for (std::size_t k = 1; k < day.sink.blocks.size(); ++k) {
        const auto& a = day.sink.blocks[k - 1];
        const auto& b = day.sink.blocks[k];
        if (a.header.boot_id != b.header.boot_id || b.header.first_index <= a.header.first_index) continue;
        const auto& codes = day.link.codes.at(a.header.boot_id);
        const std::uint64_t from = a.header.first_time + std::uint64_t{a.header.span} * protocol::ticks_per_sample;
        const std::uint64_t until = b.header.first_time + std::uint64_t{b.header.span} * protocol::ticks_per_sample;
        Wide product = 0;
        std::uint64_t count = 0;
        for (auto at = codes.lower_bound(from); at != codes.end() && at->first < until; ++at, ++count)
            product += Wide{at->second.first} * at->second.second;
        if (b.header.first_index != a.header.first_index + a.header.span) ++bridged;
        ASSERT_EQ(b.sums.count - a.sums.count, count);
        ASSERT_TRUE(wide(b.sums.sum_vi) - wide(a.sums.sum_vi) == product) << "sample " << b.header.first_index;
    }
    EXPECT_GT(bridged, 10u) << "no hole: the test tests nothing";
}

const Faults bad_frames{
    .drop = 0.02, .duplicate = 0.01, .swap = 0.01, .damage = 0.02, .cut = 0.01, .garbage = 0.01, .late = 0.01};
const Faults bad_replies{.reply_drop = 0.05, .reply_duplicate = 0.05, .reply_damage = 0.05};

TEST(LinkFaults, FramesThatAreLostDoubledSwappedDamagedOrCutAreCountedExactly) {
    for (std::uint64_t seed = 1; seed <= 20; ++seed) {
        BadDay day(bad_frames, seed);
        day.link.keep_codes = true;
        day.session.start(day.now);
        day.run(3s);
        EXPECT_TRUE(day.session.state().streaming) << seed;
        for (const char* fault : {"drop", "duplicate", "swap", "damage", "cut", "garbage", "late"})
            EXPECT_GT(day.link.happened[fault], 0) << fault;
        expect_honest(day);
        expect_exact_sums(day);
    }
}

TEST(LinkFaults, AGoodLinkRaisesNoAlarm) {
    for (std::uint64_t seed = 1; seed <= 5; ++seed) {
        BadDay day({.duplicate = 0.02, .late = 0.05}, seed);  // neither costs anything
        day.session.start(day.now);
        day.run(3s);
        EXPECT_EQ(day.session.state().lost_samples, 0u);
        EXPECT_THAT(day.sink.troubles, testing::IsEmpty());
        expect_honest(day);
    }
}

TEST(LinkFaults, StallsLoseNothing) {
    for (std::uint64_t seed = 1; seed <= 5; ++seed) {
        BadDay day({}, seed);
        day.session.start(day.now);
        day.run(2s);
        day.link.faults().stall = 0.0005;
        day.run(6s);
        EXPECT_GT(day.link.happened["stall"], 2);
        EXPECT_FALSE(day.session.state().failed) << day.session.state().failure;
        EXPECT_EQ(day.session.state().lost_samples, 0u);
        expect_honest(day);
    }
}

// Replies are lost, doubled and damaged from the first command on: the session gets there all the same.
TEST(LinkFaults, RepliesThatAreLostOrDamagedAreAskedForAgain) {
    for (std::uint64_t seed = 1; seed <= 40; ++seed) {
        BadDay day(bad_replies, seed);
        day.session.start(day.now);
        day.run(15s);  // one lost answer to self_test alone costs 10
        EXPECT_FALSE(day.session.state().failed) << "seed " << seed << ": " << day.session.state().failure;
        EXPECT_TRUE(day.session.state().streaming && day.session.state().clock_ready) << seed;
        expect_honest(day);
    }
}

TEST(LinkFaults, ALinkThatBreaksComesBackWithItsHoleCounted) {
    int breaks = 0;
    for (std::uint64_t seed = 1; seed <= 20; ++seed) {
        BadDay day({.restart = 0}, seed);
        day.link.keep_codes = true;
        day.session.start(day.now);
        day.run(2s);
        day.link.faults().disconnect = 0.0001;
        day.run(20s);
        breaks += day.link.happened["disconnect"];
        day.link.faults().disconnect = 0;
        day.run(6s);
        EXPECT_TRUE(day.session.state().streaming) << day.session.state().failure;
        expect_honest(day);
    }
    EXPECT_GT(breaks, 60);
}

TEST(LinkFaults, ARigThatLostItsPowerBeginsAnew) {
    int restarts = 0;
    for (std::uint64_t seed = 1; seed <= 20; ++seed) {
        BadDay day({.restart = 0.5}, seed);
        day.session.start(day.now);
        day.run(2s);
        day.link.faults().disconnect = 0.0001;
        day.run(20s);
        restarts += day.link.happened["restart"];
        day.link.faults().disconnect = 0;
        day.run(6s);
        EXPECT_TRUE(day.session.state().streaming) << seed << ": " << day.session.state().failure;
        EXPECT_TRUE(day.session.state().clock_ready) << seed;
        EXPECT_GE(day.session.state().epochs, static_cast<std::uint32_t>(day.link.happened["restart"]) / 2) << seed;
        expect_honest(day);
    }
    EXPECT_GT(restarts, 20);
}

// Everything at once, for longer.
TEST(LinkFaults, ABadDay) {
    for (std::uint64_t seed = 100; seed < 130; ++seed) {
        Faults all = bad_frames;
        all.reply_drop = all.reply_duplicate = all.reply_damage = 0.03;
        all.stall = 0.0001;
        all.disconnect = 0.00005;
        all.restart = 0.4;
        BadDay day(all, seed);
        day.session.start(day.now);
        day.run(40s);
        EXPECT_FALSE(day.session.state().failed) << seed << ": " << day.session.state().failure;
        EXPECT_GT(day.session.state().samples, 300'000u) << seed;
        expect_honest(day);
    }
}

// CLOCK_MONOTONIC_RAW stands still while the host sleeps, and the rig's clock does not: what the host calls now lies more and
// more behind.
class SleepyHost final : public Link, public LinkHandler {
  public:
    explicit SleepyHost(FakeRig& rig) : rig_(rig) { rig.attach(*this); }
    void sleep(Nanoseconds time) { slept_ += time; }
    void attach(LinkHandler& handler) override { handler_ = &handler; }
    Result<HostTime> send(std::span<const std::uint8_t> frame) override {
        const Result<HostTime> sent = rig_.send(frame);
        return sent ? Result<HostTime>(*sent - slept_) : sent;
    }
    void poll(HostTime now) override { rig_.poll(now + slept_); }
    [[nodiscard]] HostTime next_event() const override { return HostTime::min(); }
    [[nodiscard]] std::string description() const override { return "sleepy host"; }
    [[nodiscard]] bool simulated() const override { return true; }
    void on_stream(std::span<const std::uint8_t> bytes, HostTime arrival) override {
        handler_->on_stream(bytes, arrival - slept_);
    }
    void on_reply(std::span<const std::uint8_t> bytes, HostTime arrival) override {
        handler_->on_reply(bytes, arrival - slept_);
    }
    void on_broken(const Error& error, HostTime when) override { handler_->on_broken(error, when - slept_); }

  private:
    FakeRig& rig_;
    LinkHandler* handler_ = nullptr;
    Nanoseconds slept_{0};
};

TEST(LinkFaults, AHostThatSleptHasANewClockMapAndNeverAWrongOne) {
    for (const Nanoseconds nap : {Nanoseconds(30ms), Nanoseconds(1s), Nanoseconds(60s), Nanoseconds(3600s)}) {
        FakeRig rig(30, 4);
        SleepyHost link(rig);
        Keeper sink;
        Session session(link, sink, {});
        HostTime now = at_ns(5'000'000'000);
        const auto run = [&](Nanoseconds time) {
            for (const HostTime end = now + time; now < end;) {
                now += 200us;
                link.poll(now);
                session.poll(now);
            }
        };
        link.poll(now);
        session.start(now);
        run(10s);
        ASSERT_TRUE(session.state().clock_ready);
        const std::size_t troubles_before = sink.troubles.size();
        const std::size_t knots_before = sink.knots.size();
        const HostTime fell_asleep = now;
        link.sleep(nap);
        run(10s);
        EXPECT_FALSE(session.state().failed) << session.state().failure;
        EXPECT_GT(sink.troubles.size(), troubles_before) << "nobody is told";
        // Whatever the map says after it noticed is right, and before it noticed it may say only what was published then.
        std::size_t wrong = 0;
        for (std::size_t k = 0; k < sink.knots.size(); ++k) {
            const ClockKnot& knot = sink.knots[k].second;
            const HostTime truth = rig.true_host(knot.device);
            const HostTime awake = truth < fell_asleep ? truth : truth - nap;
            if (std::chrono::abs(knot.host - awake) > knot.half_width) ++wrong;
        }
        EXPECT_EQ(wrong, 0u) << "after a nap of " << nap.count() << " ns, of " << sink.knots.size() - knots_before;
        EXPECT_GT(sink.knots.size(), knots_before + 20);
    }
}

// The test's own books see a session that counts wrongly.
TEST(LinkFaults, PlantedFaultsAreSeen) {
    BadDay day(bad_frames, 5);
    day.session.start(day.now);
    day.run(2s);
    const Account honest = account_of(day.link.came);
    auto came = day.link.came;
    came.erase(came.begin() + static_cast<std::ptrdiff_t>(came.size() / 2));
    EXPECT_NE(account_of(came).lost, honest.lost);
    EXPECT_NE(account_of(came).samples, honest.samples);
    ASSERT_EQ(honest.lost, day.session.state().lost_samples);
}

}  // namespace
}  // namespace wattrig::rig
