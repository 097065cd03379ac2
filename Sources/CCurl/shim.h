#pragma once
#if !__has_include(<curl/curl.h>)
#error "Nephos needs <curl/curl.h>. On Debian and Ubuntu: apt-get install libcurl4-openssl-dev"
#endif
#include <curl/curl.h>
#include <errno.h>
#include <stdint.h>
#include <sys/epoll.h>
#include <sys/eventfd.h>

// libcurl's options are set and read by variadic functions, which Swift cannot call: one wrapper a type of value.
// The parentheses keep the header's type-checking macros out, which need a constant option.

static inline CURLcode nephos_curl_set_long(CURL *handle, CURLoption option, long value) {
    return (curl_easy_setopt)(handle, option, value);
}

static inline CURLcode nephos_curl_set_large(CURL *handle, CURLoption option, int64_t value) {
    return (curl_easy_setopt)(handle, option, (curl_off_t)value);
}

// libcurl copies the string, except for CURLOPT_POSTFIELDS.
static inline CURLcode nephos_curl_set_string(CURL *handle, CURLoption option, const char *value) {
    return (curl_easy_setopt)(handle, option, value);
}

static inline CURLcode nephos_curl_set_pointer(CURL *handle, CURLoption option, void *value) {
    return (curl_easy_setopt)(handle, option, value);
}

static inline CURLcode nephos_curl_set_callback(
    CURL *handle, CURLoption option, size_t (*value)(char *, size_t, size_t, void *)
) {
    return (curl_easy_setopt)(handle, option, value);
}

static inline int nephos_curl_refuse_seek(void *context, curl_off_t offset, int origin) {
    return CURL_SEEKFUNC_FAIL;
}

// A body that was read once cannot be read again, so libcurl cannot repeat the request.
static inline CURLcode nephos_curl_refuse_rewind(CURL *handle) {
    return (curl_easy_setopt)(handle, CURLOPT_SEEKFUNCTION, nephos_curl_refuse_seek);
}

static inline CURLcode nephos_curl_get_long(CURL *handle, CURLINFO info, long *value) {
    return (curl_easy_getinfo)(handle, info, value);
}

// The string belongs to the handle.
static inline const char *nephos_curl_get_string(CURL *handle, CURLINFO info) {
    char *value = NULL;
    return (curl_easy_getinfo)(handle, info, &value) == CURLE_OK ? value : NULL;
}

static inline CURLMcode nephos_curl_multi_set_long(CURLM *handle, CURLMoption option, long value) {
    return (curl_multi_setopt)(handle, option, value);
}

static inline CURLMcode nephos_curl_multi_set_pointer(CURLM *handle, CURLMoption option, void *value) {
    return (curl_multi_setopt)(handle, option, value);
}

static inline CURLMcode nephos_curl_multi_set_socket_callback(CURLM *handle, curl_socket_callback value) {
    return (curl_multi_setopt)(handle, CURLMOPT_SOCKETFUNCTION, value);
}

static inline CURLMcode nephos_curl_multi_set_timer_callback(CURLM *handle, curl_multi_timer_callback value) {
    return (curl_multi_setopt)(handle, CURLMOPT_TIMERFUNCTION, value);
}

// The constant is an expression of macros.
static inline CURLcode nephos_curl_global_init(void) { return curl_global_init(CURL_GLOBAL_ALL); }

// What libcurl's sockets are waited for with. Swift's Glibc leaves out epoll and eventfd.

static inline int nephos_epoll_create(void) { return epoll_create1(EPOLL_CLOEXEC); }

// A descriptor that is readable after a write until it is read.
static inline int nephos_eventfd(void) { return eventfd(0, EFD_CLOEXEC | EFD_NONBLOCK); }

// Watches a socket for what libcurl waits for: one of CURL_POLL_*.
static inline int nephos_epoll_watch(int epoll, int descriptor, int what) {
    struct epoll_event event = {0};
    event.data.fd = descriptor;
    if (what == CURL_POLL_REMOVE) return epoll_ctl(epoll, EPOLL_CTL_DEL, descriptor, &event);
    if (what & CURL_POLL_IN) event.events |= EPOLLIN;
    if (what & CURL_POLL_OUT) event.events |= EPOLLOUT;
    if (epoll_ctl(epoll, EPOLL_CTL_ADD, descriptor, &event) == 0) return 0;
    return errno == EEXIST ? epoll_ctl(epoll, EPOLL_CTL_MOD, descriptor, &event) : -1;
}

struct nephos_ready_socket {
    int descriptor;
    // CURL_CSELECT_*
    int events;
};

enum { NEPHOS_READY_SOCKETS = 64 };

// Waits up to `milliseconds`, -1 for ever, and writes at most NEPHOS_READY_SOCKETS of the sockets that are ready.
static inline int nephos_epoll_wait(int epoll, struct nephos_ready_socket *ready, int milliseconds) {
    struct epoll_event events[NEPHOS_READY_SOCKETS];
    int count = epoll_wait(epoll, events, NEPHOS_READY_SOCKETS, milliseconds);
    for (int i = 0; i < count; i++) {
        ready[i].descriptor = events[i].data.fd;
        ready[i].events = (events[i].events & EPOLLIN ? CURL_CSELECT_IN : 0)
            | (events[i].events & EPOLLOUT ? CURL_CSELECT_OUT : 0)
            | (events[i].events & (EPOLLERR | EPOLLHUP) ? CURL_CSELECT_ERR : 0);
    }
    return count;
}
