#pragma once
// Groups of steps that were repeated until steady state, as the SNIA performance test specification wants them reported: how
// the figures converged, the steady window with its bounds, the cells averaged over it. Any thread.

#include <nlohmann/json_fwd.hpp>
#include <optional>
#include <string>
#include <vector>

#include "host/analysis/result.hpp"
#include "host/analysis/steady_state.hpp"

namespace wattrig::report {

struct RoundsView {
    struct Cell {
        std::string label;                                   // without its round
        std::string x, series;                               // its place in the table: values of the two axes
        std::vector<std::optional<double>> values;           // of the tracked figure, one a round
        std::optional<double> figure, watts, work_per_watt;  // means over the averaged rounds
    };
    struct Variable {  // what the decision was made on
        std::string label;
        std::vector<double> values;  // one a round
        std::optional<analysis::SteadyWindow> window;
    };
    std::string name, figure_name, unit;  // "rounds", "IOPS", ""
    std::string verdict;                  // "steady state after round 5"
    std::string averaged;                 // "the steady window, rounds 1 to 5"
    std::string x_name, series_name;      // axes of the cells: "block_size", "read_percent"; empty when nothing varies
    std::size_t rounds = 0;
    std::size_t window_first = 0, window_last = 0;      // rounds from 1; 0: no window
    std::size_t averaged_first = 0, averaged_last = 0;  // rounds from 1; 0: none
    std::vector<std::string> xs, all_series;            // in the order of the method
    std::vector<Cell> cells;
    std::vector<Variable> variables;
    [[nodiscard]] const Cell* at(const std::string& x, const std::string& series) const;
};

// From run.json (steady_state) beside the result's phases; what is malformed or was not carried out is left out.
std::vector<RoundsView> rounds_views(const analysis::RunResult& result);
nlohmann::json rounds_json(const std::vector<RoundsView>& views);
// Charts' frames and tables of one group; `k` numbers its elements.
std::string rounds_html(const RoundsView& view, std::size_t k);

}  // namespace wattrig::report
