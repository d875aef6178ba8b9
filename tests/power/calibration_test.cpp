#include "host/power/calibration.hpp"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <cmath>
#include <limits>
#include <nlohmann/json.hpp>

namespace wattrig::power {
namespace {

using nlohmann::json;

Calibration example() {
    Calibration c = nominal_calibration({});
    c.serial = "W0042";
    c.date = "2026-11-30";
    c.reference = "6.5 digit meter";
    return c;
}

TEST(Calibration, ComesBackAsItWas) {
    const Calibration c = example();
    const json written = to_json(c);
    const auto read = calibration_from_json(json::parse(written.dump()), "rig.json");
    ASSERT_TRUE(read) << read.error().message;
    EXPECT_EQ(to_json(*read), written);
    EXPECT_EQ(read->rails[0].i_gain, c.rails[0].i_gain);
    EXPECT_EQ(read->serial, "W0042");
}

TEST(Calibration, EveryNumberIsChecked) {
    const json good = to_json(example());
    const json bad_values[] = {
        nullptr, "1", true, std::numeric_limits<double>::quiet_NaN(), std::numeric_limits<double>::infinity(), 3e27, -3e27};
    for (const char* part : {"front_end", "rails"}) {
        const json& object = part[0] == 'r' ? good[part][0] : good[part];
        for (const auto& [key, value] : object.items()) {
            for (const json& bad : bad_values) {
                json broken = good;
                (part[0] == 'r' ? broken[part][0] : broken[part])[key] = bad;
                const auto read = calibration_from_json(broken, "rig.json");
                ASSERT_FALSE(read) << key << " = " << bad.dump();
                EXPECT_EQ(read.error().kind, ErrorKind::bad_input);
                EXPECT_THAT(read.error().message, testing::HasSubstr("rig.json: "));
                EXPECT_THAT(read.error().message, testing::HasSubstr("." + key + ": expected a number from"));
                EXPECT_THAT(read.error().message, testing::HasSubstr(", came "));
            }
        }
    }
}

TEST(Calibration, RefusalsNameThePlace) {
    const auto message = [](const auto& change) {
        json broken = to_json(example());
        change(broken);
        const auto read = calibration_from_json(broken, "f");
        return read ? std::string("accepted") : read.error().message;
    };
    EXPECT_EQ(message([](json& j) { j["rails"][0]["v_gian"] = 1; }), "f: rails[0].v_gian: expected no such key, came 1");
    EXPECT_EQ(message([](json& j) { j["hello"] = "x"; }), "f: hello: expected no such key, came \"x\"");
    EXPECT_EQ(message([](json& j) { j["rails"][0].erase("u_v_gain"); }),
              "f: rails[0].u_v_gain: expected a number from 0 to 0.2, came nothing");
    EXPECT_EQ(message([](json& j) { j["schema"] = "wattrig.calibration/9"; }),
              "f: schema: expected \"wattrig.calibration/1\", came \"wattrig.calibration/9\"");
    EXPECT_EQ(message([](json& j) { j["rails"] = json::array(); }), "f: rails: expected a list of 1 or 2 objects, came []");
    EXPECT_EQ(message([](json& j) { j["rails"][0]["i_gain"] = 0; }),
              "f: rails[0].i_gain: expected a number other than 0, came 0");
    EXPECT_EQ(message([](json& j) { j["simulated"] = 1; }), "f: simulated: expected true or false, came 1");
    EXPECT_FALSE(calibration_from_json(json::array(), "f"));
}

// hardware.md's budget "before calibration": 2.67 mA at 0.5 mA (limits, most of it 25 uV and 175 uV / 20), 1 % of gain.
TEST(Calibration, NominalIsHonest) {
    const RailCalibration rail = nominal_calibration({}).rails[0];
    EXPECT_GT(rail.u_i_offset, 1.5e-3);
    EXPECT_LT(rail.u_i_offset, 2.7e-3);
    EXPECT_NEAR(rail.u_i_gain, 0.0102 / std::sqrt(3), 2e-4);
    EXPECT_NEAR(rail.v_gain * 8388608, 3.612, 1e-3);    // full scale of the divider
    EXPECT_NEAR(rail.i_gain * 8388608, 6.0, 1e-9);      // +-6 A
    EXPECT_NEAR(rail.slow_gain * 524288, 4.096, 1e-9);  // INA228
}

}  // namespace
}  // namespace wattrig::power
