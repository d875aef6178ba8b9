// doctor's rigs, serve-rig and rig update: commands for the rig itself.
#include <fmt/format.h>

#include <cstdlib>
#include <filesystem>
#include <fstream>
#include <iterator>
#include <nlohmann/json.hpp>
#include <thread>

#include "firmware/protocol/frame.hpp"
#include "host/cli/commands.hpp"
#include "host/cli/console.hpp"
#include "host/cli/interrupt.hpp"
#include "host/cli/output.hpp"
#include "host/cli/rig_link.hpp"
#include "host/rig/command_client.hpp"
#include "host/rig/serve.hpp"
#include "host/rig/tcp_link.hpp"
#include "host/rig/uf2.hpp"
#include "host/rig/usb_discovery.hpp"
#include "host/rig/usb_link.hpp"

namespace wattrig::cli {
namespace {

using namespace std::chrono_literals;
namespace fs = std::filesystem;

constexpr Nanoseconds connect_timeout = 5s;
constexpr Nanoseconds self_test_timeout = 10s;
constexpr std::size_t most_image_bytes = std::size_t{8} << 20;

rig::CommandClient make_client(rig::Link& link) {
    return {link, real_host_time, [] { std::this_thread::sleep_for(1ms); }};
}

std::string token_of_environment() {
    const char* token = std::getenv("WATTRIG_TOKEN");
    return token == nullptr ? "" : token;
}

// Where the boot loader's drive is mounted, if a desktop has done so.
std::string boot_drive() {
    for (const char* base : {"/media", "/run/media"}) {
        std::error_code error;
        for (fs::recursive_directory_iterator at(base, fs::directory_options::skip_permission_denied, error), end;
             !error && at != end; at.increment(error)) {
            if (at.depth() > 1) at.disable_recursion_pending();
            if (at->path().filename() == "RPI-RP2" && fs::exists(at->path() / "INFO_UF2.TXT", error))
                return at->path().string();
        }
    }
    return {};
}

std::string test_words(const protocol::SelfTestReport& report) {
    constexpr std::pair<std::uint32_t, const char*> parts[]{
        {protocol::self_test_adc_id, "ADC identity"},        {protocol::self_test_adc_short, "ADC with shorted inputs"},
        {protocol::self_test_adc_signal, "ADC test signal"}, {protocol::self_test_slow_path, "INA228"},
        {protocol::self_test_peak_path, "peak path"},        {protocol::self_test_storage, "EEPROM"},
        {protocol::self_test_temperature, "temperature"},    {protocol::self_test_voltage, "voltage"}};
    std::string failed;
    for (const auto& [bit, name] : parts)
        if ((report.failed & bit) != 0) failed += (failed.empty() ? "" : ", ") + std::string(name);
    return failed;
}

}  // namespace

Result<std::unique_ptr<rig::Link>> connect_rig(const std::string& rig) {
    if (rig.starts_with("tcp:")) {
        auto link = rig::TcpLink::connect(rig.substr(4), connect_timeout, nullptr, token_of_environment());
        if (!link) return link.error();
        return std::unique_ptr<rig::Link>(std::move(*link));
    }
    if (rig == "usb" || rig.starts_with("usb:")) {
        auto system = rig::make_libusb_system();
        if (!system) return system.error();
        rig::UsbLinkOptions options;
        if (rig.size() > 4) options.serial = rig.substr(4);
        auto link = rig::UsbLink::open(std::move(*system), options);
        if (!link) return link.error();
        return std::unique_ptr<rig::Link>(std::move(*link));
    }
    return bad_input("expected --rig usb, usb:SERIAL or tcp:HOST:PORT, came " + rig);
}

Result<std::string> self_test_of(const std::string& rig) {
    auto link = connect_rig(rig);
    if (!link) return link.error();
    auto client = make_client(**link);
    auto info = client.info();
    if (!info) return info.error();
    std::string words = "firmware " + rig::version_text(info->firmware_version);
    if (info->streaming != 0) return words + ", streaming for someone else: not tested";
    auto reply = client.ask(protocol::CommandId::self_test, {}, self_test_timeout);
    if (!reply) return reply.error();
    if (reply->size() < sizeof(protocol::SelfTestReport))
        return device_refused("the self-test's report is too short: wrong firmware");
    const auto report = protocol::load<protocol::SelfTestReport>(reply->data());
    if (report.failed != 0) return device_refused(words + ", self-test failed: " + test_words(report));
    return words + ", self-test passed";
}

int install_rule() {
    auto installed = rig::install_udev_rule("");
    if (!installed) return refuse(installed.error());
    print_text(*installed + "\n");
    return exit_ok;
}

int serve_rig(const ServeArguments& arguments) {
    rig::ServeOptions options;
    const std::size_t colon = arguments.listen.rfind(':');
    const std::string port = colon == std::string::npos ? "" : arguments.listen.substr(colon + 1);
    if (port.empty() || port.size() > 5 || port.find_first_not_of("0123456789") != std::string::npos ||
        std::stoul(port) > 65535)
        return refuse(bad_input("expected --listen ADDRESS:PORT, such as 127.0.0.1:4711, came " + arguments.listen));
    options.address = arguments.listen.substr(0, colon);
    if (options.address.starts_with('[') && options.address.ends_with(']'))
        options.address = options.address.substr(1, options.address.size() - 2);
    options.port = static_cast<std::uint16_t>(std::stoul(port));
    options.token = token_of_environment();
    options.allow_update = arguments.allow_update;
    auto link = connect_rig(arguments.rig);
    if (!link) return refuse(link.error());
    auto server = rig::RigServer::open(**link, options, [](const std::string& line) { print_error(line); });
    if (!server) return refuse(server.error());
    print_error(fmt::format("{} is shared at tcp:{}:{}{}; Ctrl-C ends it", (*link)->description(), options.address,
                            (*server)->port(), options.token.empty() ? "" : " with a token"));
    if (auto served = (*server)->run(catch_interrupts()); !served) return refuse(served.error());
    return exit_interrupted;
}

int update_rig(const UpdateArguments& arguments) {
    std::ifstream file(arguments.file, std::ios::binary);
    if (!file) return refuse(bad_input("expected a firmware image in " + arguments.file + ", but it cannot be read"));
    std::vector<char> text;
    text.resize(most_image_bytes + 1);
    file.read(text.data(), static_cast<std::streamsize>(text.size()));
    text.resize(static_cast<std::size_t>(file.gcount()));
    auto image = rig::parse_uf2({reinterpret_cast<const std::uint8_t*>(text.data()), text.size()});
    if (!image) return refuse(bad_input(arguments.file + ": " + image.error().message));
    if (arguments.rig.starts_with("tcp:") && !arguments.allow_remote)
        return refuse(
            bad_input("a rig on another machine is not updated unless --allow-remote is given: somebody has to be there to "
                      "copy the file"));
    auto link = connect_rig(arguments.rig);
    if (!link) return refuse(link.error());
    auto client = make_client(**link);
    auto info = client.info();
    if (!info) return refuse(info.error());
    if (info->board_id != image->record.board_id)
        return refuse(
            bad_input(fmt::format("the image is for board {}, this rig is board {}", image->record.board_id, info->board_id)));
    if (image->record.firmware_version < info->firmware_version && !arguments.allow_older)
        return refuse(bad_input(fmt::format("the image is version {}, the rig has {}: --allow-older installs it all the same",
                                            rig::version_text(image->record.firmware_version),
                                            rig::version_text(info->firmware_version))));
    const protocol::BootloaderKey key{protocol::bootloader_key};
    std::array<std::uint8_t, sizeof key> bytes{};
    protocol::store(bytes.data(), key);
    if (auto entered = client.ask(protocol::CommandId::enter_bootloader, bytes, 2s); !entered) {
        Error error = entered.error();
        error.message = "the rig does not go into its boot loader: " + error.message;
        return refuse(error);
    }
    print_error(fmt::format("the rig has version {} and waits in its boot loader for {}",
                            rig::version_text(info->firmware_version), rig::version_text(image->record.firmware_version)));
    if (!arguments.rig.starts_with("tcp:")) {
        for (int k = 0; k < 100; ++k) {
            if (const std::string drive = boot_drive(); !drive.empty()) {
                std::ofstream out(drive + "/wattrig.uf2", std::ios::binary);
                out.write(text.data(), static_cast<std::streamsize>(text.size()));
                out.close();
                if (!out) return refuse(system_error("the image cannot be copied to " + drive, errno));
                print_text("The image is copied; the rig starts by itself. `wattrig doctor` tells its version.\n");
                return exit_ok;
            }
            std::this_thread::sleep_for(100ms);
        }
    }
    print_text(
        fmt::format("Copy {} to the drive RPI-RP2 that the rig now shows; it starts by itself afterwards.\n", arguments.file));
    return exit_ok;
}

}  // namespace wattrig::cli
