#include "host/rig/tcp_link.hpp"

#include <array>
#include <boost/asio/buffer.hpp>
#include <boost/asio/connect.hpp>
#include <boost/asio/error.hpp>
#include <boost/asio/io_context.hpp>
#include <boost/asio/ip/tcp.hpp>
#include <boost/asio/write.hpp>
#include <optional>
#include <tuple>
#include <vector>

#include "host/rig/frame_decoder.hpp"

namespace wattrig::rig {
namespace {

namespace asio = boost::asio;
using asio::ip::tcp;

constexpr Nanoseconds poll_period{1'000'000};
// Commands that the peer has not taken: far more than a session ever has on its way.
constexpr std::size_t most_unsent_bytes = std::size_t{64} << 10;
// So much without one good frame is another kind of server.
constexpr std::uint64_t most_foreign_bytes = std::uint64_t{256} << 10;

struct Address {
    std::string host, port;
};
std::optional<Address> parse_address(const std::string& where) {
    const std::size_t colon = where.rfind(':');
    if (colon == std::string::npos || colon == 0 || colon + 1 == where.size()) return std::nullopt;
    Address address{where.substr(0, colon), where.substr(colon + 1)};
    if (address.host.front() == '[') {
        if (address.host.back() != ']' || address.host.size() < 3) return std::nullopt;
        address.host = address.host.substr(1, address.host.size() - 2);
    } else if (address.host.find(':') != std::string::npos) {
        return std::nullopt;
    }
    if (address.port.find_first_not_of("0123456789") != std::string::npos) return std::nullopt;
    return address;
}

}  // namespace

struct TcpLink::State : std::enable_shared_from_this<State> {
    State(asio::io_context* given, std::string name)
        : own(given == nullptr ? std::make_unique<asio::io_context>(1) : nullptr),
          context(given == nullptr ? *own : *given),
          socket(context),
          where(std::move(name)) {}

    std::unique_ptr<asio::io_context> own;
    asio::io_context& context;
    tcp::socket socket;
    std::string where;
    LinkHandler* handler = nullptr;
    FrameDecoder decoder;
    std::array<std::uint8_t, (std::size_t{64} << 10)> buffer;
    std::vector<std::uint8_t> unsent;
    bool writing = false;
    std::optional<Error> broken;
    HostTime last_poll{};

    void close() {
        boost::system::error_code ignored;  // nothing can be done about a socket that does not close
        std::ignore = socket.close(ignored);
    }
    void break_off(const std::string& why) {
        if (broken) return;
        broken = link_broke("tcp " + where + ": " + why);
        close();
        if (handler != nullptr) handler->on_broken(*broken, real_host_time());
    }

    void read() {
        socket.async_read_some(
            asio::buffer(buffer), [self = shared_from_this()](boost::system::error_code error, std::size_t size) {
                const HostTime arrival = real_host_time();  // after the bytes had come: the clock's bound stands on it
                if (self->handler == nullptr || self->broken) return;
                if (size > 0) self->deliver(std::span(self->buffer).first(size), arrival);
                if (error == asio::error::operation_aborted || self->broken) return;
                if (error) {
                    self->break_off(error == asio::error::eof ? "the other side closed the connection" : error.message());
                    return;
                }
                self->read();
            });
    }
    void deliver(std::span<const std::uint8_t> bytes, HostTime arrival) {
        decoder.feed(bytes, [&](const Frame& frame) {
            if (handler == nullptr) return;
            if (frame.header.type == static_cast<std::uint8_t>(protocol::FrameType::reply)) {
                handler->on_reply(frame.bytes, arrival);
            } else {
                handler->on_stream(frame.bytes, arrival);
            }
        });
        if (decoder.counters().frames == 0 && decoder.counters().bytes > most_foreign_bytes) {
            break_off("what answers there does not speak the protocol of a wattrig rig");
        }
    }

