#include "host/cli/interrupt.hpp"

#include <unistd.h>

#include <csignal>
#include <string_view>

namespace wattrig::cli {
namespace {

io::StopFlag stop{false};
bool announced = true;
static_assert(io::StopFlag::is_always_lock_free, "a signal handler sets it");

void on_signal(int number) {
    constexpr std::string_view again = "\nwattrig: ending this phase and writing the result; once more to abort\n";
    constexpr std::string_view aborted = "\nwattrig: aborted\n";
    if (stop.exchange(true)) {
        [[maybe_unused]] const auto written = write(STDERR_FILENO, aborted.data(), aborted.size());
        _exit(128 + number);
    }
    if (!announced) return;
    [[maybe_unused]] const auto written = write(STDERR_FILENO, again.data(), again.size());
}

}  // namespace

io::StopFlag& catch_interrupts(bool run) {
    announced = run;
    struct sigaction action{};
    action.sa_handler = on_signal;
    sigemptyset(&action.sa_mask);
    action.sa_flags = SA_RESTART;
    sigaction(SIGINT, &action, nullptr);
    sigaction(SIGTERM, &action, nullptr);
    return stop;
}

}  // namespace wattrig::cli
