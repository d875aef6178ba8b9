#pragma once
// Random numbers whose period and low bits cannot change what a drive does: a generator with a short period never makes a drive
// collect garbage, one with weak low bits loads its channels unevenly.
//
// Thread rule: one thread per object.

#include <bit>
#include <cassert>
#include <cstdint>

namespace wattrig {

// Bijective mixing of 64 bits (finalizer of SplitMix64, Steele et al. 2014).
constexpr std::uint64_t mix(std::uint64_t z) {
    z = (z ^ (z >> 30)) * 0xbf58476d1ce4e5b9u;
    z = (z ^ (z >> 27)) * 0x94d049bb133111ebu;
    return z ^ (z >> 31);
}

// Xoshiro256++ (Blackman and Vigna 2019): period 2^256 - 1. Usable as a standard uniform random bit generator.
class Random {
  public:
    using result_type = std::uint64_t;
    explicit constexpr Random(std::uint64_t seed = 1) {  // any seed is good, 0 too
        for (std::uint64_t& word : state_) word = mix(seed += 0x9e3779b97f4a7c15u);
    }
    static constexpr result_type min() { return 0; }
    static constexpr result_type max() { return UINT64_MAX; }

    constexpr std::uint64_t operator()() {
        const std::uint64_t result = std::rotl(state_[0] + state_[3], 23) + state_[0];
        const std::uint64_t shifted = state_[1] << 17;
        state_[2] ^= state_[0];
        state_[3] ^= state_[1];
        state_[1] ^= state_[2];
        state_[0] ^= state_[3];
        state_[2] ^= shifted;
        state_[3] = std::rotl(state_[3], 45);
        return result;
    }
    // Uniform in [0, n), n > 0. By multiplication: no division, and the bias is at most n / 2^64.
    constexpr std::uint64_t below(std::uint64_t n) {
        __extension__ using Wide = unsigned __int128;
        return static_cast<std::uint64_t>((static_cast<Wide>((*this)()) * n) >> 64);
    }
    // Uniform in (0, 1]: never 0, so that its logarithm is finite.
    constexpr double unit() { return static_cast<double>(((*this)() >> 11) + 1) * 0x1p-53; }

  private:
    std::uint64_t state_[4];
};

// A pseudo-random order of 0 .. n-1 that visits each number once and needs no memory: a Feistel network over the next power of
// two, walked until it lands below n (fewer than two steps on average).
class Permutation {
  public:
    // n in 1 .. 2^48.
    constexpr Permutation(std::uint64_t n, std::uint64_t seed) : n_(n) {
        assert(n >= 1 && n <= std::uint64_t{1} << 48);
        const unsigned bits = n > 2 ? static_cast<unsigned>(std::bit_width(n - 1)) : 2;
        low_bits_ = bits / 2;
        high_bits_ = bits - low_bits_;
        Random random(seed);
        for (std::uint64_t& key : keys_) key = random();
    }
    [[nodiscard]] constexpr std::uint64_t size() const { return n_; }
    // The `index`-th number of the order; index < n.
    [[nodiscard]] constexpr std::uint64_t operator()(std::uint64_t index) const {
        assert(index < n_);
        do index = scramble(index);
        while (index >= n_);
        return index;
    }

  private:
    // Alternate rounds change the high part by the low one and the other way round, so the parts need not be equally wide.
    [[nodiscard]] constexpr std::uint64_t scramble(std::uint64_t value) const {
        const std::uint64_t low_mask = (std::uint64_t{1} << low_bits_) - 1, high_mask = (std::uint64_t{1} << high_bits_) - 1;
        std::uint64_t low = value & low_mask, high = value >> low_bits_;
        for (unsigned round = 0; round < rounds; round += 2) {
            high ^= (mix(low + keys_[round]) >> 8) & high_mask;
            low ^= (mix(high + keys_[round + 1]) >> 8) & low_mask;
        }
        return high << low_bits_ | low;
    }

    static constexpr unsigned rounds = 6;
    std::uint64_t n_;
    unsigned low_bits_ = 1, high_bits_ = 1;
    std::uint64_t keys_[rounds]{};
};

}  // namespace wattrig
