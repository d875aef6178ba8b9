#include "tests/sim/capture.hpp"

#include <cstring>

namespace wattrig::sim {

namespace {
rig::SessionOptions session_options(std::uint64_t seed, protocol::Detail detail) {
    rig::SessionOptions options;
    options.seed = seed;
    options.detail = detail;
    return options;
}
}  // namespace

Capture::Capture(rig::Link& link, std::uint64_t seed, protocol::Detail detail)
    : link_(link), session_(link, *this, session_options(seed, detail)) {
    link_.attach(session_);
}

bool Capture::start(io::VirtualLoop& loop) {
    link_.poll(loop.now());
    session_.start(loop.now());
    loop.add(*this);
    for (int k = 0; k < 200 && !session_.state().clock_ready; ++k) loop.advance_to(loop.now() + Nanoseconds(50'000'000));
    return session_.state().clock_ready && session_.state().streaming;
}

void Capture::on_frame(const rig::Frame&, HostTime) {}

void Capture::on_block(const rig::BlockView& block, HostTime arrival) {
    if (!keep_blocks) return;
    KeptBlock kept{block.header, block.rails[0], block.slow, block.peak, {}, {}, arrival};
    if (keep_codes && block.has_codes()) {
        for (std::size_t k = 0; k < block.header.count; ++k) {
            kept.v.push_back(block.v_code(0, k));
            kept.i.push_back(block.i_code(0, k));
        }
    }
    blocks.push_back(std::move(kept));
}

std::vector<power::IntervalPower> Capture::energies(const power::Calibration& calibration,
                                                    std::vector<io::Interval> intervals) const {
    power::EnergyPass pass(calibration, session_.clock(), std::move(intervals));
    std::vector<std::uint8_t> bytes;
    for (const KeptBlock& kept : blocks) {
        rig::BlockView view;
        view.header = kept.header;
        view.rails[0] = kept.rail;
        view.slow = kept.slow;
        view.peak = kept.peak;
        bytes.clear();
        for (const auto* codes : {&kept.v, &kept.i})
            for (const std::int32_t code : *codes)
                for (int shift = 0; shift < 24; shift += 8) bytes.push_back(static_cast<std::uint8_t>(code >> shift));
        std::vector<std::uint8_t> sideband(kept.v.size(), kept.header.sideband_high);
        if (!kept.v.empty()) {
            view.v_codes[0] = bytes.data();
            view.i_codes[0] = bytes.data() + 3 * kept.v.size();
            view.sideband = sideband.data();
        }
        pass.add(view);
    }
    return pass.finish();
}

}  // namespace wattrig::sim
