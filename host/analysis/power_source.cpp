#include "host/analysis/power_source.hpp"

#include <fmt/format.h>

#include <filesystem>
#include <map>
#include <nlohmann/json.hpp>

#include "host/recording/recording.hpp"
#include "host/rig/clock_sync.hpp"

namespace wattrig::analysis {
namespace {

// First pass: what the clock needs, and what the recording says about itself.
class ClockVisitor final : public recording::RecordingVisitor {
  public:
    struct Boot {
        std::vector<rig::Exchange> exchanges;
        rig::ClockMap live;
    };
    std::map<std::uint32_t, Boot> boots;
    bool simulated = false;
    std::int64_t realtime_offset_ns = 0;
    std::vector<std::string> troubles;
    std::size_t more_troubles = 0;

    void on_start(const recording::RecordingStart& start) override {
        simulated = simulated || start.simulated;
        if (start.realtime_ns != 0) realtime_offset_ns = start.realtime_ns - start.monotonic.time_since_epoch().count();
    }
    void on_exchange(const rig::Exchange& exchange) override { boots[exchange.boot_id].exchanges.push_back(exchange); }
    void on_knot(const rig::ClockKnot& knot, std::uint32_t boot_id) override {
        Boot& boot = boots[boot_id];
        if (boot.live.empty()) boot.live = rig::ClockMap({}, boot_id, "live");
        // The map wants them strictly later; a damaged file may not keep to it.
        if (!boot.live.empty() &&
            (knot.device <= boot.live.knots().back().device || knot.host <= boot.live.knots().back().host))
            return;
        boot.live.append(knot);
    }
    void on_trouble(const recording::Marker& trouble) override {
        if (troubles.size() < 20)
            troubles.push_back("while recording: " + trouble.text);
        else
            ++more_troubles;
    }
};

constexpr std::size_t quick_exchanges = 100'000;  // some three hours

void make_maps(const ClockVisitor& clock, ClockChoice choice, PowerSource& source) {
    for (const auto& [boot_id, boot] : clock.boots) {
        const bool quick = choice == ClockChoice::quick && boot.exchanges.size() > quick_exchanges && !boot.live.empty();
        rig::ClockMap map = quick ? boot.live : rig::refit_two_sided(boot.exchanges);
        if (map.empty() && !boot.live.empty()) {
            map = boot.live;
            if (!boot.exchanges.empty())
                source.warnings.push_back(
                    fmt::format("clock of boot {}: the exchanges allow no two-sided map, the live one is used", boot_id));
        }
        source.exchanges += boot.exchanges.size();
        if (map.empty()) {
            source.warnings.push_back(fmt::format("clock of boot {}: no map, its power cannot be placed", boot_id));
            continue;
        }
        source.clocks.push_back(std::move(map));
    }
}

}  // namespace

Result<std::optional<PowerSource>> open_power_source(const recording::RunDirectory& directory, const nlohmann::json& run,
                                                     ClockChoice choice) {
    PowerSource source;
    source.path = directory.file("power.wrt");
    std::error_code ignored;
    if (!std::filesystem::exists(source.path, ignored)) return std::optional<PowerSource>();
    if (!run.is_object() || !run.contains("calibration") || run["calibration"].is_null())
        return bad_input("run.json: calibration: expected the rig's calibration, came nothing");
    auto calibration = power::calibration_from_json(run["calibration"], "run.json: calibration");
    if (!calibration) return calibration.error();
    source.calibration = std::move(*calibration);

    ClockVisitor clock;
    const auto report = recording::read_recording(source.path, clock);
    if (!report) return report.error();
    source.warnings = std::move(clock.troubles);
    if (clock.more_troubles > 0)
        source.warnings.push_back(fmt::format("while recording: {} more troubles", clock.more_troubles));
    const auto damaged = [&](const std::string& how) {
        source.whole = false;
        source.warnings.push_back(how);
    };
    if (!report->clean_end) damaged("power.wrt was cut off: it has no end record");
    if (report->bad_records > 0 || report->counters.skipped_bytes > 0)
        damaged(fmt::format("power.wrt is damaged: {} bad records, {} bytes skipped; first: {}", report->bad_records,
                            report->counters.skipped_bytes, report->first_problem));
    make_maps(clock, choice, source);
    source.simulated = clock.simulated || source.calibration.simulated;
    source.realtime_offset_ns = clock.realtime_offset_ns;
    return std::optional<PowerSource>(std::move(source));
}

}  // namespace wattrig::analysis
