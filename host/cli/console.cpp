#include "host/cli/console.hpp"

#include <fmt/format.h>
#include <sys/ioctl.h>
#include <unistd.h>

#include <algorithm>
#include <cctype>
#include <cmath>
#include <cstdio>
#include <cstdlib>
#include <string_view>

#include "host/report/escape.hpp"
#include "host/report/figures.hpp"

namespace wattrig::cli {
namespace {

constexpr auto live_interval = std::chrono::milliseconds(100);
constexpr const char* erase_line = "\r\x1b[K";

std::size_t terminal_columns(int descriptor, std::size_t otherwise) {
    winsize size{};
    if (ioctl(descriptor, TIOCGWINSZ, &size) != 0 || size.ws_col == 0) return otherwise;
    return size.ws_col;
}

std::string bar(double done, std::size_t width, bool utf8) {
    const auto full = static_cast<std::size_t>(std::lround(std::clamp(done, 0.0, 1.0) * static_cast<double>(width)));
    std::string out;
    for (std::size_t k = 0; k < width; ++k) {
        if (utf8)
            out += k < full ? "\xe2\x94\x81" : "\xe2\x95\x8c";  // heavy and dashed line
        else
            out += k < full ? '#' : '.';
    }
    return out;
}

std::string left_text(Nanoseconds left) {
    if (left < Nanoseconds(0)) return "";
    const long s = std::lround(to_seconds(left));
    if (s >= 3600) return fmt::format("{}:{:02}:{:02} left", s / 3600, s / 60 % 60, s % 60);
    return fmt::format("{}:{:02} left", s / 60, s % 60);
}

std::string iops_text(double iops) {
    if (iops >= 1e6) return report::significant(iops / 1e6, 3) + "M IOPS";
    if (iops >= 1e4) return report::significant(iops / 1e3, 3) + "k IOPS";
    return report::significant(iops, 3) + " IOPS";
}

}  // namespace

void print_error(const std::string& message) {
    // A library's message may have line breaks; an error here is one line.
    std::string line = message;
    std::replace(line.begin(), line.end(), '\n', ' ');
    line = "wattrig: " + report::terminal_safe(line) + "\n";
    std::fwrite(line.data(), 1, line.size(), stderr);
}

bool utf8_wanted() {
    for (const char* name : {"LC_ALL", "LC_CTYPE", "LANG"}) {
        const char* value = std::getenv(name);
        if (!value || !*value) continue;
        std::string text(value);
        std::transform(text.begin(), text.end(), text.begin(),
                       [](unsigned char c) { return static_cast<char>(std::tolower(c)); });
        return text.find("utf-8") != std::string::npos || text.find("utf8") != std::string::npos;
    }
    return false;
}

std::size_t output_columns() {
    const std::size_t columns = isatty(STDOUT_FILENO) ? terminal_columns(STDOUT_FILENO, 120) : 120;
    return std::clamp<std::size_t>(columns, 60, 200);
}

std::string progress_line(const runner::RunProgress& progress, std::size_t columns, bool utf8) {
    const std::string total = std::to_string(progress.steps);
    const std::string label = report::terminal_safe(progress.label, utf8);
    std::string tail;
    const auto add = [&](const std::string& text) {
        if (!text.empty()) tail += "  " + text;
    };
    add(left_text(progress.left));
    if (progress.iops > 0) {
        add(report::significant(progress.megabytes_per_second, 3) + " MB/s");
        add(iops_text(progress.iops));
    }
    if (progress.watts >= 0)
        add(report::with_decimals(progress.watts, 3) + (progress.simulated_power ? " W (simulated)" : " W"));
    std::string line = fmt::format("[{:>{}}/{}] {}", progress.step, total.size(), total, label);
    const std::size_t used = report::display_width(line) + report::display_width(tail) + 2;
    const std::size_t width = columns > used + 6 ? std::min<std::size_t>(24, columns - used - 1) : 0;
    if (width > 0) line += "  " + bar(progress.step_done, width, utf8);
    line += tail;
    // Cut rather than wrapped: a wrapped live line cannot be erased.
    while (report::display_width(line) >= columns && !line.empty()) line.pop_back();
    return line;
}

Console::Console(bool quiet) : quiet_(quiet), terminal_(isatty(STDERR_FILENO) != 0), utf8_(utf8_wanted()) {}
Console::~Console() { clear(); }

void Console::clear() {
    if (shown_) std::fputs(erase_line, stderr);
    shown_ = false;
}

void Console::live(const std::string& line) {
    std::fputs(erase_line, stderr);
    std::fwrite(line.data(), 1, line.size(), stderr);
    std::fflush(stderr);
    shown_ = true;
}

void Console::plain(const std::string& line) {
    clear();
    std::fwrite(line.data(), 1, line.size(), stderr);
    std::fputc('\n', stderr);
}

void Console::notice(const std::string& line) {
    if (!quiet_) plain(report::terminal_safe(line, utf8_));
}

void Console::progress(const runner::RunProgress& progress) {
    if (quiet_) return;
    if (!terminal_) {
        if (progress.label == last_label_) return;
        last_label_ = progress.label;
        const std::string left = left_text(progress.left);
        plain(fmt::format("step {}/{} {}{}", progress.step, progress.steps, report::terminal_safe(progress.label, utf8_),
                          left.empty() ? "" : ", " + left));
        return;
    }
    const auto now = Clock::now();
    if (now < next_) return;
    next_ = now + live_interval;
    live(progress_line(progress, terminal_columns(STDERR_FILENO, 100), utf8_));
}

void Console::fill(double done) {
    if (quiet_) return;
    const int percent = static_cast<int>(std::clamp(done, 0.0, 1.0) * 100);
    if (terminal_) {
        const auto now = Clock::now();
        if (now < next_) return;
        next_ = now + live_interval;
        live(fmt::format("filling the target  {}  {} %", bar(done, 24, utf8_), percent));
    } else if (percent / 25 > last_fill_) {
        last_fill_ = percent / 25;
        plain(fmt::format("filling the target, {} %", percent));
    }
}

}  // namespace wattrig::cli
