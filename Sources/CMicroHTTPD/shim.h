#pragma once
#if !__has_include(<microhttpd.h>)
#error "Nephos needs <microhttpd.h>. On Debian and Ubuntu: apt-get install libmicrohttpd-dev"
#endif
#include <microhttpd.h>
#include <poll.h>
#include <stdarg.h>
#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/eventfd.h>
#include <sys/ioctl.h>
#include <sys/socket.h>

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
    MHD_NotifyConnectionCallback connection;
    nephos_mhd_log log;
};

// A va_list has no portable form in Swift, so the message is formatted here.
static inline void nephos_mhd_format(void *callbacks, const char *format, va_list arguments) {
    const struct nephos_mhd_callbacks *all = (const struct nephos_mhd_callbacks *)callbacks;
    char line[512];
    vsnprintf(line, sizeof line, format, arguments);
    all->log(all->closure, line);
}

// MHD_start_daemon is variadic, which Swift cannot call. `callbacks` must live until the daemon is stopped. `priorities` and
// `certificate`, a gnutls_certificate_retrieve_function2, are for daemons with TLS and NULL for others.
static inline struct MHD_Daemon *nephos_mhd_start(
    unsigned int flags, unsigned int connection_limit, unsigned int idle_timeout, size_t connection_memory,
    const struct nephos_mhd_callbacks *callbacks, const char *priorities, void *certificate
) {
    struct MHD_OptionItem secure[] = {
        {MHD_OPTION_HTTPS_PRIORITIES, 0, (void *)priorities},
        {MHD_OPTION_HTTPS_CERT_CALLBACK, 0, certificate},
        {MHD_OPTION_END, 0, NULL},
    };
    struct MHD_OptionItem plain[] = {{MHD_OPTION_END, 0, NULL}};
    return MHD_start_daemon(
        flags, 0, NULL, NULL, callbacks->access, callbacks->closure,
        MHD_OPTION_EXTERNAL_LOGGER, nephos_mhd_format, (void *)callbacks,
        MHD_OPTION_CONNECTION_LIMIT, connection_limit,
        MHD_OPTION_CONNECTION_TIMEOUT, idle_timeout,
        MHD_OPTION_CONNECTION_MEMORY_LIMIT, connection_memory,
        MHD_OPTION_URI_LOG_CALLBACK, callbacks->target, callbacks->closure,
        MHD_OPTION_NOTIFY_COMPLETED, callbacks->completed, callbacks->closure,
        MHD_OPTION_NOTIFY_CONNECTION, callbacks->connection, callbacks->closure,
        MHD_OPTION_ARRAY, flags & MHD_USE_TLS ? secure : plain,
        MHD_OPTION_END);
}

// A descriptor that is readable from the first write on. Swift's Glibc leaves out this call and the next.
static inline int nephos_eventfd(void) { return eventfd(0, EFD_CLOEXEC); }

extern int accept4(int, struct sockaddr *, socklen_t *, int);

// Accepts a connection that does not block and that no child process inherits.
static inline int nephos_accept(int socket, struct sockaddr *address, socklen_t *size) {
    return accept4(socket, address, size, SOCK_NONBLOCK | SOCK_CLOEXEC);
}

// The user of the process that connected to a Unix socket. The C library declares SO_PEERCRED's structure to GNU sources only.
static inline bool nephos_local_user(int socket, uint32_t *user) {
    struct { pid_t process; uid_t user; gid_t group; } peer;
    socklen_t size = sizeof peer;
    if (getsockopt(socket, SOL_SOCKET, SO_PEERCRED, &peer, &size) != 0 || size != sizeof peer) return false;
    *user = peer.user;
    return true;
}

// The socket of a connection; -1 if there is none.
static inline int nephos_mhd_socket(struct MHD_Connection *connection) {
    const union MHD_ConnectionInfo *info = MHD_get_connection_info(connection, MHD_CONNECTION_INFO_CONNECTION_FD);
    return info ? info->connect_fd : -1;
}

// The GnuTLS session of a connection; NULL if the connection is not over TLS.
static inline void *nephos_mhd_session(struct MHD_Connection *connection) {
    const union MHD_ConnectionInfo *info = MHD_get_connection_info(connection, MHD_CONNECTION_INFO_GNUTLS_SESSION);
    return info ? (void *)info->tls_session : NULL;
}

// What the callback for new connections left.
static inline void *nephos_mhd_socket_context(struct MHD_Connection *connection) {
    const union MHD_ConnectionInfo *info = MHD_get_connection_info(connection, MHD_CONNECTION_INFO_SOCKET_CONTEXT);
    return info ? info->socket_context : NULL;
}

// About how many bytes of its connection's memory a request takes once its headers have arrived: its line and headers, what
// the library notes of each of their values, and its copy of the cookies.
static inline size_t nephos_mhd_request_memory(struct MHD_Connection *connection) {
    const union MHD_ConnectionInfo *info =
        MHD_get_connection_info(connection, MHD_CONNECTION_INFO_REQUEST_HEADER_SIZE);
    int kinds = MHD_HEADER_KIND | MHD_COOKIE_KIND | MHD_GET_ARGUMENT_KIND;
    int values = MHD_get_connection_values(connection, (enum MHD_ValueKind)kinds, NULL, NULL);
    const char *cookies = MHD_lookup_connection_value(connection, MHD_HEADER_KIND, "Cookie");
    return (info ? info->header_size : 0) + 64 * (size_t)(values > 0 ? values : 0) + (cookies ? strlen(cookies) : 0);
}

// Takes the query off a target that the callback for targets was given. The library parses it in place after the callback,
// and if its parameters exceeded the connection's memory, its own refusal would wait for headers that it has dropped.
static inline void nephos_mhd_drop_query(const char *target) {
    char *query = strchr((char *)target, '?');
    if (query) query[1] = 0;
}

// Whether the client of a socket has stopped sending. Reads nothing. Swift's Glibc leaves out POLLRDHUP.
static inline bool nephos_has_stopped_sending(int socket) {
    struct pollfd polled = {.fd = socket, .events = 0x2000 /* POLLRDHUP */};
    return poll(&polled, 1, 0) > 0 && polled.revents & (polled.events | POLLHUP | POLLERR);
}

// The same, and all that it has sent was read.
static inline bool nephos_is_abandoned(int socket) {
    int unread = 0;
    return nephos_has_stopped_sending(socket) && ioctl(socket, FIONREAD, &unread) == 0 && unread == 0;
}

// How many connections a daemon has; those that it was given a moment ago may be missing.
static inline unsigned int nephos_mhd_connections(struct MHD_Daemon *daemon) {
    const union MHD_DaemonInfo *info = MHD_get_daemon_info(daemon, MHD_DAEMON_INFO_CURRENT_CONNECTIONS);
    return info ? info->num_connections : 0;
}

// Has the C library keep up to `bytes` of free memory a thread, and give blocks up to that size from it. Where it has no
// such switches nothing happens.
static inline void nephos_keep_free_memory(int bytes) {
#ifdef __GLIBC__
    mallopt(M_MMAP_THRESHOLD, bytes);
    mallopt(M_TRIM_THRESHOLD, bytes);
#endif
}
