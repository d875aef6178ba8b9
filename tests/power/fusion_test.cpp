#include "host/power/fusion.hpp"

#include <gtest/gtest.h>

#include <cmath>
#include <random>

#include "host/power/energy.hpp"
#include "tests/power/stream_builder.hpp"

namespace wattrig::power {
namespace {

// A rig whose fast path is off by `fast_offset`, with the conversions of the slow path running beside its blocks.
class IdleRig {
  public:
    explicit IdleRig(std::uint64_t seed) : random_(seed) {
        calibration = test::test_calibration();
        RailCalibration& rail = calibration.rails[0];
        rail.slow_gain = calibration.front_end.slow_lsb_volt / calibration.front_end.shunt_ohm;
        rail.u_i_offset = 30e-6;
        rail.u_slow_offset = 11e-6;
        rail.u_i_gain = 1e-4;
    }
    Calibration calibration;
    double fast_offset = 0;  // ampere, error of the fast path
    test::StreamBuilder builder;

    test::OwnedBlock block(double ampere, double ripple = 0) {
        const FrontEnd& parts = calibration.front_end;
        std::normal_distribution<double> noise(0, parts.i_noise_ampere), slow_noise(0, parts.slow_noise_volt / parts.shunt_ohm);
        std::vector<test::Codes> codes;
        for (int k = 0; k < 75; ++k) {
            const double now = ampere + (k % 2 == 0 ? ripple : -ripple);
            codes.push_back(test::codes_for(calibration, 3.3, now + fast_offset + noise(random_)));
            slow_sum_ += now;
            fast_sum_ += codes.back().i;
            if (++samples_ == 134) {
                const double mean = slow_sum_ / 134 + slow_noise(random_);
                builder.slow.sum += std::lround(mean / calibration.rails[0].slow_gain);
                builder.slow.fast_sum += fast_sum_;
                builder.slow.count += 1;
                builder.slow.fast_count += 134;
                samples_ = 0;
                slow_sum_ = 0;
                fast_sum_ = 0;
            }
        }
        return builder.block(codes);
    }

  private:
    std::mt19937_64 random_;
    int samples_ = 0;
    double slow_sum_ = 0;
    std::int64_t fast_sum_ = 0;
};

void feed(Fusion& fusion, IdleRig& rig, double ampere, double seconds, double ripple = 0) {
    for (int k = 0; k < static_cast<int>(seconds / 2.304e-3); ++k) {
        const test::OwnedBlock b = rig.block(ampere, ripple);
        fusion.add(b.view, false);
    }
}

TEST(Fusion, IdleCurrentFollowsTheSlowPath) {
    IdleRig rig(1);
    rig.fast_offset = 80e-6;
    Fusion fusion(rig.calibration.rails[0], rig.calibration.front_end);
    feed(fusion, rig, 0.5e-3, 20);
    EXPECT_NEAR(fusion.offset(), -80e-6, 6e-6);  // 39 uA a conversion, tau 2 s: 1.3 uA rms
    EXPECT_LT(fusion.standard_uncertainty(), 13e-6);
    EXPECT_GE(fusion.standard_uncertainty(), 11e-6);
    EXPECT_GT(fusion.conversions(), 4000U);
}

TEST(Fusion, LoadDoesNotTeachIt) {
    IdleRig rig(2);
    rig.fast_offset = 50e-6;
    rig.calibration.rails[0].slow_gain *= 1.001;  // the two paths disagree by 0.1 % at load
    Fusion fusion(rig.calibration.rails[0], rig.calibration.front_end);
    feed(fusion, rig, 2e-3, 10);
    const double learned = fusion.offset();
    const std::uint64_t used = fusion.conversions();
    const double sure = fusion.standard_uncertainty();
    feed(fusion, rig, 2.0, 20);        // steady load: quiet, but 2 mA of disagreement
    feed(fusion, rig, 5e-3, 10, 0.1);  // idle with ripple: not quiet
    EXPECT_EQ(fusion.offset(), learned);
    EXPECT_EQ(fusion.conversions(), used);
    EXPECT_GT(fusion.standard_uncertainty(), sure);  // held: the doubt grows
    feed(fusion, rig, 2e-3, 10);
    EXPECT_LT(fusion.standard_uncertainty(), 13e-6);
}

TEST(Fusion, ClippedAndStaleConversionsAreLeftOut) {
    for (const std::uint32_t flag : {protocol::block_clipped, protocol::block_slow_stale, protocol::block_power_off}) {
        IdleRig rig(3);
        rig.fast_offset = 100e-6;
        rig.builder.flags = flag;
        Fusion fusion(rig.calibration.rails[0], rig.calibration.front_end);
        feed(fusion, rig, 1e-3, 2);
        EXPECT_EQ(fusion.offset(), 0);
        EXPECT_DOUBLE_EQ(fusion.standard_uncertainty(), 30e-6);
    }
}

// 200 rigs with a drawn offset of the fast path and of the slow path: the error of the idle power is what the budget says.
TEST(Fusion, BudgetHoldsAtIdle) {
    double squares = 0, offset_part = 0;
    constexpr int rigs = 200;
    for (int r = 0; r < rigs; ++r) {
        std::mt19937_64 random(100 + static_cast<std::uint64_t>(r));
        std::normal_distribution<double> normal;
        IdleRig rig(1000 + static_cast<std::uint64_t>(r));
        rig.fast_offset = 30e-6 * normal(random);
        const double slow_error = 11e-6 * normal(random);
        std::vector<test::OwnedBlock> blocks;
        blocks.reserve(1800);
        for (int k = 0; k < 1800; ++k) blocks.push_back(rig.block(1.5e-3));
        rig.calibration.rails[0].slow_offset += slow_error;  // what the calibration gets wrong
        rig.calibration.rails[0].u_i_gain = rig.calibration.rails[0].u_v_gain = rig.calibration.rails[0].u_reference = 0;
        rig.calibration.rails[0].u_v_offset = rig.calibration.rails[0].u_gain_per_kelvin = 0;
        const io::Interval interval{test::host_of(rig.builder.edge(67'500)), test::host_of(rig.builder.edge(134'250))};
        EnergyPass pass(rig.calibration, test::plain_clock(), {interval});
        for (const auto& b : blocks) pass.add(b.view);
        const auto p = pass.finish()[0];
        const double truth = (3.3 - 1.5e-3 * 0.01) * 1.5e-3;
        squares += std::pow((p.mean->value() - truth) / p.u.standard(), 2);
        offset_part = p.u.i_offset;
    }
    EXPECT_NEAR(std::sqrt(squares / rigs), 1, 0.12);
    EXPECT_NEAR(offset_part, 11e-6 * 3.3, 2e-6);
}

}  // namespace
}  // namespace wattrig::power
