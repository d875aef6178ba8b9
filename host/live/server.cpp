#include "host/live/server.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <boost/asio/ip/tcp.hpp>
#include <boost/asio/steady_timer.hpp>
#include <boost/beast/core.hpp>
#include <boost/beast/http.hpp>
#include <boost/beast/websocket.hpp>
#include <deque>
#include <list>
#include <nlohmann/json.hpp>
#include <tuple>

#include "host/live/live_recording.hpp"
#include "host/live/page.hpp"
#include "host/report/escape.hpp"
#include "host/rig/token.hpp"

namespace wattrig::live {
namespace {

namespace asio = boost::asio;
namespace beast = boost::beast;
namespace http = beast::http;
namespace websocket = beast::websocket;
using asio::ip::tcp;
using nlohmann::json;
using namespace std::chrono_literals;

constexpr auto tick = 50ms;                 // twenty pictures a second
constexpr auto work_period = 100ms;         // of the device's counters
constexpr auto request_patience = 10s;      // to send a request, to take the page
constexpr std::size_t most_columns = 6000;  // in one message: a minute, some 250 kB
constexpr std::size_t most_connections = 64;
constexpr std::size_t most_work = 6000;  // ten minutes
constexpr std::size_t most_marks = 200;

struct Work {
    HostTime when;
    DeviceCounters::Rate rate;
};
struct Mark {
    HostTime when;
    std::string text;
};

double rounded(double value, double unit) { return std::round(value / unit) * unit; }

}  // namespace

struct Server::State : std::enable_shared_from_this<Server::State> {
    ServerOptions options;
    Capture* capture = nullptr;
    const Replay* replay = nullptr;
    DeviceCounters* device = nullptr;
    std::function<void(const std::string&)> notice;

    asio::io_context context{1};
    tcp::acceptor acceptor{context};
    asio::steady_timer timer{context};
    std::string page;
    std::size_t connections = 0;

    History history;
    HostTime zero{};
    std::deque<Work> work;
    std::uint64_t work_begin = 0;  // position of work.front()
    HostTime next_work{};
    std::deque<Mark> marks;
    std::uint64_t marks_begin = 0;
    CaptureState state;
    std::unique_ptr<LiveRecording> recording;
    std::string recorded;  // the last one's directory
    std::string trouble;   // the last one, for the page

    class Viewer;
    std::list<std::weak_ptr<Viewer>> viewers;

    void accept();
    void on_tick();
    void drain(HostTime now);
    [[nodiscard]] json status() const;
    [[nodiscard]] double seconds(HostTime t) const { return rounded(to_seconds(t - zero), 1e-4); }
    [[nodiscard]] std::optional<http::status> refusal(const http::request<http::empty_body>& request, Target& target) const;
    void start_recording();
    void stop_recording();
};

// One browser.
class Server::State::Viewer : public std::enable_shared_from_this<Viewer> {
  public:
    Viewer(tcp::socket socket, std::shared_ptr<State> state) : socket_(std::move(socket)), state_(std::move(state)) {
        socket_.text(true);
        socket_.read_message_max(longest_request);
    }
    void begin(const http::request<http::empty_body>& request) {
        websocket::stream_base::timeout timeout = websocket::stream_base::timeout::suggested(beast::role_type::server);
        timeout.idle_timeout = 60s;
        timeout.keep_alive_pings = true;
        socket_.set_option(timeout);
        socket_.async_accept(request, [self = shared_from_this()](beast::error_code error) {
            if (!error) self->open();
        });
    }
    // What is new, if the last message is gone.
    void send() {
        if (!open_ || writing_) return;
        json message;
        if (wanted_view_ && state_->replay != nullptr) {
            message["view"] = state_->replay->view(*wanted_view_);
            wanted_view_.reset();
        } else if (state_->capture != nullptr) {
            message = news();
        }
        if (!refused_.empty()) {
            message["refused"] = refused_;
            refused_.clear();
        }
        if (message.is_null() || message.empty()) return;
        text_ = message.dump(-1, ' ', false, json::error_handler_t::replace);
        writing_ = true;
        socket_.async_write(asio::buffer(text_), [self = shared_from_this()](beast::error_code error, std::size_t) {
            self->writing_ = false;
            if (error)
                self->open_ = false;
            else if (self->wanted_view_)
                self->send();
        });
    }
    [[nodiscard]] bool gone() const { return closed_; }

