#include "host/report/csv.hpp"

#include <fmt/format.h>

#include <set>
#include <vector>

#include "host/report/escape.hpp"

namespace wattrig::report {
namespace {

using analysis::PhaseResult;

std::string whole(std::uint64_t value) { return fmt::format("{}", value); }
// Divided, not multiplied by 1e-9: whole seconds come out whole.
std::string in_seconds(Nanoseconds time) { return fmt::format("{}", static_cast<double>(time.count()) / 1e9); }
std::string yes_no(bool value) { return value ? "yes" : "no"; }

class Table {
  public:
    void head(const std::string& name) { line_.push_back(csv_field(name)); }
    void text(const std::string& value) { line_.push_back(csv_field(value)); }
    // Numbers start with "-" at times, which is no formula.
    void figure(const std::string& value) { line_.push_back(value); }
    void end() {
        for (std::size_t k = 0; k < line_.size(); ++k) out_ += (k == 0 ? "" : ",") + line_[k];
        out_ += "\r\n";
        line_.clear();
    }
    std::string take() { return std::move(out_); }

  private:
    std::vector<std::string> line_;
    std::string out_;
};

struct LatencyPart {
    const char* name;
    std::optional<double> analysis::LatencyFigures::* value;
};
constexpr LatencyPart latency_parts[] = {
    {"mean", &analysis::LatencyFigures::mean},     {"min", &analysis::LatencyFigures::minimum},
    {"p50", &analysis::LatencyFigures::p50},       {"p90", &analysis::LatencyFigures::p90},
    {"p99", &analysis::LatencyFigures::p99},       {"p99.9", &analysis::LatencyFigures::p99_9},
    {"p99.99", &analysis::LatencyFigures::p99_99}, {"max", &analysis::LatencyFigures::maximum},
};

struct FigurePart {
    const char* name;
    const char* unit;
    analysis::Figure PhaseResult::* value;
};
constexpr FigurePart figure_parts[] = {
    {"power", "W", &PhaseResult::watts},
    {"throughput_per_power", "MB/s/W", &PhaseResult::megabytes_per_second_per_watt},
    {"iops_per_power", "1/s/W", &PhaseResult::iops_per_watt},
    {"energy_per_operation", "uJ", &PhaseResult::microjoules_per_operation},
    {"energy_per_operation_above_idle", "uJ", &PhaseResult::idle_subtracted_microjoules_per_operation},
};

void heads(Table& table, const std::set<std::string>& parameters) {
    for (const char* name : {"number", "step", "label", "kind"}) table.head(name);
    for (const std::string& key : parameters) table.head(key);
    for (const char* name : {"complete", "begin [s]", "duration [s]", "operations", "bytes [B]", "errors", "iops [1/s]",
                             "read_iops [1/s]", "write_iops [1/s]", "throughput [MB/s]", "mean_depth", "device_mean_depth"})
        table.head(name);
    for (const char* of : {"latency", "read_latency", "write_latency"})
        for (const LatencyPart& part : latency_parts) table.head(fmt::format("{}_{} [us]", of, part.name));
    for (const FigurePart& part : figure_parts) {
        table.head(fmt::format("{} [{}]", part.name, part.unit));
        table.head(fmt::format("{}_U_k2 [{}]", part.name, part.unit));
        table.head(fmt::format("{}_spread_95 [{}]", part.name, part.unit));
    }
    for (const char* name :
         {"energy [J]", "power_min [W]", "power_max [W]", "pcm1 [W]", "pcm2 [W]", "voltage_mean [V]", "voltage_min [V]",
          "current_mean [A]", "coverage", "cool_off_energy [J]", "power_simulated", "warnings"})
        table.head(name);
    table.end();
}

template <class Unit>
std::optional<double> plain(const std::optional<Unit>& quantity) {
    return quantity ? std::optional<double>(quantity->value()) : std::nullopt;
}

}  // namespace

std::string phases_csv(const analysis::RunResult& result) {
    std::set<std::string> parameters;
    for (const PhaseResult& phase : result.phases)
        for (const auto& [key, value] : phase.phase.parameters) parameters.insert(key);

    Table table;
    heads(table, parameters);
    const HostTime start = result.phases.empty() ? HostTime{} : result.phases.front().phase.outcome.begin;
    for (const PhaseResult& phase : result.phases) {
        const recording::PhaseRecord& record = phase.phase;
        table.figure(whole(record.number));
        table.text(record.step);
        table.text(record.label);
        table.text(record.kind);
        for (const std::string& key : parameters) {
            std::string value;
            for (const auto& [name, text] : record.parameters)
                if (name == key) value = text;
            table.text(value);
        }
        table.figure(yes_no(record.complete));
        table.figure(in_seconds(record.outcome.begin - start));
        table.figure(in_seconds(record.outcome.measured()));
        std::uint64_t operations = 0, bytes = 0, errors = 0;
        for (const io::KindOutcome& kind : record.outcome.kinds) {
            operations += kind.operations;
            bytes += kind.bytes;
            errors += kind.errors;
        }
        for (const std::uint64_t count : {operations, bytes, errors}) table.figure(record.has_io ? whole(count) : "");
        for (const auto& value : {phase.iops, phase.read_iops, phase.write_iops, phase.megabytes_per_second})
            table.figure(csv_number(value));
        table.figure(record.has_io ? csv_number(record.outcome.mean_depth) : "");
        table.figure(record.outcome.device_mean_depth >= 0 ? csv_number(record.outcome.device_mean_depth) : "");
        for (const analysis::LatencyFigures* latency : {&phase.latency, &phase.read_latency, &phase.write_latency})
            for (const LatencyPart& part : latency_parts) table.figure(csv_number(latency->*part.value));
        for (const FigurePart& part : figure_parts) {
            const analysis::Figure& figure = phase.*part.value;
            table.figure(csv_number(figure.value));
            table.figure(csv_number(figure.u));
            table.figure(csv_number(figure.spread));
        }
        const power::IntervalPower& power = phase.power;
        for (const auto& value :
             {plain(power.energy), plain(power.minimum), plain(power.maximum), plain(power.pcm1), plain(power.pcm2),
              plain(power.mean_voltage), plain(power.minimum_voltage), plain(power.mean_current)})
            table.figure(csv_number(value));
        table.figure(result.power_measured ? csv_number(power.coverage) : "");
        table.figure(csv_number(phase.cool_off_joules));
        table.figure(result.power_measured ? yes_no(result.power_simulated) : "");
        std::string warnings;
        for (const std::string& warning : phase.warnings) warnings += (warnings.empty() ? "" : "; ") + clean_utf8(warning);
        table.text(warnings);
        table.end();
    }
    return table.take();
}

std::string scores_csv(const analysis::RunResult& result) {
    Table table;
    for (const char* name : {"score", "throughput [MB/s]", "power [W]", "mean_of_ratios [MB/s/W]",
                             "mean_of_ratios_U_k2 [MB/s/W]", "ratio_of_means [MB/s/W]", "ratio_of_means_U_k2 [MB/s/W]",
                             "total_bytes_per_joule [MB/J]", "total_bytes_per_joule_U_k2 [MB/J]", "power_simulated"})
        table.head(name);
    table.end();
    for (const analysis::Score& score : result.scores) {
        table.text(score.name);
        table.figure(csv_number(score.megabytes_per_second));
        table.figure(csv_number(score.watts));
        for (const analysis::Figure* figure : {&score.mean_of_ratios, &score.ratio_of_means, &score.total_bytes_per_joule}) {
            table.figure(csv_number(figure->value));
            table.figure(csv_number(figure->u));
        }
        table.figure(result.power_measured ? yes_no(result.power_simulated) : "");
        table.end();
    }
    return table.take();
}

}  // namespace wattrig::report
