#pragma once
// What the host lets the capture have, so that a busy machine costs no sample. Neither is needed on an idle one.

namespace wattrig::runner {

// Puts the calling thread before all ordinary ones: SCHED_FIFO 10, below the kernel's own threads, or a nice value of -11 where
// only that is allowed. False when the system allows neither (RLIMIT_RTPRIO, RLIMIT_NICE, CAP_SYS_NICE).
bool make_thread_urgent();

// While it lives, what the process touches stays in memory (mlockall, as pages are touched). Any thread; one at a time.
class MemoryLock {
  public:
    MemoryLock();
    ~MemoryLock();
    MemoryLock(const MemoryLock&) = delete;
    MemoryLock& operator=(const MemoryLock&) = delete;
    [[nodiscard]] bool held() const { return held_; }  // false when the system does not allow it (RLIMIT_MEMLOCK, CAP_IPC_LOCK)

  private:
    bool held_;
};

}  // namespace wattrig::runner
