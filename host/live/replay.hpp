#pragma once
// An old recording for the page: the whole run from its bins, any part of it down to single samples from the file.
//
// Thread rule: one thread.

#include <nlohmann/json_fwd.hpp>
#include <string>
#include <vector>

#include "host/analysis/power_index.hpp"
#include "host/base/result.hpp"
#include "host/live/request.hpp"
#include "host/recording/run_directory.hpp"

namespace wattrig::live {

class Replay {
  public:
    static Result<Replay> open(const std::string& directory);
    // For the page: {"title", "simulated", "begin", "end", "phases": [{label, begin, end}], "marks": [{at, text}]}; seconds
    // since the first phase began.
    [[nodiscard]] nlohmann::json summary() const;
    // {"from", "to", "step" (s a column, or of a sample), "samples" (true: single samples),
    //  "columns": [[time, lowest, mean, highest, volts], ...]}: what is not known is left out.
    [[nodiscard]] nlohmann::json view(const ViewRequest& request) const;

  private:
    Replay(analysis::PowerIndex index, std::vector<recording::PhaseRecord> phases)
        : index_(std::move(index)), phases_(std::move(phases)) {}
    [[nodiscard]] nlohmann::json from_bins(HostTime from, HostTime to, std::size_t columns) const;
    [[nodiscard]] nlohmann::json from_file(HostTime from, HostTime to, std::size_t columns, bool& samples) const;
    [[nodiscard]] double seconds(HostTime t) const { return to_seconds(t - origin_); }

    analysis::PowerIndex index_;
    std::vector<recording::PhaseRecord> phases_;
    HostTime origin_{};
    std::string title_;
    bool simulated_ = false;
};

}  // namespace wattrig::live
