// `wattrig live`: power as it comes, on a page or as lines of text; and old recordings on the same page.

#include <fmt/format.h>

#include <cmath>
#include <cstdlib>
#include <nlohmann/json.hpp>

#include "host/cli/commands.hpp"
#include "host/cli/console.hpp"
#include "host/cli/interrupt.hpp"
#include "host/cli/live_rig.hpp"
#include "host/cli/output.hpp"
#include "host/live/server.hpp"
#include "host/report/figures.hpp"

namespace wattrig::cli {
namespace {

using namespace std::chrono_literals;

// "127.0.0.1:4712" or "[::1]:0".
Result<void> parse_listen(const std::string& listen, live::ServerOptions& options) {
    const std::size_t colon = listen.rfind(':');
    const std::string port = colon == std::string::npos ? "" : listen.substr(colon + 1);
    if (port.empty() || port.size() > 5 || port.find_first_not_of("0123456789") != std::string::npos ||
        std::stoul(port) > 65535)
        return bad_input("expected --listen ADDRESS:PORT, such as 127.0.0.1:4712, came " + listen);
    options.address = listen.substr(0, colon);
    if (options.address.starts_with('[') && options.address.ends_with(']'))
        options.address = options.address.substr(1, options.address.size() - 2);
    options.port = static_cast<std::uint16_t>(std::stoul(port));
    return {};
}

// One line a second: what a terminal, a log and `awk` can use.
class TextView {
  public:
    TextView(live::Capture& capture, live::DeviceCounters* device, std::optional<Nanoseconds> duration)
        : capture_(capture), device_(device), duration_(duration) {}

    int run(const io::StopFlag& stop) {
        print_text(device_ != nullptr
                       ? "      time    power   lowest  highest  voltage      speed\n         s        W        W        W     "
                         "   V       MB/s       IOPS\n"
                       : "      time    power   lowest  highest  voltage\n         s        W        W        W        V\n");
        const HostTime begin = runner::wait_clock_now();
        HostTime next = begin + 1s;
        if (device_ != nullptr) (void)device_->rate(begin);
        runner::Waiter waiter;
        for (;;) {
            waiter.wait_until(std::min(next, runner::wait_clock_now() + 100ms), &stop);
            take();
            const live::CaptureState state = capture_.state();
            for (const std::string& line : state.troubles) print_error(line);
            if (state.session.failed) return refuse(link_broke(state.session.failure));
            if (stop.load()) return exit_interrupted;
            if (runner::wait_clock_now() < next) continue;
            line(next - begin);
            next += 1s;
            if (duration_ && next - begin > *duration_ + 500ms) return exit_ok;
        }
    }

  private:
    void take() {
        live::Column column;
        while (capture_.pop(column)) {
            const auto weight = static_cast<double>((column.end - column.begin).count());
            lowest_ = known_ > 0 ? std::min(lowest_, column.lowest) : column.lowest;
            highest_ = known_ > 0 ? std::max(highest_, column.highest) : column.highest;
            watts_ += static_cast<double>(column.mean) * weight;
            volts_ += static_cast<double>(column.volts) * weight;
            known_ += weight;
        }
    }
    void line(Nanoseconds at) {
        const auto shown = [&](double value, int decimals) {
            return known_ > 0 ? report::with_decimals(value, decimals) : std::string("-");
        };
        std::string text = fmt::format("{:>10} {:>8} {:>8} {:>8} {:>8}", report::with_decimals(to_seconds(at), 1),
                                       shown(watts_ / known_, 4), shown(static_cast<double>(lowest_), 4),
                                       shown(static_cast<double>(highest_), 4), shown(volts_ / known_, 4));
        if (device_ != nullptr) {
            const auto rate = device_->rate(runner::wait_clock_now());
            text += fmt::format(" {:>10} {:>10}", rate ? report::with_decimals(rate->megabytes_per_second, 1) : "-",
                                rate ? report::with_decimals(rate->iops, 0) : "-");
        }
        print_text(text + "\n");
        watts_ = volts_ = known_ = 0;
    }

