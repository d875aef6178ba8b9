// A shared rig: one client, its token, what it may not do.
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <atomic>
#include <thread>

#include "firmware/protocol/frame.hpp"
#include "host/rig/command_client.hpp"
#include "host/rig/serve.hpp"
#include "host/rig/tcp_link.hpp"

namespace wattrig::rig {
namespace {

using namespace std::chrono_literals;
using testing::HasSubstr;
using Bytes = std::vector<std::uint8_t>;

// Answers get_info, and counts what came.
class Rig final : public Link {
  public:
    void attach(LinkHandler& handler) override { handler_ = &handler; }
    Result<HostTime> send(std::span<const std::uint8_t> frame) override {
        const auto command = protocol::load<protocol::CommandHeader>(frame.data() + sizeof(protocol::FrameHeader));
        if (command.id == static_cast<std::uint16_t>(protocol::CommandId::enter_bootloader)) ++boot_commands;
        Bytes reply(protocol::frame_bytes(sizeof command + sizeof(protocol::Info)));
        protocol::Info info{};
        info.protocol_version = protocol::protocol_version;
        info.boot_id = 77;
        protocol::store(reply.data() + sizeof(protocol::FrameHeader), command);
        protocol::store(reply.data() + sizeof(protocol::FrameHeader) + sizeof command, info);
        protocol::seal_frame(reply.data(), protocol::FrameType::reply, sizeof command + sizeof info, 0);
        waiting_.push_back(reply);
        return real_host_time();
    }
    void poll(HostTime now) override {
        for (const Bytes& reply : waiting_) handler_->on_reply(reply, now);
        waiting_.clear();
    }
    [[nodiscard]] HostTime next_event() const override { return HostTime::max(); }
    [[nodiscard]] std::string description() const override { return "paper rig"; }
    [[nodiscard]] bool simulated() const override { return false; }
    std::atomic<int> boot_commands{0};

  private:
    LinkHandler* handler_ = nullptr;
    std::vector<Bytes> waiting_;
};

struct Served {
    explicit Served(ServeOptions options) {
        options.port = 0;
        auto opened = RigServer::open(rig, options, [](const std::string&) {});
        EXPECT_TRUE(opened) << opened.error().message;
        server = std::move(*opened);
        thread = std::thread([this] { std::ignore = server->run(stop); });
    }
    ~Served() {
        stop = true;
        thread.join();
    }
    Result<std::uint32_t> ask(const std::string& token, protocol::CommandId id = protocol::CommandId::get_info) {
        auto link = TcpLink::connect("127.0.0.1:" + std::to_string(server->port()), 5s, nullptr, token);
        if (!link) return link.error();
        CommandClient client(**link, real_host_time, [] { std::this_thread::sleep_for(1ms); });
        auto reply = client.ask(id, {}, 2s);
        if (!reply) return reply.error();
        return protocol::load<protocol::Info>(reply->data()).boot_id;
    }
    Rig rig;
    std::atomic<bool> stop{false};
    std::unique_ptr<RigServer> server;
    std::thread thread;
};

TEST(RigServer, HandsCommandsAndRepliesOn) {
    Served served({});
    const auto boot = served.ask("");
    ASSERT_TRUE(boot) << boot.error().message;
    EXPECT_EQ(*boot, 77u);
    const auto again = served.ask("");  // the first client has gone
    EXPECT_TRUE(again) << again.error().message;
}

TEST(RigServer, AsksForItsToken) {
    ServeOptions options;
    options.token = "0123456789abcdef";
    Served served(options);
    EXPECT_FALSE(served.ask(""));
    EXPECT_FALSE(served.ask("0123456789abcdeg"));
    EXPECT_FALSE(served.ask("0123456789abcdef0"));
    EXPECT_TRUE(served.ask("0123456789abcdef"));
}

TEST(RigServer, RefusesTheBootLoaderUnlessAllowed) {
    {
        Served served({});
        const auto refused = served.ask("", protocol::CommandId::enter_bootloader);
        ASSERT_FALSE(refused);
        EXPECT_EQ(refused.error().kind, ErrorKind::device_refused);
        EXPECT_EQ(served.rig.boot_commands, 0);
    }
    ServeOptions options;
    options.allow_update = true;
    Served served(options);
    EXPECT_TRUE(served.ask("", protocol::CommandId::enter_bootloader));
    EXPECT_EQ(served.rig.boot_commands, 1);
}

TEST(RigServer, IsNotSharedBeyondThisMachineWithoutAToken) {
    Rig rig;
    ServeOptions options;
    options.address = "0.0.0.0";
    const auto refused = RigServer::open(rig, options, [](const std::string&) {});
    ASSERT_FALSE(refused);
    EXPECT_EQ(refused.error().kind, ErrorKind::bad_input);
    EXPECT_THAT(refused.error().message, HasSubstr("WATTRIG_TOKEN"));
    options.address = "everywhere";
    EXPECT_FALSE(RigServer::open(rig, options, [](const std::string&) {}));
}

}  // namespace
}  // namespace wattrig::rig
