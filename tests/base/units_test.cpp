#include "host/base/units.hpp"

#include <gtest/gtest.h>

#include <concepts>
#include <type_traits>

using namespace wattrig;

namespace {

template <class A, class B>
concept Addable = requires(A a, B b) { a + b; };
template <class A, class B>
concept Comparable = requires(A a, B b) { a < b; };

static_assert(Addable<Volts, Volts>);
static_assert(!Addable<Volts, Amperes>);
static_assert(!Addable<Watts, Joules>);
static_assert(!Addable<Volts, double>);
static_assert(!Comparable<Volts, Amperes>);
static_assert(std::same_as<decltype(Volts() * Amperes()), Watts>);
static_assert(std::same_as<decltype(Volts() / Ohms()), Amperes>);
static_assert(std::same_as<decltype(Watts() * Nanoseconds()), Joules>);
static_assert(std::same_as<decltype(Joules() / Nanoseconds()), Watts>);
static_assert(std::same_as<decltype(Volts() / Volts()), double>);
static_assert(!std::is_convertible_v<double, Volts>);

TEST(Units, OhmsLawAndEnergy) {
    const Watts power = Volts(3.3) * Amperes(2);
    EXPECT_DOUBLE_EQ(power.value(), 6.6);
    EXPECT_DOUBLE_EQ((power * std::chrono::milliseconds(500)).value(), 3.3);
    EXPECT_DOUBLE_EQ((Joules(3) / std::chrono::milliseconds(1500)).value(), 2);
    EXPECT_DOUBLE_EQ((Volts(0.01) / Ohms(0.01)).value(), 1);
    EXPECT_DOUBLE_EQ(Volts(6) / Volts(3), 2);
}

TEST(Units, ScalesAndSums) {
    Amperes sum(1);
    sum += Amperes(2);
    sum -= Amperes(0.5);
    sum *= 4;
    sum /= 2;
    EXPECT_DOUBLE_EQ((-(2 * sum)).value(), -10);
    EXPECT_LT(Amperes(1), Amperes(2));
}

}  // namespace
