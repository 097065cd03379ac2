#define _GNU_SOURCE
#include "CFiles.h"

#include <sys/uio.h>

int64_t cfiles_read_cached(int descriptor, void *bytes, size_t count, int64_t offset) {
#ifdef RWF_NOWAIT
    struct iovec piece = {bytes, count};
    return preadv2(descriptor, &piece, 1, (off_t)offset, RWF_NOWAIT);
#else
    return -1;
#endif
}
