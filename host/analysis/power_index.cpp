#include "host/analysis/power_index.hpp"

#include <algorithm>
#include <limits>
#include <optional>

#include "host/power/energy.hpp"
#include "host/recording/mapped_file.hpp"
#include "host/recording/recording.hpp"

namespace wattrig::analysis {
namespace {

constexpr Nanoseconds first_length{1'000'000};
// An activity lamp blinks with every access, and the sync output with every exchange: neither is a change of state.
constexpr std::uint8_t state_lines = protocol::sideband_clkreq | protocol::sideband_perst | protocol::sideband_pewake |
                                     protocol::sideband_devslp | protocol::sideband_trigger_in | protocol::sideband_power_on;

// A bin being filled: sums instead of means, and where its samples are.
struct Cell {
    PowerBin bin;  // watts and volts x ns
    bool blind = false;
    std::uint64_t offset = 0;  // of the first frame that touches it; 0: none does
    double idle_offset = 0;    // ampere, at that frame

    void merge(const Cell& later) {
        if (bin.known > 0 && later.bin.known > 0) {
            bin.lowest = std::min(bin.lowest, later.bin.lowest);
            bin.highest = std::max(bin.highest, later.bin.highest);
        } else if (later.bin.known > 0) {
            bin.lowest = later.bin.lowest;
            bin.highest = later.bin.highest;
        }
        bin.known += later.bin.known;
        bin.watts += later.bin.watts;
        bin.volts += later.bin.volts;
        bin.side_low |= later.bin.side_low;
        bin.side_high |= later.bin.side_high;
        blind = blind || later.blind;
        if (offset == 0) {
            offset = later.offset;
            idle_offset = later.idle_offset;
        }
    }
};

}  // namespace

struct PowerIndex::State {
    PowerSource source;
    std::optional<recording::MappedFile> file;
    bool any = false;
    HostTime begin, end;
    Nanoseconds length = first_length;
    std::size_t most_bins = 0;
    std::vector<Cell> cells;
    std::vector<PowerBin> bins;
    std::vector<PowerPeak> peaks;
    std::vector<PowerGap> gaps;
    std::vector<PowerMarker> markers;
    std::vector<SideBandChange> changes;
    std::uint64_t gap_count = 0, change_count = 0;
    std::size_t rails = 1;
    // The frame being looked at.
    std::uint64_t offset = 0;
    std::uint8_t side_low = 0, side_high = 0;
    std::optional<std::uint8_t> side_last;

