// What a drive does by itself or by its state: temperature, idle states, folding, host memory buffer, discards.

#include <gtest/gtest.h>

#include <cmath>

#include "host/io/engine.hpp"
#include "host/sim/virtual_simulation.hpp"

namespace wattrig::sim {
namespace {

using namespace std::chrono_literals;

struct Alone {
    explicit Alone(const DriveParameters& parameters)
        : p(parameters),
          ledger(p.power.idle_watt, p.power.active_watt, static_cast<double>(p.power.active_time_constant_ns)),
          drive(p, 1, nullptr, &ledger) {}
    std::int64_t read(std::int64_t at) {
        return drive.submit({std::uint64_t{8192}, 4096, 0, nullptr, io::OperationKind::read}, at) - at;
    }
    DriveParameters p;
    EnergyLedger ledger;
    DriveModel drive;
};

TEST(IdleStates, ThePowerFallsStepByStepAndTheFirstReadPaysForTheWay) {
    const DriveParameters p = load_model("high-end-nvme-1tb").value();
    ASSERT_EQ(p.power.idle_states.size(), 2U);
    const auto &light = p.power.idle_states[0], &deep = p.power.idle_states[1];
    Alone a(p);
    const std::int64_t awake = a.read(1'000'000);
    const std::int64_t end = 1'000'000 + awake;
    // Energy of each stretch: the active floor decays with 2 ms, so 50 ms later it is gone.
    const auto energy = [&](std::int64_t from, std::int64_t to) {
        a.drive.settle(from);
        const double before = a.ledger.energy(from);
        a.drive.settle(to);
        return (a.ledger.energy(to) - before) / (1e-9 * static_cast<double>(to - from));
    };
    EXPECT_NEAR(energy(end + 50'000'000, end + 90'000'000), p.power.idle_watt, 1e-6);
    EXPECT_EQ(a.drive.idle_state(end + 90'000'000), 0U);
    EXPECT_NEAR(energy(end + light.idle_ns + light.entry_ns + 1'000'000, end + deep.idle_ns), light.watt, 1e-6);
    EXPECT_EQ(a.drive.idle_state(end + deep.idle_ns), 1U);
    EXPECT_NEAR(energy(end + deep.idle_ns + deep.entry_ns + 1'000'000, end + 8'000'000'000), deep.watt, 1e-6);
    EXPECT_EQ(a.drive.idle_state(end + 8'000'000'000), 2U);
    // Latencies vary by 1/16 of the overhead.
    EXPECT_NEAR(static_cast<double>(a.read(end + 8'000'000'000) - awake), static_cast<double>(deep.exit_ns), 2000);
    Alone b(p);
    const std::int64_t first = b.read(1'000'000);
    EXPECT_NEAR(static_cast<double>(b.read(1'000'000 + first + 1'000'000'000) - first), static_cast<double>(light.exit_ns),
                2000);
    Alone c(p);  // in the middle of an entry: that is finished first
    const std::int64_t before = c.read(1'000'000);
    const std::int64_t at = 1'000'000 + before + light.idle_ns + light.entry_ns / 3;
    EXPECT_NEAR(static_cast<double>(c.read(at) - before), static_cast<double>(light.exit_ns + light.entry_ns * 2 / 3), 2000);
}

TEST(Temperature, HeatsByFirstOrderThrottlesAndCoolsAgain) {
    DriveParameters p = load_model("throttling-1tb").value();
    const auto& t = p.thermal;
    Alone a(p);
    EXPECT_NEAR(a.drive.celsius(), t.ambient_celsius + t.kelvin_per_watt * p.power.idle_watt, 1e-9);
    // Writes as fast as they go.
    std::int64_t now = 1'000'000, throttled_at = 0, released_at = 0;
    double fast = 0, slow = 0;
    std::uint64_t offset = 0;
    std::int64_t begin = now;
    double bytes = 0;
    std::uint64_t at_most = 400'000;
    while (released_at == 0 && --at_most > 0) {
        now = a.drive.submit({offset, 1 << 20, 0, nullptr, io::OperationKind::write}, now);
        offset = (offset + (1 << 20)) % (500ull << 30);
        bytes += 1 << 20;
        if (throttled_at == 0 && a.drive.throttled()) {
            throttled_at = now;
            fast = bytes / (1e-9 * static_cast<double>(now - begin));
            EXPECT_NEAR(a.drive.celsius(), t.throttle_celsius, 0.1);
            begin = now;
            bytes = 0;
        } else if (throttled_at != 0 && !a.drive.throttled()) {
            released_at = now;
            slow = bytes / (1e-9 * static_cast<double>(now - begin));
            EXPECT_NEAR(a.drive.celsius(), t.release_celsius, 0.1);
        }
    }
    ASSERT_NE(released_at, 0);
    EXPECT_NEAR(slow / fast, t.throttled_duty, 0.02);
    // Closed form of the way up: mean power of the stretch, first order.
    a.drive.settle(now);
    const double watt = a.ledger.energy(throttled_at) / (1e-9 * static_cast<double>(throttled_at));
    const double settled = t.ambient_celsius + t.kelvin_per_watt * watt;
    const double start = t.ambient_celsius + t.kelvin_per_watt * p.power.idle_watt;
    const double expected = t.time_constant_seconds * std::log((start - settled) / (t.throttle_celsius - settled));
    EXPECT_NEAR(1e-9 * static_cast<double>(throttled_at), expected, 0.01 * expected);
    ASSERT_GE(a.drive.transitions().size(), 2U);
    EXPECT_EQ(a.drive.transitions()[0].kind, Transition::Kind::throttled);
    EXPECT_EQ(a.drive.transitions()[1].kind, Transition::Kind::released);
}

// Three regions of a fill: cache, direct, folding, each where the arithmetic of the flash puts it.
TEST(Folding, BeginsWhenNoFlashIsLeftBesideTheBorrowed) {
    DriveParameters p = load_model("folding-500gb").value();
    p.capacity_bytes = 100'000'000'000;  // less to play
    p.cache.bytes = 12'000'000'000;
    Alone a(p);
    std::int64_t now = 1'000'000;
    std::vector<std::int64_t> at;  // time at each GB
    for (std::uint64_t offset = 0; offset + (1 << 20) <= p.capacity_bytes; offset += 1 << 20) {
        now = a.drive.submit({offset, 1 << 20, 0, nullptr, io::OperationKind::write}, now);
        if (offset / 1'000'000'000 >= at.size()) at.push_back(now);
    }
    const auto& transitions = a.drive.transitions();
    ASSERT_GE(transitions.size(), 2U);
    EXPECT_EQ(transitions[0].kind, Transition::Kind::cache_full);
    EXPECT_NEAR(static_cast<double>(transitions[0].host_bytes), 12e9, 0.01e9);
    EXPECT_EQ(transitions[1].kind, Transition::Kind::folding);
    // mapped + 2 x cache = flash - reserve: the cache holds 12 GB, each of which takes the room of three.
    const double flash = 100e9 * (1 + p.space.spare_fraction), reserve = flash * 3 / 512;
    EXPECT_NEAR(static_cast<double>(transitions[1].host_bytes), flash - reserve - 24e9, 0.02e9);
    const auto rate = [&](std::size_t from, std::size_t to) {
        return static_cast<double>(to - from) * 1e9 / (1e-9 * static_cast<double>(at[to] - at[from]));
    };
    EXPECT_NEAR(rate(1, 11), 32 * 65536 / 1.3e-3, 0.02 * 32 * 65536 / 1.3e-3);
    EXPECT_NEAR(rate(14, 80), 32 * 65536 / 2.9e-3, 0.02 * 32 * 65536 / 2.9e-3);
    // Each byte brings half a byte of moving: a program and a read of it.
    const double with_folding = 32 * 65536 / (2.9e-3 + 0.5 * (2.9e-3 + 60e-6 + 65536 / 0.4e9));
    EXPECT_NEAR(rate(86, 98), with_folding, 0.03 * with_folding);
}

TEST(HostMemoryBuffer, HoldsTheMapOfItsSizeAndCanBeTakenAway) {
    const DriveParameters with = load_model("toshiba-rc100-480gb").value();
    const DriveParameters without = load_model("toshiba-rc100-480gb?hmb=off").value();
    EXPECT_EQ(without.map_cache.host_buffer_bytes, 0U);
    EXPECT_EQ(without.name, "toshiba-rc100-480gb?hmb=off");
    const auto mean_latency = [](const DriveParameters& p, std::uint64_t span) {
        Alone a(p);
        std::uint64_t random = 1;
        double sum = 0;
        std::int64_t now = 1'000'000;
        for (int n = 0; n < 120'000; ++n) {
            random = random * 6364136223846793005u + 1442695040888963407u;
            const std::uint64_t offset = (random >> 33) % (span / 4096) * 4096;
            const std::int64_t done = a.drive.submit({offset, 4096, 0, nullptr, io::OperationKind::read}, now);
            if (n >= 60'000) sum += static_cast<double>(done - now);
            now = done;
        }
        return sum / 60'000;
    };
    const auto& m = with.map_cache;
    // Shares of hits once everything has been touched: cached over touched segments.
    const double own16 = 256 * 4.194304 / 16e3, own64 = 256 * 4.194304 / 64e3;
    const double host64 = static_cast<double>(m.host_segments()) * 4.194304 / 64e3;
    const double hit = 2200 + 56000 + 4096 / 0.35 + 6000;
    EXPECT_NEAR(mean_latency(with, 16'000'000'000), hit + (1 - own16) * 1600, 0.01 * hit);
    EXPECT_NEAR(mean_latency(without, 16'000'000'000), hit + (1 - own16) * 66000, 0.01 * hit);
    EXPECT_NEAR(mean_latency(without, 64'000'000'000), hit + (1 - own64) * 66000, 0.01 * hit);
    // A miss of both costs the read; the small cache is part of the large one's content, near enough.
    EXPECT_NEAR(mean_latency(with, 64'000'000'000), hit + (1 - host64) * 66000 + (host64 - own64) * 1600, 0.02 * hit);
}

TEST(ModelOptions, WrongOnesAreNamed) {
    EXPECT_NE(load_model("client-1tb?hmb=off").error().message.find("has no host memory buffer"), std::string::npos);
    EXPECT_NE(load_model("toshiba-rc100-480gb?hmb=maybe").error().message.find("on or off"), std::string::npos);
    EXPECT_NE(load_model("client-1tb?colour=red").error().message.find("\"colour\" is not known"), std::string::npos);
    EXPECT_NE(load_model("throttling-1tb?ambient=warm").error().message.find("ambient should be"), std::string::npos);
    EXPECT_EQ(load_model("throttling-1tb?ambient=40").value().thermal.ambient_celsius, 40);
}

TEST(Discard, HoldsUpTheReadThatComesAfterIt) {
    const DriveParameters p = load_model("wd-black-2018-500gb").value();
    Alone a(p);
    const std::int64_t plain = a.read(1'000'000);
    (void)a.drive.submit({1ull << 30, 1u << 30, 0, nullptr, io::OperationKind::discard}, 50'000'000);
    EXPECT_NEAR(static_cast<double>(a.read(50'000'001) - plain), static_cast<double>(p.controller.discard_ns_per_gib), 3000);
}

TEST(Format, MakesTheDriveFreshAgain) {
    DriveParameters p = load_model("wd-black-2018-500gb").value();
    Alone a(p);
    std::int64_t now = 1'000'000;
    for (std::uint64_t n = 0; n < 7000; ++n)
        now = a.drive.submit({n << 20, 1 << 20, 0, nullptr, io::OperationKind::write}, now);
    EXPECT_FALSE(a.drive.cache_open());
    EXPECT_EQ(a.drive.transitions().size(), 1U);
    a.drive.format(now + 1'000'000'000);
    EXPECT_TRUE(a.drive.cache_open());
    EXPECT_EQ(a.drive.host_bytes_written(), 0U);
    EXPECT_EQ(a.drive.space()->mapped_bytes(), 0);
    now += 2'000'000'000;
    for (std::uint64_t n = 0; n < 7000; ++n)
        now = a.drive.submit({n << 20, 1 << 20, 0, nullptr, io::OperationKind::write}, now);
    ASSERT_EQ(a.drive.transitions().size(), 1U);
    EXPECT_NEAR(static_cast<double>(a.drive.transitions()[0].host_bytes), 5.5e9, 0.03e9);
}

// What a suite sees of all that, through the interface it has.
TEST(Condition, IsToldThroughTheSimulation) {
    auto simulation = std::move(VirtualSimulation::create({"samsung-mzvlw256", 1, true, false}).value());
    io::VirtualLoop loop;
    io::VirtualOptions engine;
    engine.target_size = simulation->model().capacity;
    engine.aggregate = true;
    io::Workload w;
    w.pattern = io::Pattern::sequential;
    w.read_percent = 0;
    w.block_sizes = {{1 << 20, 100.0}};
    w.depth = 4;
    w.limit.bytes = 3ull << 30;
    (void)io::run_virtual(w, simulation->drive(), loop, engine).value();
    EXPECT_EQ(simulation->condition(loop.now()).host_bytes_written, 3ull << 30);
    const auto transitions = simulation->true_transitions();
    ASSERT_EQ(transitions.size(), 1U);
    EXPECT_EQ(transitions[0].what, "cache full");
    EXPECT_NEAR(static_cast<double>(transitions[0].host_bytes), 2.5e9, 0.01e9);
    loop.advance_to(loop.now() + 60s, &simulation->drive());
    const DriveCondition idle = simulation->condition(loop.now());
    EXPECT_EQ(idle.cache_bytes_used, 0);
    EXPECT_EQ(idle.idle_state, 2U);
    EXPECT_FALSE(idle.has_temperature);
    simulation->format(loop.now());
    EXPECT_TRUE(simulation->true_transitions().empty());
    EXPECT_EQ(simulation->condition(loop.now()).host_bytes_written, 0U);
}

}  // namespace
}  // namespace wattrig::sim
