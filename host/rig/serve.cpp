#include "host/rig/serve.hpp"

#include <array>
#include <boost/asio/buffer.hpp>
#include <boost/asio/io_context.hpp>
#include <boost/asio/ip/tcp.hpp>
#include <boost/asio/steady_timer.hpp>
#include <optional>
#include <tuple>
#include <vector>

#include "firmware/protocol/frame.hpp"
#include "host/rig/frame_decoder.hpp"
#include "host/rig/token.hpp"

namespace wattrig::rig {
namespace {

namespace asio = boost::asio;
using asio::ip::tcp;

constexpr std::string_view token_word = "wattrig-token ";
constexpr std::size_t longest_greeting = 512;
// A client that does not read is let go when so much waits for it: about 10 s of samples.
constexpr std::size_t most_unsent_bytes = std::size_t{4} << 20;
constexpr Nanoseconds longest_wait{1'000'000};

}  // namespace

struct RigServer::State final : LinkHandler {
    State(Link& l, ServeOptions o, std::function<void(const std::string&)> n)
        : link(l), options(std::move(o)), notice(std::move(n)), acceptor(context), socket(context) {}

    Link& link;
    ServeOptions options;
    std::function<void(const std::string&)> notice;
    asio::io_context context{1};
    tcp::acceptor acceptor;
    tcp::socket socket;
    std::string peer;
    bool admitted = false;
    std::string greeting;
    FrameDecoder commands;
    std::vector<std::uint8_t> unsent;
    std::optional<Error> broken;

    asio::steady_timer timer{context};

    void wait() {
        timer.expires_after(longest_wait);
        timer.async_wait([](boost::system::error_code) {});
        context.restart();
        context.run();
    }

    // ----------------------------------------------------------------------------------------------------------- the rig
    void on_stream(std::span<const std::uint8_t> bytes, HostTime) override { queue(bytes); }
    void on_reply(std::span<const std::uint8_t> bytes, HostTime) override {
        queue(bytes);
        write();  // a reply is stamped where it arrives
    }
    void on_broken(const Error& error, HostTime) override {
        broken = error;
        drop(error.message);
    }
    void on_interrupted(const Error& error, HostTime) override { notice("the rig is away: " + error.message); }
    void on_reconnected(HostTime) override { notice("the rig is back"); }

