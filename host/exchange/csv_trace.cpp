#include <fmt/format.h>

#include <cmath>
#include <nlohmann/json.hpp>

#include "host/exchange/export.hpp"
#include "host/exchange/run_trace.hpp"
#include "host/exchange/time_text.hpp"

namespace wattrig::exchange {
namespace {

void append_seconds(fmt::memory_buffer& out, Nanoseconds time) {
    const std::string text = decimal_time(time, 9);
    out.append(text.data(), text.data() + text.size());
}

class Lines {
  public:
    explicit Lines(const TextSink& sink) : sink_(sink) {}
    fmt::memory_buffer& buffer() { return buffer_; }
    void end_line() {
        buffer_.push_back('\r');
        buffer_.push_back('\n');
        if (buffer_.size() >= 1 << 16) flush();
    }
    void flush() {
        if (failed_ || buffer_.size() == 0) return;
        if (auto written = sink_({buffer_.data(), buffer_.size()}); !written) failed_ = written.error();
        buffer_.clear();
    }
    [[nodiscard]] const std::optional<Error>& failed() const { return failed_; }

  private:
    const TextSink& sink_;
    fmt::memory_buffer buffer_;
    std::optional<Error> failed_;
};

std::string header(const RunTrace& trace, bool samples) {
    const std::string label = trace.source.simulated ? " SIMULATED" : "";
    std::string line = samples ? "time [s]" : "time [s],duration [s],coverage";
    line += fmt::format(",power{} [W]", label);
    if (!samples) line += fmt::format(",power_min{} [W],power_max{} [W]", label, label);
    for (std::size_t r = 0; r < trace.extent.rails; ++r) {
        const std::string rail = r == 0 ? "" : fmt::format("_rail{}", r + 1);
        line += fmt::format(",voltage{}{} [V],current{}{} [A]", rail, label, rail, label);
    }
    if (samples) line += ",side_band";
    return line;
}

void append_value(fmt::memory_buffer& out, std::optional<double> value) {
    out.push_back(',');
    if (value && std::isfinite(*value)) fmt::format_to(fmt::appender(out), "{:.9g}", *value);
}

void append_rails(fmt::memory_buffer& out, std::size_t rails, const power::TraceSample* values) {
    for (std::size_t r = 0; r < rails; ++r) {
        append_value(out, values != nullptr ? std::optional(values->volts[r]) : std::nullopt);
        append_value(out, values != nullptr ? std::optional(values->amperes[r]) : std::nullopt);
    }
}

}  // namespace

Result<void> export_csv(const recording::RunDirectory& directory, const TraceOptions& options, const TextSink& sink) {
    auto opened = open_run_trace(directory, options);
    if (!opened) return opened.error();
    const RunTrace& trace = *opened;
    const bool samples = !trace.row_length;
    Lines lines(sink);
    const std::string head = header(trace, samples);
    lines.buffer().append(head.data(), head.data() + head.size());
    lines.end_line();

    const auto one = [&](HostTime begin, Nanoseconds length, const power::TraceSample& sample) {
        append_seconds(lines.buffer(), begin + length / 2 - trace.origin);
        append_value(lines.buffer(), sample.watts);
        append_rails(lines.buffer(), trace.extent.rails, &sample);
        fmt::format_to(fmt::appender(lines.buffer()), ",{}", sample.side_band);
        lines.end_line();
    };
    Result<void> read;
    if (samples) {
        read = read_trace(trace.source, {trace.extent.begin, trace.extent.end}, [&](const power::TracePiece& piece) {
            if (piece.samples.empty()) {
                // A hole is a line with a time and nothing else: a plot breaks there, and no mean passes for a sample.
                append_seconds(lines.buffer(), piece.begin - trace.origin);
                append_value(lines.buffer(), std::nullopt);
                append_rails(lines.buffer(), trace.extent.rails, nullptr);
                lines.buffer().push_back(',');
                lines.end_line();
                return;
            }
            const std::int64_t whole = (piece.end - piece.begin).count();
            const auto count = static_cast<std::int64_t>(piece.samples.size());
            for (std::int64_t k = 0; k < count; ++k) {
                const Nanoseconds from(whole * k / count), to(whole * (k + 1) / count);
                const HostTime begin = piece.begin + from;
                if (begin >= trace.extent.begin && begin < trace.extent.end)
                    one(begin, to - from, piece.samples[static_cast<std::size_t>(k)]);
            }
        });
    } else {
        read = read_rows(trace.source, trace.extent, *trace.row_length, [&](const TraceRow& row) {
            append_seconds(lines.buffer(), row.begin - trace.origin);
            lines.buffer().push_back(',');
            append_seconds(lines.buffer(), row.length);
            append_value(lines.buffer(), row.coverage);
            append_value(lines.buffer(), row.mean ? std::optional(row.mean->watts) : std::nullopt);
            append_value(lines.buffer(), row.lowest_watts);
            append_value(lines.buffer(), row.highest_watts);
            append_rails(lines.buffer(), trace.extent.rails, row.mean ? &*row.mean : nullptr);
            lines.end_line();
        });
    }
    if (!read) return read.error();
    lines.flush();
    if (lines.failed()) return *lines.failed();
    return {};
}

}  // namespace wattrig::exchange
