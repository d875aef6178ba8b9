// Energy against exact fractions: tests/oracle/power_oracle.py gets every sample, lost ones too, and computes in integers.

#include <gtest/gtest.h>
#include <unistd.h>

#include <cstdio>
#include <cstdlib>
#include <fstream>
#include <memory>
#include <nlohmann/json.hpp>
#include <random>

#include "host/power/energy.hpp"
#include "tests/power/stream_builder.hpp"

namespace wattrig {
namespace {

using test::Codes;
using test::StreamBuilder;

std::string hex(double value) {
    char text[64];
    std::snprintf(text, sizeof text, "%a", value);
    return text;
}

class Case {
  public:
    explicit Case(power::Calibration calibration) : calibration_(std::move(calibration)) {}
    StreamBuilder builder;

    void block(const std::vector<Codes>& codes, protocol::Detail detail = protocol::Detail::full) {
        for (const Codes& c : codes) runs_.push_back({1, c.v, c.i});
        blocks_.push_back(builder.block(codes, detail));
    }
    void lose(std::uint64_t count, Codes c) {
        lost_.push_back({builder.index(), builder.index() + count});
        runs_.push_back({count, c.v, c.i});
        builder.lose(count, c);
    }
    void lose(const std::vector<Codes>& codes) {
        lost_.push_back({builder.index(), builder.index() + codes.size()});
        for (const Codes& c : codes) runs_.push_back({1, c.v, c.i});
        builder.lose(codes);
    }
    void interval(std::int64_t begin, std::int64_t end) { intervals_.push_back({begin, end}); }

    // Means of all intervals, by the program and by the oracle.
    void compare(double tolerance) {
        std::vector<io::Interval> host;
        host.reserve(intervals_.size());
        for (const auto& [begin, end] : intervals_) host.push_back({test::host_of(begin), test::host_of(end)});
        power::EnergyPass pass(calibration_, test::plain_clock(), host);
        for (const test::OwnedBlock& b : blocks_) pass.add(b.view);
        const auto powers = pass.finish();
        const auto truth = oracle();
        ASSERT_EQ(powers.size(), truth.size());
        for (std::size_t k = 0; k < powers.size(); ++k) {
            ASSERT_TRUE(powers[k].mean) << "interval " << k;
            EXPECT_NEAR(static_cast<double>(powers[k].mean->value() / truth[k]), 1, tolerance) << "interval " << k;
            const double seconds = 8e-9 * static_cast<double>(intervals_[k].second - intervals_[k].first);
            EXPECT_NEAR(powers[k].energy->value() / (powers[k].mean->value() * seconds), 1, 1e-12);
        }
    }

  private:
    std::vector<long double> oracle() {
        const power::RailCalibration& rail = calibration_.rails[0];
        const nlohmann::json input = {{"volt", {hex(rail.v_offset), hex(rail.v_gain)}},
                                      {"ampere", {hex(rail.i_offset), hex(rail.i_gain)}},
                                      {"ohm", hex(rail.shunt_ohm)},
                                      {"cell", StreamBuilder::cell},
                                      {"edge", builder.edge(0)},
                                      {"runs", runs_},
                                      {"lost", lost_},
                                      {"intervals", intervals_}};
        char path[] = "/tmp/wattrig-oracle-XXXXXX";
        const int file = mkstemp(path);
        EXPECT_GE(file, 0);
        close(file);
        std::ofstream(path) << input.dump();
        const std::string command =
            std::string("/usr/bin/python3 " WATTRIG_SOURCE_DIR "/tests/oracle/power_oracle.py < ") + path;
        std::string output;
        const std::unique_ptr<FILE, int (*)(FILE*)> pipe(popen(command.c_str(), "r"), pclose);
        char chunk[4096];
        while (const std::size_t n = fread(chunk, 1, sizeof chunk, pipe.get())) output.append(chunk, n);
        unlink(path);
        std::vector<long double> means;
        for (const auto& fraction : nlohmann::json::parse(output).get<std::vector<std::string>>()) {
            // Numerators of hundreds of digits overflow a long double unless both are cut alike.
            const auto slash = fraction.find('/');
            std::string n = fraction.substr(0, slash);
            const std::string d = fraction.substr(slash + 1);
            const bool negative = n[0] == '-';
            if (negative) n.erase(0, 1);
            const auto digits = [](const std::string& text) {
                return std::pair(std::strtold(("0." + text.substr(0, 30)).c_str(), nullptr), static_cast<int>(text.size()));
            };
            const auto [a, ea] = digits(n);
            const auto [b, eb] = digits(d);
            means.push_back((negative ? -1 : 1) * a / b * powl(10.0L, static_cast<long double>(ea - eb)));
        }
        return means;
    }

