// Reads a feed to its end over one keep-alive connection, page by page, and reports one JSON line.
//
//   feed --port P --path PATH [--body TEXT] [--header TEXT] --item TEXT --token KEY [--first TOKEN] [--more TEXT]
//        [--times N] [--pid P] [--end KEY --first-end VALUE] [--line]
//
// <<token>> in PATH and TEXT is the last value of KEY ("KEY":"value" or "KEY":number) in the page before; with --first
// that token begins, otherwise an empty one. --item is what a page has once for each record. The feed ends with the first
// page that lacks the --more text, or, without --more, with the first page that has no record. <<end>> is the same of the
// --end key. --line says that keys and the --more text are in the first line of a page, which is all that is JSON in it.
// --times reads the feed that often. What is measured is the server: the next page is asked for before the records of this one are counted. With
// --pid the peak of that process' memory is reported, counted from the start of the reading.

#define _GNU_SOURCE
#include <arpa/inet.h>
#include <errno.h>
#include <getopt.h>
#include <netinet/tcp.h>
#include <stdarg.h>
#include <stdbool.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/socket.h>
#include <time.h>
#include <unistd.h>

static void die(const char *format, ...) {
    va_list arguments;
    va_start(arguments, format);
    fprintf(stderr, "feed: ");
    vfprintf(stderr, format, arguments);
    fprintf(stderr, "\n");
    exit(2);
}

static double now(void) {
    struct timespec time;
    clock_gettime(CLOCK_MONOTONIC, &time);
    return (double)time.tv_sec + (double)time.tv_nsec / 1e9;
}

static int port, times = 1, pid;
static const char *path, *body, *header = "", *item, *key, *first = "", *more, *end_key, *first_end = "";
static bool has_line;

// The page that is being read and the one before it, whose records are still to be counted.
static char *pages[2], *page;
static size_t page_length, capacities[2];
static int current;
static char token[4096], end[4096];

static int connect_to_server(void) {
    struct sockaddr_in address = {.sin_family = AF_INET, .sin_port = htons((uint16_t)port)};
    address.sin_addr.s_addr = htonl(INADDR_LOOPBACK);
    int server = socket(AF_INET, SOCK_STREAM, 0), on = 1;
    if (connect(server, (struct sockaddr *)&address, sizeof address) != 0) die("port %d: %s", port, strerror(errno));
    setsockopt(server, IPPROTO_TCP, TCP_NODELAY, &on, sizeof on);
    return server;
}

// `template` with the token and the end in it.
static size_t expand(char *out, size_t room, const char *template) {
    size_t length = 0;
    while (*template) {
        const char *text = NULL;
        if (strncmp(template, "<<token>>", 9) == 0) text = token, template += 9;
        else if (strncmp(template, "<<end>>", 7) == 0) text = end, template += 7;
        size_t size = text ? strlen(text) : 1;
        if (length + size >= room) die("the request is too long");
        memcpy(out + length, text ? text : template++, size);
        length += size;
    }
    out[length] = 0;
    return length;
}

static void send_request(int server) {
    static char target[8192], content[8192], request[20000];
    expand(target, sizeof target, path);
    size_t size = body ? expand(content, sizeof content, body) : 0;
    int length = snprintf(request, sizeof request,
                          "%s %s HTTP/1.1\r\nHost: 127.0.0.1:%d\r\nContent-Type: application/json\r\n"
                          "%s%sContent-Length: %zu\r\n\r\n%.*s",
                          body ? "POST" : "GET", target, port, header, header[0] ? "\r\n" : "", size, (int)size, content);
    for (int sent = 0; sent < length;) {
        ssize_t count = send(server, request + sent, (size_t)(length - sent), MSG_NOSIGNAL);
        if (count <= 0) die("sending: %s", strerror(errno));
        sent += (int)count;
    }
}

static void receive_more(int server) {
    if (page_length + 262144 + 1 > capacities[current]) {
        capacities[current] = (page_length + 262144 + 1) * 2;
        pages[current] = realloc(pages[current], capacities[current]);
        if (!pages[current]) die("out of memory");
    }
    page = pages[current];
    ssize_t count = recv(server, page + page_length, 262144, 0);
    if (count <= 0) die("the server closed the connection: %s", count < 0 ? strerror(errno) : "end of stream");
    page_length += (size_t)count;
    page[page_length] = 0;
}

// Reads an answer and leaves its body at `page`, chunks joined. Returns the bytes that came.
static size_t receive(int server) {
    current = !current;
    page_length = 0;
    char *head_end = NULL;
    while (!head_end) {
        receive_more(server);
        head_end = memmem(page, page_length, "\r\n\r\n", 4);
    }
    size_t from = (size_t)(head_end - page) + 4;
    int status = 0;
    if (sscanf(page, "HTTP/1.%*d %d", &status) != 1) die("not an HTTP answer");
    head_end[2] = 0;
    char *length = strcasestr(page, "\r\ncontent-length:");
    bool is_chunked = strcasestr(page, "\r\ntransfer-encoding: chunked") != NULL;
    size_t all;
    if (length) {
        all = from + strtoull(length + 17, NULL, 10);
        while (page_length < all) receive_more(server);
        page += from;
        page_length = all - from;
    } else if (is_chunked) {
        size_t at = from, to = 0;
        for (;;) {
            char *line_end;
            while (!(line_end = memmem(page + at, page_length - at, "\r\n", 2))) receive_more(server);
            size_t size = strtoull(page + at, NULL, 16), start = (size_t)(line_end - page) + 2;
            while (page_length < start + size + 2) receive_more(server);
            memmove(page + to, page + start, size);
            to += size;
            at = start + size + 2;
            if (size == 0) break;
        }
        all = at;
        page_length = to;
    } else {
        die("an answer without a length");
    }
    page[page_length] = 0;
    if (status != 200) die("status %d: %.250s", status, page);
    return all;
}

