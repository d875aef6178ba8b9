#include "host/sim/noise.hpp"

#include <algorithm>
#include <boost/math/special_functions/erf.hpp>
#include <vector>

namespace wattrig::sim {

NoiseTable::NoiseTable(std::uint64_t seed) : values_(new float[size + longest]) {
    std::vector<double> quantiles(size);
    double square = 0;
    for (std::size_t k = 0; k < size / 2; ++k) {  // symmetric: the mean is exactly 0
        const double p = (static_cast<double>(k) + 0.5) / static_cast<double>(size);
        const double x = -std::numbers::sqrt2 * boost::math::erfc_inv(2.0 * p);
        quantiles[k] = x;
        quantiles[size - 1 - k] = -x;
        square += 2 * x * x;
    }
    const double scale = std::sqrt(static_cast<double>(size) / square);
    Random random(seed, 0x7ab1e);
    for (std::size_t k = size - 1; k > 0; --k)
        std::swap(quantiles[k], quantiles[random.below(static_cast<std::uint32_t>(k + 1))]);
    for (std::size_t k = 0; k < size; ++k) values_[k] = static_cast<float>(quantiles[k] * scale);
    std::copy_n(values_.get(), longest, values_.get() + size);
}

}  // namespace wattrig::sim
