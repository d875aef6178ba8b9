// Prints host/sim/MODELS.md: what was published about each drive beside what its model does. See tests/sim/published.hpp.

#include <cmath>
#include <cstdio>

#include "host/sim/drive_parameters.hpp"
#include "tests/sim/published.hpp"

using namespace wattrig::sim;

int main() {
    std::puts(
        "# Drive models\n\n"
        "Made by `build/tests/sim/model_table > host/sim/MODELS.md`; do not edit. Every figure is simulated.\n\n"
        "A model declares physical inputs (times of flash and controller, bytes of caches and spare flash, joules); what is in "
        "the\n"
        "column \"simulated\" comes out by playing the load on it. What a drive of the name really is made of is not public: "
        "the\n"
        "inputs are plausible values, chosen so that the published figures come out. For the SATA drives the sequential read "
        "is\n"
        "the declared rate of the link, less the time of a command.\n\n"
        "Sequential figures: 8 MiB blocks, QD1, direct. Enterprise figures: after twice the capacity of 128 KiB sequential "
        "writes and\n"
        "twice the capacity of 4 KiB random writes.\n\n"
        "## Published throughput\n\n"
        "| model | figure | published | simulated | error |\n|---|---|---|---|---|");
    std::fflush(stdout);
    double worst = 0;
    for (const auto& figures : {slowmark_figures(), enterprise_figures()})
        for (const PublishedFigure& f : figures) {
            std::printf("| %s | %s | %g %s | %.5g %s | %+.2f %% |\n", f.model.c_str(), f.what.c_str(), f.published,
                        f.unit.c_str(), f.simulated, f.unit.c_str(), 100 * f.error());
            if (f.throughput) worst = std::max(worst, std::abs(f.error()));
        }
    std::printf(
        "\nLargest error: %.2f %% (allowed: 2 %%).\n\n## Emergent behaviour\n\n| model | figure | simulated |\n|---|---|---|\n",
        100 * worst);
    for (const auto& figures : {random_read_figures(), power_figures()})
        for (const EmergentFigure& f : figures)
            std::printf("| %s | %s | %.4g %s |\n", f.model.c_str(), f.what.c_str(), f.simulated, f.unit.c_str());
    std::puts("\n## All models\n\n| model | what it is |\n|---|---|");
    for (const EmbeddedModel& m : embedded_models())
        std::printf("| %s | %s |\n", m.name, parse_model(m.text, m.name).value().description.c_str());
    return worst <= 0.02 ? 0 : 1;
}
