#include "host/exchange/import.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <array>
#include <cerrno>
#include <charconv>
#include <cmath>
#include <fstream>
#include <memory>
#include <nlohmann/json.hpp>

#include "firmware/core/meter.hpp"
#include "firmware/protocol/frame.hpp"
#include "host/power/calibration.hpp"
#include "host/recording/recording.hpp"

namespace wattrig::exchange {
namespace {

constexpr std::int64_t cell_ns = 30'720;
constexpr double most_code = 8'000'000;           // of 2^23
constexpr std::size_t steps_looked_at = 200'000;  // for the period
constexpr std::uint32_t boot = 1;
constexpr double least_shunt_ohm = 1e-4;  // no calibration has none

// What a first pass learns: the period, the range, and whether the file can be used at all.
struct Survey {
    std::uint64_t rows = 0, empty = 0, repeated = 0;
    std::size_t first_empty = 0, first_repeated = 0;
    std::int64_t first_ns = 0, last_ns = 0;
    double most_volts = 0, most_amperes = 0;
    bool any_volts = false;
    std::vector<std::int64_t> steps;
    std::int64_t period = 0;
    std::int64_t longest_step = 0;  // above, a step is a hole
};

struct Value {
    double volts, amperes, watts;
};
// Volts, amperes and watts that agree; nothing where the row holds no power.
std::optional<Value> value_of(const ImportRow& row) {
    Value value{row.volts, row.amperes, row.watts};
    if (std::isnan(value.watts)) {
        if (std::isnan(value.volts) || std::isnan(value.amperes)) return std::nullopt;
        value.watts = value.volts * value.amperes;
    }
    // Power alone: at one volt, as nothing is known of the voltage.
    if (std::isnan(value.volts))
        value.volts = std::isnan(value.amperes) || value.amperes == 0 ? 1 : value.watts / value.amperes;
    if (!(std::fabs(value.volts) > 1e-9)) value = {1, value.watts, value.watts};
    value.amperes = value.watts / value.volts;
    return value;
}

Error at_line(const std::string& path, std::size_t line, const std::string& text) {
    return bad_input(fmt::format("{}:{}: {}", path, line, text));
}

Result<Survey> survey_of(const std::string& path, const ImportOptions& options, ImportMapping& mapping) {
    Survey survey;
    auto used = read_table(path, options.format, options.mapping, [&](const ImportRow& given) -> Result<void> {
        ImportRow row = given;
        if (std::isnan(row.volts) && options.fixed_volts) row.volts = *options.fixed_volts;
        if (survey.rows == 0) {
            survey.first_ns = row.time_ns;
        } else {
            const std::int64_t step = row.time_ns - survey.last_ns;
            if (step < 0)
                return at_line(
                    path, row.line,
                    fmt::format("expected a time after {:.9g} s, came {:.9g} s: the rows are not in order",
                                static_cast<double>(survey.last_ns) * 1e-9, static_cast<double>(row.time_ns) * 1e-9));
            if (step == 0) {
                if (survey.repeated++ == 0) survey.first_repeated = row.line;
            } else if (survey.steps.size() < steps_looked_at) {
                survey.steps.push_back(step);
            }
        }
        survey.last_ns = row.time_ns;
        ++survey.rows;
        const auto value = value_of(row);
        if (!value) {
            if (survey.empty++ == 0) survey.first_empty = row.line;
            return {};
        }
        if (std::fabs(value->volts) > 1e6 || std::fabs(value->amperes) > 1e6)
            return at_line(
                path, row.line,
                fmt::format("expected volts and amperes below a million, came {:.6g} V and {:.6g} A: is the unit right?",
                            value->volts, value->amperes));
        survey.any_volts = survey.any_volts || !std::isnan(row.volts);
        survey.most_volts = std::max(survey.most_volts, std::fabs(value->volts));
        survey.most_amperes = std::max(survey.most_amperes, std::fabs(value->amperes));
        return {};
    });
    if (!used) return used.error();
    mapping = *used;
    if (survey.rows - survey.empty < 2 || survey.steps.empty())
        return bad_input(
            fmt::format("{}: expected at least two rows with a time and a power, came {} rows of which {} are empty{}", path,
                        survey.rows, survey.empty,
                        mapping.watts || mapping.volts || mapping.fixed_volts || options.fixed_volts
                            ? ""
                            : ": the file has no voltage, give it with --volts"));
    std::vector<std::int64_t> sorted = survey.steps;
    std::sort(sorted.begin(), sorted.end());
    survey.period = sorted[sorted.size() / 2];
    // Even times have no step that is longer by half but for a hole; jittering ones do.
    const std::int64_t usual = sorted[sorted.size() * 95 / 100];
    survey.longest_step = std::max(survey.period + survey.period / 2, 2 * usual);
    if (usual <= survey.period + survey.period / 10) survey.longest_step = survey.period + survey.period / 2;
    return survey;
}

power::Calibration calibration_of(const Survey& survey, const ImportMapping& mapping, std::optional<double> accuracy) {
    power::Calibration calibration;
    calibration.serial = "import";
    calibration.date = "1970-01-01";
    calibration.reference = mapping.instrument + ", as recorded";
    power::RailCalibration& rail = calibration.rails[0];
    rail.shunt_ohm = least_shunt_ohm;
    rail.v_gain = std::max(survey.most_volts + survey.most_amperes * least_shunt_ohm, 1e-6) / most_code;
    rail.i_gain = std::max(survey.most_amperes, 1e-9) / most_code;
    calibration.front_end.v_noise_volt = calibration.front_end.i_noise_ampere = 0;
    calibration.front_end.shunt_thermal_resistance = 0;
    calibration.uncertainty_known = accuracy.has_value();
    if (accuracy) rail.u_i_gain = *accuracy / 2;
    return calibration;
}

// Rows to samples to frames to the file.
class Importer {
  public:
    Importer(recording::RecordingWriter& writer, const power::Calibration& calibration, const Survey& survey,
             const protocol::Info& info)
        : writer_(writer), calibration_(calibration), survey_(survey) {
        firmware::MeterConfig config{};
        config.info = info;
        config.low_voltage_code = INT32_MIN;
        meter_ = std::make_unique<firmware::Meter>(config);
        std::array<std::uint8_t, protocol::frame_bytes(sizeof(protocol::CommandHeader) + sizeof(protocol::StartStream))>
            frame{};
        std::uint8_t* at = frame.data() + sizeof(protocol::FrameHeader);
        protocol::store(at, protocol::CommandHeader{static_cast<std::uint16_t>(protocol::CommandId::start_stream), 1, 0, 0});
        protocol::store(at + sizeof(protocol::CommandHeader),
                        protocol::StartStream{1, static_cast<std::uint8_t>(protocol::Detail::full), 0});
        protocol::seal_frame(frame.data(), protocol::FrameType::command,
                             sizeof(protocol::CommandHeader) + sizeof(protocol::StartStream), 0);
        meter_->on_command(base_us, frame);
    }

