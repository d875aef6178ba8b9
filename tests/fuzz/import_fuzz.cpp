// Any bytes as another instrument's table, or as a mapping for one: rows or one sentence. Input: a byte that chooses the
// format, then the file; a mapping comes before the file, up to a zero byte.

#include <fcntl.h>
#include <sys/mman.h>
#include <unistd.h>

#include <cmath>
#include <cstdint>
#include <cstdlib>
#include <string>

#include "host/exchange/import_table.hpp"

namespace {

void expect_sentence(const wattrig::Error& error) {
    if (error.message.empty() || error.message.find('\n') != std::string::npos) std::abort();
}

}  // namespace

extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t* data, std::size_t size) {
    using namespace wattrig;
    if (size < 1) return 0;
    static const int file = ::memfd_create("fuzz", 0);
    const auto& formats = exchange::import_formats();
    const std::size_t choice = data[0] % (formats.size() + 1);
    std::string text(data + 1, data + size);
    std::optional<exchange::ImportMapping> mapping;
    if (choice == formats.size()) {
        const std::size_t end = text.find('\0');
        auto read = exchange::parse_mapping(text.substr(0, end), "map.json");
        if (!read) {
            expect_sentence(read.error());
            return 0;
        }
        mapping = *read;
        text = end == std::string::npos ? "" : text.substr(end + 1);
    }
    if (::ftruncate(file, 0) != 0 || ::pwrite(file, text.data(), text.size(), 0) != static_cast<ssize_t>(text.size()))
        std::abort();
    const auto done = exchange::read_table("/proc/self/fd/" + std::to_string(file), mapping ? "csv" : formats[choice], mapping,
                                           [](const exchange::ImportRow& row) -> Result<void> {
                                               for (const double value : {row.volts, row.amperes, row.watts})
                                                   if (std::isinf(value)) std::abort();
                                               return {};
                                           });
    if (!done) expect_sentence(done.error());
    return 0;
}
