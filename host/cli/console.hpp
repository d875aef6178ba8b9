#pragma once
// What the program says while it works: one live line on a terminal, plain lines elsewhere. Everything here goes to standard
// error; standard output is for results. Main thread.

#include <chrono>
#include <string>

#include "host/runner/runner.hpp"

namespace wattrig::cli {

// "wattrig: MESSAGE" as one line, made harmless for a terminal.
void print_error(const std::string& message);

bool utf8_wanted();            // by the locale's environment; the numbers never depend on it
std::size_t output_columns();  // of standard output; 120 when it is no terminal

class Console {
  public:
    explicit Console(bool quiet);
    ~Console();  // ends the live line

    void progress(const runner::RunProgress& progress);
    void notice(const std::string& line);
    void fill(double done);  // of the target's file, before the run

  private:
    using Clock = std::chrono::steady_clock;
    void live(const std::string& line);
    void plain(const std::string& line);
    void clear();

    bool quiet_;
    bool terminal_;
    bool utf8_;
    bool shown_ = false;  // a live line stands on the terminal
    std::string last_label_;
    int last_fill_ = -1;
    Clock::time_point next_{};
};

// One line without escapes: "[ 3/13] randread QD4  #####.....  0:42 left  221 MB/s  54.0k IOPS  2.17 W (sim)".
std::string progress_line(const runner::RunProgress& progress, std::size_t columns, bool utf8);

}  // namespace wattrig::cli
