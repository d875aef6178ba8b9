#include "host/recording/summary.hpp"

#include <sys/stat.h>
#include <unistd.h>

#include <algorithm>
#include <cerrno>
#include <cmath>
#include <cstdio>
#include <utility>

#include "firmware/protocol/frame.hpp"
#include "host/recording/appender.hpp"
#include "host/recording/mapped_file.hpp"
#include "host/recording/paths.hpp"
#include "host/recording/recording.hpp"
#include "host/recording/summary_format.hpp"

namespace wattrig::recording {
namespace {

// Of level 0, where every so many frames one is remembered; coarser levels are kept whole: 1/16 of it, 60 MB a day.
constexpr std::size_t frames_per_mark = 64;
// No screen shows more; a whole stream at the finest level may be asked for by mistake.
constexpr std::uint64_t most_points = std::uint64_t{1} << 22;
constexpr std::uint64_t index_limit = std::uint64_t{1} << 60;

struct Entry {
    SummaryEntry head;
    std::array<SummaryRail, protocol::maximum_rails> rails;
};

// Entries of one frame; nothing of a frame whose contents cannot be.
template <class F>
bool each_entry(std::span<const std::uint8_t> payload, F&& use) {
    while (payload.size() >= sizeof(SummaryEntry)) {
        Entry entry{};
        entry.head = protocol::load<SummaryEntry>(payload.data());
        const SummaryEntry& head = entry.head;
        if (head.rails < 1 || head.rails > protocol::maximum_rails || head.level >= summary_levels || head.run < 1)
            return false;
        const std::size_t size = sizeof(SummaryEntry) + head.rails * sizeof(SummaryRail);
        if (payload.size() < size) return false;
        const std::uint64_t samples = samples_of_level(head.level);
        if (head.bucket > (std::uint64_t{1} << 59) / samples || head.run > (std::uint64_t{1} << 32) / samples + 1 ||
            head.count > head.run * samples || std::abs(head.begin_ticks / 2) > static_cast<std::int64_t>(index_limit / 2)) {
            return false;
        }
        for (std::size_t rail = 0; rail < head.rails; ++rail) {
            entry.rails[rail] = protocol::load<SummaryRail>(payload.data() + sizeof(SummaryEntry) + rail * sizeof(SummaryRail));
            const SummaryRail& values = entry.rails[rail];
            if (!std::isfinite(values.v_mean) || !std::isfinite(values.i_mean) || !std::isfinite(values.p_mean)) return false;
        }
        use(entry);
        payload = payload.subspan(size);
    }
    return true;
}

struct Mark {
    std::uint64_t bucket;  // of level 0: first in the frame
    std::uint64_t offset;  // of the frame in power.sum
};

struct Epoch {
    SummaryEpoch described;
    std::array<std::vector<Entry>, summary_levels> levels;  // [0] stays empty
    std::vector<Mark> marks;
    std::uint64_t end_offset = 0;  // in power.sum: behind its last frame
};

void merge(SummaryPoint& point, const Entry& entry, std::uint64_t count) {
    if (count == 0) return;
    const double before = static_cast<double>(point.count);
    const double added = static_cast<double>(count);
    for (std::size_t rail = 0; rail < entry.head.rails; ++rail) {
        SummaryValues& to = point.rails[rail];
        const SummaryRail& from = entry.rails[rail];
        if (point.count == 0) {
            to = {from.v_minimum, from.v_maximum, from.i_minimum, from.i_maximum, from.p_minimum,
                  from.p_maximum, from.v_mean,    from.i_mean,    from.p_mean};
            continue;
        }
        to.v_minimum = std::min(to.v_minimum, from.v_minimum);
        to.v_maximum = std::max(to.v_maximum, from.v_maximum);
        to.i_minimum = std::min(to.i_minimum, from.i_minimum);
        to.i_maximum = std::max(to.i_maximum, from.i_maximum);
        to.p_minimum = std::min(to.p_minimum, from.p_minimum);
        to.p_maximum = std::max(to.p_maximum, from.p_maximum);
        const auto mean = [&](double a, double b) { return (a * before + b * added) / (before + added); };
        to.v_mean = mean(to.v_mean, from.v_mean);
        to.i_mean = mean(to.i_mean, from.i_mean);
        to.p_mean = mean(to.p_mean, from.p_mean);
    }
    point.count += count;
    point.coarse = point.coarse || (entry.head.flags & summary_coarse) != 0;
}

std::optional<std::uint64_t> size_of(const std::string& path) {
    struct stat status{};
    if (::stat(path.c_str(), &status) != 0) return std::nullopt;
    return static_cast<std::uint64_t>(status.st_size);
}

class Rebuild final : public RecordingVisitor {
  public:
    explicit Rebuild(Appender& to) : to_(to) {}
    void on_block_at(const rig::BlockView& block, std::uint64_t file_offset) override {
        builder.add(block, file_offset);
        if (builder.frames().size() >= 64 * 1024) write();
    }
    void write() {
        to_.append(builder.frames());
        builder.frames().clear();
    }
    SummaryBuilder builder;

