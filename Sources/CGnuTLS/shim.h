#pragma once
#if !__has_include(<gnutls/gnutls.h>)
#error "Nephos needs <gnutls/gnutls.h>. On Debian and Ubuntu: apt-get install libgnutls28-dev"
#endif
#include <gnutls/abstract.h>
#include <gnutls/gnutls.h>
#include <gnutls/x509.h>

// Frees what GnuTLS allocated. Its own name is that of a variable, which Swift does not call.
static inline void nephos_gnutls_free(void *memory) { gnutls_free(memory); }

// The certificate of a session that was not given its credentials: none, which ends its handshake.
static inline int nephos_no_certificate(
    gnutls_session_t session, const gnutls_datum_t *authorities, int authority_count, const gnutls_pk_algorithm_t *algorithms,
    int algorithm_count, gnutls_pcert_st **certificates, unsigned int *certificate_count, gnutls_privkey_t *key
) {
    return -1;
}

// The function above in the form in which libmicrohttpd takes it.
static inline void *nephos_no_certificate_callback(void) {
    gnutls_certificate_retrieve_function2 *callback = nephos_no_certificate;
    return (void *)callback;
}
