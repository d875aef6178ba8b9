#include "host/report/table.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <iterator>

#include "host/report/columns.hpp"
#include "host/report/escape.hpp"
#include "host/report/figures.hpp"

namespace wattrig::report {
namespace {

constexpr std::size_t gap = 2;

// Cut at a code point, with a mark that something is missing.
std::string shortened(const std::string& text, std::size_t width) {
    if (display_width(text) <= width) return text;
    std::string out;
    std::size_t used = 0;
    for (const char c : text) {
        const bool starts = (static_cast<unsigned char>(c) & 0xc0) != 0x80;
        if (starts && ++used >= width) break;
        out += c;
    }
    return out + "~";
}
std::string trimmed(std::string line) {
    line.erase(line.find_last_not_of(' ') + 1);
    return line;
}

class Page {
  public:
    explicit Page(const TextOptions& options) : options_(options) {}
    void line(const std::string& text = {}) { out_ += trimmed(text) + '\n'; }
    void rule(char c) { line(std::string(std::min<std::size_t>(options_.columns, 120), c)); }
    // Words of `text` after `head`, folded to the page's width with a hanging indent.
    void paragraph(const std::string& head, const std::string& text) {
        const std::size_t width = std::max<std::size_t>(options_.columns, 40);
        std::string current = head;
        std::size_t begin = 0;
        while (begin <= text.size()) {
            const std::size_t end = std::min(text.find(' ', begin), text.size());
            const std::string word = text.substr(begin, end - begin);
            if (display_width(current) + display_width(word) > width && display_width(current) > head.size()) {
                line(current);
                current = std::string(head.size(), ' ');
            }
            current += word + ' ';
            begin = end + 1;
        }
        line(current);
    }
    [[nodiscard]] std::string safe(const std::string& text) const { return terminal_safe(text, options_.utf8); }
    [[nodiscard]] std::string micro() const { return options_.utf8 ? "\xc2\xb5" : "u"; }
    [[nodiscard]] std::size_t width() const { return options_.columns; }
    std::string take() { return std::move(out_); }

  private:
    TextOptions options_;
    std::string out_;
};

// Columns with headings and cells of one width each, the first one left-aligned.
struct Grid {
    std::vector<std::vector<std::string>> head;  // one row a line
    struct Line {
        std::string group;  // printed alone when it changes
        std::vector<std::string> cells;
    };
    std::vector<Line> lines;

