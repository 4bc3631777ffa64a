/* Sets the clocks of a program while it runs. Preloaded (LD_PRELOAD); Linux.
 *
 *   CLOCK_SHIM  a file with two numbers, read anew at each call: the seconds by which CLOCK_REALTIME is ahead, and those
 *               by which CLOCK_BOOTTIME is. "3600 0" is a wall clock set ahead, "3600 3600" a machine that has slept.
 */
#define _GNU_SOURCE
#include <fcntl.h>
#include <stdlib.h>
#include <sys/syscall.h>
#include <sys/time.h>
#include <time.h>
#include <unistd.h>

static long ahead(int which) {
    const char *path = getenv("CLOCK_SHIM");
    char text[64], *second;
    int file = path ? open(path, O_RDONLY | O_CLOEXEC) : -1;
    ssize_t length = file < 0 ? 0 : read(file, text, sizeof text - 1);
    long wall;
    if (file >= 0) close(file);
    if (length <= 0) return 0;
    text[length] = 0;
    wall = strtol(text, &second, 10);
    return which ? strtol(second, NULL, 10) : wall;
}

int clock_gettime(clockid_t clock, struct timespec *at) {
    long result = syscall(SYS_clock_gettime, clock, at);
    if (result == 0 && clock == CLOCK_REALTIME) at->tv_sec += ahead(0);
    if (result == 0 && clock == CLOCK_BOOTTIME) at->tv_sec += ahead(1);
    return (int)result;
}
