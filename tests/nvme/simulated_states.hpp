#pragma once
// A drive with power states in virtual time, as a bench for walk_states. What it declares and what it does are separate, so the
// truth is known; its power is a list of rectangles, sampled with noise. Shares no code with the measurement.

#include <algorithm>
#include <random>
#include <vector>

#include "host/nvme/states.hpp"

namespace wattrig::nvme {

struct TrueState {
    double idle_watts = 1;
    double random_read_watts = 2, random_write_watts = 3, sequential_watts = 4;
    Nanoseconds entry{}, exit{};
};

struct SimulatedStates final : public StateBench {
    Controller controller;
    std::vector<TrueState> truth;
    double noise_watts = 0.002;  // of one step
    double uncertainty_watts = 0.0005;
    Nanoseconds step{200'000};
    Nanoseconds bound{50'000};
    // Faults.
    bool ignores_requests = false;             // says yes, stays where it is
    std::optional<std::uint8_t> always_reads;  // answers with this state whatever it is in
    Nanoseconds leaves_after{};                // comes back to state 0 by itself; 0 = never
    bool says_it_is_still_there = false;       // after leaving
    bool ignores_transitions = false;
    Nanoseconds polls_every{};  // somebody reads SMART: a command that reaches the drive; 0 = nobody
    double coverage = 1;

    Result<Controller> identify() override {
        ++commands_;
        return controller;
    }
    Result<Nanoseconds> enter(std::uint8_t state) override {
        ++commands_;
        advance(Nanoseconds{20'000});
        asked_ = state;
        if (!ignores_requests) go(state);
        return now_;
    }
    Result<std::uint8_t> read_back() override {
        ++commands_;
        if (always_reads) return *always_reads;
        return says_it_is_still_there ? asked_ : state_;
    }
    Result<void> set_transitions(bool enabled, const std::vector<AutonomousTransition>& table) override {
        ++commands_;
        table_ = enabled ? table : std::vector<AutonomousTransition>();
        return {};
    }
    Nanoseconds now() override { return now_; }
    void leave_alone(Nanoseconds duration) override {
        const Nanoseconds end = now_ + duration;
        if (polls_every.count() > 0 && duration > polls_every) ++commands_;
        if (!ignores_transitions && state_ < table_.size() && table_[state_].idle_ms > 0) {
            advance(std::chrono::milliseconds(table_[state_].idle_ms));
            go(table_[state_].to_state);
        }
        if (leaves_after.count() > 0 && state_ != 0 && !controller.states[state_].operational && now_ + leaves_after < end) {
            advance(leaves_after);
            state_ = 0;
            draw(now_, truth[0].idle_watts);
        }
        now_ = std::max(now_, end);
    }
    Result<Operation> one_read() override {
        ++commands_;
        const Nanoseconds submitted = now_;
        Nanoseconds latency{80'000};
        if (!controller.states[state_].operational) {
            latency += truth[state_].exit;
            draw(now_ + truth[state_].exit, truth[0].idle_watts);
            state_ = 0;
        }
        advance(latency);
        advance(Nanoseconds{5'000'000});
        return Operation{submitted, latency};
    }
    Result<void> run_load(Load load, Nanoseconds duration) override {
        ++commands_;
        const TrueState& s = truth[state_];
        draw(now_, load == Load::sequential_write ? s.sequential_watts
                   : load == Load::random_write   ? s.random_write_watts
                                                  : s.random_read_watts);
        advance(duration);
        draw(now_, s.idle_watts);
        return {};
    }
    Result<PowerTrace> power(Nanoseconds begin, Nanoseconds end) override {
        PowerTrace trace{begin, step, {}, coverage, Watts(uncertainty_watts), Watts(noise_watts)};
        std::normal_distribution<double> noise(0, noise_watts);
        std::size_t at = 0;
        for (Nanoseconds t = begin; t + step <= end; t += step) {
            while (at + 1 < levels_.size() && levels_[at + 1].first <= t) ++at;
            trace.watts.push_back(levels_[at].second + noise(random_));
        }
        return trace;
    }
    std::uint64_t commands() override { return commands_; }
    Nanoseconds clock_bound() const override { return bound; }

  private:
    void advance(Nanoseconds by) { now_ += by; }
    void go(std::uint8_t state) {
        // While it goes down it draws what it drew before; coming up is at once.
        draw(state > state_ ? now_ + truth[state].entry : now_, truth[state].idle_watts);
        state_ = state;
    }
    void draw(Nanoseconds from, double watts) {
        while (!levels_.empty() && levels_.back().first >= from) levels_.pop_back();
        levels_.emplace_back(from, watts);
    }
    Nanoseconds now_{1'000'000'000};
    std::uint8_t state_ = 0, asked_ = 0;
    std::uint64_t commands_ = 0;
    std::vector<AutonomousTransition> table_;
    std::vector<std::pair<Nanoseconds, double>> levels_{{Nanoseconds{-1'000'000'000'000}, 1.0}};
    std::mt19937_64 random_{42};
};

// A drive of five states that keeps what it declares, each seed another one.
inline SimulatedStates honest_drive(unsigned seed) {
    std::mt19937_64 random(seed);
    const auto between = [&](double low, double high) { return std::uniform_real_distribution<double>(low, high)(random); };
    SimulatedStates drive;
    drive.controller.serial = "SIM" + std::to_string(seed);
    drive.controller.model = "simulated";
    drive.controller.autonomous_transitions = true;
    const double top = between(4, 9);
    for (int i = 0; i < 5; ++i) {
        PowerState declared;
        TrueState truth;
        declared.operational = i < 3;
        const double limit = declared.operational ? top * (1 - 0.25 * i) : i == 3 ? between(0.03, 0.08) : between(0.003, 0.006);
        declared.maximum_power = Watts(limit);
        if (declared.operational) {
            truth.idle_watts = between(0.5, 0.9) - 0.1 * i;
            truth.sequential_watts = limit * between(0.8, 0.99);
            truth.random_write_watts = limit * between(0.6, 0.8);
            truth.random_read_watts = limit * between(0.4, 0.6);
            declared.active_power = Watts(truth.sequential_watts * 1.02);
            declared.active_workload = 2;
        } else {
            truth.idle_watts = limit * between(0.6, 0.95);
            declared.entry_latency_us = i == 3 ? 3000 : 20000;
            declared.exit_latency_us = i == 3 ? 5000 : 45000;
            truth.entry = Nanoseconds(static_cast<std::int64_t>(*declared.entry_latency_us * between(500, 980)));
            truth.exit = Nanoseconds(static_cast<std::int64_t>(*declared.exit_latency_us * between(500, 980)));
        }
        declared.idle_power = Watts(truth.idle_watts * between(1.0, 1.1));
        drive.controller.states.push_back(declared);
        drive.truth.push_back(truth);
    }
    return drive;
}

}  // namespace wattrig::nvme
