// How fast the exact simulation is: depths 1 to 32 for a given time each, all codes through the firmware core, the host's side
// of the link left out. Prints the shares; `sim_bench SECONDS [MODEL]`.

#include <cstdio>
#include <cstdlib>
#include <cstring>
#include <ctime>

#include "firmware/protocol/frame.hpp"
#include "host/sim/virtual_simulation.hpp"

namespace {

using namespace wattrig;

double cpu_seconds() {
    timespec t{};
    clock_gettime(CLOCK_PROCESS_CPUTIME_ID, &t);
    return static_cast<double>(t.tv_sec) + 1e-9 * static_cast<double>(t.tv_nsec);
}

// Starts the stream and lets what comes fall.
class Sink final : public rig::LinkHandler {
  public:
    std::uint64_t bytes = 0;
    void on_stream(std::span<const std::uint8_t> data, HostTime) override { bytes += data.size(); }
    void on_reply(std::span<const std::uint8_t>, HostTime) override {}
    void on_broken(const Error&, HostTime) override {}
};

void start_stream(rig::Link& link) {
    std::uint8_t frame[protocol::maximum_frame_bytes];
    const protocol::CommandHeader header{static_cast<std::uint16_t>(protocol::CommandId::start_stream), 1, 0, 0};
    const protocol::StartStream arguments{1, 0, 0};
    std::memcpy(frame + sizeof(protocol::FrameHeader), &header, sizeof header);
    std::memcpy(frame + sizeof(protocol::FrameHeader) + sizeof header, &arguments, sizeof arguments);
    const std::size_t size = protocol::seal_frame(frame, protocol::FrameType::command, sizeof header + sizeof arguments, 0);
    (void)link.send({frame, size});
}

// Drive alone: operations back to back at a depth, no engine.
double drive_alone(const sim::DriveParameters& parameters, std::uint32_t depth, bool traced, std::uint64_t operations) {
    sim::EnergyLedger ledger(1, 1, 1e6);
    sim::PowerTrace trace(1, 1, 1e6);
    sim::DriveModel drive(parameters, 1, traced ? &trace : nullptr, &ledger);
    sim::DriveBackend backend(drive, {});
    sim::Random random(1);
    io::Operation operation{0, 4096, 0, nullptr, io::OperationKind::read};
    std::vector<float> bins(200);
    std::int64_t now = 0;
    const double begin = cpu_seconds();
    for (std::uint32_t k = 0; k < depth; ++k) {
        operation.offset = std::uint64_t{random.below(4'000'000)} * 4096;
        backend.submit(0, {&operation, 1}, HostTime(Nanoseconds(now)));
    }
    io::Completion done[64];
    for (std::uint64_t n = 0; n < operations;) {
        now = backend.next_event().time_since_epoch().count();
        const std::size_t reaped = backend.reap(HostTime(Nanoseconds(now)), done);
        for (std::size_t k = 0; k < reaped; ++k, ++n) {
            operation.offset = std::uint64_t{random.below(4'000'000)} * 4096;
            backend.submit(0, {&operation, 1}, HostTime(Nanoseconds(now)));
        }
        if (n % 256 == 0) drive.settle(now);
        if (traced)
            while (trace.bin_at(HostTime(Nanoseconds(now))) > static_cast<double>(trace.next_bin() + 400)) trace.take(bins);
    }
    return (cpu_seconds() - begin) / static_cast<double>(operations) * 1e9;
}

}  // namespace

int main(int argc, char** argv) {
    const double seconds = argc > 1 ? std::atof(argv[1]) : 1;
    const char* model = argc > 2 ? argv[2] : "constant-300k";
    for (const std::uint32_t depth : {1U, 32U, 256U})
        std::printf("drive alone, depth %3u: %5.1f ns an operation, %5.1f with its trace\n", depth,
                    drive_alone(sim::load_model(model).value(), depth, false, 2'000'000),
                    drive_alone(sim::load_model(model).value(), depth, true, 2'000'000));
    {
        sim::FrontEnd front_end(1);
        std::array<float, sim::bins_per_chunk> watts;
        watts.fill(2.0F);
        sim::CodeChunk chunk;
        const double begin = cpu_seconds();
        constexpr int chunks = 100'000;
        for (int k = 0; k < chunks; ++k) front_end.run(watts, chunk);
        std::printf("front end alone: %5.1f ns a sample, its 7.68 peak readings included\n",
                    (cpu_seconds() - begin) / chunks / sim::samples_per_chunk * 1e9);
    }
    for (const bool rig : {false, true}) {
        auto simulation = std::move(sim::VirtualSimulation::create({model, 1, false, rig}).value());
        io::VirtualLoop loop;
        Sink sink;
        if (rig) {
            loop.add(simulation->rig_actor());
            simulation->link().attach(sink);
            start_stream(simulation->link());
        }
        io::VirtualOptions options;
        options.target_size = simulation->model().capacity;
        const double begin = cpu_seconds();
        std::uint64_t operations = 0;
        for (const std::uint32_t depth : {1U, 2U, 4U, 8U, 16U, 32U}) {
            io::Workload workload;
            workload.depth = depth;
            workload.span = 64'000'000'000;
            workload.limit.time = from_seconds(seconds);
            operations += io::run_virtual(workload, simulation->drive(), loop, options).value().total().operations;
        }
        const double used = cpu_seconds() - begin;
        const double virtual_seconds = to_seconds(loop.now() - HostTime{});
        std::printf("%s: %.0f virtual s, %.1f M operations, %.2f s of CPU, %.1f ns an operation; 360 s would take %.2f s%s\n",
                    rig ? "engine, drive and rig" : "engine and drive", virtual_seconds, 1e-6 * static_cast<double>(operations),
                    used, used / static_cast<double>(operations) * 1e9, used / virtual_seconds * 360,
                    rig ? (", " + std::to_string(sink.bytes / 1000) + " kB streamed").c_str() : "");
    }
}
