#pragma once
#if !__has_include(<xxhash.h>)
#error "Nephos needs <xxhash.h>. On Debian and Ubuntu: apt-get install libxxhash-dev"
#endif
#include <xxhash.h>
