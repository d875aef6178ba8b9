// Model files: what comes with the program loads, and what is wrong is named in one line.

#include <gtest/gtest.h>

#include <algorithm>
#include <fstream>
#include <sstream>

#include "host/sim/drive_parameters.hpp"
#include "host/sim/simulation.hpp"

namespace wattrig::sim {
namespace {

TEST(ModelFile, ANumberBeyondAnyIsRefusedInWords) {  // found by model_fuzz: it went out as an exception
    const auto model = parse_model(R"({"name": "x", "capacity_bytes": 1E400})", "huge.json");
    ASSERT_FALSE(model);
    EXPECT_NE(model.error().message.find("huge.json"), std::string::npos);
    EXPECT_NE(model.error().message.find("larger than any"), std::string::npos);
}

std::string text_of(const std::string& model) {
    for (const EmbeddedModel& embedded : embedded_models())
        if (model == embedded.name) return embedded.text;
    return {};
}
std::string with(std::string text, const std::string& from, const std::string& to) {
    const std::size_t at = text.find(from);
    EXPECT_NE(at, std::string::npos) << from;
    return at == std::string::npos ? text : text.replace(at, from.size(), to);
}
std::string error_of(const std::string& text) {
    const auto model = parse_model(text, "x.json");
    if (model) return "no error";
    const std::string message = model.error().message;
    EXPECT_EQ(std::count(message.begin(), message.end(), '\n'), 0);
    return message;
}

TEST(ModelFile, AllThatComeWithTheProgramLoad) {
    const auto models = list_models();
    ASSERT_GE(models.size(), 3U);
    for (const ModelSummary& model : models) {
        EXPECT_GT(model.capacity, 100'000'000'000U);
        EXPECT_TRUE(load_model(model.name).has_value());
        EXPECT_TRUE(load_model(std::string(WATTRIG_SOURCE_DIR) + "/host/sim/models/" + model.name + ".json").has_value());
    }
}

TEST(ModelFile, SaysWhatIsWrongInOneLine) {
    const std::string good = text_of("client-1tb");
    EXPECT_EQ(error_of(good), "no error");
    EXPECT_EQ(error_of(with(good, "\"units\": 64", "\"units\": 64, \"unit\": 3")),
              "x.json: key \"flash.unit\" is not known to this program; remove it or correct its spelling");
    EXPECT_EQ(error_of(with(good, "\"units\": 64", "\"units\": \"64\"")),
              "x.json: key \"flash.units\" should be a number, but is the string \"64\"");
    EXPECT_EQ(error_of(with(good, "\"units\": 64", "\"units\": 6.5")),
              "x.json: key \"flash.units\" should be a whole number, but is 6.5");
    EXPECT_EQ(error_of(with(good, "\"idle_watt\": 0.85", "\"idle_watt\": 850")),
              "x.json: key \"power.idle_watt\" should be 0 .. 30, but is 850");
    EXPECT_EQ(error_of(with(good, "\"idle_watt\": 0.85,", "")),
              "x.json: key \"power.idle_watt\" should be to be there, but is nothing");
    EXPECT_EQ(error_of(with(good, "\"page_bytes\": 16384", "\"page_bytes\": 16000")),
              "x.json: key \"flash.page_bytes\" should be a power of two, but is 16000");
    EXPECT_EQ(error_of(with(good, "\"cache\": {", "\"cache\": 3, \"x\": {")),
              "x.json: key \"cache.\" should be an object, but is 3");
    EXPECT_NE(error_of(good.substr(0, good.size() / 2)).find("x.json: is not well-formed JSON"), std::string::npos);
    EXPECT_NE(error_of("").find("x.json: is not well-formed JSON"), std::string::npos);
    EXPECT_EQ(error_of("[]"), "x.json: key \"the file\" should be an object, but is a list");
}

TEST(ModelFile, EveryTruncationIsAnErrorAndNothingWorse) {
    const std::string good = text_of("dramless-500gb");
    for (std::size_t size = 0; size + 2 < good.size(); size += 7) EXPECT_NE(error_of(good.substr(0, size)), "no error") << size;
}

TEST(ModelFile, AnUnknownNameListsThoseThereAre) {
    const auto model = load_model("nope");
    ASSERT_FALSE(model.has_value());
    EXPECT_NE(model.error().message.find("client-1tb"), std::string::npos);
    EXPECT_FALSE(load_model("/nowhere/at/all.json").has_value());
}

}  // namespace
}  // namespace wattrig::sim
