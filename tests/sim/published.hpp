#pragma once
// What reviews published about drives, and what their models do: the figures of host/sim/MODELS.md and of its test.

#include <string>
#include <vector>

namespace wattrig::sim {

struct PublishedFigure {
    std::string model;  // as --target sim:MODEL has it
    std::string what;
    std::string unit;
    double published;  // as the review printed it
    double simulated;
    bool throughput;  // has to come back within 2 %
    [[nodiscard]] double error() const { return simulated / published - 1; }
};

struct EmergentFigure {  // nobody published a number, only what is larger than what
    std::string model;
    std::string what;
    std::string unit;
    double simulated;
};

std::vector<PublishedFigure> slowmark_figures();    // sequential read and write, before and after the cache
std::vector<PublishedFigure> enterprise_figures();  // 4 KiB at QD256 in the steady state
std::vector<EmergentFigure> random_read_figures();  // RC100 with and without its buffer, SN500, spans of 16 and 64 GB
std::vector<EmergentFigure> power_figures();        // random reads at QD1 and QD32

}  // namespace wattrig::sim
