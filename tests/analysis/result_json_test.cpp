#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <nlohmann/json.hpp>

#include "host/analysis/result.hpp"
#include "tests/analysis/example_result.hpp"

namespace wattrig::analysis {
namespace {

using nlohmann::json;

json through_text(const RunResult& result) {
    return json::parse(to_json(result).dump(-1, ' ', false, json::error_handler_t::replace));
}

TEST(ResultJson, ComesBackAsItWas) {
    for (const RunResult& result : {test::full_result(), test::empty_result()}) {
        const json written = through_text(result);
        const auto read = result_from_json(written, "result.json");
        ASSERT_TRUE(read) << read.error().message;
        json again = through_text(*read);
        // The bursts themselves are in io.bin; result.json has their number.
        EXPECT_EQ(again, written);
    }
}

TEST(ResultJson, NotMeasuredIsNullNeverZero) {
    const json j = through_text(test::empty_result());
    const json& phase = j["phases"][0];
    for (const char* key : {"iops", "megabytes_per_second", "cool_off_joules", "little_error", "io", "budget_watts"})
        EXPECT_TRUE(phase[key].is_null()) << key;
    for (const char* key : {"watts", "megabytes_per_second_per_watt", "microjoules_per_operation"})
        for (const char* part : {"value", "u", "spread"}) EXPECT_TRUE(phase[key][part].is_null()) << key;
    for (const char* key : {"energy_joules", "mean_watts", "minimum_watts", "pcm1_watts", "pcm2_watts"})
        EXPECT_TRUE(phase["power"][key].is_null()) << key;
    EXPECT_TRUE(j["scores"][0]["mean_of_ratios"]["value"].is_null());
    EXPECT_TRUE(j["scale"].is_null());
    EXPECT_TRUE(j["clock"]["bound_us"].is_null());
}

TEST(ResultJson, RefusalsNameThePlace) {
    const auto message = [](const auto& change) {
        json broken = through_text(test::full_result());
        change(broken);
        const auto read = result_from_json(broken, "r.json");
        return read ? std::string("accepted") : read.error().message;
    };
    EXPECT_EQ(message([](json& j) { j["schema"] = "wattrig.result/2"; }),
              "r.json.schema: expected \"wattrig.result/1\", came \"wattrig.result/2\"");
    EXPECT_EQ(message([](json& j) { j["phases"][0]["power"]["samples"] = -1; }),
              "r.json.phases[0].power.samples: expected a whole number, came -1");
    EXPECT_EQ(message([](json& j) { j["phases"][0]["watts"].erase("u"); }),
              "r.json.phases[0].watts.u: expected a value, came nothing");
    EXPECT_EQ(message([](json& j) { j["phases"][0]["iops"] = "many"; }),
              "r.json.phases[0].iops: expected a number or null, came \"many\"");
    EXPECT_FALSE(result_from_json(json(), "r"));
    EXPECT_FALSE(result_from_json(json::array(), "r"));
}

// Every key taken away or replaced by each kind of value: a refusal or a result, never a crash.
TEST(ResultJson, AnyDamageIsRefusedOrRead) {
    const json good = through_text(test::full_result());
    const json flat = good.flatten();
    for (const auto& [pointer, value] : flat.items()) {
        for (const json& bad : {json(), json(-1), json("x"), json::array(), json::object(), json(1e300), json(true)}) {
            json broken = good;
            broken[json::json_pointer(pointer)] = bad;
            if (const auto read = result_from_json(broken, "r"); read) (void)to_json(*read);
        }
    }
}

}  // namespace
}  // namespace wattrig::analysis
