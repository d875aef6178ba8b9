#pragma once
// Strict reading of a suite's JSON: every value is of the expected type and range, every key is known. Internal to host/suites;
// only its .cpp files see the whole of nlohmann/json. One thread.

#include <functional>
#include <initializer_list>
#include <nlohmann/json_fwd.hpp>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "host/suites/parameters.hpp"

namespace wattrig::suites {

using Json = nlohmann::ordered_json;

// Refuses what is too large, too deep, no JSON, or has a key twice; nothing then. Names line and column.
std::optional<Json> parse_json(const std::string& text, Diagnosis& diagnosis);

// "a number 5", "the text "x"", "an object": for "expected ..., came ...".
std::string json_text(const Json& value);

std::optional<Value> read_value(const ParameterInfo& parameter, const Json& value, const std::string& where,
                                Diagnosis& diagnosis);

class ObjectReader {
  public:
    // `what`: "a suite", "a step", for the message when it is no object.
    ObjectReader(const Json& value, std::string where, std::string_view what, Diagnosis& diagnosis);

    [[nodiscard]] const Json* take(const std::string& key);  // nothing when it is not there
    [[nodiscard]] const Json& require(const std::string& key, std::string_view what);
    [[nodiscard]] std::string at(std::string_view key) const;  // pointer of a key
    [[nodiscard]] const std::string& where() const { return where_; }

    std::string text(const std::string& key, std::string_view fallback = "");
    std::string required_text(const std::string& key);
    std::string word(const std::string& key, std::initializer_list<std::string_view> words, std::string_view fallback);
    bool flag(const std::string& key, bool fallback);
    std::optional<double> number(const std::string& key, double lowest, double highest);
    std::optional<std::uint64_t> count(const std::string& key, std::uint64_t lowest, std::uint64_t highest);
    std::optional<Nanoseconds> time(const std::string& key);
    std::optional<std::uint64_t> size(const std::string& key);
    std::vector<std::string> texts(const std::string& key);
    // Everything that is a parameter of a phase.
    Settings settings();
    // Refuses keys that nobody took, with the nearest of those that were asked for.
    void finish();

  private:
    const Json& value_;
    std::string where_;
    Diagnosis& diagnosis_;
    std::vector<std::string> known_;
    std::vector<std::string> taken_;
};

}  // namespace wattrig::suites
