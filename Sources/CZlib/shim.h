#pragma once
#if !__has_include(<zlib.h>)
#error "Nephos needs <zlib.h>. On Debian and Ubuntu: apt-get install zlib1g-dev"
#endif
#include <zlib.h>

// inflateInit2 is a macro, which Swift cannot call. 16 more than the largest window: a gzip member and nothing else.
static inline int nephos_gzip_reader_init(z_stream *stream) { return inflateInit2(stream, 15 + 16); }

// deflateInit2 is a macro, too: the same format, compressed as far as zlib can.
static inline int nephos_gzip_writer_init(z_stream *stream) {
    return deflateInit2(stream, Z_BEST_COMPRESSION, Z_DEFLATED, 15 + 16, 9, Z_DEFAULT_STRATEGY);
}