    void add(const ImportRow& row) {
        const std::int64_t t = row.time_ns - survey_.first_ns;
        const auto value = value_of(row);
        if (held_) {
            const std::int64_t step = t - held_time_;
            if (step == 0 && value) {  // the same moment twice: their mean
                ++repeats_;
                const auto n = static_cast<double>(repeats_);
                held_->watts += (value->watts - held_->watts) / n;
                held_->volts += (value->volts - held_->volts) / n;
                return;
            }
            const bool hole = step > survey_.longest_step || !value;
            if (step > survey_.longest_step) ++gaps;
            close(held_time_ + (hole ? survey_.period / 2 : step / 2));
            open_ = hole ? t - survey_.period / 2 : held_time_ + step / 2;
        } else {
            open_ = std::max<std::int64_t>(0, t - survey_.period / 2);
        }
        held_ = value;
        held_time_ = t;
        repeats_ = 1;
    }
    void finish() {
        if (held_) close(held_time_ + survey_.period / 2);
        flush_cell();
        // What is left of a block goes out when the stream stops.
        std::array<std::uint8_t, protocol::frame_bytes(sizeof(protocol::CommandHeader))> frame{};
        protocol::store(frame.data() + sizeof(protocol::FrameHeader),
                        protocol::CommandHeader{static_cast<std::uint16_t>(protocol::CommandId::stop_stream), 2, 0, 0});
        protocol::seal_frame(frame.data(), protocol::FrameType::command, sizeof(protocol::CommandHeader), 1);
        meter_->on_command(timer_of(cell_), frame);
        drain();
    }

