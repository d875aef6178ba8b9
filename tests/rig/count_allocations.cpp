#include "tests/rig/count_allocations.hpp"

#include <cstdlib>
#include <new>

namespace wattrig::test {
thread_local std::uint64_t allocations = 0;
}

#if !defined(__SANITIZE_ADDRESS__) && !defined(__SANITIZE_THREAD__)
void* operator new(std::size_t size) {
    ++wattrig::test::allocations;
    if (void* at = std::malloc(size)) return at;
    throw std::bad_alloc();
}
void operator delete(void* at) noexcept { std::free(at); }
void operator delete(void* at, std::size_t) noexcept { std::free(at); }
#endif
