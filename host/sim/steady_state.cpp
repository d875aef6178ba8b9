#include "host/sim/steady_state.hpp"

#include <algorithm>
#include <cmath>
#include <vector>

#include "host/sim/drive_backend.hpp"
#include "host/sim/noise.hpp"

namespace wattrig::sim {
namespace {

// Operations of the load, without the engine: what counts here is where they go, how large they are and of what kind.
class Load {
  public:
    Load(const io::Workload& workload, std::uint64_t capacity) : workload_(workload), random_(workload.seed, 0x10ad) {
        span_ = workload.span > 0 ? workload.span : capacity - workload.offset;
        const std::uint64_t part = span_ / workload.workers;
        for (std::uint32_t k = 0; k < workload.workers; ++k) {
            positions_.push_back({workload.offset + k * part, workload.offset + k * part, workload.offset + (k + 1) * part});
            // In the middle of a run, not at its begin.
            positions_.back().at += std::uint64_t{random_.below(1 << 20)} * (part >> 21) / 4096 * 4096;
        }
    }
    io::Operation next(std::uint32_t worker) {
        io::Operation operation{};
        // Drawn, but led back to the share asked for: a chance surplus of writes would be one of energy.
        const double reads = workload_.read_percent / 100;
        const bool read = random_.uniform() < reads + 0.005 * reads_missing_;
        reads_missing_ += reads - (read ? 1.0 : 0.0);
        operation.kind = read ? io::OperationKind::read : io::OperationKind::write;
        operation.length = size();
        if (workload_.pattern == io::Pattern::sequential) {
            Position& p = positions_[worker];
            if (p.at + operation.length > p.end) p.at = p.begin;
            operation.offset = p.at;
            p.at += operation.length;
            return operation;
        }
        double begin = 0, share = 1;  // of the span
        if (!workload_.zones.empty()) {
            double draw = random_.uniform() * 100;
            for (const io::Zone& zone : workload_.zones) {
                share = zone.span_percent / 100 * (1 - begin);
                if (draw < zone.access_percent) break;
                draw -= zone.access_percent;
                begin += share;
                share = 1 - begin;
            }
        }
        const std::uint64_t blocks = span_ / operation.length;
        const double place = (begin + share * random_.uniform()) * static_cast<double>(blocks);
        const std::uint64_t block = std::min(static_cast<std::uint64_t>(place), blocks - 1);
        operation.offset = workload_.offset + block * operation.length;
        return operation;
    }

  private:
    struct Position {
        std::uint64_t begin, at, end;
    };
    std::uint32_t size() {
        if (workload_.block_sizes.size() == 1) return workload_.block_sizes[0].bytes;
        double draw = random_.uniform() * 100;
        for (const io::BlockSizeShare& share : workload_.block_sizes) {
            if (draw < share.percent) return share.bytes;
            draw -= share.percent;
        }
        return workload_.block_sizes.back().bytes;
    }

    const io::Workload& workload_;
    Random random_;
    double reads_missing_ = 0;
    std::uint64_t span_;
    std::vector<Position> positions_;
};

// Looks at the power as the rig would, without noise: mean and variance of the current that samples see, highest 100 us.
class Observer {
  public:
    explicit Observer(const FrontEnd& front_end) : front_end_(front_end), filter_(sinc3_by_bin()) {}
    void add(std::span<const float> watts) {
        for (const float watt : watts) {
            const double current = front_end_.current_of(static_cast<double>(watt));
            bins_[count_ % 64] = static_cast<float>(current);
            watts_[count_ % 64] = watt;
            ++count_;
            current_sum_ += current;
            window_ += static_cast<double>(watt);
            if (count_ > window_bins) window_ -= static_cast<double>(watts_[(count_ - window_bins - 1) % 64]);
            if (count_ >= window_bins) highest_window_ = std::max(highest_window_, window_);
            if (count_ % bins_per_sample == 0 && count_ >= filter_.size()) sample();
        }
    }
    [[nodiscard]] CurrentStatistics statistics() const {
        CurrentStatistics s;
        s.mean = current_sum_ / static_cast<double>(count_);
        const double n = static_cast<double>(samples_), mean = sum_ / n;
        s.sample_variance = std::max(0.0, squares_ / n - mean * mean);
        s.minimum = minimum_;
        s.maximum = maximum_;
        s.window_maximum = highest_window_ / window_bins;
        return s;
    }