    void print(Page& page) const {
        std::vector<std::size_t> widths(head.front().size(), 0);
        const auto measure = [&](const std::vector<std::string>& cells) {
            for (std::size_t k = 0; k < cells.size(); ++k) widths[k] = std::max(widths[k], display_width(cells[k]));
        };
        for (const auto& row : head) measure(row);
        for (const Line& row : lines) measure(row.cells);
        const auto text = [&](const std::vector<std::string>& cells) {
            std::string out = padded_right(cells[0], widths[0]);
            for (std::size_t k = 1; k < cells.size(); ++k) out += std::string(gap, ' ') + padded_left(cells[k], widths[k]);
            return out;
        };
        for (const auto& row : head) page.line(text(row));
        std::string group;
        for (const Line& row : lines) {
            if (row.group != group && !row.group.empty()) page.line(row.group);
            group = row.group;
            page.line(text(row.cells));
        }
    }
    [[nodiscard]] std::size_t width() const {
        std::size_t total = 0;
        for (std::size_t k = 0; k < head.front().size(); ++k) {
            std::size_t widest = 0;
            for (const auto& row : head) widest = std::max(widest, display_width(row[k]));
            for (const Line& row : lines) widest = std::max(widest, display_width(row.cells[k]));
            total += widest + (k == 0 ? 0 : gap);
        }
        return total;
    }
};

Grid grid_of(const Columns& table, const std::vector<const Column*>& columns, const Page& page) {
    Grid grid;
    grid.head = {{""}, {""}};
    for (const Column* column : columns) {
        grid.head[0].push_back(column->name);
        grid.head[1].push_back(column->unit);
    }
    for (std::size_t r = 0; r < table.rows.size(); ++r) {
        const Row& row = table.rows[r];
        const bool marked = !row.phase->warnings.empty() || !row.phase->phase.complete;
        const std::string name = shortened(page.safe(row.name), 26) + (marked ? " *" : "");
        Grid::Line line{.group = page.safe(row.group), .cells = {row.group.empty() ? name : "  " + name}};
        std::transform(columns.begin(), columns.end(), std::back_inserter(line.cells),
                       [r](const Column* column) { return column->cells[r]; });
        grid.lines.push_back(std::move(line));
    }
    return grid;
}

void print_table(Page& page, const analysis::RunResult& result) {
    const Columns table = columns_of(result, page.micro());
    std::vector<const Column*> columns;
    columns.reserve(table.columns.size());
    for (const Column& column : table.columns) columns.push_back(&column);
    std::string dropped;
    Grid grid = grid_of(table, columns, page);
    while (grid.width() > page.width()) {
        const auto most = std::max_element(columns.begin(), columns.end(),
                                           [](const Column* a, const Column* b) { return a->drop < b->drop; });
        if ((*most)->drop == 0) break;
        dropped += (dropped.empty() ? "" : ", ") + (*most)->name;
        columns.erase(most);
        grid = grid_of(table, columns, page);
    }
    grid.print(page);
    if (!dropped.empty()) page.line("Left out for width: " + dropped + ". All columns are in phases.csv and report.html.");
}

void print_scores(Page& page, const analysis::RunResult& result) {
    if (result.scores.empty()) return;
    Grid grid;
    grid.head = {{"Scores", "MB/s", "power", "mean_of_ratios", "ratio_of_means", "total_bytes_per_joule"},
                 {"", "", "W", "MB/s/W", "MB/s/W", "MB/J"}};
    const std::string plus_minus = page.micro() == "u" ? " +- " : " \xc2\xb1 ";
    const auto with_u = [&](const analysis::Figure& figure) {
        const FigureText text = figure_text(figure);
        return text.u == "-" ? text.value : text.value + plus_minus + text.u;
    };
    for (const analysis::Score& score : result.scores)
        grid.lines.push_back({.group = {},
                              .cells = {shortened(page.safe(score.name), 40), significant(score.megabytes_per_second, 4),
                                        significant(score.watts, 4), with_u(score.mean_of_ratios), with_u(score.ratio_of_means),
                                        with_u(score.total_bytes_per_joule)}});
    page.line();
    grid.print(page);
}

// Levels of speed of the phases in order, and where they end.
void print_speed(Page& page, const analysis::RunResult& result) {
    for (const analysis::PhaseResult& phase : result.phases) {
        if (!phase.speed) continue;
        page.line();
        page.paragraph("Speed   ", page.safe(phase.phase.label) + ": " + page.safe(phase.speed->verdict));
        const double all = phase.speed->regions.empty() ? 0 : phase.speed->regions.back().end_bytes;
        for (const auto& region : phase.speed->regions) {
            const double share = all > 0 ? 100 * (region.end_bytes - region.begin_bytes) / all : 0;
            std::string words = fmt::format("{} to {} GB ({} %): {} MB/s", significant(region.begin_bytes / 1e9, 4),
                                            significant(region.end_bytes / 1e9, 4), significant(share, 3),
                                            significant(region.megabytes_per_second, 4));
            if (region.low && region.high)
                words += fmt::format(" ({} to {}, 95 %)", significant(*region.low, 4), significant(*region.high, 4));
            if (region.watts.value) words += fmt::format(", {} W", significant(*region.watts.value, 4));
            page.paragraph("  - ", words);
        }
    }
}

std::string run_words(const analysis::RunResult& result) {
    std::string words = result.fidelity == "real" ? "" : "fidelity: " + result.fidelity;
    const auto add = [&](const std::string& text) { words += (words.empty() ? "" : "; ") + text; };
    if (result.scale && *result.scale != 1) add(fmt::format("scaled by {}, not comparable", significant(*result.scale, 3)));
    if (result.interrupted) add("INTERRUPTED: what was measured is valid, the rest is missing");
    if (!result.complete && !result.interrupted) add("INCOMPLETE: the run was cut off");
    return words;
}

}  // namespace

std::string simulated_words(const analysis::RunResult& result) {
    std::string words;
    if (result.power_simulated) words = "power: SIMULATED";
    if (result.drive_simulated) words += std::string(words.empty() ? "" : "    ") + "drive: SIMULATED";
    return words;
}

std::string clock_words(const analysis::ClockFigures& clock, const std::string& micro) {
    if (clock.exchanges == 0 && !clock.bound_us) return "-";
    std::string words;
    const auto add = [&](const std::string& text) { words += (words.empty() ? "" : ", ") + text; };
    if (clock.bound_us) add(fmt::format("guaranteed to {} {}s", significant(*clock.bound_us, 3), micro));
    if (clock.drift_ppm)
        add(fmt::format("drift {}{} ppm", *clock.drift_ppm >= 0 ? "+" : "", with_decimals(*clock.drift_ppm, 2)));
    add(fmt::format("{} exchanges", clock.exchanges));
    if (!clock.map.empty()) add(terminal_safe(clock.map) + " map");
    return words;
}

std::string text_report(const analysis::RunResult& result, const TextOptions& options) {
    Page page(options);
    const std::string simulated = simulated_words(result);
    const auto banner = [&] {
        if (simulated.empty()) return;
        page.rule('=');
        page.line("  " + simulated + "    (made by models: not a measurement)");
        page.rule('=');
    };
    banner();
    page.paragraph("Suite   ", page.safe(result.suite));
    page.paragraph("Target  ", page.safe(result.target));
    if (!result.drive.empty() && result.drive != result.target) page.paragraph("Drive   ", page.safe(result.drive));
    page.paragraph("Rig     ", result.power_measured ? page.safe(result.rig) : "none: power was not measured");
    if (const std::string words = run_words(result); !words.empty()) page.paragraph("Run     ", page.safe(words));
    page.line();

    if (result.phases.empty())
        page.line("No phase was carried out.");
    else
        print_table(page, result);
    print_scores(page, result);
    print_speed(page, result);

    page.line();
    if (result.power_measured) {
        page.paragraph("Clock   ", clock_words(result.clock, page.micro()));
        page.paragraph("Samples ", fmt::format("{} received, {} lost", result.samples, result.lost_samples));
    }
    std::size_t warnings = result.warnings.size();
    for (const auto& phase : result.phases) warnings += phase.warnings.size();
    if (warnings > 0) page.line(fmt::format("Warnings ({})", warnings));
    for (const std::string& warning : result.warnings) page.paragraph("  - ", page.safe(warning));
    for (const auto& phase : result.phases)
        for (const std::string& warning : phase.warnings)
            page.paragraph("  * ", page.safe(phase.phase.label) + ": " + page.safe(warning));
    // Again at the end, where a reader of a long page looks first.
    if (!simulated.empty()) page.line("*** " + simulated + " ***");
    return page.take();
}

}  // namespace wattrig::report
