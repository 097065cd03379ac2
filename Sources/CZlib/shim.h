#pragma once
#if !__has_include(<zlib.h>)
#error "Nephos needs <zlib.h>. On Debian and Ubuntu: apt-get install zlib1g-dev"
#endif
#include <zlib.h>

// inflateInit2 is a macro, which Swift cannot call. 16 more than the largest window: a gzip member and nothing else.
static inline int nephos_gzip_reader_init(z_stream *stream) { return inflateInit2(stream, 15 + 16); }
