#pragma once
#if !__has_include(<openssl/evp.h>)
#error "Nephos needs <openssl/evp.h>. On Debian and Ubuntu: apt-get install libssl-dev"
#endif
#include <openssl/ec.h>
#include <openssl/ecdsa.h>
#include <openssl/err.h>
#include <openssl/evp.h>
#include <openssl/hmac.h>
#include <openssl/pem.h>
