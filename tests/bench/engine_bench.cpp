// One phase of random reads with our engine, as JSON on stdout; fio_parity.py runs it beside fio.
//   engine_bench PATH key=value ...     depth, block, cpu (-1 = not pinned), ms, operations, size (0 = of the file),
//                                       batching=natural|throughput|strict, batch, direct=0|1
// Figures: cpu_thread_ns is the io thread's alone, cpu_process_ns all of the process (kernel threads that finish its
// operations included where they are its own, as on tmpfs), both per operation; latencies in ns.

#include <fcntl.h>
#include <fmt/format.h>
#include <linux/fs.h>
#include <sys/ioctl.h>
#include <sys/resource.h>
#include <sys/stat.h>
#include <unistd.h>

#include <cstdio>
#include <cstdlib>
#include <cstring>
#include <map>
#include <string>

#include "host/io/engine.hpp"
#include "host/io/uring_backend.hpp"

using namespace wattrig;
using namespace wattrig::io;

namespace {

double process_cpu_seconds() {
    rusage usage{};
    getrusage(RUSAGE_SELF, &usage);
    const auto seconds = [](const timeval& t) { return static_cast<double>(t.tv_sec) + static_cast<double>(t.tv_usec) * 1e-6; };
    return seconds(usage.ru_utime) + seconds(usage.ru_stime);
}

std::uint64_t size_of(int fd) {
    struct stat status{};
    if (fstat(fd, &status) != 0) return 0;
    std::uint64_t size = static_cast<std::uint64_t>(status.st_size);
    if (S_ISBLK(status.st_mode) && ioctl(fd, BLKGETSIZE64, &size) != 0) return 0;
    return size;
}

int fail(const std::string& message) {
    std::fprintf(stderr, "engine_bench: %s\n", message.c_str());
    return 1;
}

}  // namespace

int main(int argc, char** argv) {
    if (argc < 2) return fail("expected a path");
    std::map<std::string, std::string> given;
    for (int i = 2; i < argc; ++i) {
        const char* equal = std::strchr(argv[i], '=');
        if (equal == nullptr) return fail(std::string("expected key=value, got ") + argv[i]);
        given[std::string(argv[i], static_cast<std::size_t>(equal - argv[i]))] = equal + 1;
    }
    const auto number = [&](const char* key, long long otherwise) {
        return given.contains(key) ? std::strtoll(given[key].c_str(), nullptr, 0) : otherwise;
    };
    const bool direct = number("direct", 1) != 0;
    const int fd = open(argv[1], O_RDONLY | O_CLOEXEC | (direct ? O_DIRECT : 0));
    if (fd < 0) return fail(std::string(argv[1]) + ": " + std::strerror(errno));

    Workload workload;
    workload.depth = static_cast<std::uint32_t>(number("depth", 1));
    workload.block_sizes = {{static_cast<std::uint32_t>(number("block", 4096)), 100}};
    if (given.contains("ms")) workload.limit.time = std::chrono::milliseconds(number("ms", 0));
    if (given.contains("operations")) workload.limit.operations = static_cast<std::uint64_t>(number("operations", 0));
    if (!workload.limit.time && !workload.limit.operations) workload.limit.time = std::chrono::milliseconds(500);
    const std::string batching = given.contains("batching") ? given["batching"] : "natural";
    workload.batching = batching == "strict"       ? Batching::strict
                        : batching == "throughput" ? Batching::throughput
                                                   : Batching::natural;
    workload.batch = static_cast<std::uint32_t>(number("batch", 0));
    workload.seed = static_cast<std::uint64_t>(number("seed", 1));

    ThreadedOptions options;
    options.target_size = static_cast<std::uint64_t>(number("size", 0));
    if (options.target_size == 0) options.target_size = size_of(fd);
    options.descriptor = fd;
    if (number("cpu", -1) >= 0) options.cpus = {static_cast<int>(number("cpu", -1))};
    options.make_backend = [&](std::uint32_t, std::span<std::byte> buffers) {
        return make_uring_backend(fd, buffers, workload.depth, {.direct = direct});
    };
    const double before = process_cpu_seconds();
    const auto outcome = run_threaded(workload, options);
    const double process = process_cpu_seconds() - before;
    if (!outcome) return fail(outcome.error().message);
    const KindOutcome total = outcome->total();
    if (total.errors != 0 || total.operations == 0) return fail("operations failed");
    const double n = static_cast<double>(total.operations), seconds = to_seconds(outcome->measured());
    fmt::print(
        "{{\"operations\": {}, \"iops\": {:.0f}, \"cpu_thread_ns\": {:.1f}, \"cpu_process_ns\": {:.1f}, \"latency_mean_ns\": "
        "{:.0f}, "
        "\"latency_p50_ns\": {}, \"latency_p99_ns\": {}, \"depth\": {:.2f}, \"device_depth\": {:.2f}, \"engine\": \"{}\"}}\n",
        total.operations, n / seconds, outcome->cpu_seconds * 1e9 / n, process * 1e9 / n,
        static_cast<double>(total.latency_sum) / n, total.latency.percentile(50), total.latency.percentile(99),
        outcome->mean_depth, outcome->device_mean_depth, outcome->engine);
    close(fd);
    return 0;
}