    void add(const power::TracePiece& piece);
    void add_peak(HostTime when, double watts);
    void spread(const power::TracePiece& piece);
    void finish();
    [[nodiscard]] std::size_t cell_at(HostTime when) const {
        return when <= begin ? 0 : static_cast<std::size_t>((when - begin) / length);
    }
};

void PowerIndex::State::add_peak(HostTime when, double watts) {
    if (peaks.size() == most_peaks && watts <= peaks.back().watts) return;
    const auto higher_near = [&](const PowerPeak& peak) {
        return when - peak.when < peak_distance && peak.when - when < peak_distance && peak.watts >= watts;
    };
    if (std::any_of(peaks.begin(), peaks.end(), higher_near)) return;
    std::erase_if(peaks,
                  [&](const PowerPeak& peak) { return when - peak.when < peak_distance && peak.when - when < peak_distance; });
    const auto place = std::find_if(peaks.begin(), peaks.end(), [&](const PowerPeak& peak) { return peak.watts < watts; });
    peaks.insert(place, {when, watts});
    if (peaks.size() > most_peaks) peaks.pop_back();
}

// Energy is shared by overlap in time, so that the bins add up to the stream's energy.
void PowerIndex::State::spread(const power::TracePiece& piece) {
    HostTime from = piece.begin;
    while (from < piece.end) {
        std::size_t k = cell_at(from);
        while (k >= most_bins) {  // twice the length, half the bins
            for (std::size_t n = 0; n < cells.size(); n += 2) {
                cells[n / 2] = cells[n];
                if (n + 1 < cells.size()) cells[n / 2].merge(cells[n + 1]);
            }
            cells.resize((cells.size() + 1) / 2);
            length *= 2;
            k = cell_at(from);
        }
        if (k >= cells.size()) cells.resize(k + 1);
        const HostTime until = std::min(piece.end, begin + length * static_cast<std::int64_t>(k + 1));
        Cell part;
        part.offset = offset;
        part.idle_offset = piece.idle_offset;
        part.bin.known = static_cast<double>((until - from).count());
        part.bin.watts = piece.mean->watts * part.bin.known;
        part.bin.volts = piece.mean->volts[0] * part.bin.known;
        part.blind = !piece.lowest_watts || !piece.highest_watts;
        part.bin.lowest = piece.lowest_watts.value_or(piece.mean->watts);
        part.bin.highest = piece.highest_watts.value_or(piece.mean->watts);
        part.bin.side_low = side_low;
        part.bin.side_high = side_high;
        cells[k].merge(part);
        from = until;
    }
}

void PowerIndex::State::add(const power::TracePiece& piece) {
    if (piece.end <= piece.begin) return;
    if (!any) begin = piece.begin;
    any = true;
    end = piece.end;
    rails = std::max(rails, piece.rails);
    if (piece.count == 0 || !piece.lowest_watts) {
        ++gap_count;
        if (gaps.size() < most_gaps) gaps.push_back({piece.begin, piece.end, piece.mean.has_value()});
    }
    if (!piece.mean) return;
    if (piece.highest_watts) add_peak(piece.begin, *piece.highest_watts);
    spread(piece);
}

void PowerIndex::State::finish() {
    bins.reserve(cells.size());
    for (const Cell& cell : cells) {
        PowerBin& bin = bins.emplace_back(cell.bin);
        if (bin.known <= 0) continue;
        bin.watts /= bin.known;
        bin.volts /= bin.known;
        bin.extremes_known = !cell.blind;
    }
}

namespace {

class IndexVisitor final : public recording::RecordingVisitor {
  public:
    using OnBlock = std::function<void(const rig::BlockView&, std::uint64_t)>;
    using OnMarker = std::function<void(const recording::Marker&)>;
    IndexVisitor(OnBlock on_block, OnMarker on_marker) : block_(std::move(on_block)), marker_(std::move(on_marker)) {}
    void on_block_at(const rig::BlockView& block, std::uint64_t file_offset) override { block_(block, file_offset); }
    void on_marker(const recording::Marker& marker) override { marker_(marker); }

