#include "host/runner/urgency.hpp"

#include <pthread.h>
#include <sched.h>
#include <sys/mman.h>
#include <sys/resource.h>
#include <unistd.h>

namespace wattrig::runner {

bool make_thread_urgent() {
    // Below interrupt threads (50) and whatever else a real-time kernel lives of.
    constexpr int priority = 10;
    const sched_param wanted{priority};
    // Reset on fork: a thread that the engine starts later is an ordinary one.
    if (::pthread_setschedparam(::pthread_self(), SCHED_FIFO | SCHED_RESET_ON_FORK, &wanted) == 0) return true;
    return ::setpriority(PRIO_PROCESS, static_cast<id_t>(::gettid()), -11) == 0;
}

// All of the address space at once would make every reserved page real; only what is used has to stay.
MemoryLock::MemoryLock() : held_(::mlockall(MCL_CURRENT | MCL_FUTURE | MCL_ONFAULT) == 0) {}
MemoryLock::~MemoryLock() {
    if (held_) ::munlockall();
}

}  // namespace wattrig::runner
