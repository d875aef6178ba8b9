// Any bytes as a suite: a plan or one sentence, never a crash, a hang or a plan that breaks its own promises.

#include <cstdint>
#include <cstdlib>
#include <set>
#include <string>

#include "host/suites/plan.hpp"

extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t* data, std::size_t size) {
    using namespace wattrig;
    const std::string text(reinterpret_cast<const char*>(data), size);
    suites::PlanRequest request;
    // The target and the override follow from the input, so that one corpus reaches every path.
    const std::uint8_t choice = size > 0 ? data[size - 1] : 0;
    request.target_size = (choice & 1) != 0 ? std::uint64_t{1} << 32 : 0;
    request.logical_block = (choice & 2) != 0 ? 4096 : 512;
    request.scale = (choice & 4) != 0 ? 0.01 : 1;
    if ((choice & 8) != 0) request.overrides = {{"depth", "1,4"}, {"rw", "randrw"}, {"size", "1g"}};
    const auto plan = suites::make_plan_from_text(text, "fuzz.json", request);
    if (!plan) {
        const Error error = plan.error();
        if (error.message.empty() || error.message.find('\n') != std::string::npos) std::abort();
        return 0;
    }
    if (plan->steps.empty() || plan->steps.size() > 10'000) std::abort();
    std::set<std::string> labels;
    for (const auto& step : plan->steps) {
        if (!labels.insert(step.label).second) std::abort();
        (void)suites::expected_time(step);
        (void)suites::expected_bytes_written(step, request.target_size);
        const bool runs = step.condition_note.empty() && step.kind == suites::StepKind::io;
        if (runs && request.target_size > 0 && !io::check(step.workload, request.target_size, request.logical_block))
            std::abort();
    }
    return 0;
}
