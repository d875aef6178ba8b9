#include "host/report/columns.hpp"

#include <algorithm>
#include <charconv>
#include <cstdint>
#include <functional>

#include "host/report/figures.hpp"

namespace wattrig::report {
namespace {

using analysis::PhaseResult;

constexpr std::size_t most_places = SIZE_MAX;

std::optional<std::uint32_t> depth_of(const recording::PhaseRecord& phase) {
    for (const auto& [key, value] : phase.parameters) {
        if (key != "depth") continue;
        std::uint32_t depth = 0;
        const auto [end, error] = std::from_chars(value.data(), value.data() + value.size(), depth);
        if (error == std::errc() && end == value.data() + value.size() && depth > 0) return depth;
    }
    return std::nullopt;
}

// "randread 4 KiB QD4" is row "QD4" of group "randread 4 KiB"; what stands behind the depth belongs to the group, too.
Row row_of(const PhaseResult& phase) {
    Row row{.phase = &phase, .group = {}, .name = phase.phase.label, .depth = depth_of(phase.phase)};
    const std::size_t begin = row.name.find(" QD");
    if (!row.depth || !phase.phase.has_io || begin == std::string::npos || begin == 0) return row;
    const std::size_t end = std::min(row.name.find_first_of(" ,", begin + 1), row.name.size());
    row.group = row.name.substr(0, begin) + row.name.substr(end);
    row.name = row.name.substr(begin + 1, end - begin - 1);
    return row;
}

bool any(const std::vector<Row>& rows, const std::function<std::optional<double>(const PhaseResult&)>& get) {
    return std::any_of(rows.begin(), rows.end(), [&](const Row& row) { return get(*row.phase).has_value(); });
}

class Builder {
  public:
    explicit Builder(Columns& table) : table_(table) {}

    template <class Cell>
    Column& add(std::string name, std::string unit, std::string hint, int drop, Cell&& cell) {
        Column column{.name = std::move(name), .unit = std::move(unit), .hint = std::move(hint), .drop = drop, .cells = {}};
        for (const Row& row : table_.rows) column.cells.push_back(cell(*row.phase));
        table_.columns.push_back(std::move(column));
        return table_.columns.back();
    }
    // Latency in microseconds; from 100 ms on in milliseconds, one unit for the whole column.
    void add_latency(const std::string& name, const std::string& micro, std::string hint, int drop,
                     std::optional<double> analysis::LatencyFigures::* part) {
        double largest = 0;
        for (const Row& row : table_.rows) largest = std::max(largest, (row.phase->latency.*part).value_or(0));
        const bool milli = largest >= 100'000;
        add(name, milli ? "ms" : micro + "s", std::move(hint), drop, [&](const PhaseResult& phase) {
            std::optional<double> value = phase.latency.*part;
            if (value && milli) *value /= 1000;
            return significant(value, 3);
        });
    }

  private:
    Columns& table_;
};

}  // namespace

std::vector<Row> rows_of(const analysis::RunResult& result) {
    std::vector<Row> rows;
    for (const PhaseResult& phase : result.phases)
        if (phase.phase.kind != "cool_off") rows.push_back(row_of(phase));
    // A suite may go through its patterns at one depth after the other, with idle times between: a reader wants the depths of a
    // pattern together, and what is no load behind them.
    std::vector<std::string> order;
    const auto place = [&](const Row& row) {
        if (row.phase->phase.kind != "io") return most_places;
        const std::string& key = row.group.empty() ? row.name : row.group;
        const auto found = std::find(order.begin(), order.end(), key);
        if (found != order.end()) return static_cast<std::size_t>(found - order.begin());
        order.push_back(key);
        return order.size() - 1;
    };
    std::vector<std::vector<Row>> groups;
    std::vector<Row> last;
    for (Row& row : rows) {
        const std::size_t at = place(row);
        if (at < most_places) groups.resize(order.size());
        (at < most_places ? groups[at] : last).push_back(std::move(row));
    }
    groups.push_back(std::move(last));
    rows.clear();
    for (std::vector<Row>& group : groups)
        for (Row& row : group) rows.push_back(std::move(row));
    return rows;
}

Columns columns_of(const analysis::RunResult& result, const std::string& micro) {
    Columns table{.rows = rows_of(result), .columns = {}};
    Builder build(table);
    using Latency = analysis::LatencyFigures;
    const std::string watt = result.power_simulated ? "W sim." : "W";

    build.add("IOPS", "", "operations per second", 0, [](const PhaseResult& p) { return significant(p.iops, 4); });
    build.add("MB/s", "", "10^6 bytes per second", 0,
              [](const PhaseResult& p) { return significant(p.megabytes_per_second, 4); });
    build.add_latency("mean", micro, "mean latency", 0, &Latency::mean);
    build.add_latency("p50", micro, "half of the operations took less", 4, &Latency::p50);
    build.add_latency("p99", micro, "99 % of the operations took less", 0, &Latency::p99);
    build.add_latency("p99.9", micro, "99.9 % of the operations took less", 2, &Latency::p99_9);
    build.add_latency("max", micro, "the slowest operation", 0, &Latency::maximum);
    build.add("power", watt, "mean power at the drive", 0, [](const PhaseResult& p) { return figure_text(p.watts).value; });
    build.add("U(k=2)", "W", "how well the instrument knows the power: expanded uncertainty, k = 2", 0,
              [](const PhaseResult& p) { return figure_text(p.watts).u; });
    build.add("spread", "W", "how much the drive varied: half-width of a 95 % interval over batches of the phase", 1,
              [](const PhaseResult& p) { return figure_text(p.watts).spread; });
    build.add("MB/s/W", "", "work per energy: MB/s for each watt, that is MB per joule", 0,
              [](const PhaseResult& p) { return figure_text(p.megabytes_per_second_per_watt).value; });
    build.add("IOPS/W", "", "operations per joule", 3, [](const PhaseResult& p) { return figure_text(p.iops_per_watt).value; });
    build.add("energy", micro + "J/op", "energy of one operation", 0,
              [](const PhaseResult& p) { return figure_text(p.microjoules_per_operation).value; });
    if (any(table.rows, [](const PhaseResult& p) { return p.idle_subtracted_microjoules_per_operation.value; }))
        build.add("-idle", micro + "J/op", "energy of one operation above idle", 6,
                  [](const PhaseResult& p) { return figure_text(p.idle_subtracted_microjoules_per_operation).value; });
    if (any(table.rows, [](const PhaseResult& p) { return p.cool_off_joules; }))
        build.add("after", "J", "energy above idle in the cool-off that followed: work that the drive put off", 5,
                  [](const PhaseResult& p) { return significant(p.cool_off_joules, 3); });
    return table;
}

}  // namespace wattrig::report
