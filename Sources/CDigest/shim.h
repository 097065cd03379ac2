#pragma once
#if !__has_include(<openssl/evp.h>)
#error "Nephos needs <openssl/evp.h>. On Debian and Ubuntu: apt-get install libssl-dev"
#endif
#include <openssl/evp.h>