  private:
    void open() {
        open_ = true;
        const History& columns = state_->history;
        position_ = std::max(columns.begin(), columns.end() > most_columns ? columns.end() - most_columns : 0);
        work_ = state_->work_begin;
        mark_ = state_->marks_begin;
        read();
    }
    void read() {
        socket_.async_read(buffer_, [self = shared_from_this()](beast::error_code error, std::size_t) {
            if (error) {
                self->open_ = false;
                self->closed_ = true;
                return;
            }
            const std::string text = beast::buffers_to_string(self->buffer_.data());
            self->buffer_.consume(self->buffer_.size());
            self->take(text);
            self->read();
        });
    }
    void take(const std::string& text) {
        const auto request = parse_request(text);
        if (!request) {
            refused_ = request.error().message;
            return;
        }
        if (const auto* view = std::get_if<ViewRequest>(&*request)) {
            wanted_view_ = *view;  // the latest one is the one looked at
            send();
            return;
        }
        if (state_->capture == nullptr) {
            refused_ = "this is a replay: nothing can be recorded or marked";
            return;
        }
        if (const auto* mark = std::get_if<MarkRequest>(&*request)) {
            state_->marks.push_back({runner::wait_clock_now(), mark->text});
            if (state_->marks.size() > most_marks) {
                state_->marks.pop_front();
                ++state_->marks_begin;
            }
            state_->capture->mark(mark->text);
        } else if (std::holds_alternative<StartRequest>(*request)) {
            state_->start_recording();
        } else {
            state_->stop_recording();
        }
    }
    json news() {
        const History& columns = state_->history;
        json message = {{"columns", json::array()}, {"status", state_->status()}};
        if (position_ < columns.begin()) {
            message["skipped"] = columns.begin() - position_;
            position_ = columns.begin();
        }
        const std::uint64_t end = std::min(columns.end(), position_ + most_columns);
        for (; position_ < end; ++position_) {
            const Column& column = columns.at(position_);
            message["columns"].push_back({state_->seconds(column.begin + (column.end - column.begin) / 2),
                                          rounded(column.lowest, 1e-5), rounded(column.mean, 1e-5),
                                          rounded(column.highest, 1e-5), rounded(column.volts, 1e-5)});
        }
        work_ = std::max(work_, state_->work_begin);
        if (work_ < state_->work_begin + state_->work.size()) message["work"] = json::array();
        for (; work_ < state_->work_begin + state_->work.size(); ++work_) {
            const Work& one = state_->work[work_ - state_->work_begin];
            message["work"].push_back(
                {state_->seconds(one.when), rounded(one.rate.megabytes_per_second, 1e-3), rounded(one.rate.iops, 0.1)});
        }
        mark_ = std::max(mark_, state_->marks_begin);
        if (mark_ < state_->marks_begin + state_->marks.size()) message["marks"] = json::array();
        for (; mark_ < state_->marks_begin + state_->marks.size(); ++mark_) {
            const Mark& mark = state_->marks[mark_ - state_->marks_begin];
            message["marks"].push_back({{"at", state_->seconds(mark.when)}, {"text", mark.text}});
        }
        return message;
    }

    websocket::stream<beast::tcp_stream> socket_;
    std::shared_ptr<State> state_;
    beast::flat_static_buffer<2 * longest_request> buffer_;
    std::string text_, refused_;
    std::optional<ViewRequest> wanted_view_;
    std::uint64_t position_ = 0, work_ = 0, mark_ = 0;
    bool open_ = false, writing_ = false, closed_ = false;
};

namespace {

// Reads one request; answers it, or hands the connection on to a viewer.
template <class State, class Viewer>
class Connection : public std::enable_shared_from_this<Connection<State, Viewer>> {
  public:
    Connection(tcp::socket socket, std::shared_ptr<State> state) : stream_(std::move(socket)), state_(std::move(state)) {
        ++state_->connections;
        parser_.header_limit(8192);
        parser_.body_limit(0);
    }
    ~Connection() { --state_->connections; }
    void begin() {
        stream_.expires_after(request_patience);
        http::async_read(stream_, buffer_, parser_, [self = this->shared_from_this()](beast::error_code error, std::size_t) {
            if (!error) self->answer();
        });
    }

