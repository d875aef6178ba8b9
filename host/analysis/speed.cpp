#include "host/analysis/speed.hpp"

#include <algorithm>
#include <chrono>

namespace wattrig::analysis {
namespace {

constexpr Nanoseconds shortest_sample = std::chrono::milliseconds(100);
constexpr std::size_t fewest_samples = 20;

}  // namespace

bool has_position(const recording::PhaseRecord& phase) {
    if (!phase.has_io || !phase.complete || !phase.outcome.bursts.empty()) return false;
    if (phase.outcome.windows.empty() || phase.outcome.measured() < shortest_sample * fewest_samples) return false;
    if (phase.kind == "precondition") return true;
    bool in_order = false, at_its_pace = true;
    for (const auto& [name, value] : phase.parameters) {
        if (name == "pattern") in_order = value == "read" || value == "write";
        if (name == "rate" || name == "rate_iops") at_its_pace = false;
    }
    return phase.kind == "io" && in_order && at_its_pace;
}

std::vector<SpeedSample> speed_samples(const io::PhaseOutcome& outcome) {
    Nanoseconds wanted = shortest_sample;
    for (const io::Window& window : outcome.windows) wanted = std::max(wanted, window.length);
    std::vector<SpeedSample> samples;
    SpeedSample sample;
    Nanoseconds length{0};
    for (const io::Window& window : outcome.windows) {
        sample.bytes += static_cast<double>(window.read_bytes + window.write_bytes);
        length += window.length;
        if (length < wanted) continue;
        sample.seconds = to_seconds(length);
        samples.push_back(sample);
        sample = {};
        length = Nanoseconds(0);
    }
    return samples;  // what is left at the end is shorter than the others, and its length is that of a cut
}

}  // namespace wattrig::analysis
