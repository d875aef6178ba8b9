#include "host/cli/rig_calibration.hpp"

#include <fmt/format.h>

#include <chrono>
#include <cstring>
#include <fstream>
#include <iterator>
#include <thread>

#include "host/base/clock.hpp"
#include "host/cli/commands.hpp"
#include "host/cli/output.hpp"
#include "host/cli/rig_link.hpp"
#include "host/power/calibration_file.hpp"
#include "host/rig/rig_storage.hpp"

namespace wattrig::cli {
namespace {

rig::CommandClient make_client(rig::Link& link) {
    return {link, real_host_time, [] { std::this_thread::sleep_for(std::chrono::milliseconds(1)); }};
}

Result<std::string> serial_of(rig::CommandClient& client) {
    const auto info = client.info();
    if (!info) return info.error();
    return std::string(info->serial.data(), strnlen(info->serial.data(), info->serial.size()));
}

// What the rig holds, checked as its own; nothing when it holds none.
Result<std::optional<power::Calibration>> held_by(rig::CommandClient& client) {
    const auto serial = serial_of(client);
    if (!serial) return serial.error();
    const auto record = rig::read_stored(client);
    if (!record) return record.error();
    if (record->empty()) return std::optional<power::Calibration>{};
    const std::string where = "the calibration in the rig's EEPROM";
    auto file = power::calibration_from_file_text(std::string(record->begin(), record->end()), where);
    if (!file) return file.error();
    if (!file->sealed) return bad_input(where + ": expected one with its crc32c, came one without");
    if (auto own = power::check_serial(file->calibration, *serial, where); !own) return own.error();
    return std::optional(std::move(file->calibration));
}

Result<std::string> carry_out(const RigCalibrationArguments& arguments) {
    std::optional<ChosenCalibration> given;
    if (!arguments.file.empty()) {
        auto read = read_calibration(arguments.file);
        if (!read) return read.error();
        given = std::move(*read);
    }
    auto link = connect_rig(arguments.rig);
    if (!link) return link.error();
    auto client = make_client(**link);
    if (!given) {
        const auto held = held_by(client);
        if (!held) return held.error();
        if (!*held) return device_refused("this rig holds no calibration");
        return power::calibration_file_text(**held);
    }
    const auto serial = serial_of(client);
    if (!serial) return serial.error();
    if (auto own = power::check_serial(given->calibration, *serial, arguments.file); !own) return own.error();
    const std::string text = power::calibration_file_text(given->calibration);
    if (auto stored = rig::write_stored(client, {reinterpret_cast<const std::uint8_t*>(text.data()), text.size()}); !stored)
        return stored.error();
    return fmt::format("rig {} holds the calibration of {} ({} bytes, read back)\n", *serial, given->calibration.date,
                       text.size());
}

}  // namespace

Result<ChosenCalibration> read_calibration(const std::string& path) {
    std::ifstream stream(path, std::ios::binary);
    if (!stream) return bad_input("expected a calibration in " + path + ", but it cannot be read");
    const std::string text{std::istreambuf_iterator<char>(stream), {}};
    auto read = power::calibration_from_file_text(text, path);
    if (!read) return read.error();
    ChosenCalibration chosen{std::move(read->calibration), {}};
    if (!read->sealed)
        chosen.warnings.push_back(path + ": has no crc32c: a damaged figure in it is seen only when it is out of its range");
    return chosen;
}

ChosenCalibration nominal_choice(const std::string& why) {
    return {power::nominal_calibration(power::FrontEnd{}), {why + ": power by nominal parts, with large uncertainty"}};
}

Result<ChosenCalibration> match_calibration(rig::Link& link, std::optional<ChosenCalibration> given, const std::string& path) {
    auto client = make_client(link);
    if (given) {
        const auto serial = serial_of(client);
        if (!serial) return serial.error();
        if (auto own = power::check_serial(given->calibration, *serial, path); !own) return own.error();
        return std::move(*given);
    }
    auto held = held_by(client);
    if (!held) {
        if (held.error().kind == ErrorKind::link_broke) return held.error();
        return nominal_choice(held.error().message);
    }
    if (!*held) return nominal_choice("the rig holds no calibration, and none is given (--calibration)");
    return ChosenCalibration{std::move(**held), {}};
}

int rig_calibration(const RigCalibrationArguments& arguments) {
    auto done = carry_out(arguments);
    if (!done) return refuse(done.error());
    print_text(*done);
    return exit_ok;
}

}  // namespace wattrig::cli
