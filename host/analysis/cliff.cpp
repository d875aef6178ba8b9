#include "host/analysis/cliff.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <cmath>

#include "host/analysis/statistics.hpp"

namespace wattrig::analysis {
namespace {

constexpr std::size_t fewest_samples = 10;
constexpr double dip_limit = 4;  // robust standard deviations from the running median
// Of the logarithm: less is no dip, however even the rest is. Samples of a few large operations take two or three values alone,
// and most of them one: their median deviation is zero.
constexpr double smallest_dip = 0.25;
constexpr double median_seconds = 4;  // its window: a dip of 1 s is a minority in it

double median(std::vector<double>& values) {
    const auto middle = values.begin() + static_cast<std::ptrdiff_t>(values.size() / 2);
    std::nth_element(values.begin(), middle, values.end());
    return *middle;
}

std::vector<double> running_median(const std::vector<double>& values, std::size_t half) {
    std::vector<double> smooth(values.size()), window;
    for (std::size_t i = 0; i < values.size(); ++i) {
        const std::size_t begin = i > half ? i - half : 0, end = std::min(values.size(), i + half + 1);
        window.assign(values.begin() + static_cast<std::ptrdiff_t>(begin), values.begin() + static_cast<std::ptrdiff_t>(end));
        smooth[i] = median(window);
    }
    return smooth;
}

// Standard deviation of the noise from differences of neighbours: changes of level hardly touch it.
double noise_of(const std::vector<double>& values) {
    if (values.size() < 2) return 0;
    std::vector<double> steps;
    for (std::size_t i = 1; i < values.size(); ++i) steps.push_back(std::abs(values[i] - values[i - 1]));
    return 1.4826 * median(steps) / std::sqrt(2.0);
}

class Segmenter {
  public:
    Segmenter(const std::vector<double>& values, std::size_t shortest, double penalty, double smallest)
        : sums_(values.size() + 1, 0), shortest_(shortest), penalty_(penalty), smallest_(smallest) {
        for (std::size_t i = 0; i < values.size(); ++i) sums_[i + 1] = sums_[i] + values[i];
    }

    std::vector<std::size_t> split() {
        std::vector<std::size_t> at;
        split(0, sums_.size() - 1, at);
        std::sort(at.begin(), at.end());
        refine(at);
        return at;
    }
    // How much a change at `k` lowers the sum of squares of [begin, end).
    [[nodiscard]] double gain(std::size_t begin, std::size_t k, std::size_t end) const {
        const double left = static_cast<double>(k - begin), right = static_cast<double>(end - k);
        const double step = mean(begin, k) - mean(k, end);
        return step * step * left * right / (left + right);
    }
    [[nodiscard]] double mean(std::size_t begin, std::size_t end) const {
        return (sums_[end] - sums_[begin]) / static_cast<double>(end - begin);
    }

  private:
    std::optional<std::size_t> best(std::size_t begin, std::size_t end) const {
        if (end - begin < 2 * shortest_) return std::nullopt;
        std::size_t found = begin + shortest_;
        for (std::size_t k = found; k + shortest_ <= end; ++k)
            if (gain(begin, k, end) > gain(begin, found, end)) found = k;
        return found;
    }
    bool counts(std::size_t begin, std::size_t k, std::size_t end) const {
        return gain(begin, k, end) > penalty_ && std::abs(mean(begin, k) - mean(k, end)) >= smallest_;
    }
    void split(std::size_t begin, std::size_t end, std::vector<std::size_t>& at) const {
        const auto k = best(begin, end);
        if (!k || gain(begin, *k, end) <= penalty_) return;
        // Too small a step may still hide a short region between two like ones: look on, and let refine() judge.
        at.push_back(*k);
        split(begin, *k, at);
        split(*k, end, at);
    }
    // Each to its best place between its neighbours; one that does not count there is taken out, the weakest first.
    void refine(std::vector<std::size_t>& at) const {
        for (;;) {
            for (std::size_t pass = 0; pass < 3; ++pass)
                for (std::size_t i = 0; i < at.size(); ++i)
                    if (const auto k = best(before(at, i), after(at, i))) at[i] = *k;
            std::optional<std::size_t> weakest;
            for (std::size_t i = 0; i < at.size(); ++i)
                if (!counts(before(at, i), at[i], after(at, i)) && (!weakest || strength(at, i) < strength(at, *weakest)))
                    weakest = i;
            if (!weakest) return;
            at.erase(at.begin() + static_cast<std::ptrdiff_t>(*weakest));
        }
    }
    double strength(const std::vector<std::size_t>& at, std::size_t i) const {
        return gain(before(at, i), at[i], after(at, i));
    }
    static std::size_t before(const std::vector<std::size_t>& at, std::size_t i) { return i == 0 ? 0 : at[i - 1]; }
    std::size_t after(const std::vector<std::size_t>& at, std::size_t i) const {
        return i + 1 == at.size() ? sums_.size() - 1 : at[i + 1];
    }

