#pragma once
// One seeded virtual run: simulated drive and rig, engine, session, and then the program's own estimator, beside the drive
// model's closed-form energy. Faults are planted here, in what the estimator is given; the product has no hooks.

#include <cstdint>
#include <functional>
#include <string>
#include <vector>

#include "host/io/engine.hpp"
#include "host/power/energy.hpp"
#include "host/rig/clock_sync.hpp"
#include "host/rig/session.hpp"
#include "host/sim/simulation.hpp"

namespace wattrig::test {

enum class Fault {
    none,
    gain_sign,
    gain_correction_reversed,
    lost_blocks_ignored,
    v_and_i_swapped,
    clock_shifted,
    window_off_by_a_block,
    window_off_by_a_sample
};
const char* name(Fault fault);

// Where an interval's edges lie: inside the steady load, at its steps (all of a phase), or around its onset, from the idle
// before it to the steady load: a window that is late has more of the load there and no edge hides it.
enum class Edges { inside, at_steps, onset };

struct TruthFigure {
    std::string phase;
    Edges edges;
    double truth;  // watt
    power::IntervalPower power;
    [[nodiscard]] double error() const { return power.mean->value() - truth; }
};

// Everything a run left behind, so that it can be evaluated more than once.
class TruthRun final : public rig::SessionSink, public io::VirtualActor {
  public:
    explicit TruthRun(std::uint64_t seed);
    ~TruthRun() override;
    // Figures of each phase, twice: with edges inside the steady load and at its steps. `lose` blocks never arrive.
    [[nodiscard]] std::vector<TruthFigure> evaluate(Fault fault = Fault::none,
                                                    const std::function<bool(std::size_t)>& lose = {}) const;
    [[nodiscard]] const std::string& trouble() const { return trouble_; }

    void on_frame(const rig::Frame& frame, HostTime arrival) override;
    void on_block(const rig::BlockView&, HostTime) override {}
    void on_exchange(const rig::Exchange& exchange) override { exchanges_.push_back(exchange); }
    void on_knot(const rig::ClockKnot&, std::uint32_t) override {}
    void on_trouble(const std::string& sentence, HostTime) override { trouble_ = sentence; }
    [[nodiscard]] HostTime next_event() const override;
    void run(HostTime now) override;

  private:
    struct Phase {
        std::string name;
        io::Interval interval;
        Edges edges;
        double truth;
    };
    std::unique_ptr<sim::VirtualSimulation> simulation_;
    std::unique_ptr<rig::Session> session_;
    std::vector<Phase> phases_;
    std::vector<rig::Exchange> exchanges_;
    std::vector<std::vector<std::uint8_t>> payloads_;
    std::string trouble_;
};

}  // namespace wattrig::test