    live::Capture& capture_;
    live::DeviceCounters* device_;
    std::optional<Nanoseconds> duration_;
    double watts_ = 0, volts_ = 0, known_ = 0;  // sums over ns
    float lowest_ = 0, highest_ = 0;
};

int serve(live::ServerOptions options, live::Capture* capture, const live::Replay* replay, live::DeviceCounters* device,
          const LiveArguments& arguments) {
    const std::string shown = options.address.find(':') == std::string::npos ? options.address : "[" + options.address + "]";
    const bool token = !options.token.empty();
    auto server = live::Server::open(std::move(options), capture, replay, device, [&](const std::string& line) {
        if (!arguments.quiet) print_error(line);
    });
    if (!server) return refuse(server.error());
    print_text(fmt::format("http://{}:{}/{}\n", shown, (*server)->port(), token ? "?token=$WATTRIG_TOKEN" : ""));
    if (auto served = (*server)->run(catch_interrupts(false)); !served) return refuse(served.error());
    return exit_ok;  // Ctrl-C is how watching ends
}

std::string token_of_environment() {
    const char* token = std::getenv("WATTRIG_TOKEN");
    return token == nullptr ? "" : token;
}

}  // namespace

int live(const LiveArguments& arguments) {
    live::ServerOptions options;
    if (auto parsed = parse_listen(arguments.listen, options); !parsed) return refuse(parsed.error());
    options.token = token_of_environment();
    if (!arguments.replay.empty()) {
        if (arguments.text)
            return refuse(bad_input("--replay and --text contradict each other: `wattrig export` writes a recording as text"));
        auto replay = live::Replay::open(arguments.replay);
        if (!replay) return refuse(replay.error());
        options.title = arguments.replay;
        if (replay->summary()["simulated"] == true) options.mark = "power: SIMULATED";
        return serve(std::move(options), nullptr, &*replay, nullptr, arguments);
    }
    std::optional<live::DeviceCounters> device;
    if (!arguments.device.empty()) {
        auto opened = live::DeviceCounters::open(arguments.device);
        if (!opened) return refuse(opened.error());
        device = std::move(*opened);
    }
    RunArguments how;
    how.rig = arguments.rig;
    how.calibration = arguments.calibration;
    auto rig = LiveRig::connect(how);
    if (!rig) return refuse(rig.error());
    rig::Link* link = (*rig)->link();
    if (link == nullptr) return refuse(bad_input("expected a rig: --rig usb, usb:SERIAL, sim, replay:FILE or tcp:HOST:PORT"));
    if (!arguments.quiet)
        for (const std::string& warning : (*rig)->warnings()) print_error(warning);
    const power::Calibration& calibration = *(*rig)->calibration();

    options.title = link->description() + (arguments.device.empty() ? "" : ", " + arguments.device);
    if (link->simulated()) options.mark = "power: SIMULATED";
    const std::string folder = arguments.out;
    options.new_directory = [folder] {
        return folder.empty() ? default_directory("live") : folder + "/live-" + now_text("%Y-%m-%d-%H%M%S");
    };
    options.run_json =
        nlohmann::json({{"program", {{"name", "wattrig"}, {"version", program_version()}}},
                        {"started", now_text("%Y-%m-%dT%H:%M:%S%z")},
                        {"target", {{"description", arguments.device}}},
                        {"drive", {{"name", arguments.device}, {"simulated", false}}},
                        {"rig", {{"present", true}, {"description", link->description()}, {"simulated", link->simulated()}}},
                        {"calibration", power::to_json(calibration)},
                        {"warnings", (*rig)->warnings()}})
            .dump(-1, ' ', false, nlohmann::json::error_handler_t::replace);
    live::Capture capture(*link, calibration);
    if (arguments.text) return TextView(capture, device ? &*device : nullptr, arguments.duration).run(catch_interrupts(false));
    return serve(std::move(options), &capture, nullptr, device ? &*device : nullptr, arguments);
}

}  // namespace wattrig::cli
