// Time comes from the two drivers alone: code that sleeps or reads a clock elsewhere cannot run in virtual time. This looks for
// the words in the sources of the host and the firmware's core.

#include <gtest/gtest.h>

#include <algorithm>
#include <array>
#include <filesystem>
#include <fstream>
#include <string>
#include <vector>

namespace {

namespace fs = std::filesystem;

// Each with its reason; a name that ends in '/' is a folder.
const std::vector<std::string> allowed{
    "host/base/clock.hpp",        // declares it
    "host/base/clock.cpp",        // the clock
    "host/io/threaded.cpp",       // the driver on real time
    "host/io/uring_backend.cpp",  // turns a deadline into what is left of it, when it must wait
    "host/io/virtual.cpp",        // how often a terminal sees progress
    "host/rig/tcp_link.cpp",      // links of real rigs stamp their exchanges
    "host/rig/usb_link.cpp",
    "host/rig/serve.cpp",
    "host/runner/wait.cpp",  // waits of a real run
    "host/cli/",             // chooses real or virtual time
};

constexpr std::array forbidden{"sleep_for",    "sleep_until",   "nanosleep",    "usleep",         "steady_clock",
                               "system_clock", "clock_gettime", "gettimeofday", "real_host_time("};

bool has_forbidden(const std::string& text) {
    return std::any_of(forbidden.begin(), forbidden.end(),
                       [&](const char* word) { return text.find(word) != std::string::npos; });
}

std::string without_comment(const std::string& line) { return line.substr(0, line.find("//")); }

bool is_allowed(const std::string& file) {
    return std::any_of(allowed.begin(), allowed.end(),
                       [&](const std::string& name) { return name.back() == '/' ? file.starts_with(name) : file == name; });
}

TEST(Sources, OnlyTheDriversWaitOrReadAClock) {
    const fs::path root = WATTRIG_SOURCE_DIR;
    std::size_t files = 0;
    for (const char* folder : {"host", "firmware/core"})
        for (const auto& entry : fs::recursive_directory_iterator(root / folder)) {
            const auto kind = entry.path().extension();
            if (kind != ".cpp" && kind != ".hpp") continue;
            ++files;
            const std::string name = fs::relative(entry.path(), root).generic_string();
            if (is_allowed(name)) continue;
            std::ifstream in(entry.path());
            std::size_t number = 0;
            for (std::string line; std::getline(in, line);) {
                ++number;
                EXPECT_FALSE(has_forbidden(without_comment(line))) << name << ":" << number << ": " << line;
            }
        }
    EXPECT_GT(files, 20u);
}

TEST(Sources, TheSearchFindsWhatItShould) {
    for (const char* bad :
         {"std::this_thread::sleep_for(1ms);", "  auto t = real_host_time();", "::clock_gettime(CLOCK_MONOTONIC, &t);"})
        EXPECT_TRUE(has_forbidden(without_comment(bad))) << bad;
    EXPECT_FALSE(has_forbidden(without_comment("// as real_host_time() says")));
    EXPECT_FALSE(is_allowed("host/io/worker.cpp"));
    EXPECT_FALSE(is_allowed("host/sim/drive.cpp"));
}

}  // namespace
