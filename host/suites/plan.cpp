#include "host/suites/plan.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <cerrno>
#include <cmath>
#include <filesystem>
#include <fstream>

#include "host/suites/document.hpp"
#include "host/suites/embedded.hpp"
#include "host/suites/overrides.hpp"
#include "host/suites/planner.hpp"
#include "host/suites/text.hpp"

namespace wattrig::suites {
namespace {

// What a drive is taken to write where only it decides: the order of magnitude of its endurance is what matters.
constexpr double assumed_write_rate = 1e9;  // bytes a second

Result<std::string> read_file(const std::string& path) {
    std::error_code error;
    if (std::filesystem::is_directory(path, error))
        return bad_input(fmt::format("{}: is a directory, expected the JSON file of a suite", path));
    const auto size = std::filesystem::file_size(path, error);
    if (!error && size > (4u << 20))
        return bad_input(fmt::format("{}: expected a suite of at most 1 MiB, came {} bytes", path, size));
    std::ifstream in(path, std::ios::binary);
    if (!in) return system_error(fmt::format("{}: the suite cannot be opened", path), errno);
    // One byte more than is allowed, so that a pipe or a growing file is refused and not read for ever.
    std::string text((1u << 20) + 1, '\0');
    in.read(text.data(), static_cast<std::streamsize>(text.size()));
    if (in.bad()) return system_error(fmt::format("{}: the suite cannot be read", path), errno);
    text.resize(static_cast<std::size_t>(in.gcount()));
    return text;
}

std::vector<std::string> suite_names() {
    std::vector<std::string> names;
    for (const auto& suite : embedded_suites()) names.emplace_back(suite.name);
    return names;
}

bool looks_like_path(const std::string& text) { return text.find('/') != std::string::npos || text.ends_with(".json"); }

}  // namespace

std::vector<SuiteSummary> list_suites() {
    std::vector<SuiteSummary> list;
    for (const auto& suite : embedded_suites()) {
        const auto plan = make_plan_from_text(std::string(suite.json), std::string(suite.name), {});
        if (plan) list.push_back({plan->suite, plan->title, plan->writes});
    }
    return list;
}

Result<Plan> make_plan(const PlanRequest& request) {
    if (request.suite.empty())
        return bad_input("no suite given: expected a name of `wattrig list suites`, or the path of a suite's JSON file");
    for (const auto& suite : embedded_suites())
        if (suite.name == request.suite) return make_plan_from_text(std::string(suite.json), request.suite, request);
    std::error_code error;
    if (!looks_like_path(request.suite) && !std::filesystem::is_regular_file(request.suite, error)) {
        const auto names = suite_names();
        const auto near = nearest_word(request.suite, names);
        return bad_input(
            fmt::format("unknown suite {}; {}", quoted_text(request.suite),
                        near ? fmt::format("was \"{}\" meant?", *near) : fmt::format("known: {}", fmt::join(names, ", "))));
    }
    auto text = read_file(request.suite);
    if (!text) return text.error();
    return make_plan_from_text(*text, request.suite, request);
}

Result<Plan> make_plan_from_text(const std::string& json_text, const std::string& file_name, const PlanRequest& request) {
    if (!(request.scale > 0 && request.scale <= 1))
        return bad_input(fmt::format("--scale: expected a number above 0 and up to 1, came {}", request.scale));
    const auto block = request.logical_block;
    if (block < 512 || block > (1u << 20) || (block & (block - 1)) != 0)
        return bad_input(fmt::format("the target's logical block must be a power of two from 512, came {}", block));
    Diagnosis diagnosis;
    const auto refused = [&] {
        return bad_input(fmt::format("{}: {}", file_name.empty() ? "suite" : file_name, diagnosis.message()));
    };
    auto document = read_document(json_text, diagnosis);
    if (!document) return refused();
    apply_overrides(*document, request.overrides, diagnosis);
    if (!diagnosis.ok()) return refused();
    const Surroundings surroundings{request.target_size, request.logical_block, request.scale};
    Plan plan = expand(*document, surroundings, !request.overrides.empty(), request.all_rounds, diagnosis);
    if (!diagnosis.ok()) return refused();
    for (const auto& [key, value] : request.overrides)
        plan.notes.push_back(fmt::format("changed by the user: {}={}", key, value));
    plan.resolved_json = resolved_json(plan, *document, request.overrides);
    return plan;
}

const char* steady_figure_name(SteadyFigure figure) {
    switch (figure) {
        case SteadyFigure::iops: return "iops";
        case SteadyFigure::megabytes_per_second: return "megabytes_per_second";
        case SteadyFigure::latency: return "latency_mean";
    }
    return "";
}

std::optional<Nanoseconds> expected_time(const Step& step) {
    if (!step.condition_note.empty()) return Nanoseconds(0);
    switch (step.kind) {
        case StepKind::idle:
        case StepKind::cool_off: return step.duration;
        case StepKind::io: break;
        case StepKind::fill:
        case StepKind::purge:
        case StepKind::command:
        case StepKind::unsupported: return std::nullopt;
    }
    const io::Workload& workload = step.workload;
    std::optional<double> seconds;
    const auto at_most = [&](double time) { seconds = seconds ? std::min(*seconds, time) : time; };
    if (workload.limit.time) at_most(to_seconds(*workload.limit.time));
    if (workload.rate) {
        double block = 0;
        for (const auto& share : workload.block_sizes) block += share.bytes * share.percent / 100;
        const double bytes_per_second = workload.rate->bytes_per_second > 0 ? workload.rate->bytes_per_second
                                                                            : workload.rate->operations_per_second * block;
        if (workload.limit.bytes && bytes_per_second > 0)
            at_most(static_cast<double>(*workload.limit.bytes) / bytes_per_second);
        if (workload.limit.operations && bytes_per_second > 0 && block > 0)
            at_most(static_cast<double>(*workload.limit.operations) * block / bytes_per_second);
    }
    // Above 366 days a fixed rate is only slow: no figure that helps anybody.
    if (!seconds || *seconds > 366 * 86'400.0) return std::nullopt;
    return from_seconds(*seconds) + workload.ramp;
}

std::uint64_t expected_bytes_written(const Step& step, std::uint64_t target_size) {
    if (!step.condition_note.empty()) return 0;
    if (step.kind == StepKind::purge) return 0;  // discards
    if (step.kind != StepKind::io && step.kind != StepKind::fill) return 0;
    const io::Workload& workload = step.workload;
    if (workload.discard || workload.read_percent >= 100) return 0;
    const double share = 1 - workload.read_percent / 100;
    double bytes = HUGE_VAL;
    if (workload.limit.bytes) bytes = static_cast<double>(*workload.limit.bytes);
    if (workload.limit.operations)
        bytes = std::min(bytes, static_cast<double>(*workload.limit.operations) * workload.largest_block());
    if (workload.limit.time) {
        double rate = assumed_write_rate;
        if (workload.rate)
            rate = workload.rate->bytes_per_second > 0 ? workload.rate->bytes_per_second
                                                       : workload.rate->operations_per_second * workload.largest_block();
        bytes = std::min(bytes, rate * to_seconds(*workload.limit.time + workload.ramp));
    }
    if (step.kind == StepKind::fill && workload.span == 0 && target_size > 0)
        bytes = std::min(bytes, static_cast<double>(target_size - std::min(target_size, workload.offset)));
    return static_cast<std::uint64_t>(std::min(bytes * share, 1e18));
}

}  // namespace wattrig::suites
