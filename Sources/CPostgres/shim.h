#pragma once
#if !__has_include(<libpq-fe.h>)
#error "Nephos needs <libpq-fe.h>. On Debian and Ubuntu: apt-get install libpq-dev"
#endif
#include <libpq-fe.h>

/* Macros of postgres_ext.h that Swift cannot import. */
static const int nephos_pg_diag_sqlstate = PG_DIAG_SQLSTATE;
static const int nephos_pg_diag_message = PG_DIAG_MESSAGE_PRIMARY;
static const int nephos_pg_diag_detail = PG_DIAG_MESSAGE_DETAIL;
static const int nephos_pg_diag_constraint = PG_DIAG_CONSTRAINT_NAME;
