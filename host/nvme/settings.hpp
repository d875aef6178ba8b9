#pragma once
// Settings of a drive, changed for a while: each is read, noted in a record on disk, set, read back, and put back at the end.
// The record outlives a crash, so that `wattrig doctor --restore` can put back what a killed run left. Any one thread at a
// time.

#include <functional>
#include <string>
#include <vector>

#include "host/base/result.hpp"
#include "host/nvme/device.hpp"

namespace wattrig::nvme {

inline constexpr const char* restore_record_name = "settings.json";  // in the run directory

struct Setting {
    Feature feature{};
    FeatureValue before, asked, read_back;
    [[nodiscard]] bool taken() const { return same_setting(feature, asked, read_back); }
};

class Settings {
  public:
    // `serial` says whose settings these are: names such as nvme0 change at the next start of the machine.
    Settings(AdminDevice& device, std::string serial, std::string run_directory);
    Settings(const Settings&) = delete;
    Settings& operator=(const Settings&) = delete;
    ~Settings();  // puts back what restore() did not

    // An error when the drive refused or did not answer. A drive that said yes and did nothing gives a Setting not taken().
    Result<Setting> set(Feature feature, const FeatureValue& value);
    // Sets without reading back: for a state in which the drive must be left alone. check() reads back later.
    Result<void> set_unseen(Feature feature, const FeatureValue& value);
    // In reverse order, read back; goes on after an error and gives the first one. The record is removed when all went well.
    Result<void> restore();

  private:
    Result<void> note(Feature feature);

    AdminDevice& device_;
    std::string serial_, directory_;
    std::vector<std::pair<Feature, FeatureValue>> before_;
};

// What an earlier run left changed, found in a run directory.
struct LeftBehind {
    std::string directory, device, serial;
    std::vector<std::pair<Feature, FeatureValue>> before;
};
Result<LeftBehind> read_restore_record(const std::string& run_directory);
// Run directories below `folder` (itself, and one level down) that hold a record.
std::vector<std::string> find_restore_records(const std::string& folder);

using OpenDevice = std::function<Result<std::unique_ptr<AdminDevice>>(const std::string& controller)>;
// For `doctor --restore`: puts the settings back after the serial was compared, reads them back, removes the record. Gives a
// line for each setting.
Result<std::vector<std::string>> restore_settings(const std::string& run_directory, const OpenDevice& open = open_controller);

}  // namespace wattrig::nvme
