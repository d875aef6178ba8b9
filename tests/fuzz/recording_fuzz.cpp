// A recording from elsewhere: read, summed up, its clock fitted, and nothing of it believed that contradicts itself.
#include <cstdint>
#include <cstdlib>
#include <map>
#include <vector>

#include "firmware/protocol/frame.hpp"
#include "host/recording/recording.hpp"
#include "host/recording/summary.hpp"
#include "host/rig/clock_sync.hpp"

namespace {

using namespace wattrig;

void expect(bool condition) {
    if (!condition) std::abort();
}

struct Visitor final : recording::RecordingVisitor {
    void on_block_at(const rig::BlockView& block, std::uint64_t offset) override {
        builder.add(block, offset);
        builder.frames().clear();
    }
    void on_exchange(const rig::Exchange& exchange) override {
        if (exchanges.size() < 30) exchanges.push_back(exchange);
        sync.add(exchange);
        sync.publish(exchange.d3);
    }
    void on_knot(const rig::ClockKnot& knot, std::uint32_t boot_id) override {
        const auto at = maps.try_emplace(boot_id, std::vector<rig::ClockKnot>{}, boot_id, "file").first;
        // The reader promises order among the knots that follow each other; of two boots in turn it cannot.
        const auto& known = at->second.knots();
        if (!known.empty() && (knot.device <= known.back().device || knot.host <= known.back().host)) return;
        at->second.append(knot);
        (void)at->second.to_device(at->second.to_host(knot.device));
        expect(at->second.half_width(knot.host) >= Nanoseconds(0));
    }
    recording::SummaryBuilder builder;
    rig::ClockSync sync;
    std::vector<rig::Exchange> exchanges;
    std::map<std::uint32_t, rig::ClockMap> maps;
};

}  // namespace

// Checks are made good first, or no mutated record would ever get past them.
extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t* data, std::size_t size) {
    std::vector<std::uint8_t> bytes(data, data + size);
    for (std::size_t at = 0; at + sizeof(protocol::FrameHeader) + 4 <= bytes.size();) {
        auto header = protocol::load<protocol::FrameHeader>(bytes.data() + at);
        const std::size_t frame = protocol::frame_bytes(header.payload_bytes);
        if (header.magic != protocol::frame_magic || frame > bytes.size() - at) {
            ++at;
            continue;
        }
        header.version = protocol::protocol_version;
        protocol::store(bytes.data() + at, header);
        header.header_check = protocol::header_check_of(bytes.data() + at);
        protocol::store(bytes.data() + at, header);
        protocol::store(bytes.data() + at + frame - 4, protocol::crc32c({bytes.data() + at, frame - 4}));
        at += frame;
    }
    Visitor visitor;
    const auto report = recording::read_recording(bytes, "fuzz", visitor);
    if (!report) {
        expect(!report.error().message.empty());
        return 0;
    }
    visitor.builder.finish(bytes.size());
    const rig::ClockMap map = rig::refit_two_sided(visitor.exchanges);
    for (std::size_t k = 1; k < map.knots().size(); ++k) expect(map.knots()[k].host > map.knots()[k - 1].host);
    return 0;
}
