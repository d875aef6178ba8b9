#include "host/exchange/trace.hpp"

#include <algorithm>
#include <cassert>

#include "host/power/energy.hpp"
#include "host/recording/recording.hpp"

namespace wattrig::exchange {
namespace {

class BlockFeeder final : public recording::RecordingVisitor {
  public:
    explicit BlockFeeder(power::EnergyPass& pass) : pass_(pass) {}
    void on_block(const rig::BlockView& block) override { pass_.add(block); }

  private:
    power::EnergyPass& pass_;
};

// Collects pieces into rows. Energy is shared by overlap in time, so the rows' means add up to the stream's energy.
class RowMaker {
  public:
    RowMaker(const TraceExtent& extent, Nanoseconds length, const std::function<void(const TraceRow&)>& sink)
        : end_(extent.end), length_(length), sink_(sink) {
        assert(length.count() > 0);
        open(extent.begin);
    }

    void add(const power::TracePiece& piece) {
        if (!piece.mean || piece.end <= piece.begin) return;
        if (piece.samples.empty()) {
            const std::optional<double> lowest = piece.lowest_watts, highest = piece.highest_watts;
            add(piece.begin, piece.end, *piece.mean, lowest, highest);
            return;
        }
        const std::int64_t whole = (piece.end - piece.begin).count();
        const auto count = static_cast<std::int64_t>(piece.samples.size());
        HostTime from = piece.begin;
        for (std::int64_t k = 0; k < count; ++k) {
            const HostTime to = piece.begin + Nanoseconds(whole * (k + 1) / count);
            const power::TraceSample& sample = piece.samples[static_cast<std::size_t>(k)];
            add(from, to, sample, sample.watts, sample.watts);
            from = to;
        }
    }
    void finish() {
        while (row_.begin < end_) close();
    }

  private:
    void add(HostTime from, HostTime to, const power::TraceSample& values, std::optional<double> lowest,
             std::optional<double> highest) {
        from = std::max(from, row_.begin);
        to = std::min(to, end_);
        while (from < to) {
            while (from >= row_.begin + row_.length) close();
            const HostTime until = std::min(to, row_.begin + row_.length);
            const auto weight = static_cast<double>((until - from).count());
            for (std::size_t r = 0; r < values.volts.size(); ++r) {
                sum_.volts[r] += values.volts[r] * weight;
                sum_.amperes[r] += values.amperes[r] * weight;
            }
            sum_.watts += values.watts * weight;
            known_ += weight;
            if (!lowest || !highest) extremes_known_ = false;
            if (lowest) row_.lowest_watts = std::min(row_.lowest_watts.value_or(*lowest), *lowest);
            if (highest) row_.highest_watts = std::max(row_.highest_watts.value_or(*highest), *highest);
            from = until;
        }
    }
    void open(HostTime begin) {
        row_ = {};
        row_.begin = begin;
        row_.length = std::min(length_, end_ - begin);
        sum_ = {};
        known_ = 0;
        extremes_known_ = true;
    }
    void close() {
        if (known_ > 0) {
            power::TraceSample& mean = row_.mean.emplace(sum_);
            for (std::size_t r = 0; r < mean.volts.size(); ++r) {
                mean.volts[r] /= known_;
                mean.amperes[r] /= known_;
            }
            mean.watts /= known_;
            row_.coverage = std::min(1.0, known_ / static_cast<double>(row_.length.count()));
        }
        // Where a part has no extremes, those of the rest would pass for the row's.
        if (!extremes_known_) row_.lowest_watts = row_.highest_watts = std::nullopt;
        sink_(row_);
        open(row_.begin + row_.length);
    }

    HostTime end_;
    Nanoseconds length_;
    const std::function<void(const TraceRow&)>& sink_;
    TraceRow row_;
    power::TraceSample sum_;
    double known_ = 0;
    bool extremes_known_ = true;
};

}  // namespace

namespace {

Result<void> follow(const analysis::PowerSource& source, const TraceRange& range, bool samples, const power::TraceSink& sink) {
    power::EnergyPass pass(source.calibration, source.clocks, {});
    pass.follow(
        [&](const power::TracePiece& piece) {
            if (piece.end > range.begin && piece.begin < range.end) sink(piece);
        },
        samples);
    BlockFeeder feeder(pass);
    if (const auto read = recording::read_recording(source.path, feeder); !read) return read.error();
    return {};
}

}  // namespace

Result<void> read_trace(const analysis::PowerSource& source, const TraceRange& range, const power::TraceSink& sink) {
    return follow(source, range, true, sink);
}

Result<TraceExtent> trace_extent(const analysis::PowerSource& source, const TraceRange& range) {
    TraceExtent extent;
    bool any = false;
    const auto read = follow(source, range, false, [&](const power::TracePiece& piece) {
        if (!any) extent.begin = piece.begin;
        any = true;
        extent.end = piece.end;
        extent.samples += static_cast<std::uint64_t>(piece.span);
        extent.rails = std::max(extent.rails, piece.rails);
    });
    if (!read) return read.error();
    if (!any) return bad_input(source.path + ": expected power in the range asked for, there is none");
    extent.begin = std::max(extent.begin, range.begin);
    extent.end = std::min(extent.end, range.end);
    return extent;
}

Result<void> read_rows(const analysis::PowerSource& source, const TraceExtent& extent, Nanoseconds length,
                       const std::function<void(const TraceRow&)>& sink) {
    RowMaker rows(extent, length, sink);
    const auto read = read_trace(source, {extent.begin, extent.end}, [&](const power::TracePiece& piece) { rows.add(piece); });
    if (!read) return read.error();
    rows.finish();
    return {};
}

}  // namespace wattrig::exchange
