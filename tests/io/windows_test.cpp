#include "host/io/windows.hpp"

#include <gtest/gtest.h>

using namespace wattrig;
using namespace wattrig::io;
using namespace std::chrono_literals;

namespace {

constexpr std::int64_t ms = WindowCounter::fine;

std::vector<Window> filled(FineUntil& fine, std::int64_t error_at, std::int64_t end, std::uint32_t bytes) {
    WindowCounter counter(fine);
    counter.start(0ns, Nanoseconds(end));
    for (std::int64_t at = ms / 2; at < end; at += ms) {
        counter.add(OperationKind::read, at, bytes, 7);
        if (at / ms == error_at / ms) counter.add_error(at);
    }
    return counter.finish(end);
}

std::uint64_t sum(const std::vector<Window>& windows) {
    std::uint64_t bytes = 0;
    for (const Window& w : windows) bytes += w.read_bytes;
    return bytes;
}

void expect_tiles(const std::vector<Window>& windows, Nanoseconds end) {
    Nanoseconds edge{0};
    for (const Window& w : windows) {
        ASSERT_EQ(w.begin, edge);
        edge += w.length;
    }
    EXPECT_EQ(edge, end);
}

TEST(Windows, WorkersShareTheSplitAroundAnError) {
    FineUntil fine{0};
    const std::int64_t end = 12'000 * ms;
    std::vector<std::vector<Window>> parts{filled(fine, 11'250 * ms, end, 512), filled(fine, -1, end, 1024)};
    const auto merged = merge_windows(std::move(parts));
    expect_tiles(merged, Nanoseconds(end));
    EXPECT_EQ(sum(merged), 12'000u * 1536);
    for (const Window& w : merged)
        if (w.begin >= 11'200ms) {
            EXPECT_EQ(w.length, 1ms);
            EXPECT_EQ(w.read_bytes, 1536u);
        }
}

TEST(Windows, ASplitThatOnlyOneWorkerHasIsLostNotInvented) {
    FineUntil a{0}, b{0};
    const std::int64_t end = 12'000 * ms;
    std::vector<std::vector<Window>> parts{filled(a, 11'250 * ms, end, 512), filled(b, -1, end, 1024)};
    const auto merged = merge_windows(std::move(parts));
    expect_tiles(merged, Nanoseconds(end));
    EXPECT_EQ(sum(merged), 12'000u * 1536);
    for (const Window& w : merged) EXPECT_EQ(w.length, w.begin < 10s ? 1ms : 100ms);
}

TEST(Windows, WorkersThatEndEarlierLeaveNoHole) {
    FineUntil fine{0};
    std::vector<std::vector<Window>> parts{filled(fine, -1, 3 * ms + 600'000, 512), filled(fine, -1, 9 * ms, 1024), {}};
    const auto merged = merge_windows(std::move(parts));
    expect_tiles(merged, 9ms);
    EXPECT_EQ(sum(merged), 4u * 512 + 9 * 1024);
}

TEST(Windows, IdleTimeIsWindowsOfNothing) {
    FineUntil fine{0};
    WindowCounter counter(fine);
    counter.start(5ms, 0ns);
    counter.add(OperationKind::write, 2 * ms, 10, 1);
    counter.add(OperationKind::write, 20'000 * ms, 10, 1);
    const auto windows = counter.finish(20'001 * ms);
    EXPECT_EQ(windows.size(), 10'000u + 101);
    EXPECT_EQ(windows[0].begin, 5ms);
    EXPECT_EQ(windows[2].writes, 1u);
    EXPECT_EQ(windows[3].writes, 0u);
    EXPECT_EQ(windows.back().writes, 1u);
    EXPECT_EQ(windows.back().length, 1ms) << "cut at the end of the phase";
}

TEST(Windows, AStormOfErrorsKeepsTheListBounded) {
    FineUntil fine{0};
    WindowCounter counter(fine);
    counter.start(0ns, 0ns);
    const std::int64_t end = 4'000'000 * ms;  // more than an hour
    for (std::int64_t at = 0; at < end; at += 50 * ms) counter.add_error(at);
    const auto windows = counter.finish(end);
    EXPECT_LT(windows.size(), 10'000u + WindowCounter::most_split * 1000 + 10'000);
    std::uint64_t errors = 0;
    for (const Window& w : windows) errors += w.errors;
    EXPECT_EQ(errors, 80'000u);
}

}  // namespace
