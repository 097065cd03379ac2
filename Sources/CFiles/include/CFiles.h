#pragma once
#include <stddef.h>
#include <stdint.h>

/// Reads what of a file is in memory, without waiting for the disk: how many bytes, or -1. A file system that cannot tell
/// says -1 too. (preadv2(2) with RWF_NOWAIT, which Swift is not given.)
int64_t cfiles_read_cached(int descriptor, void *bytes, size_t count, int64_t offset);

/// Opens a file for reading without waiting for the disk: a descriptor that programs which are started do not get, or -1. A
/// kernel that cannot tell says -1 too. (openat2(2) with RESOLVE_CACHED, for which the C library has no function.)
int cfiles_open_cached(const char *path);

/// Has the disk begin with what was written of a file, so that there is less to wait for when it is synchronized.
/// (sync_file_range(2), which Swift is not given.)
void cfiles_begin_writeback(int descriptor, int64_t offset, int64_t count);