  private:
    static constexpr std::uint64_t window_bins = 26;  // 99.8 us
    void sample() {
        double seen = 0;
        for (std::size_t k = 0; k < filter_.size(); ++k)
            seen += static_cast<double>(filter_[k] * bins_[(count_ - filter_.size() + k) % 64]);
        ++samples_;
        sum_ += seen;
        squares_ += seen * seen;
        minimum_ = std::min(minimum_, seen);
        maximum_ = std::max(maximum_, seen);
    }
    const FrontEnd& front_end_;
    std::array<float, 24> filter_;
    std::array<float, 64> bins_{}, watts_{};
    std::uint64_t count_ = 0, samples_ = 0;
    double current_sum_ = 0, sum_ = 0, squares_ = 0, window_ = 0, highest_window_ = 0;
    double minimum_ = 1e9, maximum_ = -1e9;
};

}  // namespace

SteadyState play_steady_state(const DriveModel& model, const io::Workload& workload, std::int64_t now,
                              const FrontEnd* front_end, double copies_per_byte) {
    const PowerParameters& power = model.parameters().power;
    const auto time_constant = static_cast<double>(power.active_time_constant_ns);
    EnergyLedger ledger(power.idle_watt, power.active_watt, time_constant, now);
    PowerTrace trace(power.idle_watt, power.active_watt, time_constant);
    trace.anchor(HostTime(Nanoseconds(now)), 0, 0.125 / ticks_per_bin);
    trace.set_active_level(1);
    trace.activity(now, true);
    ledger.set_active_level(1);
    DriveModel drive(model);
    drive.attach(front_end ? &trace : nullptr, &ledger);
    drive.hold(copies_per_byte);
    DriveBackend backend(drive, {});
    Load load(workload, model.parameters().capacity_bytes);

    // Large operations pass many queues each: about as much work for every size.
    const std::uint32_t depth = workload.total_depth();
    const double work = 1.0 + workload.largest_block() / 16384.0;
    const auto measured = static_cast<std::uint64_t>(std::max({1.2e6 / work, 8000.0, 40.0 * depth}));
    const std::uint64_t warm_up = std::max(measured / 8, std::uint64_t{4} * depth);
    struct Slot {
        std::int64_t issued;
        std::uint32_t worker, length;
        io::OperationKind kind;
    };
    std::vector<Slot> slots(depth);
    const auto submit = [&](std::uint32_t slot, std::int64_t at) {
        io::Operation operation = load.next(slots[slot].worker);
        operation.slot = slot & 0xffff;
        slots[slot] = {at, slots[slot].worker, operation.length, operation.kind};
        backend.submit(slot >> 16, {&operation, 1}, HostTime(Nanoseconds(at)));
    };
    for (std::uint32_t slot = 0; slot < depth; ++slot) {
        slots[slot].worker = slot % workload.workers;
        submit(slot, now);
    }
    SteadyState steady;
    std::optional<Observer> observer;
    if (front_end) observer.emplace(*front_end);
    std::array<io::Completion, 256> done;
    std::array<double, 2> latency_sum{}, bytes{};
    std::array<float, 400> bins;
    std::uint64_t count = 0;
    std::int64_t begin = 0, looked_at = now;
    double begin_energy = 0;
    std::uint64_t begin_programs = 0;
    while (count < warm_up + measured) {
        const HostTime at = backend.next_event();
        const std::int64_t t = at.time_since_epoch().count();
        const std::size_t reaped = backend.reap(at, done);
        if (t - looked_at > 2'000'000) {
            looked_at = t;
            drive.settle(t);
            if (front_end) {
                while (trace.bin_at(at) >= static_cast<double>(trace.next_bin() + static_cast<std::int64_t>(bins.size()))) {
                    trace.take(bins);
                    if (begin != 0) observer->add(bins);
                }
                trace.anchor(at, trace.bin_at(at), 0.125 / ticks_per_bin);
            }
        }
        for (std::size_t k = 0; k < reaped; ++k, ++count) {
            const std::uint32_t slot = done[k].slot;
            if (count == warm_up) {
                drive.settle(t);
                begin = t;
                begin_energy = ledger.energy(t);
                begin_programs = drive.programs();
            }
            if (count >= warm_up && count < warm_up + measured) {
                const auto kind = static_cast<std::size_t>(slots[slot].kind);
                const auto latency = static_cast<std::uint64_t>(t - slots[slot].issued);
                SteadyState::Kind& figures = steady.kinds[kind];
                figures.latency.add(latency);
                figures.minimum_ns = std::min(figures.minimum_ns, latency);
                figures.maximum_ns = std::max(figures.maximum_ns, latency);
                latency_sum[kind] += static_cast<double>(latency);
                bytes[kind] += slots[slot].length;
            }
            submit(slot, t);
        }
        if (count >= warm_up + measured) {
            drive.settle(t);
            const double seconds = static_cast<double>(t - begin) * 1e-9;
            steady.played = measured;
            steady.watt = (ledger.energy(t) - begin_energy) / seconds;
            steady.programmed_bytes_per_second =
                static_cast<double>((drive.programs() - begin_programs) * model.parameters().flash.program_bytes) / seconds;
            for (std::size_t kind = 0; kind < 2; ++kind) {
                const auto n = static_cast<double>(steady.kinds[kind].latency.total());
                if (n == 0) continue;
                steady.kinds[kind].operations_per_second = n / seconds;
                steady.kinds[kind].bytes_per_operation = bytes[kind] / n;
                steady.kinds[kind].mean_latency_ns = latency_sum[kind] / n;
            }
        }
    }
    if (front_end) {
        steady.current = observer->statistics();
        // The trace ends a little elsewhere than the count of operations: the mean is that of the energy.
        steady.current.watt = steady.watt;
    }
    return steady;
}

}  // namespace wattrig::sim