  private:
    OnBlock block_;
    OnMarker marker_;
};

}  // namespace

Result<PowerIndex> PowerIndex::build(const PowerSource& source, std::size_t most_bins) {
    auto state = std::make_unique<State>();
    State& s = *state;
    s.source = source;
    s.most_bins = std::max<std::size_t>(2, most_bins);
    power::EnergyPass pass(source.calibration, source.clocks, {});
    pass.follow([&](const power::TracePiece& piece) { s.add(piece); }, false);
    IndexVisitor visitor(
        [&](const rig::BlockView& block, std::uint64_t offset) {
            s.offset = offset;
            s.side_low = block.header.sideband_low;
            s.side_high = block.header.sideband_high;
            const HostTime before = s.end;
            const bool had = s.any;
            pass.add(block);
            // Level at the end of the block: where a line moved inside it only its codes tell.
            const auto moved = static_cast<std::uint8_t>(s.side_low & s.side_high);
            auto level = static_cast<std::uint8_t>(s.side_high & ~s.side_low);
            if (block.sideband != nullptr && block.header.count > 0) level = block.sideband[block.header.count - 1];
            const auto first =
                static_cast<std::uint8_t>(block.sideband != nullptr && block.header.count > 0 ? block.sideband[0] : level);
            const auto between = static_cast<std::uint8_t>(s.side_last ? (*s.side_last ^ first) : 0);
            const auto bits = static_cast<std::uint8_t>((moved | between) & state_lines);
            s.side_last = level;
            if (bits == 0 || !s.any) return;
            ++s.change_count;
            HostTime when = had ? before : s.begin;
            if (block.sideband != nullptr) {
                std::uint32_t k = 1;
                while (k < block.header.count && ((block.sideband[k] ^ block.sideband[k - 1]) & state_lines) == 0) ++k;
                if (k < block.header.count) when = when + (s.end - when) * static_cast<std::int64_t>(k) / block.header.count;
            }
            if (s.changes.size() < most_changes) s.changes.push_back({when, bits});
        },
        [&](const recording::Marker& marker) {
            if (s.markers.size() < most_markers) s.markers.push_back({marker.when, marker.text});
        });
    auto file = recording::MappedFile::open(source.path);
    if (!file) return file.error();
    s.file = std::move(*file);
    if (const auto read = recording::read_recording(source.path, visitor); !read) return read.error();
    if (!s.any) return bad_input(source.path + ": expected power that can be placed in time, there is none");
    s.finish();
    return PowerIndex(std::move(state));
}

Result<void> PowerIndex::read(HostTime from, HostTime to, const power::TraceSink& sink) const {
    const State& s = *s_;
    from = std::max(from, s.begin);
    to = std::min(to, s.end);
    if (from >= to) return {};
    // A bin earlier: the first summary of a pass is only a starting point, and the first block only bridges no gap.
    const std::size_t last = s.cells.size() - 1;
    std::size_t first = std::min(s.cell_at(from), last);
    std::size_t steps = 0;
    while (first > 0 && (s.cells[first].offset == 0 || steps < 2)) {
        --first;
        if (s.cells[first].offset != 0) ++steps;
    }
    std::size_t behind = std::min(s.cell_at(to), last) + 1;
    while (behind <= last && s.cells[behind].offset == 0) ++behind;
    const std::span<const std::uint8_t> bytes = s.file->bytes();
    const std::uint64_t begin = first == 0 ? 0 : s.cells[first].offset;
    // The frame that a bin begins with began before it, so the next one is read as well.
    const std::uint64_t end =
        behind > last ? bytes.size()
                      : std::min<std::uint64_t>(bytes.size(), s.cells[behind].offset + 2 * protocol::maximum_frame_bytes);
    if (begin >= end || end > bytes.size()) return bad_input(s.source.path + ": was changed while it was open");

    power::EnergyPass pass(s.source.calibration, s.source.clocks, {});
    pass.hold_idle_offset(s.cells[std::min(s.cell_at(from), last)].offset != 0
                              ? s.cells[std::min(s.cell_at(from), last)].idle_offset
                              : s.cells[first].idle_offset);
    pass.follow(
        [&](const power::TracePiece& piece) {
            if (piece.end > from && piece.begin < to) sink(piece);
        },
        true);
    IndexVisitor visitor([&](const rig::BlockView& block, std::uint64_t) { pass.add(block); }, [](const recording::Marker&) {});
    if (const auto read = recording::read_recording(bytes.subspan(begin, end - begin), s.source.path, visitor); !read)
        return read.error();
    return {};
}

PowerIndex::PowerIndex(std::unique_ptr<State> state) : s_(std::move(state)) {}
PowerIndex::PowerIndex(PowerIndex&&) noexcept = default;
PowerIndex& PowerIndex::operator=(PowerIndex&&) noexcept = default;
PowerIndex::~PowerIndex() = default;
HostTime PowerIndex::begin() const { return s_->begin; }
HostTime PowerIndex::end() const { return s_->end; }
Nanoseconds PowerIndex::bin_length() const { return s_->length; }
const std::vector<PowerBin>& PowerIndex::bins() const { return s_->bins; }
const std::vector<PowerPeak>& PowerIndex::peaks() const { return s_->peaks; }
const std::vector<PowerGap>& PowerIndex::gaps() const { return s_->gaps; }
std::uint64_t PowerIndex::gap_count() const { return s_->gap_count; }
const std::vector<PowerMarker>& PowerIndex::markers() const { return s_->markers; }
const std::vector<SideBandChange>& PowerIndex::changes() const { return s_->changes; }
std::uint64_t PowerIndex::change_count() const { return s_->change_count; }
std::size_t PowerIndex::rails() const { return s_->rails; }

}  // namespace wattrig::analysis
