#pragma once
#if !__has_include(<sodium.h>)
#error "Nephos needs <sodium.h>. On Debian and Ubuntu: apt-get install libsodium-dev"
#endif
#include <sodium.h>
