#pragma once
// The parameters of a phase as a suite and the command line name them: their words, types and ranges in one table, their typed
// values, and the workload made from them. Internal to host/suites. Any thread.

#include <cstdint>
#include <optional>
#include <span>
#include <string>
#include <string_view>
#include <variant>
#include <vector>

#include "host/base/clock.hpp"
#include "host/io/workload.hpp"

namespace wattrig::suites {

// The first refusal wins; readers go on with defaults afterwards, which nobody sees.
class Diagnosis {
  public:
    void refuse(const std::string& where, const std::string& text) {
        if (message_.empty()) message_ = where.empty() ? text : where + ": " + text;
    }
    [[nodiscard]] bool ok() const { return message_.empty(); }
    [[nodiscard]] const std::string& message() const { return message_; }

  private:
    std::string message_;
};

enum class ParameterType {
    pattern,
    percent,
    block_size,
    size,
    amount,
    count,
    time,
    flag,
    rate,
    number,
    word,
    bursts,
    zones,
    shares
};

struct ParameterInfo {
    std::string_view name;
    ParameterType type;
    double lowest, highest;                     // of counts, numbers, percents; bytes of sizes; seconds of times
    std::vector<std::string_view> words;        // fio's and other common names for it
    std::vector<std::string_view> values = {};  // of type word
};
std::span<const ParameterInfo> parameters();
const ParameterInfo* find_parameter(std::string_view name);             // by our name
const ParameterInfo* find_parameter_or_synonym(std::string_view name);  // or by fio's

struct Amount {  // bytes, or a share of the target
    std::uint64_t bytes = 0;
    double target_percent = 0;  // > 0: this instead
    bool operator==(const Amount&) const = default;
};
struct BurstSetting {
    io::Bursts bursts;
    std::uint64_t count = 0;  // 0 = until the phase's limit
};
using Value = std::variant<bool, std::uint64_t, double, std::string, Nanoseconds, Amount, BurstSetting, std::vector<io::Zone>,
                           std::vector<io::BlockSizeShare>>;

// As it stands in labels, tables and conditions: "4 KiB", "randread", "65".
std::string value_text(const ParameterInfo& parameter, const Value& value);
// From the command line: fio's liberties (bare numbers) allowed. `where` is the key, for the message.
std::optional<Value> value_from_text(const ParameterInfo& parameter, const std::string& text, const std::string& where,
                                     Diagnosis& diagnosis);

struct Setting {
    const ParameterInfo* parameter = nullptr;
    Value value;
    std::string where;   // JSON pointer, or "--override key"
    bool exact = false;  // given by the user: --scale leaves it alone
};

// In the order in which they were written. Setting one of two that exclude each other (block_size and block_sizes, rate and
// rate_iops, a pattern of pure reads and read_percent) drops the other.
class Settings {
  public:
    void set(const Setting& setting);
    void set_all(const Settings& others);
    void erase(std::string_view name);
    [[nodiscard]] const Setting* find(std::string_view name) const;
    [[nodiscard]] const std::vector<Setting>& all() const { return settings_; }
    [[nodiscard]] std::vector<Setting>& all() { return settings_; }

  private:
    std::vector<Setting> settings_;
};

struct Surroundings {
    std::uint64_t target_size = 0;  // 0 = not known
    std::uint32_t logical_block = 512;
    double scale = 1;
    // Shares of the target stand for shares of this while it is not known.
    static constexpr std::uint64_t assumed_target_size = 1'000'000'000'000;
    [[nodiscard]] std::uint64_t bytes_of(const Amount& amount) const;
    [[nodiscard]] Nanoseconds scaled(Nanoseconds time, bool exact) const;
};

// A span or amount of bytes after --scale: at least 64 MiB (or what it was), a multiple of `granule`.
std::uint64_t scaled_bytes(std::uint64_t bytes, double scale, std::uint64_t granule);

// Contradictions, missing parts, the fit into the target. `where`: pointer of the step.
io::Workload make_workload(const Settings& settings, const Surroundings& surroundings, const std::string& where,
                           Diagnosis& diagnosis);

// "randread 4 KiB QD4"; parameters named in `extra` that this does not show are added.
std::string workload_label(const Settings& settings, std::span<const std::string> extra);
std::string setting_text(const Settings& settings,
                         std::string_view name);  // default where it is not set, "" where there is none

}  // namespace wattrig::suites