    std::uint64_t gaps = 0;
    double joules = 0, known_seconds = 0;

  private:
    // The held row's values hold from open_ up to `until`.
    void close(std::int64_t until) {
        if (!held_) return;
        const Value& value = *held_;
        joules += value.watts * static_cast<double>(until - open_) * 1e-9;
        known_seconds += static_cast<double>(until - open_) * 1e-9;
        for (std::int64_t at = open_; at < until;) {
            const std::int64_t cell = at / cell_ns;
            if (cell != cell_) {
                flush_cell();
                cell_ = cell;
            }
            const std::int64_t to = std::min(until, (cell + 1) * cell_ns);
            const auto weight = static_cast<double>(to - at);
            time_ += weight;
            volts_ += weight * value.volts;
            watts_ += weight * value.watts;
            at = to;
        }
    }
    void flush_cell() {
        // A cell that is known for less than half of its time stands for a hole.
        if (time_ * 2 >= static_cast<double>(cell_ns)) {
            const double volts = volts_ / time_, watts = watts_ / time_;
            firmware::AdcSample sample{};
            // Values are meant at the drive; the recording has the voltage before a shunt. Current follows from the power and
            // the code of the voltage, so that they give the power.
            const power::RailCalibration& rail = calibration_.rails[0];
            const double amperes = watts / volts;
            sample.v[0] = static_cast<std::int32_t>(std::lround((volts + amperes * rail.shunt_ohm) / rail.v_gain));
            const double at_drive = sample.v[0] * rail.v_gain - amperes * rail.shunt_ohm;
            sample.i[0] =
                at_drive == 0
                    ? 0
                    : static_cast<std::int32_t>(std::lround(std::clamp(watts / at_drive / rail.i_gain, -8.38e6, 8.38e6)));
            meter_->on_adc_sample(timer_of(cell_), sample);
            drain();
        }
        time_ = volts_ = watts_ = 0;
    }
    // TIMER at which a rig would read the sample of this cell.
    static std::uint64_t timer_of(std::int64_t cell) {
        constexpr std::int64_t delay_ns = std::int64_t{protocol::group_delay_ticks} * 8;
        return base_us + static_cast<std::uint64_t>(cell * cell_ns + cell_ns / 2 + delay_ns) / 1000;
    }
    void drain() {
        for (auto frame = meter_->front_frame(); !frame.empty(); frame = meter_->front_frame()) {
            const auto header = protocol::load<protocol::BlockHeader>(frame.data() + sizeof(protocol::FrameHeader));
            const auto type = protocol::load<protocol::FrameHeader>(frame.data()).type;
            if (type == static_cast<std::uint8_t>(protocol::FrameType::block)) {
                // The device's clock is the file's own; its first sample lies in the middle of cell `index`.
                if (!anchored_) {
                    shift_ns_ = static_cast<std::int64_t>(header.first_index) * cell_ns + first_cell_ns() -
                                static_cast<std::int64_t>(header.first_time) * 8;
                    anchored_ = true;
                    next_knot_ = static_cast<std::int64_t>(header.first_time);
                }
                const std::int64_t end =
                    static_cast<std::int64_t>(header.first_time) + std::int64_t{header.span} * protocol::ticks_per_sample;
                for (; next_knot_ <= end; next_knot_ += rig::knot_spacing.count())
                    writer_.append_knot(
                        {DeviceTime(Ticks(next_knot_)), HostTime(Nanoseconds(next_knot_ * 8 + shift_ns_)), Nanoseconds(0), 0.0},
                        boot);
                writer_.append_frame(frame, HostTime(Nanoseconds(end * 8 + shift_ns_)));
            }
            meter_->pop_frame();
        }
    }
    [[nodiscard]] static std::int64_t first_cell_ns() { return cell_ns / 2; }

