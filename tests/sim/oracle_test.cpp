// The energy of a simple phase against tests/oracle/drive_energy.py, which reads the same model file and shares no code.

#include <gtest/gtest.h>

#include <array>
#include <cstdio>
#include <memory>

#include "tests/sim/support.hpp"

namespace wattrig::sim {
namespace {

using namespace std::chrono_literals;

// Joules from the end of the phase's first operation on: of `operations` operations of one kind at depth 1, then idle.
double oracle(const std::string& model, const std::string& arguments) {
    const std::string root = WATTRIG_SOURCE_DIR;
    const std::string command = "/usr/bin/python3 " + root + "/tests/oracle/drive_energy.py " + root + "/host/sim/models/" +
                                model + ".json " + arguments;
    const std::unique_ptr<FILE, int (*)(FILE*)> pipe(popen(command.c_str(), "r"), pclose);
    double joule = -1;
    if (!pipe || std::fscanf(pipe.get(), "%lf", &joule) != 1) return -1;
    return joule;
}

struct Case {
    const char* model;
    const char* kind;
    std::uint32_t bytes;
    std::uint64_t operations;
};
class Oracle : public testing::TestWithParam<Case> {};

TEST_P(Oracle, EnergyOfAPhaseAndItsIdleTime) {
    const Case& c = GetParam();
    Bench bench({c.model, 12, false, true});
    io::Workload workload = random_load(1, 100s, std::string(c.kind) == "read" ? 100 : 0, c.bytes);
    workload.limit.time.reset();
    workload.limit.operations = c.operations;
    const HostTime begin = bench.loop.now();
    const auto outcome = bench.run(workload);
    const HostTime end = outcome.end + 2s;
    bench.wait(2500ms);
    char arguments[200];
    std::snprintf(arguments, sizeof arguments, "%s %u %llu %llu %.9f %.9f", c.kind, c.bytes,
                  static_cast<unsigned long long>(c.operations), static_cast<unsigned long long>(workload.span),
                  to_seconds(outcome.end - begin), to_seconds(end - outcome.end));
    const double expected = oracle(c.model, arguments);
    ASSERT_GT(expected, 0);
    EXPECT_NEAR(bench.truth({begin, end}), expected, 2e-4 * expected);
    // And what the instrument says, within four standard uncertainties.
    const auto measured = bench.capture.energies(bench.simulation.calibration(), {{begin, end}}).front();
    EXPECT_NEAR(measured.energy->value(), expected, 4 * measured.u.standard() * to_seconds(end - begin) + 2e-4 * expected);
}

INSTANTIATE_TEST_SUITE_P(Phases, Oracle,
                         testing::Values(Case{"client-1tb", "read", 4096, 20'000}, Case{"client-1tb", "read", 131072, 5'000},
                                         Case{"client-1tb", "write", 131072, 8'000},
                                         Case{"dramless-500gb", "write", 4096, 60'000},
                                         Case{"constant-300k", "read", 4096, 20'000}));

}  // namespace
}  // namespace wattrig::sim
