// Any bytes as commands to the meter: no frame makes it read or write beyond its own, a sound command gets exactly one reply
// that is a sound frame with its tag, and what is no command gets none and is counted. The input is a list of pieces, each two
// bytes of length and bytes; the checks of a piece that looks like a frame are made good first, or none would ever get further.
#include <cstdint>
#include <cstdlib>
#include <cstring>
#include <map>
#include <memory>
#include <vector>

#include "firmware/core/meter.hpp"
#include "firmware/protocol/frame.hpp"

namespace {

using namespace wattrig;
using protocol::Status;

void expect(bool condition) {
    if (!condition) std::abort();
}

// Every part that a board can have; the EEPROM is one of bytes whose page writes take a while.
struct Board {
    std::vector<std::uint8_t> eeprom = std::vector<std::uint8_t>(2 * protocol::storage_slot_bytes, 0xff);
    int busy = 0;
    bool entered_bootloader = false;
};
Board& board(void* context) { return *static_cast<Board*>(context); }

firmware::Port make_port(Board& b) {
    firmware::Port port;
    port.context = &b;
    port.self_test = [](void*, protocol::SelfTestReport& report) {
        report.done = protocol::self_test_adc_id;
        return Status::ok;
    };
    port.set_drive_power = [](void*, bool) { return Status::ok; };
    port.set_sync_out = [](void*, bool) { return Status::ok; };
    port.enter_bootloader = [](void* context) {
        board(context).entered_bootloader = true;
        return Status::ok;
    };
    port.storage_read = [](void* context, std::uint32_t address, std::span<std::uint8_t> bytes) {
        expect(address + bytes.size() <= board(context).eeprom.size());
        std::memcpy(bytes.data(), board(context).eeprom.data() + address, bytes.size());
        return true;
    };
    port.storage_write = [](void* context, std::uint32_t address, std::span<const std::uint8_t> bytes) {
        expect(!bytes.empty() && address + bytes.size() <= board(context).eeprom.size());
        expect(address / firmware::storage_page_bytes == (address + bytes.size() - 1) / firmware::storage_page_bytes);
        std::memcpy(board(context).eeprom.data() + address, bytes.data(), bytes.size());
        board(context).busy = 2;
        return Status::ok;
    };
    port.storage_ready = [](void* context) { return board(context).busy == 0 || --board(context).busy == 0; };
    return port;
}

}  // namespace

extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t* data, std::size_t size) {
    Board b;
    firmware::MeterConfig config{};
    config.info.boot_id = 3;
    config.info.rails = 2;
    config.info.has_power_switch = 1;
    const auto meter = std::make_unique<firmware::Meter>(config, make_port(b));
    std::uint64_t now_us = 1'000'000;
    std::uint32_t replies = 0, sound = 0;
    // Replies come in order except a storage job's: so each tag is counted.
    std::map<std::uint32_t, int> open_tags;
    std::vector<std::uint8_t> out;
    const auto drain = [&](int turns) {
        for (int turn = 0; turn < turns || meter->reply_pending(); ++turn) {
            meter->poll(now_us);
            out.resize(protocol::maximum_frame_bytes);
            const std::size_t bytes = meter->take_reply(now_us, out);
            now_us += 1100;  // more than any dither
            if (bytes == 0) continue;
            out.resize(bytes);
            expect(protocol::check_frame(out) == protocol::FrameCheck::ok);
            const auto header = protocol::load<protocol::CommandHeader>(out.data() + sizeof(protocol::FrameHeader));
            ++replies;
            expect(--open_tags[std::uint32_t{header.id} << 16 | header.tag] >= 0);
        }
    };
    while (size >= 2) {
        const std::size_t wanted = data[0] | std::size_t{data[1]} << 8;
        const std::size_t length = std::min(wanted, size - 2);
        std::vector<std::uint8_t> piece(data + 2, data + 2 + length);  // exact, for the sanitizer
        data += 2 + length;
        size -= 2 + length;
        bool good = false;
        int turns = 2;
        if (piece.size() >= sizeof(protocol::FrameHeader) + protocol::crc_bytes && (wanted & 0x8000) == 0) {
            auto header = protocol::load<protocol::FrameHeader>(piece.data());
            header.magic = protocol::frame_magic;
            header.payload_bytes =
                static_cast<std::uint16_t>(std::min<std::size_t>(header.payload_bytes, piece.size() - 20) & ~std::size_t{3});
            protocol::store(piece.data(), header);
            header.header_check = protocol::header_check_of(piece.data());
            protocol::store(piece.data(), header);
            const std::size_t checked = sizeof header + header.payload_bytes;
            protocol::store(piece.data() + checked, protocol::crc32c({piece.data(), checked}));
            good = protocol::check_frame(piece) == protocol::FrameCheck::ok && header.version == protocol::protocol_version &&
                   header.type == static_cast<std::uint8_t>(protocol::FrameType::command) && header.payload_bytes >= 8;
        }
        if (good) {
            const auto command = protocol::load<protocol::CommandHeader>(piece.data() + sizeof(protocol::FrameHeader));
            ++open_tags[std::uint32_t{command.id} << 16 | command.tag];
            ++sound;
            if (command.id == 7 || command.id == 8) turns = 2000;  // storage jobs take their time
        }
        meter->on_command(now_us, piece);
        meter->on_adc_sample(now_us, {{1000, 1000}, {-5, 5}, 0});
        now_us += 31;
        drain(turns);
        expect(replies == sound);
        while (!meter->front_frame().empty()) {
            expect(protocol::check_frame(meter->front_frame()) == protocol::FrameCheck::ok);
            meter->pop_frame();
        }
    }
    return 0;
}