    std::vector<double> sums_;
    std::size_t shortest_;
    double penalty_, smallest_;
};

SpeedLevel level_of(std::span<const double> logs) {
    SpeedLevel level;
    double sum = 0;
    for (const double value : logs) sum += value;
    const double mean = sum / static_cast<double>(logs.size());
    level.value = std::exp(mean);
    if (const auto spread = spread_of_mean(logs); spread.half_width) {
        level.low = std::exp(mean - *spread.half_width);
        level.high = std::exp(mean + *spread.half_width);
    }
    return level;
}

}  // namespace

CliffFigures find_cliffs(std::span<const SpeedSample> samples, const CliffOptions& options) {
    CliffFigures figures;
    const std::size_t count = samples.size();
    if (count < fewest_samples) return figures;
    std::vector<double> logs(count), bytes(count + 1, 0), seconds(count + 1, 0);
    for (std::size_t i = 0; i < count; ++i) {
        // A sample in which nothing moved is a dip: as deep as one byte.
        logs[i] = std::log(std::max(samples[i].bytes, 1.0) / samples[i].seconds);
        bytes[i + 1] = bytes[i] + samples[i].bytes;
        seconds[i + 1] = seconds[i] + samples[i].seconds;
    }
    const double sample_seconds = seconds[count] / static_cast<double>(count);
    const auto half = static_cast<std::size_t>(std::ceil(median_seconds / sample_seconds / 2));
    const std::vector<double> smooth = running_median(logs, std::max<std::size_t>(2, half));
    std::vector<double> residuals(count);
    for (std::size_t i = 0; i < count; ++i) residuals[i] = std::abs(logs[i] - smooth[i]);
    std::vector<double> sorted = residuals;
    const double limit = std::max(dip_limit * 1.4826 * median(sorted), smallest_dip);
    std::vector<bool> left_out(count, false);
    for (std::size_t i = 0; i < count; ++i) {
        if (residuals[i] <= limit) continue;
        // Its neighbours may hold a part of it.
        for (std::size_t k = i == 0 ? 0 : i - 1; k <= std::min(count - 1, i + 1); ++k) left_out[k] = true;
    }
    std::vector<double> kept;
    std::vector<std::size_t> index;
    for (std::size_t i = 0; i < count; ++i) {
        if (left_out[i]) continue;
        kept.push_back(logs[i]);
        index.push_back(i);
    }
    figures.dips = count - kept.size();
    if (kept.size() < fewest_samples) return figures;
    figures.noise = noise_of(kept);
    const double variance = std::max(figures.noise * figures.noise, 1e-6);
    const auto shortest =
        std::max<std::size_t>(3, static_cast<std::size_t>(std::ceil(options.shortest_region_seconds / sample_seconds)));
    // Chance alone exceeds this in about one run of a thousand, for any number of samples that a run has.
    const double penalty = 3 * std::log(static_cast<double>(kept.size())) * variance;
    Segmenter segmenter(kept, shortest, penalty, options.smallest_change);
    std::vector<std::size_t> at = segmenter.split();
    at.insert(at.begin(), 0);
    at.push_back(kept.size());
    // The sample at which the region of the k-th kept sample begins: of dips in between, the later region has none.
    const auto sample_at = [&](std::size_t k) { return k == 0 ? 0 : k == kept.size() ? count : index[k]; };
    for (std::size_t r = 0; r + 1 < at.size(); ++r) {
        SpeedRegion& region = figures.regions.emplace_back();
        region.first = sample_at(at[r]);
        region.last = sample_at(at[r + 1]);
        region.begin_bytes = bytes[region.first];
        region.end_bytes = bytes[region.last];
        region.begin_seconds = seconds[region.first];
        region.end_seconds = seconds[region.last];
        region.mean = region.bytes() / (region.end_seconds - region.begin_seconds);
        // The sample at a change is of both regions, so it is of neither level.
        const std::size_t inner_first = at[r] + (r > 0 ? 1 : 0), inner_last = at[r + 1] - (r + 2 < at.size() ? 1 : 0);
        region.level = level_of(std::span(kept).subspan(inner_first, inner_last - inner_first));
        if (r == 0) continue;
        SpeedChange& change = figures.changes.emplace_back();
        change.bytes = region.begin_bytes;
        change.ratio = region.level.value / figures.regions[r - 1].level.value;
        // Places that the noise cannot tell from the best one: 95 % of a chi-square with one degree of freedom.
        std::size_t low = at[r], high = at[r];
        const double most = segmenter.gain(at[r - 1], at[r], at[r + 1]);
        const auto as_good = [&](std::size_t k) { return most - segmenter.gain(at[r - 1], k, at[r + 1]) < 3.84 * variance; };
        while (low > at[r - 1] + 1 && as_good(low - 1)) --low;
        while (high + 1 < at[r + 1] && as_good(high + 1)) ++high;
        change.low_bytes = bytes[sample_at(low) - 1];
        change.high_bytes = bytes[std::min(count, sample_at(high) + 1)];
    }
    return figures;
}

std::string cliff_verdict(const CliffFigures& figures) {
    if (figures.regions.empty()) return "too short to tell";
    const double written = figures.regions.back().end_bytes;
    for (const SpeedChange& change : figures.changes)
        if (change.ratio < 1) return fmt::format("cache exhausted at {:.1f} GB", change.bytes / 1e9);
    return fmt::format("no cache, or not exhausted within {:.1f} GB", written / 1e9);
}

}  // namespace wattrig::analysis
