#pragma once
#if !__has_include(<sqlite3.h>)
#error "Nephos needs <sqlite3.h>. On Debian and Ubuntu: apt-get install libsqlite3-dev"
#endif
#include <sqlite3.h>

/* SQLITE_TRANSIENT is a cast that Swift cannot import. SQLite copies the bytes; an empty value is not NULL. */
static inline int nephos_sqlite3_bind_text(sqlite3_stmt *statement, int index, const void *bytes, int count) {
    return sqlite3_bind_text(statement, index, bytes ? (const char *)bytes : "", count, SQLITE_TRANSIENT);
}

static inline int nephos_sqlite3_bind_blob(sqlite3_stmt *statement, int index, const void *bytes, int count) {
    return sqlite3_bind_blob(statement, index, bytes ? bytes : "", count, SQLITE_TRANSIENT);
}

// sqlite3_config is variadic, which Swift cannot call.
static inline int nephos_sqlite3_count_no_memory(void) {
    return sqlite3_config(SQLITE_CONFIG_MEMSTATUS, 0);
}