  private:
    void answer() {
        const auto& request = parser_.get();
        Target target;
        if (const auto refused = state_->refusal(request, target))
            return reply(*refused, std::string(http::obsolete_reason(*refused)) + "\n", "text/plain");
        if (target.path == "/") return reply(http::status::ok, state_->page, "text/html; charset=utf-8");
        if (!websocket::is_upgrade(request))
            return reply(http::status::upgrade_required, "expected a WebSocket\n", "text/plain");
        std::erase_if(state_->viewers, [](const auto& viewer) { return viewer.expired() || viewer.lock()->gone(); });
        if (state_->viewers.size() >= state_->options.most_viewers)
            return reply(http::status::service_unavailable, "enough viewers are here already\n", "text/plain");
        stream_.expires_never();
        auto viewer = std::make_shared<Viewer>(stream_.release_socket(), state_);
        state_->viewers.push_back(viewer);
        viewer->begin(request);
    }
    void reply(http::status status, const std::string& text, const std::string& type) {
        response_.result(status);
        response_.version(11);
        response_.keep_alive(false);
        response_.set(http::field::content_type, type);
        response_.set("Content-Security-Policy", page_policy);
        response_.set("X-Content-Type-Options", "nosniff");
        response_.set("Referrer-Policy", "no-referrer");
        response_.set("X-Frame-Options", "DENY");
        response_.set(http::field::cache_control, "no-store");
        response_.body() = text;
        response_.prepare_payload();
        stream_.expires_after(request_patience);
        http::async_write(stream_, response_, [self = this->shared_from_this()](beast::error_code, std::size_t) {
            beast::error_code ignored;
            std::ignore = self->stream_.socket().shutdown(tcp::socket::shutdown_send, ignored);
        });
    }