    static constexpr std::uint64_t base_us = 1'000'000;

    recording::RecordingWriter& writer_;
    const power::Calibration& calibration_;
    const Survey& survey_;
    std::unique_ptr<firmware::Meter> meter_;
    std::optional<Value> held_;
    std::int64_t held_time_ = 0, open_ = 0;
    std::uint64_t repeats_ = 1;
    std::int64_t cell_ = 0;
    double time_ = 0, volts_ = 0, watts_ = 0;
    bool anchored_ = false;
    std::int64_t shift_ns_ = 0, next_knot_ = 0;
};

Result<void> write_phases(const recording::RunDirectory& directory, const std::vector<ImportPhase>& phases) {
    std::uint32_t number = 0;
    for (const ImportPhase& phase : phases) {
        recording::PhaseRecord record;
        record.number = number++;
        record.step = "recording";
        record.label = phase.label;
        record.kind = "recording";
        record.complete = true;
        record.outcome.begin = record.outcome.measured_begin = HostTime(from_seconds(phase.from));
        record.outcome.end = record.outcome.measured_end = HostTime(from_seconds(phase.to));
        if (auto written = directory.append_phase_begin(record); !written) return written;
        if (auto written = directory.append_phase_end(record); !written) return written;
    }
    return {};
}

}  // namespace

Result<std::vector<ImportPhase>> read_phases(const std::string& path) {
    std::ifstream file(path);
    if (!file) return system_error("cannot open " + path, errno);
    std::vector<ImportPhase> phases;
    std::string line;
    for (std::size_t number = 1; std::getline(file, line); ++number) {
        if (!line.empty() && line.back() == '\r') line.pop_back();
        if (line.empty() || line.front() == '#') continue;
        const std::size_t second = line.rfind(','),
                          first = second == std::string::npos || second == 0 ? std::string::npos : line.rfind(',', second - 1);
        ImportPhase phase;
        bool good = first != std::string::npos;
        if (good) {
            phase.label = line.substr(0, first);
            const auto number_of = [&](std::size_t from, std::size_t to, double& value) {
                while (from < to && line[from] == ' ') ++from;
                const auto [end, error] = std::from_chars(line.data() + from, line.data() + to, value);
                return error == std::errc() && end == line.data() + to;
            };
            good = number_of(first + 1, second, phase.from) && number_of(second + 1, line.size(), phase.to) &&
                   phase.to > phase.from && phase.from >= 0 && phase.to < 1e9;
        }
        if (!good && number == 1) continue;  // a header
        if (!good)
            return bad_input(fmt::format("{}:{}: expected label,from,to in seconds with to after from, came \"{}\"", path,
                                         number, line.substr(0, 60)));
        phases.push_back(std::move(phase));
    }
    if (phases.empty()) return bad_input(path + ": expected lines of label,from,to, came none");
    return phases;
}

Result<ImportSummary> import_recording(const std::string& path, const ImportOptions& options,
                                       const recording::RunDirectory& directory, const std::string& version) {
    ImportMapping mapping;
    auto survey = survey_of(path, options, mapping);
    if (!survey) return survey.error();
    const std::optional<double> accuracy = options.accuracy ? options.accuracy : mapping.accuracy;
    const power::Calibration calibration = calibration_of(*survey, mapping, accuracy);

    ImportSummary summary;
    summary.rows = survey->rows;
    summary.empty_rows = survey->empty;
    summary.repeated_rows = survey->repeated;
    summary.period_seconds = static_cast<double>(survey->period) * 1e-9;
    summary.seconds = static_cast<double>(survey->last_ns - survey->first_ns + survey->period) * 1e-9;
    const auto warn = [&](const std::string& text) { summary.warnings.push_back(text); };
    if (survey->empty > 0)
        warn(fmt::format("{} of {} rows hold no value, the first in line {}: their time is a hole", survey->empty, survey->rows,
                         survey->first_empty));
    if (survey->repeated > 0)
        warn(fmt::format("{} rows repeat the time of the one before, the first in line {}: their mean is taken",
                         survey->repeated, survey->first_repeated));
    if (!survey->any_volts) warn("the file has no voltage: amperes are those of 1 V and mean nothing, watts are as recorded");
    if (!accuracy) warn("nothing is known of the instrument's uncertainty: no U is given (state it with --accuracy)");
    warn("power is another instrument's: its own filter, range changes and clock are in it");

    recording::RecordingStart start;
    start.info.boot_id = boot;
    start.info.protocol_version = protocol::protocol_version;
    start.info.rails = 1;
    std::copy_n("IMPORT", 6, start.info.serial.begin());
    auto writer = recording::RecordingWriter::create(directory.file("power.wrt"), start);
    if (!writer) return writer.error();
    Importer importer(**writer, calibration, *survey, start.info);
    auto used = read_table(path, options.format, options.mapping, [&](const ImportRow& given) -> Result<void> {
        ImportRow row = given;
        if (std::isnan(row.volts) && options.fixed_volts) row.volts = *options.fixed_volts;
        importer.add(row);
        return {};
    });
    if (!used) return used.error();
    importer.finish();
    if (auto finished = (*writer)->finish(); !finished) return finished.error();
    summary.gaps = importer.gaps;
    if (summary.gaps > 0)
        warn(fmt::format("{} holes: steps longer than {:.6g} s where {:.6g} s is usual", summary.gaps,
                         static_cast<double>(survey->longest_step) * 1e-9, summary.period_seconds));
    summary.joules = importer.joules;
    summary.mean_watts = importer.known_seconds > 0 ? importer.joules / importer.known_seconds : 0;

    std::vector<ImportPhase> phases = options.phases;
    if (phases.empty())
        phases.push_back({"whole recording", 0, static_cast<double>(survey->last_ns - survey->first_ns) * 1e-9});
    if (auto written = write_phases(directory, phases); !written) return written.error();

    const std::string file = path.substr(path.find_last_of('/') + 1);
    const nlohmann::json run = {
        {"schema", "wattrig.run/1"},
        {"program", {{"name", "wattrig"}, {"version", version}}},
        {"suite", {{"name", "import"}, {"title", "A recording of another instrument"}, {"version", "1"}, {"scale", 1}}},
        {"target", {{"description", options.drive.empty() ? file : options.drive}}},
        {"drive", {{"name", options.drive.empty() ? file : options.drive}, {"simulated", false}}},
        {"rig",
         {{"present", true},
          {"description", fmt::format("{}, from {}, {} rows at {:.6g} us", mapping.instrument, file, summary.rows,
                                      summary.period_seconds * 1e6)},
          {"simulated", false}}},
        {"fidelity", "real"},
        {"imported",
         {{"format", options.format},
          {"file", file},
          {"instrument", mapping.instrument},
          {"rows", summary.rows},
          {"empty_rows", summary.empty_rows},
          {"repeated_rows", summary.repeated_rows},
          {"holes", summary.gaps},
          {"period_seconds", summary.period_seconds},
          {"time_column", mapping.time.name},
          {"accuracy_percent", accuracy ? nlohmann::json(*accuracy * 100) : nlohmann::json()}}},
        {"calibration", power::to_json(calibration)},
        {"scores", nlohmann::json::array()},
        {"notes", nlohmann::json::array()},
        {"warnings", summary.warnings},
        {"complete", true},
        {"interrupted", false}};
    if (auto written = directory.write_json("run.json", run); !written) return written.error();
    return summary;
}

}  // namespace wattrig::exchange
