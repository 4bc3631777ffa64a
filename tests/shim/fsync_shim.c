/* Delays, fails and records what a program asks of the disk. Preloaded (LD_PRELOAD); Linux with glibc.
 *
 *   FSYNC_SHIM_LOG    a file; each call appends "SECONDS PID CALL RESULT PATH" to it, after it returned (exec: before)
 *   FSYNC_SHIM_RULES  a file, read anew at each call, so that a test can change it while the program runs; a line is
 *
 *       delay MILLISECONDS CALLS PATTERN [FIRST [LAST]]
 *       fail  ERRNO        CALLS PATTERN [FIRST [LAST]]
 *
 * CALLS are names joined by commas, or "*": fsync (also fdatasync), rename, link, unlink, write, exec. PATTERN is
 * fnmatch(3)'s, for the whole path. FIRST and LAST count, from 1, the calls of one process that a line is for; without
 * them it is for all. The first line that is for a call decides. write is looked at for rules, and never recorded.
 */
#define _GNU_SOURCE
#include <dlfcn.h>
#include <errno.h>
#include <fcntl.h>
#include <fnmatch.h>
#include <limits.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/syscall.h>
#include <time.h>
#include <unistd.h>

#define MOST_RULES 64

static long counts[MOST_RULES];
static __thread int inside;

static double now(void) {
    struct timespec at;
    clock_gettime(CLOCK_MONOTONIC, &at);
    return at.tv_sec + at.tv_nsec / 1e9;
}

static void record(const char *call, long result, int error, const char *path) {
    const char *log = getenv("FSYNC_SHIM_LOG");
    char line[PATH_MAX + 128];
    if (!log) return;
    int length = snprintf(line, sizeof line, "%.6f %d %s %s%d %s\n", now(), getpid(), call, result < 0 ? "-" : "",
                          result < 0 ? error : 0, path);
    int file = syscall(SYS_openat, AT_FDCWD, log, O_WRONLY | O_CREAT | O_APPEND | O_CLOEXEC, 0666);
    if (file < 0) return;
    if (length > (int)sizeof line) length = sizeof line;
    syscall(SYS_write, file, line, length);
    syscall(SYS_close, file);
}

static int concerns(const char *calls, const char *call) {
    size_t length = strlen(call);
    if (!strcmp(calls, "*")) return 1;
    for (const char *at = calls; *at; at += strcspn(at, ","), at += *at == ',')
        if (!strncmp(at, call, length) && (at[length] == ',' || !at[length])) return 1;
    return 0;
}

/* Waits, or returns the errno with which a call is to fail; 0 lets it pass. */
static int verdict(const char *call, const char *path) {
    const char *name = getenv("FSYNC_SHIM_RULES");
    char text[8192];
    int number = 0;
    if (!name || inside) return 0;
    int file = syscall(SYS_openat, AT_FDCWD, name, O_RDONLY | O_CLOEXEC);
    if (file < 0) return 0;
    long size = syscall(SYS_read, file, text, sizeof text - 1);
    syscall(SYS_close, file);
    text[size > 0 ? size : 0] = 0;
    char *rest, *line = strtok_r(text, "\n", &rest);
    for (; line && number < MOST_RULES; line = strtok_r(NULL, "\n", &rest), number++) {
        char action[16], calls[128], pattern[1024];
        long value, first = 1, last = LONG_MAX;
        int found = sscanf(line, "%15s %ld %127s %1023s %ld %ld", action, &value, calls, pattern, &first, &last);
        if (found < 4 || !concerns(calls, call) || fnmatch(pattern, path, 0)) continue;
        if (found == 5) last = first;
        long count = __atomic_add_fetch(&counts[number], 1, __ATOMIC_SEQ_CST);
        if (count < first || count > last) continue;
        if (!strcmp(action, "fail")) return (int)value;
        struct timespec pause = {value / 1000, value % 1000 * 1000000};
        while (nanosleep(&pause, &pause) < 0 && errno == EINTR) {}
        return 0;
    }
    return 0;
}

static void path_of(int handle, char *path) {
    char link[64];
    snprintf(link, sizeof link, "/proc/self/fd/%d", handle);
    long length = syscall(SYS_readlinkat, AT_FDCWD, link, path, PATH_MAX - 1);
    path[length > 0 ? length : 0] = 0;
}

static long done(const char *call, long result, const char *path) {
    int error = errno;
    record(call, result, error, path);
    errno = error;
    return result;
}

static int refused(const char *call, const char *path) {
    int error = verdict(call, path);
    if (!error) return 0;
    errno = error;
    done(call, -1, path);
    return 1;
}

static int sync_by(int number, int handle) {
    char path[PATH_MAX];
    path_of(handle, path);
    if (refused("fsync", path)) return -1;
    return (int)done("fsync", syscall(number, handle), path);
}

int fsync(int handle) { return sync_by(SYS_fsync, handle); }

int fdatasync(int handle) { return sync_by(SYS_fdatasync, handle); }

int rename(const char *from, const char *to) {
    if (refused("rename", to)) return -1;
    return (int)done("rename", syscall(SYS_renameat2, AT_FDCWD, from, AT_FDCWD, to, 0), to);
}

int link(const char *from, const char *to) {
    if (refused("link", to)) return -1;
    return (int)done("link", syscall(SYS_linkat, AT_FDCWD, from, AT_FDCWD, to, 0), to);
}

int unlink(const char *path) {
    if (refused("unlink", path)) return -1;
    return (int)done("unlink", syscall(SYS_unlinkat, AT_FDCWD, path, 0), path);
}

ssize_t write(int handle, const void *data, size_t size) {
    char path[PATH_MAX];
    if (getenv("FSYNC_SHIM_RULES")) {
        path_of(handle, path);
        int error = verdict("write", path);
        if (error) {
            errno = error;
            return -1;
        }
    }
    return syscall(SYS_write, handle, data, size);
}

int execve(const char *path, char *const arguments[], char *const environment[]) {
    if (refused("exec", path)) return -1;
    if (!access(path, X_OK)) record("exec", 0, 0, path);
    return (int)syscall(SYS_execve, path, arguments, environment);
}
