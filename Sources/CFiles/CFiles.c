#define _GNU_SOURCE
#include "CFiles.h"

#include <fcntl.h>
#if __has_include(<linux/openat2.h>)
#include <linux/openat2.h>
#endif
#include <sys/syscall.h>
#include <sys/uio.h>
#include <unistd.h>

int64_t cfiles_read_cached(int descriptor, void *bytes, size_t count, int64_t offset) {
#ifdef RWF_NOWAIT
    struct iovec piece = {bytes, count};
    return preadv2(descriptor, &piece, 1, (off_t)offset, RWF_NOWAIT);
#else
    return -1;
#endif
}

int cfiles_open_cached(const char *path) {
#if defined(SYS_openat2) && defined(RESOLVE_CACHED)
    struct open_how how = {.flags = O_RDONLY | O_CLOEXEC, .resolve = RESOLVE_CACHED};
    return (int)syscall(SYS_openat2, AT_FDCWD, path, &how, sizeof how);
#else
    return -1;
#endif
}

void cfiles_begin_writeback(int descriptor, int64_t offset, int64_t count) {
    sync_file_range(descriptor, (off64_t)offset, (off64_t)count, SYNC_FILE_RANGE_WRITE);
}