    power::Calibration calibration_;
    std::vector<test::OwnedBlock> blocks_;
    std::vector<std::tuple<std::uint64_t, std::int32_t, std::int32_t>> runs_;
    std::vector<std::pair<std::uint64_t, std::uint64_t>> lost_;
    std::vector<std::pair<std::int64_t, std::int64_t>> intervals_;
};

std::vector<Codes> noisy(const power::Calibration& c, std::mt19937_64& random, std::size_t count = 75) {
    std::uniform_real_distribution<double> volt(3.1, 3.4), ampere(-0.01, 4.0);
    std::vector<Codes> codes;
    codes.reserve(count);
    for (std::size_t k = 0; k < count; ++k) codes.push_back(test::codes_for(c, volt(random), ampere(random)));
    return codes;
}

TEST(EnergyOracle, LostBlocksAndEdgesAnywhere) {
    std::mt19937_64 random(11);
    const auto calibration = test::test_calibration();
    Case c(calibration);
    for (int k = 0; k < 61; ++k) {
        if (k % 7 == 3)
            c.lose(noisy(calibration, random, 75 * (1 + static_cast<std::size_t>(k) % 3)));
        else
            c.block(noisy(calibration, random, k % 11 == 5 ? 31 : 75));
    }
    const std::int64_t begin = c.builder.edge(0), end = c.builder.edge(static_cast<std::int64_t>(c.builder.index()));
    c.interval(begin, end);
    std::uniform_int_distribution<std::int64_t> ticks(begin, end);
    for (int k = 0; k < 150; ++k) {
        std::int64_t a = ticks(random), b = ticks(random);
        if (a > b) std::swap(a, b);
        if (b - a < 10) continue;
        c.interval(a, b);
    }
    // Shorter than a sample, and inside one.
    for (std::int64_t k = 0; k < 20; ++k) c.interval(c.builder.edge(20 + k) + 17 * k, c.builder.edge(20 + k) + 17 * k + 900);
    c.compare(1e-9);
}

TEST(EnergyOracle, SummariesOfFullDetail) {
    std::mt19937_64 random(12);
    const auto calibration = test::test_calibration();
    Case c(calibration);
    for (int k = 0; k < 20; ++k) c.block(noisy(calibration, random, 300), protocol::Detail::summary_10ms);
    for (const auto& [a, b] : {std::pair<std::int64_t, std::int64_t>{0, 20}, {3, 7}, {19, 20}, {0, 1}})
        c.interval(c.builder.edge(300 * a), c.builder.edge(300 * b));
    c.compare(1e-9);
}

TEST(EnergyOracle, GapOfAMillionSamplesAtSixAmperes) {
    std::mt19937_64 random(13);
    const auto calibration = test::test_calibration();
    Case c(calibration);
    c.block(noisy(calibration, random));
    c.lose(1'000'000, test::codes_for(calibration, 3.3, 5.99));
    c.block(noisy(calibration, random));
    c.interval(c.builder.edge(0), c.builder.edge(1'000'150));
    c.interval(c.builder.edge(75), c.builder.edge(1'000'075));
    c.interval(c.builder.edge(40) + 11, c.builder.edge(1'000'110) + 5);
    c.compare(1e-9);
}

TEST(EnergyOracle, SumsCrossTwoToTheSixtyFour) {
    std::mt19937_64 random(14);
    const auto calibration = test::test_calibration();
    for (const int sign : {1, -1}) {
        Case c(calibration);
        // Half a block below the step of the low word, in both products, and near the end of 64 bit in the plain sums.
        c.builder.base_vi = sign * (test::Wide{1} << 64) - sign * (test::Wide{1} << 47);
        c.builder.base_ii = (test::Wide{3} << 64) - (test::Wide{1} << 46);
        c.builder.base_v = INT64_MAX - (std::int64_t{1} << 40);
        for (int k = 0; k < 8; ++k) c.block(noisy(calibration, random));
        c.lose(100'000, test::codes_for(calibration, 3.3, 5.99));
        for (int k = 0; k < 8; ++k) c.block(noisy(calibration, random));
        c.interval(c.builder.edge(0), c.builder.edge(static_cast<std::int64_t>(c.builder.index())));
        c.interval(c.builder.edge(100), c.builder.edge(500));
        c.interval(c.builder.edge(590) + 3, c.builder.edge(100'700) - 9);
        c.compare(1e-9);
    }
}

}  // namespace
}  // namespace wattrig
