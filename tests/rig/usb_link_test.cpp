// The USB link on a bus of memory: what is in flight, what order, what an error does, what a block costs.
#include "host/rig/usb_link.hpp"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <thread>

#include "firmware/protocol/frame.hpp"
#include "host/rig/session.hpp"
#include "tests/rig/count_allocations.hpp"
#include "tests/rig/fake_usb.hpp"

namespace wattrig::rig {
namespace {

using namespace std::chrono_literals;
using test::FakeBus;
using test::FakeSystem;
using testing::ElementsAre;
using testing::HasSubstr;
using Bytes = std::vector<std::uint8_t>;

class Heard final : public LinkHandler {
  public:
    void on_stream(std::span<const std::uint8_t> bytes, HostTime arrival) override {
        if (keep) stream.insert(stream.end(), bytes.begin(), bytes.end());
        last_arrival = arrival;
        ++pieces;
    }
    void on_reply(std::span<const std::uint8_t> bytes, HostTime arrival) override {
        replies.insert(replies.end(), bytes.begin(), bytes.end());
        last_arrival = arrival;
    }
    void on_broken(const Error& error, HostTime) override { broken.push_back(error.message); }
    void on_interrupted(const Error& error, HostTime) override { interrupted.push_back(error.message); }
    void on_reconnected(HostTime) override { ++reconnected; }
    bool keep = true;
    int pieces = 0, reconnected = 0;
    Bytes stream, replies;
    std::vector<std::string> broken, interrupted;
    HostTime last_arrival{};
};

class UsbLinkTest : public testing::Test {
  protected:
    static UsbLinkOptions options(Nanoseconds patience) {
        UsbLinkOptions out;
        out.patience = patience;
        out.search_period = 1ms;
        return out;
    }
    void open(const UsbLinkOptions& wanted = {}) {
        auto opened = UsbLink::open(std::make_unique<FakeSystem>(bus_), wanted);
        ASSERT_TRUE(opened) << opened.error().message;
        link_ = std::move(*opened);
        link_->attach(heard_);
    }
    std::shared_ptr<FakeBus> bus_ = std::make_shared<FakeBus>();
    Heard heard_;
    std::unique_ptr<UsbLink> link_;
};

TEST_F(UsbLinkTest, KeepsSeveralReadsOfSamplesAndTwoOfRepliesWaiting) {
    open();
    EXPECT_EQ(bus_->waiting[protocol::usb::endpoint_samples_in].size(), 8u);
    EXPECT_EQ(bus_->waiting[protocol::usb::endpoint_replies_in].size(), 2u);
    for (int k = 0; k < 100; ++k) {
        bus_->complete(protocol::usb::endpoint_samples_in, {1});
        bus_->complete(protocol::usb::endpoint_replies_in, {2});
        link_->poll(real_host_time());
        ASSERT_EQ(bus_->waiting[protocol::usb::endpoint_samples_in].size(), 8u);
        ASSERT_EQ(bus_->waiting[protocol::usb::endpoint_replies_in].size(), 2u);
    }
    EXPECT_TRUE(heard_.broken.empty());
}

TEST_F(UsbLinkTest, DeliversInOrderWhateverTheTransfersHold) {
    open();
    Bytes sent;
    std::uint8_t value = 0;
    for (int round = 0; round < 50; ++round) {
        for (std::size_t k = 0; k < 8; ++k) {
            Bytes piece(static_cast<std::size_t>(round * 37 + 11) * (k + 1) % 2049);
            for (auto& b : piece) b = value++;
            sent.insert(sent.end(), piece.begin(), piece.end());
            bus_->complete(protocol::usb::endpoint_samples_in, piece);
        }
        link_->poll(real_host_time());
    }
    EXPECT_EQ(heard_.stream, sent);
}

TEST_F(UsbLinkTest, StampsBeforeTheCommandLeavesAndAfterTheReplyCame) {
    open();
    const HostTime before = real_host_time();
    const auto sent = link_->send(Bytes{1, 2, 3});
    const HostTime after = real_host_time();
    ASSERT_TRUE(sent);
    EXPECT_GE(*sent, before);
    EXPECT_LE(*sent, after);
    ASSERT_EQ(bus_->sent.size(), 1u);
    EXPECT_THAT(bus_->sent[0], ElementsAre(1, 2, 3));
    bus_->complete(protocol::usb::endpoint_replies_in, {9});
    const HostTime completed = real_host_time();
    link_->poll(real_host_time());
    EXPECT_GE(heard_.last_arrival, completed);
}

TEST_F(UsbLinkTest, BytesBeforeATimeOutOrAnErrorAreNotLost) {
    open();
    bus_->complete(protocol::usb::endpoint_samples_in, {1, 2}, UsbStatus::timed_out);
    bus_->complete(protocol::usb::endpoint_samples_in, {3}, UsbStatus::failed);
    bus_->complete(protocol::usb::endpoint_samples_in, {4});
    link_->poll(real_host_time());
    EXPECT_THAT(heard_.stream, ElementsAre(1, 2, 3, 4));
    EXPECT_TRUE(heard_.broken.empty());
    EXPECT_EQ(bus_->waiting[protocol::usb::endpoint_samples_in].size(), 8u);
}

TEST_F(UsbLinkTest, ClearsAHaltAndGoesOn) {
    open();
    bus_->complete(protocol::usb::endpoint_samples_in, {}, UsbStatus::stalled);
    link_->poll(real_host_time());
    EXPECT_THAT(bus_->cleared, ElementsAre(protocol::usb::endpoint_samples_in));
    EXPECT_EQ(bus_->waiting[protocol::usb::endpoint_samples_in].size(), 8u);
    EXPECT_TRUE(heard_.interrupted.empty());
}

TEST_F(UsbLinkTest, AnEndpointThatStaysHaltedBreaksTheLink) {
    open(options(0s));
    for (int k = 0; k < 20 && heard_.broken.empty(); ++k) {
        bus_->complete(protocol::usb::endpoint_replies_in, {}, UsbStatus::stalled);
        link_->poll(real_host_time());
    }
    ASSERT_EQ(heard_.broken.size(), 1u);
    EXPECT_THAT(heard_.broken[0], HasSubstr("endpoint IN 2"));
    EXPECT_FALSE(link_->send(Bytes{1}));
    EXPECT_EQ(link_->in_flight(), 0u);
}

TEST_F(UsbLinkTest, ACommandThatIsNotTakenBreaksTheLinkInsteadOfGrowing) {
    bus_->keep_out = true;
    open();
    for (int k = 0; k < 8; ++k) EXPECT_TRUE(link_->send(Bytes{1}));
    const auto refused = link_->send(Bytes{1});
    ASSERT_FALSE(refused);
    EXPECT_EQ(refused.error().kind, ErrorKind::link_broke);
}

TEST_F(UsbLinkTest, ComesBackWithTheSameSerialAfterItWasUnplugged) {
    open(options(600s));
    bus_->serials = {"W0002"};  // another rig is plugged in instead
    bus_->unplug();
    link_->poll(real_host_time());
    EXPECT_EQ(heard_.interrupted.size(), 1u);
    EXPECT_EQ(link_->in_flight(), 0u);
    EXPECT_TRUE(link_->send(Bytes{1})) << "a command into the void is the session's matter";
    bus_->present = true;
    HostTime now = real_host_time();
    link_->poll(now += 10ms);
    EXPECT_EQ(heard_.reconnected, 0);
    bus_->serials = {"W0002", "W0001"};
    link_->poll(now += 10ms);
    EXPECT_EQ(heard_.reconnected, 1);
    EXPECT_EQ(bus_->waiting[protocol::usb::endpoint_samples_in].size(), 8u);
    bus_->complete(protocol::usb::endpoint_samples_in, {7});
    link_->poll(now);
    EXPECT_THAT(heard_.stream, ElementsAre(7));
    EXPECT_TRUE(heard_.broken.empty());
}

TEST_F(UsbLinkTest, GivesUpWhenPatienceIsOver) {
    open(options(1s));
    bus_->unplug();
    HostTime now = real_host_time();
    link_->poll(now);
    EXPECT_LT(link_->next_event(), HostTime::max());
    link_->poll(now += 500ms);
    EXPECT_TRUE(heard_.broken.empty());
    link_->poll(now += 600ms);
    EXPECT_EQ(heard_.broken.size(), 1u);
}

TEST_F(UsbLinkTest, WakesItsThreadByItself) {
    open();
    EXPECT_EQ(link_->next_event(), HostTime::max());
    std::thread other([this] {
        std::this_thread::sleep_for(20ms);
        bus_->complete(protocol::usb::endpoint_samples_in, {5});
    });
    const HostTime begin = real_host_time();
    while (heard_.pieces == 0 && real_host_time() - begin < 10s) ASSERT_TRUE(link_->wait_until(begin + 10s));
    other.join();
    EXPECT_EQ(heard_.pieces, 1);
    EXPECT_LT(real_host_time() - begin, 9s);
    // Until a time, and no later than the machine allows.
    const HostTime now = real_host_time();
    link_->wait_until(now + 3ms);
    EXPECT_GE(real_host_time() - now, 2900us);
    std::thread waker([this] { link_->wake(); });
    link_->wait_until(real_host_time() + 10s);
    EXPECT_LT(real_host_time() - now, 9s);
    waker.join();
}

TEST_F(UsbLinkTest, DestructionCancelsAndWaitsForEverything) {
    bus_->keep_out = true;
    open();
    ASSERT_TRUE(link_->send(Bytes{1}));
    EXPECT_EQ(link_->in_flight(), 11u);
    link_.reset();  // FakeDevice aborts when something were left
    EXPECT_EQ(bus_->in_flight(), 0u);
    EXPECT_EQ(bus_->prepared, 0);
}

TEST_F(UsbLinkTest, UnpluggedInMidAirIsDestroyedCleanly) {
    open();
    bus_->unplug();
    link_.reset();
    EXPECT_EQ(bus_->prepared, 0);
}

TEST_F(UsbLinkTest, ABlockAllocatesNothing) {
    if (!test::counts_allocations) GTEST_SKIP() << "allocations are counted without sanitizers";
    open();
    heard_.keep = false;
    std::vector<Bytes> blocks(400, Bytes(772));
    std::uint64_t before = 0;
    for (std::size_t k = 0; k < blocks.size(); ++k) {
        if (k == 200) before = test::allocations;
        bus_->done.push_back(
            {bus_->waiting[protocol::usb::endpoint_samples_in].front(), UsbStatus::completed, std::move(blocks[k])});
        bus_->waiting[protocol::usb::endpoint_samples_in].pop_front();
        bus_->signal();
        link_->wait_until(real_host_time() + 1s);
    }
    EXPECT_EQ(heard_.pieces, 400);
    // The fake's own queues take a chunk each 64 transfers.
    EXPECT_LE(test::allocations - before, 8u);
}

TEST_F(UsbLinkTest, TellsWhatTheWireTakesAtLeast) {
    open();
    // Sync command of 36 bytes and reply of 68 bytes at 12 Mbit/s: (72 + 8 n) / 12 and (35 + 8 n) / 12 us.
    EXPECT_EQ(link_->sync_wire_time().out.count(), 30'000);
    EXPECT_EQ(link_->sync_wire_time().in.count(), 48'250);
    EXPECT_EQ(link_->description(), "usb 1209:0001 serial W0001");
}

}  // namespace
}  // namespace wattrig::rig
