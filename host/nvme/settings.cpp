#include "host/nvme/settings.hpp"

#include <fcntl.h>
#include <fmt/format.h>
#include <unistd.h>

#include <algorithm>
#include <cerrno>
#include <filesystem>
#include <fstream>
#include <iterator>
#include <nlohmann/json.hpp>

namespace wattrig::nvme {
namespace {

namespace fs = std::filesystem;

constexpr const char* schema = "wattrig.settings/1";

std::string to_hex(const std::vector<std::byte>& data) {
    std::string text;
    for (const std::byte b : data) text += fmt::format("{:02x}", std::to_integer<unsigned>(b));
    return text;
}

std::optional<std::vector<std::byte>> from_hex(const std::string& text) {
    if (text.size() % 2 != 0 || text.find_first_not_of("0123456789abcdef") != std::string::npos) return std::nullopt;
    std::vector<std::byte> data;
    for (std::size_t i = 0; i < text.size(); i += 2)
        data.push_back(static_cast<std::byte>(std::stoul(text.substr(i, 2), nullptr, 16)));
    return data;
}

// On the disk before it counts: a record that a crash loses is none.
Result<void> write_durably(const std::string& path, const std::string& text) {
    const std::string fresh = path + ".new";
    const int descriptor = ::open(fresh.c_str(), O_WRONLY | O_CREAT | O_TRUNC | O_CLOEXEC | O_NOFOLLOW, 0644);
    if (descriptor < 0) return system_error(fmt::format("{}: the record of settings cannot be made", fresh), errno);
    const bool written =
        write(descriptor, text.data(), text.size()) == static_cast<ssize_t>(text.size()) && fsync(descriptor) == 0;
    const int failure = errno;
    close(descriptor);
    if (!written) return system_error(fmt::format("{}: the record of settings cannot be written", fresh), failure);
    if (rename(fresh.c_str(), path.c_str()) != 0)
        return system_error(fmt::format("{}: the record of settings cannot be put in place", path), errno);
    const std::string folder = fs::path(path).parent_path().string();
    const int parent = ::open(folder.empty() ? "." : folder.c_str(), O_RDONLY | O_DIRECTORY | O_CLOEXEC);
    if (parent >= 0) {
        fsync(parent);
        close(parent);
    }
    return {};
}

Result<void> put_back(AdminDevice& device, Feature feature, const FeatureValue& value) {
    if (auto done = set_feature(device, feature, value); !done) return done;
    auto now = get_feature(device, feature);
    if (!now) return now.error();
    if (!same_setting(feature, value, *now))
        return device_refused(
            fmt::format("{}: {} was put back to 0x{:x}, but the drive reads 0x{:x}; a power cycle of the drive "
                        "gives its defaults",
                        device.name(), feature_name(feature), value.word, now->word));
    return {};
}

}  // namespace

Settings::Settings(AdminDevice& device, std::string serial, std::string run_directory)
    : device_(device), serial_(std::move(serial)), directory_(std::move(run_directory)) {}

Settings::~Settings() { (void)restore(); }  // the record stays when it fails, and doctor finds it

Result<void> Settings::note(Feature feature) {
    if (std::any_of(before_.begin(), before_.end(), [&](const auto& one) { return one.first == feature; })) return {};
    auto value = get_feature(device_, feature);
    if (!value) return value.error();
    before_.emplace_back(feature, std::move(*value));
    nlohmann::json record{
        {"schema", schema}, {"device", device_.name()}, {"serial", serial_}, {"before", nlohmann::json::array()}};
    for (const auto& [noted, before] : before_)
        record["before"].push_back({{"feature", static_cast<unsigned>(noted)},
                                    {"name", feature_name(noted)},
                                    {"word", before.word},
                                    {"data", to_hex(before.data)}});
    auto written = write_durably(directory_ + "/" + restore_record_name, record.dump(2) + "\n");
    if (!written) before_.pop_back();
    return written;
}

Result<void> Settings::set_unseen(Feature feature, const FeatureValue& value) {
    if (auto noted = note(feature); !noted) return noted;
    return set_feature(device_, feature, value);
}

Result<Setting> Settings::set(Feature feature, const FeatureValue& value) {
    if (auto done = set_unseen(feature, value); !done) return done.error();
    auto now = get_feature(device_, feature);
    if (!now) return now.error();
    const auto noted = std::find_if(before_.begin(), before_.end(), [&](const auto& one) { return one.first == feature; });
    return Setting{feature, noted->second, value, std::move(*now)};
}

Result<void> Settings::restore() {
    if (before_.empty()) return {};
    Result<void> first = {};
    for (auto it = before_.rbegin(); it != before_.rend(); ++it)
        if (auto done = put_back(device_, it->first, it->second); !done && first) first = done;
    if (!first) return first;
    before_.clear();
    std::error_code error;
    fs::remove(directory_ + "/" + restore_record_name, error);
    return {};
}

Result<LeftBehind> read_restore_record(const std::string& run_directory) {
    const std::string path = run_directory + "/" + restore_record_name;
    std::ifstream in(path);
    if (!in) return bad_input(fmt::format("{}: there is no record of changed settings here", run_directory));
    const auto json = nlohmann::json::parse(in, nullptr, false);
    const auto bad = [&](const char* what) { return bad_input(fmt::format("{}: not a record of settings: {}", path, what)); };
    if (!json.is_object() || json.value("schema", nlohmann::json()) != schema) return bad("expected schema wattrig.settings/1");
    LeftBehind left;
    left.directory = run_directory;
    const auto text = [&](const nlohmann::json& from, const char* key) {
        const auto found = from.find(key);
        return found != from.end() && found->is_string() ? found->get<std::string>() : std::string();
    };
    left.device = text(json, "device");
    left.serial = text(json, "serial");
    const auto list = json.find("before");
    // The name becomes a path in /dev: nothing but a controller's name may stand there.
    if (!left.device.starts_with("nvme") || left.device.find_first_not_of("0123456789", 4) != std::string::npos)
        return bad("the name of the device");
    if (list == json.end() || !list->is_array()) return bad("expected a list of settings");
    for (const auto& one : *list) {
        if (!one.is_object() || !one.contains("feature") || !one["feature"].is_number_unsigned() || !one.contains("word") ||
            !one["word"].is_number_unsigned())
            return bad("a setting without number or value");
        const auto feature = static_cast<Feature>(one["feature"].get<unsigned>() & 0xFF);
        auto data = from_hex(text(one, "data"));
        if (!*feature_name(feature) || !data) return bad("a setting that wattrig never changes");
        left.before.emplace_back(feature, FeatureValue{one["word"].get<std::uint32_t>(), std::move(*data)});
    }
    return left;
}

std::vector<std::string> find_restore_records(const std::string& folder) {
    std::vector<std::string> found;
    std::error_code error;
    if (fs::exists(fs::path(folder) / restore_record_name, error)) found.push_back(folder);
    for (fs::directory_iterator it(folder, error), end; !error && it != end; it.increment(error))
        if (std::error_code inner; fs::exists(it->path() / restore_record_name, inner)) found.push_back(it->path().string());
    std::sort(found.begin(), found.end());
    return found;
}

Result<std::vector<std::string>> restore_settings(const std::string& run_directory, const OpenDevice& open) {
    auto left = read_restore_record(run_directory);
    if (!left) return left.error();
    auto device = open(left->device);
    if (!device) return device.error();
    auto controller = identify_controller(**device);
    if (!controller) return controller.error();
    if (controller->serial != left->serial)
        return bad_input(
            fmt::format("{}: the settings belong to the drive '{}', but {} is now '{}'; nothing was changed; after "
                        "a restart of the machine the drive has its defaults anyway, and {} can be removed",
                        run_directory, left->serial, left->device, controller->serial, restore_record_name));
    std::vector<std::string> lines;
    for (auto it = left->before.rbegin(); it != left->before.rend(); ++it) {
        if (auto done = put_back(**device, it->first, it->second); !done) return done.error();
        lines.push_back(fmt::format("{}: {} put back to 0x{:x}", left->device, feature_name(it->first), it->second.word));
    }
    std::error_code error;
    fs::remove(fs::path(run_directory) / restore_record_name, error);
    return lines;
}

}  // namespace wattrig::nvme
