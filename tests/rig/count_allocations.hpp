#pragma once
// Linked into a test program, counts each thread's calls of operator new. Not with sanitizers, whose own operators stay in
// force.

#include <cstdint>

namespace wattrig::test {

#if defined(__SANITIZE_ADDRESS__) || defined(__SANITIZE_THREAD__)
inline constexpr bool counts_allocations = false;
#else
inline constexpr bool counts_allocations = true;
#endif
extern thread_local std::uint64_t allocations;

}  // namespace wattrig::test
