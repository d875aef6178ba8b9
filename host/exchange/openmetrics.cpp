#include <fmt/format.h>

#include <algorithm>
#include <string_view>

#include <cmath>

#include "host/exchange/export.hpp"
#include "host/report/escape.hpp"

namespace wattrig::exchange {
namespace {

using analysis::Figure;
using analysis::PhaseResult;

// A line feed is the format's own to escape; other control characters would speak to a terminal.
std::string escaped(const std::string& text) {
    std::string out;
    for (std::size_t begin = 0; begin <= text.size();) {
        const std::size_t end = std::min(text.find('\n', begin), text.size());
        if (begin > 0) out += "\\n";
        for (const char c : report::clean_utf8(std::string_view(text).substr(begin, end - begin))) {
            if (c == '\\' || c == '"') out += '\\';
            out += c;
        }
        begin = end + 1;
    }
    return out;
}

class Family {
  public:
    Family(std::string& out, const char* name, const char* unit, const char* help) : out_(out), name_(name) {
        out_ += fmt::format("# TYPE {0} gauge\n", name);
        // A unit must be the end of the name; the rest have theirs in the help.
        if (*unit != '\0') out_ += fmt::format("# UNIT {} {}\n", name, unit);
        out_ += fmt::format("# HELP {} {}\n", name, help);
    }
    void add(const std::string& labels, std::optional<double> value) {
        if (value && std::isfinite(*value)) out_ += fmt::format("{}{{{}}} {}\n", name_, labels, *value);
    }

  private:
    std::string& out_;
    const char* name_;
};

}  // namespace

std::string openmetrics(const analysis::RunResult& result) {
    std::string out;
    const std::string run = fmt::format("suite=\"{}\",drive=\"{}\",power_simulated=\"{}\",drive_simulated=\"{}\",scaled=\"{}\"",
                                        escaped(result.suite), escaped(result.drive), result.power_simulated ? "yes" : "no",
                                        result.drive_simulated ? "yes" : "no", result.scale.value_or(1) != 1 ? "yes" : "no");
    const auto of_phases = [&](const char* name, const char* unit, const char* help, auto&& value) {
        Family family(out, name, unit, help);
        for (const PhaseResult& phase : result.phases)
            if (phase.phase.complete)
                family.add(fmt::format("{},phase=\"{}\",label=\"{}\"", run, phase.phase.number, escaped(phase.phase.label)),
                           value(phase));
    };
    const auto per_second = [](const std::optional<double>& megabytes) {
        return megabytes ? std::optional(*megabytes * 1e6) : std::nullopt;
    };
    const auto seconds = [](const std::optional<double>& us) { return us ? std::optional(*us / 1e6) : std::nullopt; };
    of_phases("wattrig_phase_power_watts", "watts", "Mean power.", [](const PhaseResult& p) { return p.watts.value; });
    of_phases("wattrig_phase_power_uncertainty_watts", "watts", "Expanded uncertainty of the mean power, k = 2.",
              [](const PhaseResult& p) { return p.watts.u; });
    of_phases("wattrig_phase_energy_joules", "joules", "Energy.",
              [](const PhaseResult& p) { return p.power.energy ? std::optional(p.power.energy->value()) : std::nullopt; });
    of_phases("wattrig_phase_operations_per_second", "", "Operations a second.", [](const PhaseResult& p) { return p.iops; });
    of_phases("wattrig_phase_bytes_per_second", "", "Bytes a second.",
              [&](const PhaseResult& p) { return per_second(p.megabytes_per_second); });
    of_phases("wattrig_phase_latency_mean_seconds", "seconds", "Mean latency.",
              [&](const PhaseResult& p) { return seconds(p.latency.mean); });
    of_phases("wattrig_phase_latency_p99_seconds", "seconds", "99th percentile of latency.",
              [&](const PhaseResult& p) { return seconds(p.latency.p99); });
    of_phases("wattrig_phase_operations_per_joule", "", "Operations a joule.",
              [](const PhaseResult& p) { return p.iops_per_watt.value; });
    of_phases("wattrig_phase_bytes_per_joule", "", "Bytes a joule.",
              [&](const PhaseResult& p) { return per_second(p.megabytes_per_second_per_watt.value); });
    Family family(out, "wattrig_score_bytes_per_joule", "", "Score over queue depths, by the way of averaging.");
    for (const analysis::Score& score : result.scores) {
        const std::pair<const char*, const Figure*> ways[] = {{"mean_of_ratios", &score.mean_of_ratios},
                                                              {"ratio_of_means", &score.ratio_of_means},
                                                              {"total_bytes_per_joule", &score.total_bytes_per_joule}};
        for (const auto& [way, figure] : ways)
            family.add(fmt::format("{},score=\"{}\",average=\"{}\"", run, escaped(score.name), way), per_second(figure->value));
    }
    return out + "# EOF\n";
}

}  // namespace wattrig::exchange
