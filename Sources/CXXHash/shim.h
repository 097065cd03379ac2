#pragma once
#if !__has_include(<xxhash.h>)
#error "Nephos needs <xxhash.h>. On Debian and Ubuntu: apt-get install libxxhash-dev"
#endif
// Most values of a record are short: the call of the library would take as long as the hash.
#define XXH_INLINE_ALL
#include <xxhash.h>

static inline uint64_t nephos_xxh3(const void *bytes, size_t count, uint64_t seed) {
    return XXH3_64bits_withSeed(bytes, count, seed);
}