    // Tries at once, so that a command leaves right behind the stamp that `send` took.
    void write() {
        if (writing || unsent.empty() || broken) return;
        boost::system::error_code error;
        const std::size_t size = socket.write_some(asio::buffer(unsent), error);
        unsent.erase(unsent.begin(), unsent.begin() + static_cast<std::ptrdiff_t>(size));
        if (error && error != asio::error::would_block && error != asio::error::try_again) {
            // Told from the read side or at the next send: no callback from within send.
            broken_by_write = error.message();
            return;
        }
        if (unsent.empty()) return;
        writing = true;
        socket.async_wait(tcp::socket::wait_write, [self = shared_from_this()](boost::system::error_code wait_error) {
            self->writing = false;
            if (!wait_error) self->write();
        });
    }
    std::optional<std::string> broken_by_write;
};

Result<std::unique_ptr<TcpLink>> TcpLink::connect(const std::string& where, Nanoseconds timeout, asio::io_context* context,
                                                  const std::string& token) {
    const std::optional<Address> address = parse_address(where);
    if (!address) return bad_input("tcp:" + where + " is no HOST:PORT (IPv6 addresses in brackets)");
    auto state = std::make_shared<State>(context, where);
    // The connection is made on a context of its own: a context that was handed in may be running, or not yet.
    asio::io_context connecting(1);
    tcp::resolver resolver(connecting);
    boost::system::error_code outcome = asio::error::timed_out;
    tcp::socket socket(connecting);
    resolver.async_resolve(
        address->host, address->port, [&](boost::system::error_code error, const tcp::resolver::results_type& found) {
            outcome = error ? error : boost::system::error_code(asio::error::timed_out);
            if (error) return;
            asio::async_connect(socket, found,
                                [&](boost::system::error_code result, const tcp::endpoint&) { outcome = result; });
        });
    connecting.run_for(timeout);
    if (outcome) return link_broke("no connection to the rig at tcp:" + where + ": " + outcome.message());
    boost::system::error_code error;
    const tcp::endpoint peer = socket.remote_endpoint(error);
    const auto protocol = peer.protocol();
    if (!error) std::ignore = state->socket.assign(protocol, socket.release(error), error);
    if (!error) std::ignore = state->socket.set_option(tcp::no_delay(true), error);
    if (!error && !token.empty()) asio::write(state->socket, asio::buffer("wattrig-token " + token + "\n"), error);
    if (!error) std::ignore = state->socket.non_blocking(true, error);
    if (error) return link_broke("the connection to tcp:" + where + " cannot be used: " + error.message());
    return std::unique_ptr<TcpLink>(new TcpLink(std::move(state)));
}

TcpLink::TcpLink(std::shared_ptr<State> state) : s_(std::move(state)) {}

TcpLink::~TcpLink() {
    s_->handler = nullptr;
    s_->close();
    // Lets the cancelled operations go, which hold the state alive.
    if (s_->own) {
        s_->context.restart();
        s_->context.poll();
    }
}

void TcpLink::attach(LinkHandler& handler) {
    const bool first = s_->handler == nullptr;
    s_->handler = &handler;
    if (first) s_->read();
}

Result<HostTime> TcpLink::send(std::span<const std::uint8_t> frame) {
    if (s_->broken) return *s_->broken;
    if (s_->broken_by_write) return link_broke("tcp " + s_->where + ": " + *s_->broken_by_write);
    if (s_->unsent.size() + frame.size() > most_unsent_bytes)
        return link_broke("tcp " + s_->where + ": the rig takes no commands");
    s_->unsent.insert(s_->unsent.end(), frame.begin(), frame.end());
    const HostTime before = real_host_time();
    s_->write();
    return before;
}

void TcpLink::poll(HostTime now) {
    s_->last_poll = now;
    if (!s_->own) return;
    s_->context.restart();
    s_->context.poll();
}

HostTime TcpLink::next_event() const { return s_->own ? s_->last_poll + poll_period : HostTime::max(); }

std::string TcpLink::description() const { return "tcp " + s_->where; }

}  // namespace wattrig::rig
