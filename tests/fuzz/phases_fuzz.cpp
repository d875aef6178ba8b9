// phases.jsonl and io.bin from elsewhere. Input: a byte (even: text, odd: a record), then the file. What can be read is written
// and read once more and must come back the same.
#include <cstdint>
#include <cstdlib>
#include <memory>
#include <string>

#include "firmware/protocol/frame.hpp"
#include "host/recording/io_file.hpp"
#include "host/recording/phase_json.hpp"

namespace {

using namespace wattrig;

void expect(bool condition) {
    if (!condition) std::abort();
}

void lines(const std::string& text) {
    const auto phases = recording::parse_phases(text, "fuzz");
    if (!phases) {
        expect(!phases.error().message.empty());
        return;
    }
    for (std::size_t k = 0; k < phases->records.size(); ++k) {
        const recording::PhaseRecord& phase = phases->records[k];
        const std::string begin = recording::phase_begin_line(phase);
        const std::string end = recording::phase_end_line(phase, phases->places[k]);
        const auto again = recording::parse_phases(begin + "\n" + (phase.complete ? end + "\n" : ""), "again");
        expect(again.has_value() && again->records.size() == 1);
        expect(recording::phase_end_line(again->records[0], again->places[0]) == end || !phase.complete);
    }
}

void record(std::vector<std::uint8_t> bytes) {
    constexpr std::size_t header = 40;
    if (bytes.size() >= header) {  // checks made good, so that the contents are looked at
        protocol::store(bytes.data() + 20, protocol::crc32c({bytes.data() + header, bytes.size() - header}));
        protocol::store(bytes.data() + 24, std::uint64_t{bytes.size() - header});
        protocol::store(bytes.data() + 36, protocol::crc32c({bytes.data(), 36}));
    }
    auto outcome = std::make_unique<io::PhaseOutcome>();
    if (!recording::decode_io_record(bytes, 3, *outcome)) return;
    const auto encoded = recording::encode_io_record(3, *outcome);
    auto again = std::make_unique<io::PhaseOutcome>();
    expect(recording::decode_io_record(encoded, 3, *again).has_value());
    expect(recording::encode_io_record(3, *again) == encoded);
}

}  // namespace

extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t* data, std::size_t size) {
    if (size < 1) return 0;
    if (data[0] % 2 == 0) {
        lines(std::string(data + 1, data + size));
    } else {
        record({data + 1, data + size});
    }
    return 0;
}
