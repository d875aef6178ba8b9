#include "tests/analysis/truth_run.hpp"

#include <algorithm>
#include <stdexcept>

namespace wattrig::test {
namespace {

constexpr Nanoseconds milliseconds(std::int64_t n) { return Nanoseconds(n * 1'000'000); }

io::Workload reads(std::uint32_t depth, std::uint32_t block, bool sequential) {
    io::Workload w;
    w.pattern = sequential ? io::Pattern::sequential : io::Pattern::random;
    w.block_sizes = {{block, 100.0}};
    w.depth = depth;
    w.span = 16'000'000'000;
    w.limit.time = milliseconds(250);
    w.ramp = milliseconds(10);
    return w;
}

rig::ClockMap shifted(const rig::ClockMap& map, Nanoseconds by) {
    rig::ClockMap result({}, map.boot_id(), map.name());
    for (rig::ClockKnot knot : map.knots()) {
        knot.host += by;
        result.append(knot);
    }
    return result;
}

void add_codes(protocol::RailSums& sums, const rig::BlockView& block) {
    __extension__ using Wide = __int128;
    const auto add = [](protocol::Int128& to, std::int64_t product) {
        const auto sum = (static_cast<Wide>(to.high) << 64 | static_cast<Wide>(to.low)) + product;
        to = {static_cast<std::uint64_t>(sum), static_cast<std::int64_t>(sum >> 64)};
    };
    for (std::size_t k = 0; k < block.header.count; ++k) {
        const std::int64_t v = block.v_code(0, k), i = block.i_code(0, k);
        sums.count += 1;
        sums.sum_v += v;
        sums.sum_i += i;
        add(sums.sum_vi, v * i);
        add(sums.sum_ii, i * i);
    }
}

}  // namespace

const char* name(Fault fault) {
    switch (fault) {
        case Fault::none: return "none";
        case Fault::gain_sign: return "gain sign";
        case Fault::gain_correction_reversed: return "gain correction reversed";
        case Fault::lost_blocks_ignored: return "lost blocks ignored";
        case Fault::v_and_i_swapped: return "V and I swapped";
        case Fault::clock_shifted: return "clock shifted by 1 ms";
        case Fault::window_off_by_a_block: return "window off by a block";
        case Fault::window_off_by_a_sample: return "window off by a sample";
    }
    return "?";
}

TruthRun::TruthRun(std::uint64_t seed) {
    auto made = sim::VirtualSimulation::create({"client-1tb", seed, false, true});
    if (!made) throw std::runtime_error(made.error().message);
    simulation_ = std::move(*made);
    io::VirtualLoop loop;
    loop.add(simulation_->rig_actor());
    rig::SessionOptions options;
    options.seed = seed;
    session_ = std::make_unique<rig::Session>(simulation_->link(), *this, options);
    simulation_->link().attach(*session_);
    session_->start(loop.now());
    loop.add(*this);
    io::VirtualOptions engine;
    engine.target_size = simulation_->model().capacity;
    engine.logical_block = simulation_->model().logical_block;
    loop.advance_to(loop.now() + milliseconds(300), &simulation_->drive());
    const auto keep = [&](const std::string& phase, HostTime begin, HostTime end, Edges edges) {
        const double joules = simulation_->true_energy(end) - simulation_->true_energy(begin);
        phases_.push_back({phase, {begin, end}, edges, joules / to_seconds(end - begin)});
    };
    // The model's own energy is exact at whole multiples of 0.5 ms and a straight line between: edges are put there, so that
    // no step of the load is blurred in the truth.
    const auto to_next_knot = [&] {
        constexpr std::int64_t knot = 500'000;
        const std::int64_t now = loop.now().time_since_epoch().count();
        loop.advance_to(HostTime(Nanoseconds((now / knot + 1) * knot)), &simulation_->drive());
    };
    const auto idle = [&](const char* phase) {
        to_next_knot();
        loop.advance_to(loop.now() + milliseconds(50), &simulation_->drive());
        const HostTime begin = loop.now();
        loop.advance_to(begin + milliseconds(200), &simulation_->drive());
        keep(phase, begin, loop.now(), Edges::inside);
    };
    const auto load = [&](const char* phase, const io::Workload& workload) {
        to_next_knot();
        const auto outcome = io::run_virtual(workload, simulation_->drive(), loop, engine);
        if (!outcome) throw std::runtime_error(outcome.error().message);
        keep(phase, outcome->measured_begin + milliseconds(5), outcome->measured_end - milliseconds(5), Edges::inside);
        keep(phase, outcome->begin, outcome->measured_end, Edges::at_steps);
        keep(phase, outcome->begin - milliseconds(2), outcome->begin + milliseconds(18), Edges::onset);
        loop.advance_to(loop.now() + milliseconds(30), &simulation_->drive());
    };
    idle("idle");
    load("random read QD1", reads(1, 4096, false));
    load("random read QD16", reads(16, 4096, false));
    load("sequential read 128 KiB QD4", reads(4, 131072, true));
    loop.advance_to(loop.now() + milliseconds(200), &simulation_->drive());
}

TruthRun::~TruthRun() = default;

void TruthRun::on_frame(const rig::Frame& frame, HostTime) {
    const auto type = static_cast<protocol::FrameType>(frame.header.type);
    if (type == protocol::FrameType::block || type == protocol::FrameType::summary)
        payloads_.emplace_back(frame.payload.begin(), frame.payload.end());
}

HostTime TruthRun::next_event() const { return std::min(simulation_->link().next_event(), session_->next_event()); }
void TruthRun::run(HostTime now) {
    simulation_->link().poll(now);
    session_->poll(now);
}

std::vector<TruthFigure> TruthRun::evaluate(Fault fault, const std::function<bool(std::size_t)>& lose) const {
    power::Calibration calibration = simulation_->calibration();
    rig::ClockMap clock = rig::refit_two_sided(exchanges_);
    power::RailCalibration& rail = calibration.rails[0];
    if (fault == Fault::gain_sign) rail.i_gain = -rail.i_gain;
    if (fault == Fault::gain_correction_reversed) {
        const double nominal = calibration.front_end.ampere_per_i_code();
        rail.i_gain = nominal * nominal / rail.i_gain;
    }
    if (fault == Fault::clock_shifted) clock = shifted(clock, milliseconds(1));
    std::vector<io::Interval> intervals;
    intervals.reserve(phases_.size());
    for (const Phase& phase : phases_) intervals.push_back(phase.interval);
    if (fault == Fault::window_off_by_a_block || fault == Fault::window_off_by_a_sample) {
        const std::int64_t samples = fault == Fault::window_off_by_a_block ? protocol::samples_per_block : 1;
        const Nanoseconds off{8 * samples * protocol::ticks_per_sample};
        for (io::Interval& interval : intervals) interval = {interval.begin + off, interval.end + off};
    }
    power::EnergyPass pass(calibration, clock, intervals);
    std::uint64_t lost = 0;
    protocol::RailSums received{};
    for (std::size_t k = 0; k < payloads_.size(); ++k) {
        rig::BlockView block = rig::parse_block(payloads_[k]).value();
        if (lose && lose(k)) {
            lost += block.header.count;
            continue;
        }
        if (fault == Fault::lost_blocks_ignored) {
            // As if samples were counted instead of stamped: the stream closes up over what never came. Its sums would tell,
            // so only the samples received are in them.
            block.header.first_index -= lost;
            block.header.first_time -= lost * protocol::ticks_per_sample;
            add_codes(received, block);
            block.rails[0].sums = received;
        }
        if (fault == Fault::v_and_i_swapped) {
            std::swap(block.rails[0].sums.sum_v, block.rails[0].sums.sum_i);
            std::swap(block.v_codes[0], block.i_codes[0]);
        }
        pass.add(block);
    }
    const auto powers = pass.finish();
    std::vector<TruthFigure> figures;
    figures.reserve(phases_.size());
    for (std::size_t k = 0; k < phases_.size(); ++k)
        figures.push_back({phases_[k].name, phases_[k].edges, phases_[k].truth, powers[k]});
    return figures;
}

}  // namespace wattrig::test