  private:
    Appender& to_;
};

Result<void> rebuild(const std::string& recording, const std::string& summary) {
    const std::string fresh = summary + ".new";
    ::unlink(fresh.c_str());
    Result<std::unique_ptr<Appender>> file = Appender::create(fresh);
    if (!file) return file.error();
    Rebuild pass(**file);
    const Result<ReadReport> report = read_recording(recording, pass);
    if (!report) {
        ::unlink(fresh.c_str());
        return report.error();
    }
    pass.builder.finish(report->bytes);
    pass.write();
    if (const Result<void> synced = (*file)->sync(); !synced) {
        ::unlink(fresh.c_str());
        return synced;
    }
    if (::rename(fresh.c_str(), summary.c_str()) != 0) return system_error("cannot put " + summary + " in its place", errno);
    return {};
}

}  // namespace

struct PowerSummary::State {
    std::optional<MappedFile> file;
    std::vector<Epoch> epochs;
    std::vector<SummaryEpoch> described;
    bool rebuilt = false;

    // False when the file is not the whole, undamaged summary of a recording of `file_bytes`.
    bool load(const std::string& path, std::uint64_t file_bytes) {
        epochs.clear();
        Result<MappedFile> mapped = MappedFile::open(path);
        if (!mapped) return false;
        file = std::move(*mapped);
        bool good = true;
        bool started = false;
        bool ended = false;
        std::uint64_t entries = 0;
        std::size_t frames = 0;
        rig::FrameDecoder decoder;
        decoder.feed(file->bytes(), [&](const rig::Frame& frame) {
            if (!good || ended) return;
            switch (static_cast<SummaryFrame>(frame.header.type)) {
                case SummaryFrame::start: {
                    if (frame.payload.size() < sizeof(SummaryStart)) {
                        good = false;
                        return;
                    }
                    const auto record = protocol::load<SummaryStart>(frame.payload.data());
                    good = record.version == summary_version && record.base_samples == summary_base_samples &&
                           record.step == summary_step && record.levels == summary_levels;
                    started = true;
                    return;
                }
                case SummaryFrame::epoch: {
                    if (frame.payload.size() < sizeof(SummaryEpochRecord)) {
                        good = false;
                        return;
                    }
                    const auto record = protocol::load<SummaryEpochRecord>(frame.payload.data());
                    good = record.epoch == epochs.size() && record.rails >= 1 && record.rails <= protocol::maximum_rails;
                    epochs.emplace_back();
                    epochs.back().described.boot_id = record.boot_id;
                    epochs.back().described.rails = static_cast<std::uint8_t>(record.rails);
                    frames = 0;
                    return;
                }
                case SummaryFrame::entries: good = index(frame, frames, entries); return;
                case SummaryFrame::epoch_end: {
                    if (frame.payload.size() < sizeof(SummaryEpochEnd) || epochs.empty()) {
                        good = false;
                        return;
                    }
                    epochs.back().described.end_index = protocol::load<SummaryEpochEnd>(frame.payload.data()).end_index;
                    good = epochs.back().described.end_index <= index_limit;
                    return;
                }
                case SummaryFrame::end: {
                    if (frame.payload.size() < sizeof(SummaryEnd)) {
                        good = false;
                        return;
                    }
                    const auto record = protocol::load<SummaryEnd>(frame.payload.data());
                    good = record.file_bytes == file_bytes && record.entries == entries;
                    ended = true;
                    return;
                }
            }
            good = false;
        });
        decoder.finish();
        return good && started && ended && decoder.counters().skipped_bytes == 0;
    }

    bool index(const rig::Frame& frame, std::size_t& frames, std::uint64_t& entries) {
        if (epochs.empty()) return false;
        Epoch& epoch = epochs.back();
        bool marked = frames++ % frames_per_mark != 0;
        bool good = true;
        const bool whole = each_entry(frame.payload, [&](const Entry& entry) {
            const SummaryEntry& head = entry.head;
            good = good && head.epoch == epochs.size() - 1 && head.rails == epoch.described.rails;
            if (head.level > 0) {
                epoch.levels[head.level].push_back(entry);
            } else if (!marked) {
                marked = true;
                epoch.marks.push_back({head.bucket, frame.offset});
            }
            ++entries;
        });
        epoch.end_offset = frame.offset + frame.bytes.size();
        return whole && good;
    }

