// memmove for halfwords. The library's goes byte by byte unless both sides share their alignment to words, which the peak
// readings seldom do; they are copied 32,552 times a second. Compiled by itself, so that the compiler does not take the loops
// for what they implement.

#include <cstddef>
#include <cstdint>

extern "C" void* memmove(void* to, const void* from, std::size_t bytes) {
    auto target = reinterpret_cast<std::uintptr_t>(to);
    auto source = reinterpret_cast<std::uintptr_t>(from);
    if (target - source < bytes) {  // would overwrite what is still to be read: from the end, which is rare
        auto* const out = static_cast<std::uint8_t*>(to);
        const auto* const in = static_cast<const std::uint8_t*>(from);
        while (bytes-- > 0) out[bytes] = in[bytes];
        return to;
    }
    if (((target | source) & 1) == 0) {
        for (; bytes >= 8; bytes -= 8, target += 8, source += 8) {
            auto* const out = reinterpret_cast<std::uint16_t*>(target);
            const auto* const in = reinterpret_cast<const std::uint16_t*>(source);
            const std::uint16_t a = in[0], b = in[1], c = in[2], d = in[3];
            out[0] = a;
            out[1] = b;
            out[2] = c;
            out[3] = d;
        }
    }
    for (; bytes > 0; --bytes, ++target, ++source) {
        *reinterpret_cast<std::uint8_t*>(target) = *reinterpret_cast<const std::uint8_t*>(source);
    }
    return to;
}
