#pragma once
#include <curl/curl.h>

// libcurl's options are set and read by variadic functions, which Swift cannot call: one wrapper a type of value.
// The parentheses keep the header's type-checking macros out, which need a constant option.

static inline CURLcode nephos_curl_set_long(CURL *handle, CURLoption option, long value) {
    return (curl_easy_setopt)(handle, option, value);
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

static inline CURLcode nephos_curl_get_long(CURL *handle, CURLINFO info, long *value) {
    return (curl_easy_getinfo)(handle, info, value);
}

static inline CURLMcode nephos_curl_multi_set_long(CURLM *handle, CURLMoption option, long value) {
    return (curl_multi_setopt)(handle, option, value);
}

// The constant is an expression of macros.
static inline CURLcode nephos_curl_global_init(void) { return curl_global_init(CURL_GLOBAL_ALL); }
