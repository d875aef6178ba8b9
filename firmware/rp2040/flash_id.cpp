#include "firmware/rp2040/flash_id.hpp"

#include <cstdint>

#include "firmware/rp2040/registers.hpp"

namespace wattrig::rp2040 {
namespace {

constexpr Register ssi_control0 = ssi;
constexpr Register ssi_enable = ssi + 0x08;
constexpr Register ssi_baud = ssi + 0x14;
constexpr Register ssi_status = ssi + 0x28;
constexpr Register ssi_data = ssi + 0x60;
constexpr std::uint32_t status_busy = 1u << 0;
constexpr std::uint32_t status_sent = 1u << 2;

// 4Bh, four bytes of nothing, then the number. All of it fits the FIFOs of 16, so the select line stays low throughout: at 1/64
// of the clock a byte takes 512 cycles, far longer than it takes to write the next.
constexpr std::uint32_t command = 0x4b;
constexpr std::uint32_t bytes_before = 5;
constexpr std::uint32_t id_bytes = 8;
constexpr std::uint32_t divider = 64;
constexpr std::uint32_t patience = 20'000;  // looks; the transfer is 7,000 cycles

}  // namespace

bool flash_id(std::array<char, 16>& digits) {
    ssi_enable.write(0);
    ssi_control0.write(7u << 16);  // frames of 8 bit, both directions, one line, select line low between frames
    ssi_baud.write(divider);
    ssi_enable.write(1);
    ssi_data.write(command);
    for (std::uint32_t n = 1; n < bytes_before + id_bytes; ++n) ssi_data.write(0);
    for (std::uint32_t looks = 0; looks < patience; ++looks) {
        if ((ssi_status.read() & (status_busy | status_sent)) == status_sent) break;
    }
    for (std::uint32_t n = 0; n < bytes_before; ++n) (void)ssi_data.read();
    constexpr char hexadecimal[] = "0123456789ABCDEF";
    bool differ = false;
    std::uint32_t first = 0;
    for (std::uint32_t n = 0; n < id_bytes; ++n) {
        const std::uint32_t byte = ssi_data.read() & 0xff;
        if (n == 0) first = byte;
        differ = differ || byte != first;
        digits[2 * n] = hexadecimal[byte >> 4];
        digits[2 * n + 1] = hexadecimal[byte & 15];
    }
    return differ;
}

}  // namespace wattrig::rp2040
