#pragma once
// Quantities as types: Volts * Amperes is Watts, Volts + Amperes does not compile. The number inside is SI without prefix.

#include <chrono>
#include <compare>

#include "host/base/clock.hpp"

namespace wattrig {

// Exponents of volt, ampere and second; ohm = V/A, watt = V A, joule = V A s.
template <int V, int A, int S>
class Quantity {
  public:
    constexpr Quantity() = default;
    constexpr explicit Quantity(double value) : value_(value) {}
    [[nodiscard]] constexpr double value() const { return value_; }

    constexpr Quantity& operator+=(Quantity other) {
        value_ += other.value_;
        return *this;
    }
    constexpr Quantity& operator-=(Quantity other) {
        value_ -= other.value_;
        return *this;
    }
    constexpr Quantity& operator*=(double factor) {
        value_ *= factor;
        return *this;
    }
    constexpr Quantity& operator/=(double divisor) {
        value_ /= divisor;
        return *this;
    }
    friend constexpr Quantity operator+(Quantity a, Quantity b) { return Quantity(a.value_ + b.value_); }
    friend constexpr Quantity operator-(Quantity a, Quantity b) { return Quantity(a.value_ - b.value_); }
    friend constexpr Quantity operator-(Quantity a) { return Quantity(-a.value_); }
    friend constexpr Quantity operator*(Quantity a, double f) { return Quantity(a.value_ * f); }
    friend constexpr Quantity operator*(double f, Quantity a) { return Quantity(a.value_ * f); }
    friend constexpr Quantity operator/(Quantity a, double d) { return Quantity(a.value_ / d); }
    friend constexpr auto operator<=>(Quantity a, Quantity b) = default;

  private:
    double value_ = 0;
};

template <int V1, int A1, int S1, int V2, int A2, int S2>
constexpr auto operator*(Quantity<V1, A1, S1> a, Quantity<V2, A2, S2> b) {
    if constexpr (V1 + V2 == 0 && A1 + A2 == 0 && S1 + S2 == 0)
        return a.value() * b.value();
    else
        return Quantity<V1 + V2, A1 + A2, S1 + S2>(a.value() * b.value());
}
template <int V1, int A1, int S1, int V2, int A2, int S2>
constexpr auto operator/(Quantity<V1, A1, S1> a, Quantity<V2, A2, S2> b) {
    if constexpr (V1 == V2 && A1 == A2 && S1 == S2)
        return a.value() / b.value();
    else
        return Quantity<V1 - V2, A1 - A2, S1 - S2>(a.value() / b.value());
}

using Volts = Quantity<1, 0, 0>;
using Amperes = Quantity<0, 1, 0>;
using Ohms = Quantity<1, -1, 0>;
using Watts = Quantity<1, 1, 0>;
using Joules = Quantity<1, 1, 1>;
using Seconds = Quantity<0, 0, 1>;

constexpr Seconds seconds(Nanoseconds d) { return Seconds(to_seconds(d)); }
constexpr Joules operator*(Watts p, Nanoseconds d) { return p * seconds(d); }
constexpr Watts operator/(Joules e, Nanoseconds d) { return e / seconds(d); }

}  // namespace wattrig
