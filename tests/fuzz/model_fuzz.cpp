// Any text as the file of a drive model: a model or one sentence.

#include <cmath>
#include <cstdint>
#include <cstdlib>
#include <string>

#include "host/sim/drive_parameters.hpp"

extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t* data, std::size_t size) {
    using namespace wattrig;
    const auto model = sim::parse_model(std::string(reinterpret_cast<const char*>(data), size), "fuzz.json");
    if (!model) {
        const std::string message = model.error().message;
        if (message.empty() || message.find('\n') != std::string::npos) std::abort();
        return 0;
    }
    if (model->capacity_bytes == 0 || model->logical_block_bytes == 0) std::abort();
    return 0;
}
