// CPU time of the virtual event loop and the worker for one operation, on a drive that costs next to nothing itself. The aim is
// 25 ns (the drive's own part included in what is printed): 40 million operations and a rig in 5 s.

#include <sys/resource.h>

#include <cstdio>

#include "host/io/engine.hpp"
#include "tests/io/fake_backend.hpp"

using namespace wattrig;
using namespace wattrig::io;

namespace {

double cpu_seconds() {
    rusage usage{};
    getrusage(RUSAGE_THREAD, &usage);
    return static_cast<double>(usage.ru_utime.tv_sec) + static_cast<double>(usage.ru_utime.tv_usec) * 1e-6;
}

double drive_alone(std::uint32_t depth, std::uint64_t operations) {
    CheapDrive drive(depth);
    VirtualBackend& backend = drive;  // through the interface, as the loop does
    Completion done[64];
    const double begin = cpu_seconds();
    for (std::uint32_t i = 0; i < depth; ++i) {
        const Operation operation{0, 4096, i, nullptr, OperationKind::read};
        backend.submit(0, {&operation, 1}, HostTime{});
    }
    for (std::uint64_t n = 0; n < operations;) {
        const HostTime now = backend.next_event();
        const std::size_t reaped = backend.reap(now, done);
        for (std::size_t i = 0; i < reaped; ++i) {
            const Operation operation{0, 4096, done[i].slot, nullptr, OperationKind::read};
            backend.submit(0, {&operation, 1}, now);
        }
        n += reaped;
    }
    return (cpu_seconds() - begin) * 1e9 / static_cast<double>(operations);
}

}  // namespace

int main() {
    constexpr std::uint64_t operations = 10'000'000;
    for (const std::uint32_t depth : {1u, 32u, 256u}) {
        double best = 1e9, best_drive = 1e9;
        for (int round = 0; round < 5; ++round) {
            Workload workload;
            workload.depth = depth;
            workload.limit.operations = operations;
            CheapDrive drive(depth);
            VirtualLoop loop;
            VirtualOptions options;
            options.target_size = std::uint64_t{1} << 40;
            const double begin = cpu_seconds();
            if (!run_virtual(workload, drive, loop, options)) return 1;
            best = std::min(best, (cpu_seconds() - begin) * 1e9 / static_cast<double>(operations));
            best_drive = std::min(best_drive, drive_alone(depth, operations));
        }
        std::printf("depth %3u: %.1f ns an operation, of which the drive %.1f\n", depth, best, best_drive);
    }
    return 0;
}