static uint64_t count_items(void) {
    uint64_t count = 0;
    size_t length = strlen(item);
    const char *at = page, *stop = page + page_length;
    while ((at = memmem(at, (size_t)(stop - at), item, length))) {
        count++;
        at += length;
    }
    return count;
}

// Where `text` stands for the last time in the page, or in its first line where that is all there is to look at.
static const char *last(const char *text) {
    size_t length = strlen(text), looked_at = page_length;
    if (has_line) {
        const char *newline = memchr(page, '\n', page_length);
        if (newline) looked_at = (size_t)(newline - page);
    }
    if (length > looked_at) return NULL;
    for (const char *at = page + looked_at - length; at >= page; at--)
        if (memcmp(at, text, length) == 0) return at;
    return NULL;
}

// Copies the value of a key, which has room for 4096 bytes. Returns whether the page has it.
static bool keep(const char *name, char *value) {
    char mark[200];
    int length = snprintf(mark, sizeof mark, "\"%s\":", name);
    const char *begin = last(mark);
    if (!begin) return false;
    begin += length;
    int is_string = *begin == '"';
    begin += is_string;
    size_t size = strcspn(begin, is_string ? "\"" : ",}");
    if (size >= 4096) die("the %s is too long", name);
    snprintf(value, 4096, "%.*s", (int)size, begin);
    return true;
}

static void keep_token(void) {
    if (!keep(key, token)) die("no \"%s\" in a page: %.250s", key, page);
    if (end_key) keep(end_key, end);
}

static long memory(const char *name) {
    char file[64], line[256];
    snprintf(file, sizeof file, "/proc/%d/status", pid);
    FILE *status = fopen(file, "r");
    long kilobytes = 0;
    while (status && fgets(line, sizeof line, status))
        if (strncmp(line, name, strlen(name)) == 0) kilobytes = atol(line + strlen(name) + 1);
    if (status) fclose(status);
    return kilobytes;
}

static void forget_peak(void) {
    char file[64];
    snprintf(file, sizeof file, "/proc/%d/clear_refs", pid);
    FILE *switches = fopen(file, "w");
    if (switches) {
        fputs("5", switches);
        fclose(switches);
    }
}

int main(int count, char **values) {
    static const struct option known[] = {
        {"port", 1, 0, 'p'}, {"path", 1, 0, 'u'}, {"body", 1, 0, 'b'}, {"header", 1, 0, 'h'}, {"item", 1, 0, 'i'},
        {"token", 1, 0, 't'}, {"first", 1, 0, 'f'}, {"more", 1, 0, 'm'}, {"times", 1, 0, 'n'}, {"pid", 1, 0, 'o'},
        {"end", 1, 0, 'e'}, {"first-end", 1, 0, 'g'}, {"line", 0, 0, 'l'}, {0, 0, 0, 0}};
    for (int option; (option = getopt_long(count, values, "", known, NULL)) != -1;) {
        switch (option) {
        case 'p': port = atoi(optarg); break;
        case 'u': path = optarg; break;
        case 'b': body = optarg; break;
        case 'h': header = optarg; break;
        case 'i': item = optarg; break;
        case 't': key = optarg; break;
        case 'f': first = optarg; break;
        case 'm': more = optarg; break;
        case 'n': times = atoi(optarg); break;
        case 'o': pid = atoi(optarg); break;
        case 'e': end_key = optarg; break;
        case 'g': first_end = optarg; break;
        case 'l': has_line = true; break;
        default: return 2;
        }
    }
    if (!port || !path || !item || !key || times < 1) die("--port, --path, --item and --token are needed");
    int server = connect_to_server();
    uint64_t records = 0, bytes = 0, asked = 0;
    if (pid) forget_peak();
    double start = now();
    for (int i = 0; i < times; i++) {
        snprintf(token, sizeof token, "%s", first);
        snprintf(end, sizeof end, "%s", first_end);
        send_request(server);
        for (int goes_on = 1; goes_on;) {
            bytes += receive(server);
            asked++;
            goes_on = more ? last(more) != NULL : count_items() > 0;
            if (goes_on || more) keep_token();
            if (goes_on) send_request(server);
            records += count_items();
        }
    }
    double seconds = now() - start;
    printf("{\"records_per_second\": %.1f, \"records\": %llu, \"bytes\": %llu, \"pages\": %llu, \"seconds\": %.6f, "
           "\"milliseconds_each\": %.4f, \"token\": \"%s\", \"server_peak_kilobytes\": %ld}\n",
           (double)records / seconds, (unsigned long long)records, (unsigned long long)bytes,
           (unsigned long long)asked, seconds, seconds * 1000 / times, token, pid ? memory("VmHWM") : 0);
    return 0;
}
