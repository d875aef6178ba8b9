/* Marks in a recording, from any C or C++ program that `wattrig record` started:
 *
 *     wattrig_mark("begin load");
 *     ...
 *     wattrig_mark("end load");
 *
 * A pair of "begin NAME" and "end NAME" becomes a phase with figures of its own; any other text is a mark. The time is taken here, so a
 * busy machine does not shift it. Nothing happens, and -1 is returned, when no recording runs. Any thread. One header, no library.
 *
 * On the wire: one datagram to the Unix socket that WATTRIG_MARK_SOCKET names, "wattrig-mark 1 NS TEXT", NS = CLOCK_MONOTONIC_RAW. */
#ifndef WATTRIG_MARK_H
#define WATTRIG_MARK_H

#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/socket.h>
#include <sys/un.h>
#include <time.h>
#include <unistd.h>

static inline int wattrig_mark(const char* text) {
    struct timespec now;
    struct sockaddr_un address;
    char message[400];
    const char* path = getenv("WATTRIG_MARK_SOCKET");
    int size, file, sent;
    clock_gettime(CLOCK_MONOTONIC_RAW, &now);
    if (!path || strlen(path) >= sizeof address.sun_path) return -1;
    size = snprintf(message, sizeof message, "wattrig-mark 1 %lld %s", (long long)now.tv_sec * 1000000000LL + now.tv_nsec, text);
    if (size < 0) return -1;
    if ((size_t)size >= sizeof message) size = (int)sizeof message - 1;
    file = socket(AF_UNIX, SOCK_DGRAM, 0);
    if (file < 0) return -1;
    memset(&address, 0, sizeof address);
    address.sun_family = AF_UNIX;
    strcpy(address.sun_path, path);
    sent = sendto(file, message, (size_t)size, 0, (const struct sockaddr*)&address, sizeof address) == size ? 0 : -1;
    close(file);
    return sent;
}

#endif