    // Entries of one level that touch the samples [first, last), in order.
    template <class F>
    void each(const Epoch& epoch, std::size_t level, std::uint64_t first, std::uint64_t last, F&& use) const {
        const std::uint64_t samples = samples_of_level(level);
        const auto touches = [&](const SummaryEntry& head) {
            return head.bucket * samples < last && (head.bucket + head.run) * samples > first;
        };
        if (level > 0) {
            const std::vector<Entry>& entries = epoch.levels[level];
            auto at = std::partition_point(entries.begin(), entries.end(), [&](const Entry& entry) {
                return (entry.head.bucket + entry.head.run) * samples <= first;
            });
            for (; at != entries.end() && touches(at->head); ++at) use(*at);
            return;
        }
        if (epoch.marks.empty()) return;
        // The mark before the first that is surely too late; a run may begin well before `first`.
        auto mark = std::partition_point(epoch.marks.begin(), epoch.marks.end(),
                                         [&](const Mark& m) { return m.bucket * samples <= first; });
        if (mark != epoch.marks.begin()) --mark;
        bool beyond = false;
        std::uint64_t at = mark->offset;
        while (!beyond && at < epoch.end_offset) {
            const std::span<const std::uint8_t> rest = file->bytes().subspan(at);
            if (protocol::check_frame(rest) != protocol::FrameCheck::ok) return;  // changed since it was opened
            const auto header = protocol::load<protocol::FrameHeader>(rest.data());
            if (header.type == static_cast<std::uint8_t>(SummaryFrame::entries)) {
                each_entry(rest.subspan(sizeof header, header.payload_bytes), [&](const Entry& entry) {
                    if (entry.head.level != 0) return;
                    if (entry.head.bucket * samples >= last) beyond = true;
                    if (touches(entry.head)) use(entry);
                });
            }
            at += protocol::frame_bytes(header.payload_bytes);
        }
    }
};

PowerSummary::PowerSummary(std::unique_ptr<State> state) : s_(std::move(state)) {}
PowerSummary::PowerSummary(PowerSummary&&) noexcept = default;
PowerSummary& PowerSummary::operator=(PowerSummary&&) noexcept = default;
PowerSummary::~PowerSummary() = default;

Result<PowerSummary> PowerSummary::open(const std::string& path) {
    auto state = std::make_unique<State>();
    const std::string summary = summary_path(path);
    const std::optional<std::uint64_t> bytes = size_of(path);
    if (!bytes) return system_error("cannot look at " + path, errno);
    if (!state->load(summary, *bytes)) {
        if (const Result<void> made = rebuild(path, summary); !made) return made.error();
        state->rebuilt = true;
        if (!state->load(summary, *bytes)) return bad_input(path + " grew while its summary was made: is it being recorded?");
    }
    for (const Epoch& epoch : state->epochs) state->described.push_back(epoch.described);
    return PowerSummary(std::move(state));
}

const std::vector<SummaryEpoch>& PowerSummary::epochs() const { return s_->described; }
bool PowerSummary::rebuilt() const { return s_->rebuilt; }

std::vector<SummaryPoint> PowerSummary::read(std::size_t epoch, std::uint64_t first, std::uint64_t last,
                                             std::uint64_t samples_per_point) const {
    std::vector<SummaryPoint> points;
    if (epoch >= s_->epochs.size()) return points;
    const Epoch& from = s_->epochs[epoch];
    std::uint64_t step = (std::clamp<std::uint64_t>(samples_per_point, 1, std::uint64_t{1} << 50) + summary_base_samples - 1) /
                         summary_base_samples * summary_base_samples;
    last = std::min(last, from.described.end_index);
    if (first >= last) return points;
    while ((last - first) / step > most_points) step *= 2;
    const std::uint64_t begin = first / step * step;
    points.resize((last - begin + step - 1) / step);
    for (std::size_t k = 0; k < points.size(); ++k) {
        points[k].first_index = begin + k * step;
        points[k].span = step;
    }
    std::size_t level = 0;
    while (level + 1 < summary_levels && step % samples_of_level(level + 1) == 0) ++level;
    const std::uint64_t samples = samples_of_level(level);
    const std::uint64_t end = begin + points.size() * step;
    s_->each(from, level, begin, end, [&](const Entry& entry) {
        const SummaryEntry& head = entry.head;
        std::uint64_t given = 0;
        for (std::uint64_t k = 0; k < head.run; ++k) {
            const std::uint64_t index = (head.bucket + k) * samples;
            const std::uint64_t count = std::uint64_t{head.count} * (k + 1) / head.run - given;
            given += count;
            if (index < begin || index >= end) continue;
            SummaryPoint& point = points[(index - begin) / step];
            if (point.count == 0) point.file_offset = head.file_offset;
            merge(point, entry, count);
            if (!point.begin && point.count > 0) {
                const std::int64_t ticks = head.begin_ticks +
                                           static_cast<std::int64_t>(k * samples * protocol::ticks_per_sample) -
                                           static_cast<std::int64_t>((index - point.first_index) * protocol::ticks_per_sample);
                point.begin = DeviceTime(Ticks(ticks));
            }
        }
    });
    return points;
}

}  // namespace wattrig::recording
