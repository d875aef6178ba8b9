#pragma once
// Names in result.json, once for its writer and its reader. Internal to host/analysis. The schema repeats them; a test
// compares.

#include <array>
#include <optional>
#include <utility>

#include "host/analysis/result.hpp"

namespace wattrig::analysis {

inline constexpr const char* result_schema = "wattrig.result/1";

template <class Owner, class Member>
using Name = std::pair<const char*, Member Owner::*>;

inline constexpr std::array<const char*, io::operation_kinds> kind_names = {"read", "write", "flush", "discard",
                                                                            "write_zeroes"};
inline constexpr std::array<const char*, 6> stop_names = {"time", "bytes", "operations", "errors", "interrupted", "failed"};

inline constexpr std::array<Name<LatencyFigures, std::optional<double>>, 8> latency_names = {{
    {"mean", &LatencyFigures::mean},
    {"p50", &LatencyFigures::p50},
    {"p90", &LatencyFigures::p90},
    {"p99", &LatencyFigures::p99},
    {"p99_9", &LatencyFigures::p99_9},
    {"p99_99", &LatencyFigures::p99_99},
    {"maximum", &LatencyFigures::maximum},
    {"minimum", &LatencyFigures::minimum},
}};

inline constexpr std::array<Name<power::PowerUncertainty, double>, 9> budget_names = {{
    {"reference", &power::PowerUncertainty::reference},
    {"v_gain", &power::PowerUncertainty::v_gain},
    {"i_gain", &power::PowerUncertainty::i_gain},
    {"v_offset", &power::PowerUncertainty::v_offset},
    {"i_offset", &power::PowerUncertainty::i_offset},
    {"temperature", &power::PowerUncertainty::temperature},
    {"noise", &power::PowerUncertainty::noise},
    {"alignment", &power::PowerUncertainty::alignment},
    {"coverage", &power::PowerUncertainty::coverage},
}};

inline constexpr std::array<Name<PhaseResult, std::optional<double>>, 6> phase_number_names = {{
    {"iops", &PhaseResult::iops},
    {"read_iops", &PhaseResult::read_iops},
    {"write_iops", &PhaseResult::write_iops},
    {"megabytes_per_second", &PhaseResult::megabytes_per_second},
    {"cool_off_joules", &PhaseResult::cool_off_joules},
    {"little_error", &PhaseResult::little_error},
}};

inline constexpr std::array<Name<PhaseResult, Figure>, 6> phase_figure_names = {{
    {"watts", &PhaseResult::watts},
    {"idle_watts", &PhaseResult::idle_watts},
    {"megabytes_per_second_per_watt", &PhaseResult::megabytes_per_second_per_watt},
    {"iops_per_watt", &PhaseResult::iops_per_watt},
    {"microjoules_per_operation", &PhaseResult::microjoules_per_operation},
    {"idle_subtracted_microjoules_per_operation", &PhaseResult::idle_subtracted_microjoules_per_operation},
}};

}  // namespace wattrig::analysis
