#pragma once
// Whoever listens beyond loopback asks for a token. Any thread.

#include <string_view>

namespace wattrig::rig {

inline constexpr std::size_t shortest_token = 16;

// Takes as long for a wrong token as for the right one.
inline bool same_token(std::string_view given, std::string_view wanted) {
    unsigned different = given.size() == wanted.size() ? 0 : 1;
    for (std::size_t k = 0; k < given.size(); ++k)
        different |= static_cast<unsigned>(static_cast<unsigned char>(given[k]) ^
                                           static_cast<unsigned char>(wanted.empty() ? 0 : wanted[k % wanted.size()]));
    return different == 0;
}

}  // namespace wattrig::rig
