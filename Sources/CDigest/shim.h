#pragma once
#if !__has_include(<openssl/evp.h>)
#error "Nephos needs <openssl/evp.h>. On Debian and Ubuntu: apt-get install libssl-dev"
#endif
#include <openssl/core_names.h>
#include <openssl/ecdsa.h>
#include <openssl/evp.h>
#include <openssl/pem.h>