    // -------------------------------------------------------------------------------------------------------- the client
    void queue(std::span<const std::uint8_t> bytes) {
        if (!socket.is_open() || !admitted) return;
        if (unsent.size() + bytes.size() > most_unsent_bytes) return drop("it does not read");
        unsent.insert(unsent.end(), bytes.begin(), bytes.end());
    }
    void write() {
        if (unsent.empty() || !socket.is_open()) return;
        boost::system::error_code error;
        const std::size_t size = socket.write_some(asio::buffer(unsent), error);
        unsent.erase(unsent.begin(), unsent.begin() + static_cast<std::ptrdiff_t>(size));
        if (error && error != asio::error::would_block && error != asio::error::try_again) drop(error.message());
    }
    void accept() {
        boost::system::error_code error;
        tcp::socket fresh(context);
        std::ignore = acceptor.accept(fresh, error);
        if (error) return;
        if (socket.is_open()) return;  // one at a time: the second is closed
        socket = std::move(fresh);
        std::ignore = socket.non_blocking(true, error);
        std::ignore = socket.set_option(tcp::no_delay(true), error);
        peer = socket.remote_endpoint(error).address().to_string();
        admitted = options.token.empty();
        greeting.clear();
        commands = FrameDecoder();
        unsent.clear();
        if (admitted) notice(peer + " is connected");
    }
    void drop(const std::string& why) {
        if (!socket.is_open()) return;
        boost::system::error_code ignored;
        std::ignore = socket.close(ignored);
        notice(peer + " is disconnected: " + why);
        if (admitted && !broken) send_stop();
        admitted = false;
    }
    // Nobody is there any more to take the samples.
    void send_stop() {
        std::array<std::uint8_t, protocol::frame_bytes(sizeof(protocol::CommandHeader))> frame{};
        protocol::store(frame.data() + sizeof(protocol::FrameHeader),
                        protocol::CommandHeader{static_cast<std::uint16_t>(protocol::CommandId::stop_stream), 0, 0, 0});
        protocol::seal_frame(frame.data(), protocol::FrameType::command, sizeof(protocol::CommandHeader), 0);
        std::ignore = link.send(frame);
    }
    void read() {
        std::array<std::uint8_t, 4096> bytes;
        while (socket.is_open()) {
            boost::system::error_code error;
            const std::size_t size = socket.read_some(asio::buffer(bytes), error);
            if (error == asio::error::would_block || error == asio::error::try_again) return;
            if (error) return drop(error == asio::error::eof ? "it has gone" : error.message());
            std::span<const std::uint8_t> rest(bytes.data(), size);
            if (!admitted) rest = admit(rest);
            if (!socket.is_open()) return;
            commands.feed(rest, [this](const Frame& frame) { on_command(frame); });
        }
    }
    std::span<const std::uint8_t> admit(std::span<const std::uint8_t> bytes) {
        for (std::size_t k = 0; k < bytes.size(); ++k) {
            if (bytes[k] != '\n') {
                greeting.push_back(static_cast<char>(bytes[k]));
                if (greeting.size() > longest_greeting) break;
                continue;
            }
            if (greeting.starts_with(token_word) &&
                same_token(std::string_view(greeting).substr(token_word.size()), options.token)) {
                admitted = true;
                notice(peer + " is connected");
                return bytes.subspan(k + 1);
            }
            drop("its token is missing or wrong");
            return {};
        }
        if (greeting.size() > longest_greeting || !greeting.starts_with(token_word.substr(0, greeting.size())))
            drop("its token is missing or wrong");
        return {};
    }
    void on_command(const Frame& frame) {
        if (frame.header.type != static_cast<std::uint8_t>(protocol::FrameType::command) ||
            frame.payload.size() < sizeof(protocol::CommandHeader))
            return;
        const auto command = protocol::load<protocol::CommandHeader>(frame.payload.data());
        if (command.id == static_cast<std::uint16_t>(protocol::CommandId::enter_bootloader) && !options.allow_update) {
            notice(peer + " asked for the boot loader: refused (serve-rig --allow-update allows it)");
            std::array<std::uint8_t, protocol::frame_bytes(sizeof(protocol::CommandHeader))> reply{};
            protocol::store(
                reply.data() + sizeof(protocol::FrameHeader),
                protocol::CommandHeader{command.id, command.tag, static_cast<std::uint16_t>(protocol::Status::wrong_state), 0});
            protocol::seal_frame(reply.data(), protocol::FrameType::reply, sizeof(protocol::CommandHeader), 0);
            queue(reply);
            return;
        }
        if (auto sent = link.send(frame.bytes); !sent) drop(sent.error().message);
    }
};

Result<std::unique_ptr<RigServer>> RigServer::open(Link& link, const ServeOptions& options,
                                                   std::function<void(const std::string&)> notice) {
    boost::system::error_code error;
    const auto address = asio::ip::make_address(options.address, error);
    if (error) return bad_input("expected an IP address to listen on, came " + options.address);
    if (!address.is_loopback() && options.token.size() < shortest_token)
        return bad_input("a rig is shared beyond this machine only with a token of at least 16 characters: set WATTRIG_TOKEN");
    auto state = std::make_unique<State>(link, options, std::move(notice));
    const tcp::endpoint where(address, options.port);
    std::ignore = state->acceptor.open(where.protocol(), error);
    if (!error) std::ignore = state->acceptor.set_option(tcp::acceptor::reuse_address(true), error);
    if (!error) std::ignore = state->acceptor.bind(where, error);
    if (!error) std::ignore = state->acceptor.listen(4, error);
    if (!error) std::ignore = state->acceptor.non_blocking(true, error);
    if (error)
        return system_error("cannot listen on " + options.address + " port " + std::to_string(options.port), error.value());
    link.attach(*state);
    return std::unique_ptr<RigServer>(new RigServer(std::move(state)));
}

RigServer::RigServer(std::unique_ptr<State> state) : s_(std::move(state)) {}
RigServer::~RigServer() = default;

std::uint16_t RigServer::port() const {
    boost::system::error_code ignored;
    return s_->acceptor.local_endpoint(ignored).port();
}

Result<void> RigServer::run(const std::atomic<bool>& stop) {
    while (!stop.load(std::memory_order_relaxed)) {
        if (s_->broken) return *s_->broken;
        const HostTime now = real_host_time();
        s_->read();  // first: a client that has gone makes room for the next
        s_->accept();
        s_->link.poll(now);
        s_->write();
        // The link wakes at its own bytes; commands of the client wait for a millisecond at most, which widens the bound of the
        // client's clock and nothing else.
        if (!s_->link.wait_until(now + longest_wait)) s_->wait();
    }
    s_->drop("the server ends");
    return {};
}

}  // namespace wattrig::rig
