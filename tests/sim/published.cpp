#include "tests/sim/published.hpp"

#include <stdexcept>

#include "host/io/engine.hpp"
#include "host/sim/virtual_simulation.hpp"

namespace wattrig::sim {
namespace {

using namespace std::chrono_literals;

class Drive {
  public:
    explicit Drive(const std::string& model) : rig_(load_model(model).value(), options()) {
        engine_.target_size = rig_.model().capacity;
        engine_.logical_block = rig_.model().logical_block;
        engine_.aggregate = true;
    }
    struct Ran {
        double seconds = 0, bytes = 0, operations = 0, watt = 0;
        [[nodiscard]] double megabytes_per_second() const { return bytes / seconds * 1e-6; }
        [[nodiscard]] double iops() const { return operations / seconds; }
    };
    Ran run(const io::Workload& workload) {
        auto outcome = io::run_virtual(workload, rig_.drive(), loop_, engine_);
        if (!outcome) throw std::runtime_error(outcome.error().message);
        const auto total = outcome->total();
        Ran ran;
        ran.seconds = to_seconds(outcome->measured());
        ran.bytes = static_cast<double>(total.bytes);
        ran.operations = static_cast<double>(total.operations);
        ran.watt = (rig_.true_energy(outcome->measured_end) - rig_.true_energy(outcome->measured_begin)) / ran.seconds;
        return ran;
    }
    [[nodiscard]] DriveModel& model() { return rig_.drive_model(); }

  private:
    static SimulationOptions options() {
        SimulationOptions o;
        o.aggregate = true;
        o.rig = false;
        return o;
    }
    VirtualRig rig_;
    io::VirtualLoop loop_;
    io::VirtualOptions engine_;
};

io::Workload sequential(double read_percent, std::uint64_t offset, std::uint64_t bytes) {
    io::Workload w;
    w.pattern = io::Pattern::sequential;
    w.read_percent = read_percent;
    w.block_sizes = {{8 << 20, 100.0}};
    w.depth = 1;
    w.offset = offset;
    w.limit.bytes = bytes;
    return w;
}

io::Workload random_4k(double read_percent, std::uint64_t span, std::uint32_t depth, Nanoseconds time) {
    io::Workload w;
    w.read_percent = read_percent;
    w.block_sizes = {{4096, 100.0}};
    w.depth = depth;
    w.span = span;
    w.limit.time = time;
    return w;
}

constexpr std::uint64_t gigabyte = 1'000'000'000;
constexpr std::uint64_t whole(std::uint64_t bytes) { return bytes >> 23 << 23; }  // blocks of 8 MiB

void slowmark(std::vector<PublishedFigure>& out, const std::string& model, double read, double sustained, double cache_write,
              double cache_gigabyte) {
    Drive drive(model);
    std::uint64_t written = 0;
    if (cache_write > 0) {
        const auto cache = static_cast<std::uint64_t>(cache_gigabyte * 1e9);
        written = whole(cache * 9 / 10);
        const auto fast = drive.run(sequential(0, 0, written));
        out.push_back({model, "sequential write, in the cache", "MB/s", cache_write, fast.megabytes_per_second(), true});
        (void)drive.run(sequential(0, written, whole(cache / 5)));
        written += whole(cache / 5);
        out.push_back({model, "host bytes at the end of the cache", "GB", cache_gigabyte,
                       static_cast<double>(drive.model().cache_left_at()) * 1e-9, true});
    }
    (void)drive.run(sequential(0, written, whole(2 * gigabyte)));  // what the buffer still holds from before
    const auto slow = drive.run(sequential(0, written + whole(2 * gigabyte), 20 * gigabyte));
    out.push_back({model, "sequential write, sustained", "MB/s", sustained, slow.megabytes_per_second(), true});
    const auto reads = drive.run(sequential(100, 0, 20 * gigabyte));
    out.push_back({model, "sequential read", "MB/s", read, reads.megabytes_per_second(), true});
}

}  // namespace

std::vector<PublishedFigure> slowmark_figures() {
    std::vector<PublishedFigure> out;
    slowmark(out, "wd-black-2018-500gb", 1975, 450, 840, 5.5);
    slowmark(out, "intel-660p-1tb", 1350, 70, 700, 20);
    slowmark(out, "samsung-mzvlw256", 1850, 203, 445, 2.5);
    slowmark(out, "samsung-850-evo-500gb", 460, 150, 295, 5.5);
    slowmark(out, "adata-sp550-480gb", 450, 125, 0, 0);
    slowmark(out, "goodram-cx200-240gb", 440, 220, 0, 0);
    slowmark(out, "sandisk-ultra-ii-480gb", 470, 130, 0, 0);
    return out;
}

// The way of the method: twice the capacity in order, then random writes until nothing changes any more.
std::vector<PublishedFigure> enterprise_figures() {
    const std::string model = "enterprise-aic-1600gb";
    Drive drive(model);
    const std::uint64_t capacity = drive.model().parameters().capacity_bytes;
    io::Workload fill = sequential(0, 0, 2 * capacity);
    fill.block_sizes = {{128 << 10, 100.0}};
    fill.depth = 32;
    (void)drive.run(fill);
    io::Workload settle = random_4k(0, 0, 256, 1h);
    settle.limit.time.reset();
    settle.limit.bytes = 2 * capacity;
    (void)drive.run(settle);
    std::vector<PublishedFigure> out;
    out.push_back({model, "4 KiB random read, QD256", "IOPS", 631e3, drive.run(random_4k(100, 0, 256, 60s)).iops(), true});
    out.push_back({model, "4 KiB random write, QD256", "IOPS", 136e3, drive.run(random_4k(0, 0, 256, 60s)).iops(), true});
    out.push_back({model, "4 KiB 65/35 mixed, QD256", "IOPS", 230e3, drive.run(random_4k(65, 0, 256, 60s)).iops(), true});
    return out;
}

std::vector<EmergentFigure> random_read_figures() {
    std::vector<EmergentFigure> out;
    for (const std::uint64_t span : {16 * gigabyte, 64 * gigabyte})
        for (const char* model : {"toshiba-rc100-480gb", "toshiba-rc100-480gb?hmb=off", "wd-blue-sn500-500gb"})
            for (const std::uint32_t depth : {1U, 4U, 32U}) {
                Drive drive(model);
                (void)drive.run(random_4k(100, span, depth, 8s));  // the map gets into its cache
                out.push_back({model,
                               "4 KiB random read, " + std::to_string(span / gigabyte) + " GB span, QD" + std::to_string(depth),
                               "MB/s", drive.run(random_4k(100, span, depth, 20s)).megabytes_per_second()});
            }
    return out;
}

std::vector<EmergentFigure> power_figures() {
    std::vector<EmergentFigure> out;
    for (const char* model : {"wd-blue-sn500-500gb", "high-end-nvme-1tb"})
        for (const std::uint32_t depth : {1U, 32U}) {
            Drive drive(model);
            (void)drive.run(random_4k(100, 64 * gigabyte, 32, 8s));
            out.push_back({model, "4 KiB random read, 64 GB span, QD" + std::to_string(depth), "W",
                           drive.run(random_4k(100, 64 * gigabyte, depth, 20s)).watt});
        }
    return out;
}

}  // namespace wattrig::sim
