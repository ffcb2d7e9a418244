/* Clocks as they go on a machine that sleeps, for processes that preload this: the file $SLEEPING_MACHINE holds two numbers of
   nanoseconds. The first is how long the machine has slept so far, which its boot clock and its wall clock count and its monotonic
   clock does not; the second is added to the wall clock alone. */
#define _GNU_SOURCE
#include <dlfcn.h>
#include <fcntl.h>
#include <stdint.h>
#include <stdlib.h>
#include <sys/mman.h>
#include <sys/time.h>
#include <time.h>
#include <unistd.h>

static const volatile int64_t *slept;

__attribute__((constructor)) static void begin(void) {
    const char *path = getenv("SLEEPING_MACHINE");
    int fd = path ? open(path, O_RDONLY | O_CLOEXEC) : -1;
    if (fd < 0) return;
    void *page = mmap(NULL, 16, PROT_READ, MAP_SHARED, fd, 0);
    close(fd);
    if (page != MAP_FAILED) slept = page;
}

static void add(struct timespec *at, int64_t ns) {
    at->tv_sec += ns / 1000000000;
    at->tv_nsec += ns % 1000000000;
    if (at->tv_nsec >= 1000000000) { at->tv_nsec -= 1000000000; at->tv_sec++; }
}

int clock_gettime(clockid_t clock, struct timespec *at) {
    static int (*real)(clockid_t, struct timespec *);
    if (!real) *(void **)&real = dlsym(RTLD_NEXT, "clock_gettime");
    int failed = real(clock, at);
    if (failed || !slept) return failed;
    if (clock == CLOCK_BOOTTIME) add(at, slept[0]);
    if (clock == CLOCK_REALTIME) add(at, slept[0] + slept[1]);
    return 0;
}
