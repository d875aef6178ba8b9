// The two links that need no hardware: TCP on this machine, and a recording.
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <atomic>
#include <boost/asio/connect.hpp>
#include <boost/asio/io_context.hpp>
#include <boost/asio/ip/tcp.hpp>
#include <boost/asio/read.hpp>
#include <boost/asio/write.hpp>
#include <filesystem>
#include <fstream>
#include <random>
#include <thread>

#include "host/rig/host_record.hpp"
#include "host/rig/replay_link.hpp"
#include "host/rig/tcp_link.hpp"
#include "tests/rig/fake_rig.hpp"

namespace wattrig::rig {
namespace {

namespace asio = boost::asio;
using asio::ip::tcp;
using namespace std::chrono_literals;
using test::at_ns;
using test::BlockMaker;
using test::Bytes;
using test::Notes;
using testing::HasSubstr;

class Heard final : public LinkHandler {
  public:
    void on_stream(std::span<const std::uint8_t> bytes, HostTime arrival) override {
        stream.insert(stream.end(), bytes.begin(), bytes.end());
        last_arrival = arrival;
    }
    void on_reply(std::span<const std::uint8_t> bytes, HostTime arrival) override {
        replies.insert(replies.end(), bytes.begin(), bytes.end());
        last_arrival = arrival;
    }
    void on_broken(const Error& error, HostTime) override { broken.push_back(error.message); }
    Bytes stream, replies;
    std::vector<std::string> broken;
    HostTime last_arrival{};
};

// The other end of one connection, all calls from the test's own thread.
struct Server {
    asio::io_context context;
    tcp::acceptor acceptor{context, tcp::endpoint(asio::ip::address_v4::loopback(), 0)};
    tcp::socket socket{context};
    [[nodiscard]] std::string where() const { return "127.0.0.1:" + std::to_string(acceptor.local_endpoint().port()); }
    void accept() {
        acceptor.accept(socket);
        socket.set_option(tcp::no_delay(true));
    }
    void write(const Bytes& bytes) { asio::write(socket, asio::buffer(bytes)); }
};

template <class Done>
bool poll_until(TcpLink& link, Done&& done) {
    for (const HostTime end = real_host_time() + 5s; real_host_time() < end;) {
        link.poll(real_host_time());
        if (done()) return true;
        std::this_thread::yield();
    }
    return false;
}

TEST(TcpLink, TellsStreamAndRepliesApartInAnyPieces) {
    Server server;
    Result<std::unique_ptr<TcpLink>> link = TcpLink::connect(server.where(), 2s);
    ASSERT_TRUE(link) << link.error().message;
    server.accept();
    Heard heard;
    (*link)->attach(heard);
    BlockMaker maker;
    Bytes all, stream, replies;
    std::mt19937_64 random(6);
    for (int k = 0; k < 200; ++k) {
        const bool reply = k % 3 == 1;
        const Bytes frame =
            reply ? test::frame_of(protocol::FrameType::reply, Bytes(16), static_cast<std::uint32_t>(k)) : maker.block();
        Bytes& to = reply ? replies : stream;
        to.insert(to.end(), frame.begin(), frame.end());
        all.insert(all.end(), frame.begin(), frame.end());
    }
    const HostTime before = real_host_time();
    for (std::size_t at = 0; at < all.size();) {
        const std::size_t size = std::min<std::size_t>(1 + random() % 3000, all.size() - at);
        server.write(
            Bytes(all.begin() + static_cast<std::ptrdiff_t>(at), all.begin() + static_cast<std::ptrdiff_t>(at + size)));
        at += size;
        (*link)->poll(real_host_time());
    }
    ASSERT_TRUE(poll_until(**link, [&] { return heard.stream.size() + heard.replies.size() == all.size(); }));
    EXPECT_EQ(heard.stream, stream);
    EXPECT_EQ(heard.replies, replies);
    EXPECT_GE(heard.last_arrival, before);
    EXPECT_LE(heard.last_arrival, real_host_time());
    EXPECT_FALSE((*link)->simulated());
    EXPECT_THAT((*link)->description(), HasSubstr("tcp 127.0.0.1"));
    EXPECT_LE((*link)->next_event(), real_host_time() + 2ms);
}

TEST(TcpLink, SendsCommandsAndStampsThemBefore) {
    Server server;
    auto link = TcpLink::connect(server.where(), 2s);
    ASSERT_TRUE(link);
    server.accept();
    Heard heard;
    (*link)->attach(heard);
    const Bytes command = test::frame_of(protocol::FrameType::command, Bytes(8), 1);
    const HostTime before = real_host_time();
    const Result<HostTime> sent = (*link)->send(command);
    ASSERT_TRUE(sent);
    EXPECT_GE(*sent, before);
    Bytes got(command.size());
    asio::read(server.socket, asio::buffer(got));
    EXPECT_LE(*sent, real_host_time());
    EXPECT_EQ(got, command);
}

TEST(TcpLink, AClosedConnectionIsToldOnce) {
    Server server;
    auto link = TcpLink::connect(server.where(), 2s);
    ASSERT_TRUE(link);
    server.accept();
    Heard heard;
    (*link)->attach(heard);
    server.socket.close();
    ASSERT_TRUE(poll_until(**link, [&] { return !heard.broken.empty(); }));
    (*link)->poll(real_host_time());
    ASSERT_EQ(heard.broken.size(), 1u);
    EXPECT_THAT(heard.broken[0], HasSubstr("closed"));
    EXPECT_FALSE((*link)->send(Bytes(8)));
}

TEST(TcpLink, AnotherKindOfServerIsNotListenedToForEver) {
    Server server;
    auto link = TcpLink::connect(server.where(), 2s);
    ASSERT_TRUE(link);
    server.accept();
    Heard heard;
    (*link)->attach(heard);
    std::thread talker([&] {
        boost::system::error_code error;
        const Bytes noise(64 * 1024, 'x');
        for (int k = 0; k < 100 && !error; ++k) asio::write(server.socket, asio::buffer(noise), error);
    });
    EXPECT_TRUE(poll_until(**link, [&] { return !heard.broken.empty(); }));
    talker.join();
    ASSERT_FALSE(heard.broken.empty());
    EXPECT_THAT(heard.broken[0], HasSubstr("does not speak the protocol"));
}

TEST(TcpLink, RefusesWhatIsNoAddressAndWhereNobodyListens) {
    for (const char* where : {"", "host", ":1", "host:", "a:b", "::1:80", "[]:80", "host:80x"}) {
        const auto link = TcpLink::connect(where, 100ms);
        ASSERT_FALSE(link) << where;
        EXPECT_EQ(link.error().kind, ErrorKind::bad_input) << where;
    }
    std::string where;
    {
        Server gone;
        where = gone.where();
    }
    const auto link = TcpLink::connect(where, 1s);
    ASSERT_FALSE(link);
    EXPECT_EQ(link.error().kind, ErrorKind::link_broke);
    EXPECT_THAT(link.error().message, HasSubstr(where));
}

TEST(TcpLink, WorksOnAContextFromOutside) {
    Server server;
    asio::io_context context;
    auto link = TcpLink::connect(server.where(), 2s, &context);
    ASSERT_TRUE(link);
    server.accept();
    Heard heard;
    (*link)->attach(heard);
    EXPECT_EQ((*link)->next_event(), HostTime::max());
    const Bytes frame = BlockMaker().block();
    server.write(frame);
    for (int k = 0; k < 5000 && heard.stream.size() < frame.size(); ++k) context.run_for(1ms);
    EXPECT_EQ(heard.stream, frame);
    link->reset();
    context.restart();
    context.run();
}

// A whole session over a real socket: the meter core behind a server thread, on the machine's own clock.
TEST(TcpLink, CarriesASession) {
    Server server;
    std::atomic<bool> stop{false};
    std::thread rig([&] {
        server.accept();
        server.socket.non_blocking(true);
        test::FakeRig fake;
        Heard out;
        fake.attach(out);
        FrameDecoder commands;
        const HostTime zero = real_host_time();
        boost::system::error_code error;
        while (!stop) {
            std::array<std::uint8_t, 4096> buffer;
            const std::size_t size = server.socket.read_some(asio::buffer(buffer), error);
            const HostTime now = at_ns((real_host_time() - zero).count() + 1);
            fake.poll(now);
            if (!error) commands.feed(std::span(buffer).first(size), [&](const Frame& frame) { (void)fake.send(frame.bytes); });
            Bytes bytes = std::exchange(out.stream, {});
            bytes.insert(bytes.end(), out.replies.begin(), out.replies.end());
            out.replies.clear();
            for (std::size_t at = 0; at < bytes.size() && !stop;) {
                at += server.socket.write_some(asio::buffer(bytes.data() + at, bytes.size() - at), error);
                if (error && error != asio::error::would_block) return;
            }
            std::this_thread::yield();
        }
    });
    auto link = TcpLink::connect(server.where(), 2s);
    ASSERT_TRUE(link);
    Notes notes;
    Session session(**link, notes, {});
    session.start(real_host_time());
    const bool ready = poll_until(**link, [&] {
        session.poll(real_host_time());
        return session.state().failed || (session.state().exchanges > 20 && session.state().blocks > 50);
    });
    stop = true;
    rig.join();
    EXPECT_TRUE(ready);
    EXPECT_FALSE(session.state().failed) << session.state().failure;
    EXPECT_EQ(session.state().lost_samples, 0u);
}

// ----------------------------------------------------------------------------------------------------------------- replay
struct TemporaryFile {
    explicit TemporaryFile(const Bytes& bytes) {
        static std::atomic<int> counter{0};
        path = (std::filesystem::temp_directory_path() /
                ("wattrig-replay-" + std::to_string(::getpid()) + "-" + std::to_string(counter++)))
                   .string();
        std::ofstream(path, std::ios::binary)
            .write(reinterpret_cast<const char*>(bytes.data()), static_cast<std::streamsize>(bytes.size()));
    }
    ~TemporaryFile() { std::filesystem::remove(path); }
    std::string path;
};

template <class T>
void record(Bytes& file, HostRecord type, const T& value) {
    Bytes payload;
    test::put(payload, value);
    const Bytes frame = test::frame_of(static_cast<protocol::FrameType>(type), payload, 0);
    file.insert(file.end(), frame.begin(), frame.end());
}

// What a session with a fake rig gave, as a recording holds it: `seconds` of it, with a restart of the rig half way.
Bytes recorded(Notes& notes, int seconds, bool restart) {
    test::FakeRig fake;
    Session session(fake, notes, {});
    HostTime now = at_ns(77'000'000'000);
    fake.poll(now);
    session.start(now);
    Bytes file;
    StartRecord start{};
    start.version = 1;
    start.flags = recording_simulated;
    std::size_t frames = 0, exchanges = 0;
    HostTime last_arrival{};
    const int steps = seconds * 5000;
    for (int k = 0; k < steps; ++k) {
        now += 200us;
        if (restart && k == steps / 2) fake.boot(8);
        fake.poll(now);
        session.poll(now);
        if (file.empty() && session.info()) {
            start.info = *session.info();
            record(file, HostRecord::start, start);
        }
        for (; exchanges < notes.exchanges.size(); ++exchanges) {
            const Exchange& e = notes.exchanges[exchanges];
            record(file, HostRecord::exchange,
                   ExchangeRecord{e.h1.time_since_epoch().count(), e.h4.time_since_epoch().count(),
                                  static_cast<std::uint64_t>(e.d2.time_since_epoch().count()),
                                  static_cast<std::uint64_t>(e.d3.time_since_epoch().count()), e.boot_id, e.number});
        }
        for (; frames < notes.frames.size(); ++frames) {
            if (now - last_arrival > 100ms) {
                record(file, HostRecord::arrival, ArrivalRecord{now.time_since_epoch().count()});
                last_arrival = now;
            }
            file.insert(file.end(), notes.frames[frames].begin(), notes.frames[frames].end());
        }
    }
    return file;
}

struct Replayed {
    Notes notes;
    SessionState state;
    ClockMap clock;
    bool ended = false;
    HostTime begin = at_ns(0);
};
Replayed replay(const std::string& path, Nanoseconds most) {
    Replayed out;
    auto link = ReplayLink::open(path);
    EXPECT_TRUE(link) << link.error().message;
    EXPECT_TRUE((*link)->simulated());
    EXPECT_EQ((*link)->description(), "replay of " + path);
    Session session(**link, out.notes, {});
    HostTime now = at_ns(500'000'000);
    session.start(now);
    for (const HostTime end = now + most; now < end && !(*link)->ended();) {
        now += 200us;
        (*link)->poll(now);
        session.poll(now);
    }
    out.state = session.state();
    out.clock = session.clock();
    out.ended = (*link)->ended();
    return out;
}

TEST(ReplayLink, GivesIdenticalBlocksAndTheSameClock) {
    Notes original;
    const TemporaryFile file(recorded(original, 6, false));
    const Replayed again = replay(file.path, 20s);
    EXPECT_TRUE(again.ended);
    EXPECT_FALSE(again.state.failed) << again.state.failure;
    EXPECT_EQ(again.notes.frames, original.frames);
    EXPECT_EQ(again.state.lost_samples, 0u);
    EXPECT_THAT(again.notes.troubles, testing::IsEmpty());
    EXPECT_TRUE(again.state.clock_ready);
    // Both maps say the same of the distance between two device times, up to their bounds.
    const DeviceTime a{Ticks(2ll * 125'000'000)}, b{Ticks(5ll * 125'000'000)};
    const Nanoseconds replayed = again.clock.to_host(b) - again.clock.to_host(a);
    EXPECT_LE(std::abs((replayed - 3s).count() - 90'000), 400'000) << "30 ppm of 3 s, and the bounds of polling each 200 us";
}

TEST(ReplayLink, PlaysARestartOfTheRig) {
    Notes original;
    const TemporaryFile file(recorded(original, 8, true));
    const Replayed again = replay(file.path, 30s);
    EXPECT_TRUE(again.ended);
    EXPECT_FALSE(again.state.failed) << again.state.failure;
    EXPECT_EQ(again.notes.frames, original.frames);
    EXPECT_EQ(again.state.boot_id, 8u);
    EXPECT_EQ(again.state.epochs, 2u);
    EXPECT_THAT(again.notes.troubles, testing::Contains(HasSubstr("boot 7, now 8")));
}

TEST(ReplayLink, WorksWithoutExchangesAndFromACutFile) {
    BlockMaker maker;
    Bytes bytes;
    for (int k = 0; k < 500; ++k) {
        const Bytes frame = maker.block();
        bytes.insert(bytes.end(), frame.begin(), frame.end());
    }
    bytes.resize(bytes.size() - 100);
    const TemporaryFile file(bytes);
    auto link = ReplayLink::open(file.path);
    ASSERT_TRUE(link) << link.error().message;
    Notes notes;
    Session session(**link, notes, {});
    HostTime now = at_ns(0);
    session.start(now);
    for (int k = 0; k < 20'000 && !(*link)->ended(); ++k) {
        now += 200us;
        (*link)->poll(now);
        session.poll(now);
    }
    EXPECT_EQ(notes.blocks.size(), 499u);
    EXPECT_FALSE(session.state().failed) << session.state().failure;
}

TEST(ReplayLink, RefusesWhatHoldsNoBlock) {
    EXPECT_FALSE(ReplayLink::open("/nonexistent/power.wrt"));
    for (std::uint64_t seed = 0; seed < 50; ++seed) {
        std::mt19937_64 random(seed);
        Bytes noise(random() % 4000);
        for (std::uint8_t& byte : noise) byte = static_cast<std::uint8_t>(random());
        const TemporaryFile file(noise);
        const auto link = ReplayLink::open(file.path);
        ASSERT_FALSE(link);
        EXPECT_THAT(link.error().message, HasSubstr("nothing to replay"));
    }
}

}  // namespace
}  // namespace wattrig::rig
