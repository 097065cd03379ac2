#pragma once
#include <microhttpd.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>

#ifdef __GLIBC__
#include <malloc.h>
#endif

/// Called with each line that the library logs.
typedef void (*nephos_mhd_log)(void *closure, const char *message);
/// Called with the request's target as it was received; the result becomes the request's context.
typedef void *(*nephos_mhd_target)(void *closure, const char *target, struct MHD_Connection *connection);

struct nephos_mhd_callbacks {
    void *closure;
    nephos_mhd_target target;
    MHD_AccessHandlerCallback access;
    MHD_RequestCompletedCallback completed;
    nephos_mhd_log log;
};

// A va_list has no portable form in Swift, so the message is formatted here.
static inline void nephos_mhd_format(void *callbacks, const char *format, va_list arguments) {
    const struct nephos_mhd_callbacks *all = (const struct nephos_mhd_callbacks *)callbacks;
    char line[512];
    vsnprintf(line, sizeof line, format, arguments);
    all->log(all->closure, line);
}

// MHD_start_daemon is variadic, which Swift cannot call. `callbacks` must live until the daemon is stopped.
static inline struct MHD_Daemon *nephos_mhd_start(
    unsigned int flags, int listening_socket, unsigned int threads, unsigned int connection_limit,
    unsigned int idle_timeout, size_t connection_memory, const struct nephos_mhd_callbacks *callbacks
) {
    return MHD_start_daemon(
        flags, 0, NULL, NULL, callbacks->access, callbacks->closure,
        MHD_OPTION_EXTERNAL_LOGGER, nephos_mhd_format, (void *)callbacks,
        MHD_OPTION_LISTEN_SOCKET, listening_socket,
        MHD_OPTION_THREAD_POOL_SIZE, threads,
        MHD_OPTION_CONNECTION_LIMIT, connection_limit,
        MHD_OPTION_CONNECTION_TIMEOUT, idle_timeout,
        MHD_OPTION_CONNECTION_MEMORY_LIMIT, connection_memory,
        MHD_OPTION_URI_LOG_CALLBACK, callbacks->target, callbacks->closure,
        MHD_OPTION_NOTIFY_COMPLETED, callbacks->completed, callbacks->closure,
        MHD_OPTION_END);
}

// Has the C library keep up to `bytes` of free memory a thread, and give blocks up to that size from it. Where it has no
// such switches nothing happens.
static inline void nephos_keep_free_memory(int bytes) {
#ifdef __GLIBC__
    mallopt(M_MMAP_THRESHOLD, bytes);
    mallopt(M_TRIM_THRESHOLD, bytes);
#endif
}
