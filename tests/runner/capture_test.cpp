// The capture on the simulated rig in virtual time: live power, the recording's contents.
#include "host/runner/capture.hpp"

#include <gtest/gtest.h>

#include <chrono>

#include "host/sim/simulation.hpp"
#include "tests/runner/temporary_directory.hpp"

namespace wattrig::runner {
namespace {

using namespace std::chrono_literals;

class CaptureActor final : public io::VirtualActor {
  public:
    explicit CaptureActor(Capture& capture) : capture_(capture) {}
    HostTime next_event() const override { return capture_.next_event(); }
    void run(HostTime now) override { capture_.poll(now); }

  private:
    Capture& capture_;
};

struct Counter final : recording::RecordingVisitor {
    std::uint64_t blocks = 0, knots = 0, exchanges = 0;
    std::string serial;
    void on_start(const recording::RecordingStart& start) override { serial = start.info.serial.data(); }
    void on_block(const rig::BlockView&) override { ++blocks; }
    void on_knot(const rig::ClockKnot&, std::uint32_t) override { ++knots; }
    void on_exchange(const rig::Exchange&) override { ++exchanges; }
};

TEST(Capture, RecordsWhatTheRigSendsAndTellsTheLivePower) {
    TemporaryDirectory folder;
    auto simulation = sim::VirtualSimulation::create({});
    ASSERT_TRUE(simulation) << simulation.error().message;
    auto recorder = make_direct_recorder(folder.file("power.wrt"));
    Capture capture((*simulation)->link(), (*simulation)->calibration(), *recorder, {});
    CaptureActor actor(capture);
    io::VirtualLoop loop;
    loop.add((*simulation)->rig_actor());
    loop.add(actor);
    capture.start(loop.now());
    loop.advance_to(HostTime(5s), &(*simulation)->drive());

    const double before = (*simulation)->true_energy(HostTime(4s));
    const double idle = (*simulation)->true_energy(HostTime(5s)) - before;
    const CaptureStatus status = capture.status();
    EXPECT_TRUE(status.session.clock_ready);
    ASSERT_TRUE(status.watts);
    EXPECT_NEAR(*status.watts, idle, 0.02 * idle);  // of a quarter of a second, on an idle drive
    capture.stop(loop.now());
    loop.advance_to(HostTime(5500ms), &(*simulation)->drive());
    EXPECT_TRUE(capture.stopped());
    ASSERT_TRUE(recorder->finish());

    Counter counter;
    const auto report = recording::read_recording(folder.file("power.wrt"), counter);
    ASSERT_TRUE(report);
    EXPECT_TRUE(report->clean_end);
    EXPECT_EQ(report->bad_records, 0u);
    EXPECT_GT(counter.blocks, 4.8 / 0.002304);
    EXPECT_GT(counter.knots, 0u);
    EXPECT_GT(counter.exchanges, 100u);
    EXPECT_FALSE(counter.serial.empty());
}

}  // namespace
}  // namespace wattrig::runner
