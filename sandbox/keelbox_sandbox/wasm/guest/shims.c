/* What quickjs-ng asks of a C library and a guest has not: all of it ends here, so that the module imports two functions only. */
#include <stdint.h>
#include <stdlib.h>
#include <sys/time.h>
#include <time.h>
#include <wasi/api.h>
#include "guest.h"

static int64_t clock_us(void) {
    volatile const struct state *s = &state; /* the host writes it while we run */
    return (int64_t)((uint64_t)s->clock_high << 32 | s->clock_low);
}

int gettimeofday(struct timeval *restrict tv, void *restrict zone) {
    int64_t us = clock_us();
    tv->tv_sec = us / 1000000;
    tv->tv_usec = us % 1000000;
    return 0;
}

int clock_gettime(clockid_t which, struct timespec *ts) {
    int64_t us = clock_us();
    ts->tv_sec = us / 1000000;
    ts->tv_nsec = us % 1000000 * 1000;
    return 0;
}

/* The libc's wrappers of WASI calls, without WASI: no file can be opened, and output goes nowhere. */
__wasi_errno_t __wasi_fd_close(__wasi_fd_t fd) { return __WASI_ERRNO_BADF; }
__wasi_errno_t __wasi_fd_fdstat_get(__wasi_fd_t fd, __wasi_fdstat_t *to) { return __WASI_ERRNO_BADF; }
__wasi_errno_t __wasi_fd_seek(__wasi_fd_t fd, __wasi_filedelta_t offset, __wasi_whence_t whence, __wasi_filesize_t *to) {
    return __WASI_ERRNO_BADF;
}
__wasi_errno_t __wasi_fd_write(__wasi_fd_t fd, const __wasi_ciovec_t *vectors, size_t count, __wasi_size_t *written) {
    *written = 0;
    for (size_t i = 0; i < count; i++) *written += vectors[i].buf_len;
    return __WASI_ERRNO_SUCCESS;
}
_Noreturn void __wasi_proc_exit(__wasi_exitcode_t code) { __builtin_trap(); }
int close(int fd) { return -1; }