    beast::tcp_stream stream_;
    std::shared_ptr<State> state_;
    beast::flat_static_buffer<16384> buffer_;
    http::request_parser<http::empty_body> parser_;
    http::response<http::string_body> response_;
};

}  // namespace

std::optional<http::status> Server::State::refusal(const http::request<http::empty_body>& request, Target& target) const {
    if (request.method() != http::verb::get) return http::status::method_not_allowed;
    auto parsed = parse_target({request.target().data(), request.target().size()});
    if (!parsed) return http::status::not_found;
    target = std::move(*parsed);
    const auto field = [&](http::field name) { return std::string_view(request[name].data(), request[name].size()); };
    // A page of another site, or a name that somebody else points here, must not drive the rig.
    const std::string_view host = field(http::field::host);
    if (options.token.empty() && !host_is_literal(host)) return http::status::forbidden;
    if (!same_origin(field(http::field::origin), host)) return http::status::forbidden;
    if (!options.token.empty() && !rig::same_token(target.token, options.token)) return http::status::unauthorized;
    return std::nullopt;
}

json Server::State::status() const {
    json status = {{"recording", recording != nullptr},
                   {"directory", report::clean_utf8(recording ? recording->path() : recorded)},
                   {"streaming", state.session.streaming},
                   {"samples", state.session.samples},
                   {"lost", state.session.lost_samples},
                   {"viewers", viewers.size()},
                   {"trouble", report::clean_utf8(state.session.failed ? state.session.failure : trouble)}};
    return status;
}

void Server::State::start_recording() {
    if (recording != nullptr || !options.new_directory) return;
    auto started = LiveRecording::start(options.new_directory(), options.run_json, *capture);
    if (started) {
        recording = std::move(*started);
        trouble.clear();
        notice("recording to " + recording->path());
    } else {
        trouble = started.error().message;
        notice(trouble);
    }
}

void Server::State::stop_recording() {
    if (recording == nullptr) return;
    recorded = recording->path();
    const auto stopped = recording->stop();
    if (!stopped) trouble = stopped.error().message;
    notice(stopped ? "recorded: " + recorded : trouble);
    recording.reset();
}

void Server::State::drain(HostTime now) {
    if (capture == nullptr) return;
    Column column;
    while (capture->pop(column)) {
        if (history.end() == 0) zero = column.begin;
        history.add(column);
    }
    state = capture->state();
    for (const std::string& line : state.troubles) {
        trouble = line;
        notice(line);
    }
    if (recording != nullptr && recording->failure()) stop_recording();
    if (device == nullptr || now < next_work) return;
    next_work = now + work_period;
    const auto rate = device->rate(now);
    if (!rate || history.end() == 0) return;
    work.push_back({now, *rate});
    if (work.size() <= most_work) return;
    work.pop_front();
    ++work_begin;
}

void Server::State::on_tick() {
    drain(runner::wait_clock_now());
    for (auto k = viewers.begin(); k != viewers.end();) {
        const auto viewer = k->lock();
        if (!viewer || viewer->gone()) {
            k = viewers.erase(k);
            continue;
        }
        viewer->send();
        ++k;
    }
    timer.expires_after(tick);
    timer.async_wait([this](beast::error_code error) {
        if (!error) on_tick();
    });
}

void Server::State::accept() {
    acceptor.async_accept([this](beast::error_code error, tcp::socket socket) {
        if (error == asio::error::operation_aborted) return;
        if (!error && connections < most_connections) {
            beast::error_code ignored;
            // What waits in the kernel for a viewer that stalls stays small.
            std::ignore = socket.set_option(asio::socket_base::send_buffer_size(256 << 10), ignored);
            std::ignore = socket.set_option(tcp::no_delay(true), ignored);
            std::make_shared<Connection<State, Viewer>>(std::move(socket), shared_from_this())->begin();
        }
        accept();
    });
}

Result<std::unique_ptr<Server>> Server::open(ServerOptions options, Capture* capture, const Replay* replay,
                                             DeviceCounters* device, std::function<void(const std::string&)> notice) {
    beast::error_code error;
    const auto address = asio::ip::make_address(options.address, error);
    if (error) return bad_input("expected an IP address to listen on, such as 127.0.0.1, came " + options.address);
    if (!address.is_loopback() && options.token.size() < rig::shortest_token)
        return bad_input(
            "the live page is shown beyond this machine only with a token of at least 16 characters: set WATTRIG_TOKEN");
    auto state = std::make_shared<State>();
    State& s = *state;
    s.options = std::move(options);
    s.capture = capture;
    s.replay = replay;
    s.device = device;
    s.notice = std::move(notice);
    s.page = live_page({.title = s.options.title,
                        .mark = s.options.mark,
                        .has_work = device != nullptr,
                        .replay = replay != nullptr ? replay->summary().dump() : std::string()});
    const tcp::endpoint where(address, s.options.port);
    std::ignore = s.acceptor.open(where.protocol(), error);
    if (!error) std::ignore = s.acceptor.set_option(asio::socket_base::reuse_address(true), error);
    if (!error) std::ignore = s.acceptor.bind(where, error);
    if (!error) std::ignore = s.acceptor.listen(asio::socket_base::max_listen_connections, error);
    if (error)
        return system_error(fmt::format("{} port {}: cannot listen there", s.options.address, s.options.port), error.value());
    return std::unique_ptr<Server>(new Server(std::move(state)));
}

Server::Server(std::shared_ptr<State> state) : s_(std::move(state)) {}
// Connections hold the state and live in its context: they go first.
Server::~Server() {
    s_->stop_recording();
    s_->context.stop();
}
std::uint16_t Server::port() const { return s_->acceptor.local_endpoint().port(); }

Result<void> Server::run(const std::atomic<bool>& stop) {
    State& s = *s_;
    s.accept();
    s.on_tick();
    while (!stop.load(std::memory_order_relaxed)) {
        s.context.run_for(100ms);
        if (s.context.stopped()) break;
    }
    s.stop_recording();
    return {};
}

}  // namespace wattrig::live
