#pragma once
// Deterministic random numbers of the simulator: a generator for single draws, and tables of Gaussian noise from which whole
// stretches are taken at random places. A table is the normal distribution's own quantiles, shuffled, so its mean is exactly 0
// and its variance exactly 1: means over long times shrink as they should.
// Thread rule: one thread per object.

#include <array>
#include <cmath>
#include <cstdint>
#include <memory>
#include <numbers>

namespace wattrig::sim {

class Random {  // xoshiro256++
  public:
    explicit Random(std::uint64_t seed, std::uint64_t stream = 0) {
        std::uint64_t x = seed * 0x9e3779b97f4a7c15u + stream * 0xd1342543de82ef95u + 0x632be59bd9b4e019u;
        for (std::uint64_t& word : state_) {
            x += 0x9e3779b97f4a7c15u;
            std::uint64_t z = x;
            z = (z ^ (z >> 30)) * 0xbf58476d1ce4e5b9u;
            z = (z ^ (z >> 27)) * 0x94d049bb133111ebu;
            word = z ^ (z >> 31);
        }
    }
    std::uint64_t next() {
        const std::uint64_t result = rotate(state_[0] + state_[3], 23) + state_[0];
        const std::uint64_t t = state_[1] << 17;
        state_[2] ^= state_[0];
        state_[3] ^= state_[1];
        state_[1] ^= state_[2];
        state_[0] ^= state_[3];
        state_[2] ^= t;
        state_[3] = rotate(state_[3], 45);
        return result;
    }
    double uniform() { return static_cast<double>(next() >> 11) * 0x1p-53; }  // [0, 1)
    double uniform(double low, double high) { return low + (high - low) * uniform(); }
    // [0, bound), bound < 2^32; bias below 2^-32.
    std::uint32_t below(std::uint32_t bound) { return static_cast<std::uint32_t>(((next() >> 32) * bound) >> 32); }
    double gaussian() {  // Box and Muller; for single draws
        const double u = 1.0 - uniform();
        return std::sqrt(-2.0 * std::log(u)) * std::cos(2.0 * std::numbers::pi * uniform());
    }

  private:
    static std::uint64_t rotate(std::uint64_t x, int k) { return (x << k) | (x >> (64 - k)); }
    std::array<std::uint64_t, 4> state_{};
};

// 2^16 Gaussian values, sigma 1. `stretch` gives a pointer to `longest` consecutive ones.
class NoiseTable {
  public:
    static constexpr std::size_t size = 1u << 16;
    static constexpr std::size_t longest = 256;
    explicit NoiseTable(std::uint64_t seed);
    const float* stretch(Random& random) const { return values_.get() + (random.next() >> 48); }

  private:
    std::unique_ptr<float[]> values_;  // the first `longest` are repeated at the end
};

}  // namespace wattrig::sim
