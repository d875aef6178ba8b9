#include <fmt/format.h>

#include <algorithm>
#include <cmath>
#include <nlohmann/json.hpp>

#include "host/exchange/export.hpp"
#include "host/exchange/run_trace.hpp"
#include "host/exchange/time_text.hpp"

namespace wattrig::exchange {
namespace {

using Json = nlohmann::json;

constexpr int process = 1, phase_thread = 1;
constexpr std::uint64_t most_counter_rows = 50'000;  // what the viewers scroll through with ease

std::string microseconds(Nanoseconds time) { return decimal_time(time, 3); }
std::string quoted(const std::string& text) { return Json(text).dump(-1, ' ', true, Json::error_handler_t::replace); }

}  // namespace

Result<void> export_perfetto(const recording::RunDirectory& directory, const TraceOptions& options, const TextSink& sink) {
    TraceOptions bounded = options;
    bounded.most_rows = std::min(options.most_rows, most_counter_rows);
    auto opened = open_run_trace(directory, bounded);
    if (!opened) return opened.error();
    const RunTrace& trace = *opened;
    // Times of the format start at 0 at the earliest.
    HostTime zero = trace.extent.begin;
    for (const recording::PhaseRecord& phase : trace.phases) zero = std::min(zero, phase.outcome.begin);

    const std::string label = trace.source.simulated ? " SIMULATED" : "";
    std::string text = fmt::format(
        "{{\"displayTimeUnit\":\"ms\",\"otherData\":{{\"suite\":{},\"drive\":{},\"power_simulated\":{},\"drive_simulated\":{}}}"
        ",\n"
        "\"traceEvents\":[\n"
        "{{\"ph\":\"M\",\"pid\":{},\"name\":\"process_name\",\"args\":{{\"name\":{}}}}},\n"
        "{{\"ph\":\"M\",\"pid\":{},\"tid\":{},\"name\":\"thread_name\",\"args\":{{\"name\":\"phases\"}}}}",
        quoted(trace.suite), quoted(trace.drive), trace.source.simulated, trace.drive_simulated, process,
        quoted("wattrig " + trace.suite + " on " + trace.drive), process, phase_thread);
    for (const recording::PhaseRecord& phase : trace.phases) {
        const HostTime end = phase.complete ? phase.outcome.end : trace.extent.end;
        if (end < phase.outcome.begin) continue;
        Json arguments = {{"step", phase.step}, {"kind", phase.kind}, {"number", phase.number}, {"complete", phase.complete}};
        for (const auto& [key, value] : phase.parameters) arguments[key] = value;
        text += fmt::format(",\n{{\"ph\":\"X\",\"pid\":{},\"tid\":{},\"name\":{},\"cat\":{},\"ts\":{},\"dur\":{},\"args\":{}}}",
                            process, phase_thread, quoted(phase.label), quoted(phase.kind),
                            microseconds(phase.outcome.begin - zero), microseconds(end - phase.outcome.begin),
                            arguments.dump(-1, ' ', true, Json::error_handler_t::replace));
    }
    if (auto written = sink(text); !written) return written.error();

    std::optional<Error> failed;
    std::string rows;
    const auto counter = [&](const std::string& name, const char* unit, HostTime at, double value) {
        if (!std::isfinite(value)) return;
        rows += fmt::format(",\n{{\"ph\":\"C\",\"pid\":{},\"name\":\"{}{} [{}]\",\"ts\":{},\"args\":{{\"{}\":{:.9g}}}}}",
                            process, name, label, unit, microseconds(at - zero), unit, value);
    };
    const auto all = [&](HostTime at, const power::TraceSample& values) {
        counter("power", "W", at, values.watts);
        for (std::size_t r = 0; r < trace.extent.rails; ++r) {
            const std::string rail = r == 0 ? "" : fmt::format(" rail {}", r + 1);
            counter("voltage" + rail, "V", at, values.volts[r]);
            counter("current" + rail, "A", at, values.amperes[r]);
        }
        if (rows.size() < 1 << 16) return;
        if (!failed)
            if (auto written = sink(rows); !written) failed = written.error();
        rows.clear();
    };
    Result<void> read;
    if (trace.row_length) {
        // A counter keeps its value until the next one: what is not known is left out, and the coverage says so.
        read = read_rows(trace.source, trace.extent, *trace.row_length, [&](const TraceRow& row) {
            if (row.mean) all(row.begin, *row.mean);
            if (row.coverage < 1) counter("coverage", "share", row.begin, row.coverage);
        });
    } else {
        read = read_trace(trace.source, {trace.extent.begin, trace.extent.end}, [&](const power::TracePiece& piece) {
            if (piece.samples.empty()) {
                if (piece.mean) all(piece.begin, *piece.mean);
                return;
            }
            const std::int64_t whole = (piece.end - piece.begin).count();
            const auto count = static_cast<std::int64_t>(piece.samples.size());
            for (std::int64_t k = 0; k < count; ++k)
                all(piece.begin + Nanoseconds(whole * k / count), piece.samples[static_cast<std::size_t>(k)]);
        });
    }
    if (!read) return read.error();
    if (failed) return *failed;
    rows += "\n]}\n";
    return sink(rows);
}

}  // namespace wattrig::exchange
