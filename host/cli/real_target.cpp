#include <fmt/format.h>

#include <algorithm>
#include <filesystem>
#include <fstream>
#include <nlohmann/json.hpp>

#include "host/cli/console.hpp"
#include "host/cli/live_rig.hpp"
#include "host/cli/run_target.hpp"
#include "host/io/uring_backend.hpp"
#include "host/target/host_facts.hpp"
#include "host/target/target.hpp"

namespace wattrig::cli {
namespace {

class RealTarget final : public RunTarget {
  public:
    RealTarget(const RunArguments& arguments, std::uint64_t existing_size)
        : arguments_(arguments), existing_size_(existing_size) {}

    std::uint64_t size() const override { return arguments_.size.value_or(existing_size_); }
    std::uint32_t logical_block() const override { return 512; }

    Result<void> prepare(const suites::Plan& plan, Console& console, const io::StopFlag& stop) override {
        auto rig = LiveRig::connect(arguments_);
        if (!rig) return rig.error();
        rig_ = std::move(*rig);
        target::TargetRequest request;
        request.path = arguments_.target;
        request.write = plan.writes;
        request.direct = !arguments_.buffered;
        request.size = arguments_.size;
        if (!request.size && existing_size_ == 0) {
            if (plan.target_size == 0)
                return bad_input(
                    fmt::format("{} does not exist yet, and the suite asks for no size: expected --size, such as "
                                "--size 16GiB",
                                arguments_.target));
            request.size = plan.target_size;
        }
        request.keep = arguments_.keep;
        request.overwrite_data = arguments_.overwrite_data;
        request.destroy = arguments_.destroy;
        request.fill_progress = [&console](double done) { console.fill(done); };
        request.stop_requested = [&stop] { return stop.load(std::memory_order_relaxed); };
        auto opened = target::Target::open(request);
        if (!opened) return opened.error();
        target_.emplace(std::move(*opened));
        facts_ = target::read_host_facts(&target_->info());
        return {};
    }

    void describe(nlohmann::json& run_json) const override {
        const target::TargetInfo& info = target_->info();
        std::string drive = info.model;
        if (drive.empty()) drive = info.device.empty() ? "unknown drive" : info.device;
        run_json["target"] = {
            {"kind", info.kind == target::TargetKind::file ? "file" : "block device"},
            {"path", info.path},
            {"description", info.kind == target::TargetKind::file ? fmt::format("{} on {}", info.path, drive) : info.path},
            {"device", info.device},
            {"size", info.size},
            {"logical_block", info.logical_block},
            {"physical_block", info.physical_block},
            {"direct", info.direct},
            {"created", info.created},
            {"written_in_full", info.written_in_full},
            {"extents", info.extents},
            {"filesystem", info.filesystem}};
        run_json["drive"] = {{"name", drive},
                             {"simulated", false},
                             {"serial", info.serial},
                             {"firmware", info.firmware},
                             {"transport", info.transport},
                             {"scheduler", info.scheduler}};
        nlohmann::json& host = run_json["host"] = nlohmann::json::object();
        for (const target::Fact& fact : facts_.facts) host[fact.key] = fact.value;
        nlohmann::json& warnings = run_json["warnings"] = nlohmann::json::array();
        const auto warn = [&](const std::string& line) {
            if (std::find(warnings.begin(), warnings.end(), nlohmann::json(line)) == warnings.end()) warnings.push_back(line);
        };
        for (const std::string& line : info.warnings) warn(line);
        for (const std::string& line : facts_.warnings) warn(line);
        for (const std::string& line : rig_->warnings()) warn(line);
    }

    Result<runner::RunSummary> carry_out(const suites::Plan& plan, const recording::RunDirectory& directory,
                                         nlohmann::json run_json, const runner::RunHooks& hooks) override {
        if (auto allowed = target_->begin_writing(); !allowed) return allowed.error();
        unsigned depth = 1;
        for (const suites::Step& step : plan.steps) depth = std::max(depth, step.workload.depth);
        const target::TargetInfo& info = target_->info();
        runner::RealRun run;
        io::UringOptions uring;
        uring.direct = info.direct;
        run.engine.make_backend = [descriptor = target_->descriptor(), depth, uring](std::uint32_t,
                                                                                     std::span<std::byte> buffers) {
            return io::make_uring_backend(descriptor, buffers, depth, uring);
        };
        run.engine.target_size = info.size;
        run.engine.logical_block = info.logical_block;
        run.engine.cpus = arguments_.cpus;
        run.engine.descriptor = target_->descriptor();
        run.link = rig_->link();
        run.calibration = rig_->calibration();
        if (rig_->follows_operations())
            run.set_taps = [this](const std::vector<io::OperationTap*>& taps) { rig_->set_taps(taps); };
        run.closing_warnings = [this] { return rig_->closing_warnings(); };
        if (!info.device.empty())
            run.drive_temperature = [device = info.device] { return target::read_drive_temperature(device); };
        return runner::run_real(plan, run, directory, std::move(run_json), hooks);
    }

  private:
    RunArguments arguments_;
    std::uint64_t existing_size_;
    std::unique_ptr<LiveRig> rig_;
    std::optional<target::Target> target_;
    target::HostFacts facts_;
};

}  // namespace

Result<std::unique_ptr<RunTarget>> make_real_target(const RunArguments& arguments) {
    if (arguments.fidelity != "exact") return bad_input("--fidelity is for simulated drives; a real one is always real");
    std::error_code error;
    std::uint64_t size = 0;
    if (std::filesystem::is_regular_file(arguments.target, error)) size = std::filesystem::file_size(arguments.target, error);
    // Links, such as those of /dev/disk/by-id, lead to the name that the list has.
    std::error_code unresolved;
    const std::string path = std::filesystem::canonical(arguments.target, unresolved).string();
    for (const target::TargetInfo& device : target::list_block_devices())
        if (device.path == path) size = device.size;
    return std::unique_ptr<RunTarget>(std::make_unique<RealTarget>(arguments, error ? 0 : size));
}

}  // namespace wattrig::cli
