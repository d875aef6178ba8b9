#pragma once
// What the page's charts of time and position draw, as compact JSON. Any thread.

#include <nlohmann/json_fwd.hpp>

#include "host/analysis/result.hpp"

namespace wattrig::report {

// Power over the whole run. Times in ms since the first bin, power in units of 0.1 mW, voltage in mV; null = not known.
//   {bin, low[], mean[], high[], volts[], lines[] (when a side-band line ever changed), phases[{label, kind, from, to, watts}],
//    windows[{from, to, why, watts[]}], left_out}
// null when nothing was recorded.
nlohmann::json trace_data(const analysis::RunResult& result);
// Phases in order, with their speed and power against position and the cliffs found:
//   [{label, verdict, points[[GB, MB/s, W]], changes[GB], regions[{from, to, mbs, watts}]}]
nlohmann::json position_data(const analysis::RunResult& result);

}  // namespace wattrig::report
