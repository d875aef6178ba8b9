// Loaded before the C library (LD_PRELOAD) to give the program a bad day that this machine would not: see faults_test.py.
//
//   FAULT_STALL_FILE=NAME   writes to a file of this name sometimes take FAULT_STALL_MS (two numbers: shortest, longest);
//                           every FAULT_STALL_EVERY-th write or sync of it does
//   FAULT_STEP_SECONDS=S    CLOCK_REALTIME is stepped by S seconds FAULT_STEP_AFTER_MS after the program began
#define _GNU_SOURCE
#include <dlfcn.h>
#include <limits.h>
#include <stdatomic.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/syscall.h>
#include <sys/time.h>
#include <time.h>
#include <unistd.h>

static int is_the_file(int fd) {
    const char* name = getenv("FAULT_STALL_FILE");
    char link[64], path[PATH_MAX];
    if (!name) return 0;
    snprintf(link, sizeof link, "/proc/self/fd/%d", fd);
    const ssize_t size = readlink(link, path, sizeof path - 1);
    if (size <= 0) return 0;
    path[size] = 0;
    const char* last = strrchr(path, '/');
    return last && strcmp(last + 1, name) == 0;
}

static void stall(int fd) {
    static atomic_uint count;
    if (!is_the_file(fd)) return;
    const char* every = getenv("FAULT_STALL_EVERY");
    const char* range = getenv("FAULT_STALL_MS");
    const unsigned number = atomic_fetch_add(&count, 1) + 1;
    int shortest = 200, longest = 200;
    if (range) sscanf(range, "%d %d", &shortest, &longest);
    if (every && number % (unsigned)atoi(every) != 0) return;
    const long ms = shortest + (long)(number * 2654435761u % (unsigned)(longest - shortest + 1));
    const struct timespec wait = {ms / 1000, ms % 1000 * 1000000};
    nanosleep(&wait, NULL);
}

ssize_t write(int fd, const void* data, size_t size) {
    stall(fd);
    return syscall(SYS_write, fd, data, size);
}
ssize_t pwrite(int fd, const void* data, size_t size, off_t at) {
    stall(fd);
    return syscall(SYS_pwrite64, fd, data, size, at);
}
ssize_t pwrite64(int fd, const void* data, size_t size, off64_t at) {
    stall(fd);
    return syscall(SYS_pwrite64, fd, data, size, at);
}
int fdatasync(int fd) {
    stall(fd);
    return (int)syscall(SYS_fdatasync, fd);
}

static long step_now(void) {
    static atomic_long begin_ms;
    const char* step = getenv("FAULT_STEP_SECONDS");
    const char* after = getenv("FAULT_STEP_AFTER_MS");
    if (!step || !after) return 0;
    struct timespec now;
    syscall(SYS_clock_gettime, CLOCK_MONOTONIC, &now);
    const long now_ms = now.tv_sec * 1000 + now.tv_nsec / 1000000;
    long none = 0;
    atomic_compare_exchange_strong(&begin_ms, &none, now_ms);
    return now_ms - atomic_load(&begin_ms) >= atol(after) ? atol(step) : 0;
}
__attribute__((constructor)) static void begin(void) { step_now(); }

int clock_gettime(clockid_t clock, struct timespec* now) {
    const int result = (int)syscall(SYS_clock_gettime, clock, now);
    if (result == 0 && clock == CLOCK_REALTIME) now->tv_sec += step_now();
    return result;
}
int gettimeofday(struct timeval* now, void* zone) {
    const int result = (int)syscall(SYS_gettimeofday, now, zone);
    if (result == 0 && now) now->tv_sec += step_now();
    return result;
}
time_t time(time_t* out) {
    struct timespec now;
    clock_gettime(CLOCK_REALTIME, &now);
    if (out) *out = now.tv_sec;
    return now.tv_sec;
}
