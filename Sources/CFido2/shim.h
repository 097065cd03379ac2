#pragma once
#if !__has_include(<fido.h>)
#error "Nephos needs <fido.h>. On Debian and Ubuntu: apt-get install libfido2-dev"
#endif
#include <fido.h>
#include <fido/eddsa.h>
#include <fido/es256.h>
#include <fido/rs256.h>
